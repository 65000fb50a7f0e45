"""What a reply costs grows with its length and no faster, whatever it repeats."""

from itertools import islice

import pytest

from eyetest.text import read_number
from tests.looping.functions import FUNCTIONS
from tests.looping.loops import MOST_GROWTH, TOKENS, Loop, cost, drawn, growth

READ = 24_000  # characters that the rules read of a reply
WHOLE = 1_000_000
FEW = 2


def steepest(name: str, loops: list[Loop], size: int) -> list[str]:
    """What costs more than its length, in words."""
    read = FUNCTIONS[name]
    grown = [(growth(read, loop, size), loop) for loop in loops]
    return [
        f"{name}: {loop!r} costs {times:.1f} times as much as its half"
        for times, loop in grown
        if times >= MOST_GROWTH
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_looping_reply_costs_what_its_length_costs(name: str) -> None:
    assert not steepest(name, [*islice(drawn(name), FEW)], READ)


@pytest.mark.parametrize("number", range(0, 20, 5))
def test_numbers_without_end_beside_an_amount(number: int) -> None:
    for unit in ("1,", "1.", "1 ", "1/", "1-", "1:"):
        assert not steepest(f"rules eyetest {number}", [Loop(unit)], READ)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_token_in_a_loop(name: str) -> None:
    loops = [Loop(token, before, behind) for token in TOKENS for before, behind in (("", ""), ("x", "!"))]
    assert not steepest(name, [*loops, *islice(drawn(f"slow {name}"), 100)], READ)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_million_characters(name: str) -> None:
    assert not steepest(name, [*islice(drawn(f"long {name}"), 5)], WHOLE)


def test_names_before_a_number_cost_no_more_than_their_length() -> None:
    """Each blank could be taken in two ways: forty names would have taken days."""
    for text in ("x= " * 40 + "word 5", "x: ( " * 100 + "word 5"):
        assert read_number(text) is None
    number = read_number("a: b= ( $5")
    assert number is not None
    assert number.value == 5


def test_a_reply_of_a_million_characters_costs_seconds_at_most() -> None:
    read = FUNCTIONS["rules eyetest 0"]
    for unit in ("1,", "A) ", "not only A ", "the answer is B. "):
        assert cost(read, Loop(unit).text(WHOLE)) < 10
