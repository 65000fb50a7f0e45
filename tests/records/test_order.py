from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.errors import InputError
from eyetest.records import (
    REVERSED,
    Choice,
    Condition,
    Item,
    order_shown,
    order_word,
    positions_shown,
    read_order,
    shown_order,
)
from eyetest.records.tables import LONGEST_ORDER


def item(options: int) -> Item:
    return Item(id="q", question="?", choices=tuple(Choice(text=str(n), correct=not n) for n in range(options)))


def test_every_order_has_a_number_of_its_own() -> None:
    orders = [order for count in range(2, 7) for order in permutations(range(count))]
    numbers = {order: order_shown(order) for order in orders}
    special = {0, REVERSED}
    assert len({*numbers.values()} - special) == len([n for n in numbers.values() if n not in special])
    for order, number in numbers.items():
        assert shown_order(item(len(order)), Condition(order=number)) == order
        assert 0 <= number < 2**63


@given(st.permutations(range(LONGEST_ORDER)))
def test_the_longest_order_fits(order: list[int]) -> None:
    number = order_shown(order)
    assert number < 2**63
    assert shown_order(item(LONGEST_ORDER), Condition(order=number)) == tuple(order)
    assert read_order(order_word(number)) == number


@pytest.mark.parametrize(
    ("words", "order"),
    [
        ("", (0, 1, 2, 3)),
        ("0", (0, 1, 2, 3)),
        ("Original", (0, 1, 2, 3)),
        ("reversed", (3, 2, 1, 0)),
        ("DCBA", (3, 2, 1, 0)),
        ("BADC", (1, 0, 3, 2)),
        ("b a d c", (1, 0, 3, 2)),
        ("(B)(A)(D)(C)", (1, 0, 3, 2)),
        ("1,0,3,2", (1, 0, 3, 2)),
        ("[2, 1, 4, 3]", (1, 0, 3, 2)),
        ("B > A > D > C", (1, 0, 3, 2)),
        ("BCDA", (1, 2, 3, 0)),
    ],
)
def test_words(words: str, order: tuple[int, ...]) -> None:
    assert shown_order(item(4), Condition(order=read_order(words))) == order


@pytest.mark.parametrize("words", ["1", "10", "-1", "BAD", "AA", "1,3", "0,2", "shuffled", "B", "1,0,x", "²,1", "B1"])
def test_no_order(words: str) -> None:
    with pytest.raises(ValueError, match="names every option once"):
        read_order(words)


def test_seeds_stay_what_they_were() -> None:
    assert read_order("seed 7") == 7
    assert positions_shown(7) is None
    assert order_word(7) == "7"
    assert {shown_order(item(4), Condition(order=seed)) for seed in range(200)} == {*permutations(range(4))}


def test_an_order_of_other_options_is_one_line() -> None:
    with pytest.raises(InputError, match=r"'q'.*an order of 3 options \(BCA\), and it has 4"):
        shown_order(item(4), Condition(order=read_order("BCA")))
    assert shown_order(item(0), Condition(order=read_order("BCA"))) == ()
