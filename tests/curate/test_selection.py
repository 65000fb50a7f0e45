"""Quotas are met or reported, spread as asked, and the same for the same seed."""

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.curate.selection import (
    Candidate,
    CannotMeet,
    Chosen,
    Nesting,
    Unmet,
    even,
    largest_remainder,
    only_with,
    select,
    unseen,
)
from eyetest.errors import InputError
from eyetest.records import ModelEntry, Select
from tests.support.refusals import refusal

names = st.text("abcdef", min_size=1, max_size=2)
numbers = st.integers(0, 60)
totals = st.integers(0, 200)
weights = st.integers(0, 1000)
capped = st.dictionaries(names, st.tuples(weights, numbers), max_size=8)


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
def test_numbers_add_up_fit_and_are_in_proportion_where_others_are_full(
    pairs: dict[str, tuple[int, int]], total: int
) -> None:
    shares, capacity = ({name: pair[which] for name, pair in pairs.items()} for which in (0, 1))
    taken = largest_remainder(shares, total, capacity)
    assert list(taken) == list(shares)
    assert all(0 <= taken[name] <= capacity[name] for name in shares)
    assert all(taken[name] == 0 for name in shares if shares[name] == 0)
    assert sum(taken.values()) == min(total, sum(capacity[name] for name in shares if shares[name]))
    exact = exact_shares(shares, total, capacity)
    assert all(abs(taken[name] - exact[name]) < 1 for name in shares)


def test_worked_examples() -> None:
    shares = {"a": 470, "b": 160, "c": 158, "d": 120, "e": 61, "f": 31}
    assert largest_remainder(shares, 100) == {"a": 47, "b": 16, "c": 16, "d": 12, "e": 6, "f": 3}
    assert largest_remainder({"a": 1, "b": 1, "c": 2}, 12, {"a": 9, "b": 9, "c": 2}) == {"a": 5, "b": 5, "c": 2}
    assert largest_remainder({"b": 1, "a": 1}, 3) == {"b": 1, "a": 2}
    assert even({"x": 3, "y": 100, "z": 100}, 20) == {"x": 3, "y": 9, "z": 8}
    assert even({"x": 1, "y": 1}, 20) == {"x": 1, "y": 1}


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


MMSTAR = msgspec.convert({"per": "core", "count": 250, "balance": ["axis", "difficulty"]}, Select)
RELEASED = {
    "coarse perception": {"scene and topic": 141, "style & quality": 78, "emotion": 31},
    "fine-grained perception": {"recognition": 118, "counting": 92, "localization": 40},
    "instance reasoning": {"single-instance": 99, "cross-instance attribute": 89, "cross-instance relation": 62},
    "logical reasoning": {"diagram": 110, "common": 101, "code & sequence": 39},
    "science & technology": {"biology": 146, "geography": 58, "electronics": 46},
    "math": {"geometry": 116, "statistical": 86, "numeric": 48},
}
BANDS = ("easy", "moderate", "hard", "tough")


def pool(**cells: Mapping[str, int]) -> list[Candidate]:
    """``pool(kind={"a": 3})``: items of one tag."""
    return [
        Candidate(f"{tag}-{value}-{n}", {tag: value})
        for tag, values in cells.items()
        for value, count in values.items()
        for n in range(count)
    ]


def mmstar_pool(sizes: Mapping[str, Mapping[str, int]]) -> list[Candidate]:
    return [
        Candidate(f"{core}/{axis}/{n}", {"core": core, "axis": axis, "difficulty": BANDS[n % 4]})
        for core, axes in sizes.items()
        for axis, size in axes.items()
        for n in range(size)
    ]


def counts(items: Iterable[Candidate], chosen: Chosen, *tags: str) -> Counter[tuple[str, ...]]:
    taken = set(chosen.ids)
    return Counter(tuple(item.tags.get(tag, "") for tag in tags) for item in items if item.id in taken)


def test_mmstar_takes_250_of_each_core_with_axes_and_bands_as_even_as_can_be() -> None:
    items = mmstar_pool({core: dict.fromkeys(axes, 400) for core, axes in RELEASED.items()})
    chosen = select(items, MMSTAR, seed=0)
    assert counts(items, chosen, "core") == {(core,): 250 for core in RELEASED}
    assert Counter(counts(items, chosen, "core", "axis").values()) == {83: 12, 84: 6}
    assert set(counts(items, chosen, "axis", "difficulty").values()) == {20, 21}
    assert set(counts(items, chosen, "core", "difficulty").values()) == {62, 63}
    assert counts(items, chosen, "difficulty") == {(band,): 375 for band in BANDS}
    assert chosen.unmet == ()


def test_mmstar_takes_the_released_counts_where_the_pool_holds_no_more() -> None:
    items = mmstar_pool(RELEASED)
    assert select(items, MMSTAR, seed=1).ids == tuple(item.id for item in items)
    largest = {core: max(axes.values()) for core, axes in RELEASED.items()}
    more = {core: {axis: 500 for axis, n in axes.items() if n == largest[core]} for core, axes in RELEASED.items()}
    items = mmstar_pool({core: axes | more[core] for core, axes in RELEASED.items()})
    chosen = select(items, MMSTAR, seed=1)
    expected = {(core, axis): size for core, axes in RELEASED.items() for axis, size in axes.items()}
    assert counts(items, chosen, "core", "axis") == expected


def test_a_quota_that_cannot_be_met_is_refused_in_one_line() -> None:
    items = pool(core={"logic": 1, "math": 212, "perception": 400, "reason": 249})
    asked = Select(per="core", count=250)
    assert (
        refusal(select, items, asked, 0, error=CannotMeet)
        == 'cannot take 250 of core "logic": 1 is left, 249 short; and 2 more'
    )
    kept = select(items, msgspec.structs.replace(asked, short="keep-all"), seed=0)
    taken = {"math": 212, "perception": 250, "reason": 249, "logic": 1}
    assert counts(items, kept, "core") == {(core,): count for core, count in taken.items()}
    assert kept.unmet == (
        Unmet('core "logic"', 250, 1), Unmet('core "math"', 250, 212), Unmet('core "reason"', 250, 249),
    )  # fmt: skip


tagged = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from(["e", "h", ""])), min_size=1, max_size=40
)
blocks = st.builds(
    lambda count, balance, in_proportion: Select(
        per="core", count=count, balance=balance, proportional=in_proportion, short="keep-all"
    ),
    st.integers(1, 12),
    st.sampled_from([(), ("axis",)]),
    st.sampled_from([(), ("band",)]),
)


@given(tagged, blocks, st.integers(0, 5), st.randoms(use_true_random=False))
def test_quotas_are_met_or_reported_and_the_order_of_the_pool_does_not_matter_and_is_kept(
    rows: list[tuple[str, str, str]], block: Select, seed: int, random: Random
) -> None:
    items = [Candidate(str(n), {"core": c, "axis": a, "band": b}) for n, (c, a, b) in enumerate(rows)]
    chosen = select(items, block, seed)
    shuffled = random.sample(items, len(items))
    other = select(shuffled, block, seed)
    assert set(other.ids) == set(chosen.ids)
    assert other.unmet == chosen.unmet
    assert list(other.ids) == [item.id for item in shuffled if item.id in set(chosen.ids)]
    got, available = counts(items, chosen, "core"), Counter((core,) for core, *_ in rows)
    assert got == {core: min(block.count or 0, number) for core, number in available.items()}
    missing = sum((block.count or 0) - number for number in got.values())
    assert sum(unmet.asked - unmet.left for unmet in chosen.unmet) == missing


def test_another_seed_chooses_others_and_no_item_is_preferred() -> None:
    items = pool(core={"a": 40})
    drawn = Counter(one for seed in range(400) for one in select(items, Select(count=10), seed).ids)
    assert len(drawn) == 40
    assert all(60 < times < 140 for times in drawn.values())


def test_a_value_from_outside_cannot_break_the_line() -> None:
    with pytest.raises(CannotMeet, match=r'^cannot take 9 of core "a\\nb": 1 is left, 8 short; and 1 more$'):
        select(pool(core={"a\nb": 1, "x" * 500: 1}), Select(per="core", count=9), seed=0)
    with pytest.raises(CannotMeet, match=r'"x{59}…"'):
        select(pool(core={"x" * 500: 1}), Select(per="core", count=9), seed=0)


ITEMS = [
    Candidate("1", {"dimension": "CG", "task": "scene", "source": "TDIUC"}),
    Candidate("2", {"dimension": "CG", "task": "sport", "source": "TDIUC"}),
    Candidate("3", {"dimension": "FG", "task": "counting", "source": "COCO"}),
    Candidate("4", {"dimension": "VGR", "task": "vqa", "source": "OK-VQA"}),
    Candidate("5", {"dimension": "VGR", "task": "vqa", "source": "VQAv2"}),
    Candidate("6", {"dimension": "VGR", "task": "vqa"}),
]


def trained(*names: str) -> ModelEntry:
    return ModelEntry(spec="scripted:x", trained_on=names)


def test_all_tags_must_match_and_any_of_their_values() -> None:
    assert only_with(ITEMS, ["dimension=CG,FG"]) == ITEMS[:3]
    assert only_with(ITEMS, ["dimension=CG,FG", "task=sport,counting"]) == ITEMS[1:3]
    assert only_with(ITEMS, ["source=COCO, OK-VQA"]) == ITEMS[2:4]
    assert only_with(ITEMS, []) == ITEMS


def test_what_no_item_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(InputError, match="only: no tag 'dimensions'; did you mean \"dimension\""):
        only_with(ITEMS, ["dimensions=CG"])
    with pytest.raises(InputError, match="only: no task 'count'; did you mean \"counting\""):
        only_with(ITEMS, ["task=vqa,count"])
    with pytest.raises(InputError, match="found an empty part in 'dimension=CG,'"):
        only_with(ITEMS, ["dimension=CG,"])
    with pytest.raises(InputError, match="no item has dimension=CG and source=COCO,VQAv2"):
        only_with(ITEMS, ["dimension=CG", "source=COCO,VQAv2"])
    with pytest.raises(InputError, match="no item has dimension=FG and task=sport,vqa"):
        only_with(ITEMS, ["dimension=CG,FG", "task=sport,vqa"])


def test_the_union_of_what_the_models_trained_on_is_left_out() -> None:
    models = {"a": trained("vqa v2", "ok_vqa"), "b": trained("VQAV2"), "c": trained()}
    kept, notes = unseen(ITEMS, models, "source")
    assert [item.id for item in kept] == ["1", "2", "3", "6"]
    assert notes == [
        "1 item of OK-VQA left out: a trained on it",
        "1 item of VQAv2 left out: a, b trained on it",
        "c: nothing is known of what they were trained on (trained_on:)",
        "1 item without the tag source kept",
    ]
