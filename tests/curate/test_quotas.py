"""Shares become whole numbers that add up, fit and stay true to the weights."""

from collections import Counter
from fractions import Fraction
from itertools import product
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from eyetest.curate.selection import Nesting, even, largest_remainder, proportional

names = st.text("abcdef", min_size=1, max_size=2)
numbers = st.integers(0, 60)
totals = st.integers(0, 200)
weights = st.integers(0, 1000)
weighted = st.dictionaries(names, weights, max_size=8)
capped = st.dictionaries(names, st.tuples(weights, numbers), max_size=8)


def apart(pairs: dict[str, tuple[int, int]]) -> tuple[dict[str, int], dict[str, int]]:
    return {name: pair[0] for name, pair in pairs.items()}, {name: pair[1] for name, pair in pairs.items()}


@given(capped, totals)
def test_the_numbers_add_up_and_fit(pairs: dict[str, tuple[int, int]], total: int) -> None:
    shares, capacity = apart(pairs)
    taken = largest_remainder(shares, total, capacity)
    assert list(taken) == list(shares)
    assert all(0 <= taken[name] <= capacity[name] for name in shares)
    assert all(taken[name] == 0 for name in shares if shares[name] == 0)
    assert sum(taken.values()) == min(total, sum(capacity[name] for name in shares if shares[name]))


@given(weighted, totals)
def test_without_capacities_each_is_within_one_of_its_share(shares: dict[str, int], total: int) -> None:
    taken = largest_remainder(shares, total)
    whole = sum(map(Fraction, shares.values()))
    if whole:
        assert sum(taken.values()) == total
        assert all(abs(taken[name] - total * Fraction(shares[name]) / whole) < 1 for name in shares)
    assert taken == largest_remainder(shares, total, dict.fromkeys(shares, total))


def exact_shares(shares: dict[str, int], total: int, capacity: dict[str, int]) -> dict[str, Fraction]:
    """Shares that need not be whole, by clamping again and again: slow and plain."""
    full: dict[str, Fraction] = {}
    while True:
        free = {name: Fraction(share) for name, share in shares.items() if name not in full and share}
        left = total - sum(full.values())
        found = {name: left * share / sum(free.values()) for name, share in free.items()}
        over = {name: Fraction(capacity[name]) for name, share in found.items() if share > capacity[name]}
        if not over:
            return dict.fromkeys(shares, Fraction(0)) | full | found
        full |= over


@given(capped, totals)
def test_what_full_ones_leave_goes_to_the_others_in_proportion(pairs: dict[str, tuple[int, int]], total: int) -> None:
    shares, capacity = apart(pairs)
    taken = largest_remainder(shares, total, capacity)
    exact = exact_shares(shares, total, capacity)
    assert all(abs(taken[name] - exact[name]) < 1 for name in shares)


@given(capped, totals)
def test_more_weight_and_more_room_never_get_less(pairs: dict[str, tuple[int, int]], total: int) -> None:
    shares, capacity = apart(pairs)
    taken = largest_remainder(shares, total, capacity)
    for a, b in product(shares, repeat=2):
        if shares[a] > shares[b] and capacity[a] >= capacity[b]:
            assert taken[a] >= taken[b]


@given(capped, totals, st.randoms(use_true_random=False))
def test_the_order_of_the_names_does_not_matter(
    pairs: dict[str, tuple[int, int]], total: int, random: Random
) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)
    assert largest_remainder(*_with_total(pairs, total)) == largest_remainder(
        *_with_total({name: pairs[name] for name in shuffled}, total)
    )


def _with_total(pairs: dict[str, tuple[int, int]], total: int) -> tuple[dict[str, int], int, dict[str, int]]:
    shares, capacity = apart(pairs)
    return shares, total, capacity


@given(st.dictionaries(names, numbers, max_size=8), totals)
def test_even_is_water_filling(capacities: dict[str, int], total: int) -> None:
    taken = even(capacities, total)
    assert sum(taken.values()) == min(total, sum(capacities.values()))
    level = max(taken.values(), default=0)
    assert all(level - 1 <= taken[name] or taken[name] == capacities[name] for name in capacities)
    more = even(capacities, total + 1)
    assert all(more[name] >= taken[name] for name in capacities)


@given(st.dictionaries(names, numbers, max_size=8), totals)
def test_in_proportion_never_asks_for_more_than_there_is(capacities: dict[str, int], total: int) -> None:
    taken = proportional(capacities, total)
    there = sum(capacities.values())
    for name in capacities:
        exact = Fraction(min(total, there) * capacities[name], there or 1)
        assert abs(taken[name] - exact) < 1
        assert taken[name] <= capacities[name]


def test_worked_examples() -> None:
    assert largest_remainder({"a": 470, "b": 160, "c": 158, "d": 120, "e": 61, "f": 31}, 100) == {
        **{"a": 47, "b": 16, "c": 16, "d": 12},
        **{"e": 6, "f": 3},
    }
    assert largest_remainder({"a": 1, "b": 1, "c": 2}, 12, {"a": 9, "b": 9, "c": 2}) == {"a": 5, "b": 5, "c": 2}
    assert largest_remainder({"b": 1, "a": 1}, 3) == {"b": 1, "a": 2}
    assert even({"x": 3, "y": 100, "z": 100}, 20) == {"x": 3, "y": 9, "z": 8}
    assert even({"x": 1, "y": 1}, 20) == {"x": 1, "y": 1}


def test_a_tie_goes_by_rank_before_it_goes_by_name() -> None:
    assert even({"a": 5, "b": 5, "c": 5}, 4, lambda name: ({"a": 2, "b": 1, "c": 0}[name],)) == {
        "a": 1,
        "b": 1,
        "c": 2,
    }


def test_the_known_paradox_of_the_method_is_there() -> None:
    # One more seat and the smallest state loses one: whoever asks for largest remainders gets this too.
    states = {"a": 6, "b": 6, "c": 2}
    assert largest_remainder(states, 10)["c"] == 2
    assert largest_remainder(states, 11)["c"] == 1


cells = st.dictionaries(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), st.integers(0, 20), max_size=9)


@given(cells, totals)
def test_a_split_over_two_tags_is_even_over_the_first_and_inside_it(
    capacities: dict[tuple[str, ...], int], total: int
) -> None:
    taken = Nesting([even, even], 0).split(capacities, total)
    assert set(taken) == set(capacities)
    first: Counter[str] = Counter()
    room: Counter[str] = Counter()
    for path in capacities:
        assert 0 <= taken[path] <= capacities[path]
        first[path[0]] += taken[path]
        room[path[0]] += capacities[path]
    assert dict(first) == even(room, total)
    for value in first:
        inner = {path[1]: capacities[path] for path in capacities if path[0] == value}
        got = sorted(taken[path] for path in capacities if path[0] == value)
        assert got == sorted(even(inner, first[value]).values())


def test_odd_ones_do_not_pile_up_on_one_value() -> None:
    nesting = Nesting([even], 0)
    capacities: dict[tuple[str, ...], int] = {(band,): 50 for band in ("easy", "hard", "tough")}
    given = Counter[tuple[str, ...]]()
    for quota in "abcdef":
        given.update(nesting.split(capacities, 10, inside=(quota,)))
    assert set(given.values()) == {20}


def test_without_tags_there_is_one_cell() -> None:
    assert Nesting([], 0).split({(): 5}, 3) == {(): 3}


def test_no_value_is_favoured_for_its_name() -> None:
    capacities: dict[tuple[str, ...], int] = {(name,): 9 for name in "abcdefgh"}
    for rule in (even, proportional):
        given = Counter[tuple[str, ...]]()
        for seed in range(400):
            given.update(Nesting([rule], seed).split(capacities, 4))
        assert all(150 < times < 250 for times in given.values())


def test_odd_ones_even_out_inside_a_quota_before_they_make_up_for_others() -> None:
    nesting = Nesting([even, even], 0)
    nesting.split({("p", "hard"): 10}, 10, inside=("a",))
    taken = nesting.split({(axis, band): 9 for axis in "pq" for band in ("easy", "hard")}, 6, inside=("b",))
    assert sum(count for (_, band), count in taken.items() if band == "easy") == 3
