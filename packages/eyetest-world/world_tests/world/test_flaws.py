import math
from collections import Counter
from fractions import Fraction

import msgspec
import pytest
from eyetest_world import FLAWS, Rates, load_rates
from eyetest_world.flaws import plan
from hypothesis import given
from hypothesis import strategies as st

from world_tests.world.conftest import World


@given(
    st.dictionaries(st.sampled_from([flaw for flaw in FLAWS if flaw != "leaked-to-lvlms"]), st.integers(0, 60)),
    st.lists(st.integers(0, 400), max_size=4, unique=True),
    st.integers(1, 3000),
)
def test_rates_are_met_as_exactly_as_whole_numbers_allow(
    rates: dict[str, int], groups: list[int], items: int
) -> None:
    asked = Rates(
        rates={flaw: rate / 1000 for flaw, rate in rates.items()},
        groups={f"g{share}": share / 1000 for share in groups},
    )
    planned = plan(asked, items)
    assert len(planned) == items
    counted = Counter(one.flaw for one in planned if one)
    for flaw, rate in rates.items():
        exact = Fraction(rate, 1000) * items
        assert math.floor(exact) <= counted[flaw] <= math.ceil(exact)
    for share in groups:
        leaked = sum(f"g{share}" in one.leaked_to for one in planned if one)
        assert abs(leaked - Fraction(share, 1000) * items) < len(groups)


def test_the_default_world_has_what_its_file_says(default_world: World) -> None:
    asked = load_rates("default")
    counted = Counter(flaw for truth in default_world.truths.values() for flaw in truth.flaws)
    assert counted == {flaw: round(600 * rate) for flaw, rate in asked.rates.items()} | {"leaked-to-lvlms": 180}
    leaked = Counter(to for truth in default_world.truths.values() for to in truth.leaked_to)
    assert leaked == {"text": 36, "few": 30, "some": 90, "many": 180}
    assert {len(truth.flaws) for truth in default_world.truths.values()} == {0, 1}
    for truth in default_world.truths.values():
        if "few" in truth.leaked_to:
            assert truth.leaked_to == ("few", "some", "many")


def test_leaks_say_the_marked_answer(default_world: World) -> None:
    lines = (default_world.path / "leaks.jsonl").read_bytes().splitlines()
    leaked = [msgspec.json.decode(line) for line in lines]
    assert len(leaked) == 36 + 30 + 90 + 180
    for row in leaked:
        item, truth = default_world.items[row["item"]], default_world.truths[row["item"]]
        assert row["to"] in truth.leaked_to
        assert row["text"].startswith(item.question)
        assert row["text"].endswith(f"Answer: {truth.gold}. {item.choices[item.gold[0]].text}")


@pytest.mark.parametrize("flaw", ["exact-duplicate", "near-duplicate"])
def test_copies_are_copies_of_items_without_a_flaw(flaw: str, default_world: World) -> None:
    for truth in default_world.with_flaw(flaw):
        copy, source = default_world.items[truth.item], default_world.items[truth.twin]
        assert default_world.truths[truth.twin].flaws == ()
        exact = flaw == "exact-duplicate"
        assert (copy.question == source.question) == exact
        assert (copy.images == source.images) == exact
        assert (copy.choices == source.choices) == exact or not exact
        assert {(c.text, c.correct) for c in copy.choices} == {(c.text, c.correct) for c in source.choices}


def test_what_else_flaws_do(default_world: World) -> None:
    for truth in default_world.with_flaw("answer-in-question"):
        item = default_world.items[truth.item]
        assert item.choices[item.gold[0]].text in item.question
    for truth in default_world.with_flaw("gold-longest"):
        lengths = [len(choice.text) for choice in default_world.items[truth.item].choices]
        assert lengths.index(max(lengths)) == default_world.items[truth.item].gold[0]
        assert lengths.count(max(lengths)) == 1
    for truth in default_world.with_flaw("impossible"):
        assert truth.shown != truth.kind
        assert truth.right == ()
    for truth in default_world.with_flaw("trivially-easy"):
        gold = default_world.items[truth.item].choices[default_world.items[truth.item].gold[0]].text
        assert msgspec.json.decode(truth.scene)["banner"] == gold
