"""Quotas are met or told, spread as asked, and the same for the same seed."""

from collections import Counter
from collections.abc import Iterable, Mapping
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.curate.selection import Candidate, CannotMeet, Chosen, Unmet, candidate, largest_remainder, select
from eyetest.errors import InputError
from eyetest.records import Item, Select
from tests.support.work import steps

MMSTAR = msgspec.convert({"per": "core", "count": 250, "balance": ["axis", "difficulty"]}, Select)
MMMU_PRO = msgspec.convert({"per": "subject", "count": 60}, Select)
LIME = msgspec.convert({"per": "task", "count": 1200, "proportional": ["difficulty"], "short": "keep-all"}, Select)
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
    wider = {
        core: {axis: 500 if size == largest[core] else size for axis, size in axes.items()}
        for core, axes in RELEASED.items()
    }
    items = mmstar_pool(wider)
    chosen = select(items, MMSTAR, seed=1)
    expected = {(core, axis): size for core, axes in RELEASED.items() for axis, size in axes.items()}
    assert counts(items, chosen, "core", "axis") == expected


def test_mmmu_pro_takes_60_of_each_of_30_subjects() -> None:
    sizes = {f"subject {n:02}": 60 + n * 3 for n in range(30)}
    items = pool(subject=sizes)
    chosen = select(items, MMMU_PRO, seed=0)
    assert len(chosen.ids) == 1800
    assert set(counts(items, chosen, "subject").values()) == {60}


def test_lime_takes_1200_by_difficulty_and_all_of_a_small_task() -> None:
    there = {("chartqa", "middle"): 1500, ("chartqa", "hard"): 733, ("pope", "middle"): 400, ("pope", "hard"): 43}
    items = [
        Candidate(f"{task}{band}{n}", {"task": task, "difficulty": band})
        for (task, band), size in there.items()
        for n in range(size)
    ]
    chosen = select(items, LIME, seed=0)
    share = largest_remainder({"middle": 1500, "hard": 733}, 1200)
    assert counts(items, chosen, "task", "difficulty") == {
        ("chartqa", "middle"): share["middle"],
        ("chartqa", "hard"): share["hard"],
        ("pope", "middle"): 400,
        ("pope", "hard"): 43,
    }
    assert chosen.unmet == (Unmet('task "pope"', 757),)


def test_a_quota_that_cannot_be_met_is_refused_in_one_line() -> None:
    items = pool(core={"logic": 1, "math": 212, "perception": 400, "reason": 249})
    asked = Select(per="core", count=250, values=("math", "perception", "reason", "logic"))
    with pytest.raises(CannotMeet) as refused:
        select(items, asked, seed=0)
    assert str(refused.value) == 'cannot take 250 of core "math": 212 are left, 38 short; and 2 more'
    kept = select(items, msgspec.structs.replace(asked, short="keep-all"), seed=0)
    taken = {"math": 212, "perception": 250, "reason": 249, "logic": 1}
    assert counts(items, kept, "core") == {(core,): count for core, count in taken.items()}
    assert kept.unmet == (Unmet('core "math"', 38), Unmet('core "reason"', 1), Unmet('core "logic"', 249))


def test_only_the_named_values_are_taken_and_one_that_is_not_there_is_missed() -> None:
    items = pool(core={"math": 20, "logic": 20})
    chosen = select(items, Select(per="core", count=5, values=("math",)), seed=0)
    assert counts(items, chosen, "core") == {("math",): 5}
    with pytest.raises(CannotMeet, match=r'5 of core "maths": 0 are left, 5 short \(did you mean "math"\?\)$'):
        select(items, Select(per="core", count=5, values=("maths",)), seed=0)
    with pytest.raises(CannotMeet, match=r'5 of core "zoo": 0 are left, 5 short$'):
        select(items, Select(per="core", total=10, values=("math", "zoo")), seed=0)


def test_a_total_is_spread_over_the_quotas() -> None:
    items = pool(core={"a": 10, "b": 40, "c": 100})
    alike = select(items, Select(per="core", total=90), seed=0)
    assert counts(items, alike, "core") == {("a",): 10, ("b",): 40, ("c",): 40}
    by_size = select(items, Select(per="core", total=30, share="proportional"), seed=0)
    assert counts(items, by_size, "core") == {("a",): 2, ("b",): 8, ("c",): 20}
    with pytest.raises(CannotMeet, match=r"^cannot take 1,000 of all items: 150 are left, 850 short$"):
        select(items, Select(per="core", total=1000), seed=0)


@pytest.mark.parametrize("how", [{"count": 7}, {"total": 7}])
def test_without_per_there_is_one_quota(how: dict[str, int]) -> None:
    items = pool(core={"a": 10, "b": 10})
    chosen = select(items, msgspec.convert(how, Select), seed=0)
    assert len(chosen.ids) == 7
    with pytest.raises(CannotMeet, match=r"^cannot take 7 of all items: 1 is left, 6 short$"):
        select(items[:1], msgspec.convert(how, Select), seed=0)
    assert select([], msgspec.convert({**how, "short": "keep-all"}, Select), seed=0).unmet == (Unmet("all items", 7),)


def test_an_empty_pool_meets_nothing() -> None:
    with pytest.raises(CannotMeet, match=r"^cannot take 250 of each core: 0 are left, 250 short$"):
        select([], MMSTAR, seed=0)
    assert select([], LIME, seed=0).ids == ()


def test_items_without_a_tag_have_a_quota_of_their_own_and_are_told() -> None:
    items = [*pool(core={"math": 9}), Candidate("bare", {}), Candidate("blank", {"core": ""})]
    chosen = select(items, Select(per="core", count=2, balance=()), seed=0)
    assert len(chosen.ids) == 4
    assert chosen.untagged == {"core": 2}
    assert select(items, Select(per="core", count=2, values=("math",)), seed=0).untagged == {}


def test_a_tag_that_no_item_has_is_refused() -> None:
    with pytest.raises(InputError, match="no item has a tag 'axes'; did you mean \"axis\""):
        select(mmstar_pool(RELEASED), Select(per="core", count=1, balance=("axes",)), seed=0)


def test_an_item_that_is_there_twice_is_refused() -> None:
    with pytest.raises(InputError, match="'1' is in the pool 2 times"):
        select([Candidate("1", {}), Candidate("2", {}), Candidate("1", {})], Select(count=1), seed=0)


@pytest.mark.parametrize(
    ("block", "why"),
    [
        ({}, "one of count"),
        ({"count": 1, "total": 1}, "one of count"),
        ({"count": 0}, "Expected `int` >= 1"),
        ({"total": -3}, "Expected `int` >= 1"),
        ({"count": 1, "share": "proportional", "per": "a"}, "share"),
        ({"total": 1, "share": "proportional"}, "share"),
        ({"count": 1, "values": ["a"]}, "name it with per"),
        ({"count": 1, "per": "a", "balance": ["a"]}, '"a" is named 2 times'),
        ({"count": 1, "balance": ["b"], "proportional": ["b"]}, '"b" is named 2 times'),
        ({"count": 1, "per": "a", "values": ["x", "x"]}, '"x" is named 2 times'),
        ({"count": 1, "blance": ["b"]}, "unknown field `blance`"),
    ],
)
def test_a_block_that_says_too_little_or_too_much_is_refused(block: dict[str, object], why: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=why):
        msgspec.convert(block, Select)


def test_a_candidate_has_the_tags_that_hold_one_value() -> None:
    item = Item(id="1", question="?", tags={"core": "math", "year": 2024, "seen": True, "parts": ["a"], "none": None})
    assert candidate(item) == Candidate("1", {"core": "math", "year": "2024", "seen": "yes"})


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


def made(rows: Iterable[tuple[str, str, str]]) -> list[Candidate]:
    return [Candidate(str(n), {"core": c, "axis": a, "band": b}) for n, (c, a, b) in enumerate(rows)]


@given(tagged, blocks, st.integers(0, 5), st.randoms(use_true_random=False))
def test_the_order_of_the_pool_does_not_matter_and_is_kept(
    rows: list[tuple[str, str, str]], block: Select, seed: int, random: Random
) -> None:
    items = made(rows)
    chosen = select(items, block, seed)
    shuffled = random.sample(items, len(items))
    other = select(shuffled, block, seed)
    assert set(other.ids) == set(chosen.ids)
    assert other.unmet == chosen.unmet
    assert list(other.ids) == [item.id for item in shuffled if item.id in set(chosen.ids)]


@given(tagged, blocks, st.integers(0, 5))
def test_each_quota_is_met_or_its_shortage_reported(
    rows: list[tuple[str, str, str]], block: Select, seed: int
) -> None:
    items = made(rows)
    chosen = select(items, block, seed)
    got, available = counts(items, chosen, "core"), Counter((core,) for core, *_ in rows)
    assert got == {core: min(block.count or 0, number) for core, number in available.items()}
    missing = sum((block.count or 0) - number for number in got.values())
    assert sum(unmet.missing for unmet in chosen.unmet) == missing


@given(st.integers(1, 30), st.integers(0, 20))
def test_a_larger_quota_keeps_what_a_smaller_one_took(count: int, seed: int) -> None:
    items = pool(core={"a": 40})
    smaller = select(items, Select(count=count), seed)
    larger = select(items, Select(count=count + 5), seed)
    assert set(smaller.ids) < set(larger.ids)


def test_one_item_more_changes_at_most_one_choice() -> None:
    items = pool(core={"a": 400, "b": 400})
    block = Select(per="core", count=100)
    before = set(select(items, block, 3).ids)
    after = set(select([Candidate("new", {"core": "a"}), *items], block, 3).ids)
    assert len(before - after) <= 1
    assert {one for one in before if "-b-" in one} == {one for one in after if "-b-" in one}


def test_another_seed_chooses_others_and_no_item_is_preferred() -> None:
    items = pool(core={"a": 40})
    drawn = Counter(one for seed in range(400) for one in select(items, Select(count=10), seed).ids)
    assert len(drawn) == 40
    assert all(60 < times < 140 for times in drawn.values())


def test_which_quotas_of_a_total_get_the_odd_ones_depends_on_the_seed() -> None:
    items = pool(core=dict.fromkeys("abcdefgh", 5))
    chosen = (select(items, Select(per="core", total=4), seed) for seed in range(200))
    drawn = Counter(core for one in chosen for core in counts(items, one, "core"))
    assert len(drawn) == 8
    assert all(65 < times < 135 for times in drawn.values())


def test_a_value_from_outside_cannot_break_the_line() -> None:
    with pytest.raises(CannotMeet, match=r'^cannot take 9 of core "a\\nb": 1 is left, 8 short; and 1 more$'):
        select(pool(core={"a\nb": 1, "x" * 500: 1}), Select(per="core", count=9), seed=0)
    with pytest.raises(CannotMeet, match=r'"x{59}…"'):
        select(pool(core={"x" * 500: 1}), Select(per="core", count=9), seed=0)


def test_work_grows_as_the_candidates_do() -> None:
    random = Random(0)
    items = [
        Candidate(
            f"item-{n}",
            {
                "core": f"c{random.randrange(6)}",
                "axis": f"a{random.randrange(18)}",
                "difficulty": random.choice(BANDS),
            },
        )
        for n in range(40_000)
    ]
    few, many = (msgspec.structs.replace(MMSTAR, count=count) for count in (500, 2_000))
    assert len(select(items, many, seed=0).ids) == 12_000
    small, large = steps(lambda: select(items[:10_000], few, seed=0)), steps(lambda: select(items, many, seed=0))
    assert large < 5 * small
