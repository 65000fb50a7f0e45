import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
from eyetest_world import FLAWS, Rates, load_rates, new_world, read_truth
from eyetest_world.flaws import plan
from hypothesis import given
from hypothesis import strategies as st

from eyetest.errors import InputError
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


def test_a_second_flaw_only_where_the_file_says_so(tmp_path: Path) -> None:
    rates = msgspec.structs.replace(load_rates("default"), also_leaked=0.2)
    new_world(tmp_path / "w", rates, items=200, seed=4)
    truths = read_truth(tmp_path / "w")
    twice = [truth for truth in truths if len(truth.flaws) == 2]
    flawed = [t for t in truths if t.flaws and "leaked-to-llms" not in t.flaws[:1] and not t.twin]
    assert len(twice) == round(0.2 * len(flawed))
    assert all(truth.flaws[1] == "leaked-to-llms" and "text" in truth.leaked_to for truth in twice)


def test_leaks_say_the_marked_answer(default_world: World) -> None:
    lines = (default_world.path / "leaks.jsonl").read_bytes().splitlines()
    leaked = [msgspec.json.decode(line) for line in lines]
    assert len(leaked) == 36 + 30 + 90 + 180
    for row in leaked:
        item, truth = default_world.items[row["item"]], default_world.truths[row["item"]]
        assert row["to"] in truth.leaked_to
        assert row["text"].startswith(item.question)
        assert row["text"].endswith(f"Answer: {truth.gold}. {item.choices[item.gold[0]].text}")


def test_facts_say_who_asks_about_them(default_world: World) -> None:
    rows = [msgspec.json.decode(line) for line in (default_world.path / "facts.jsonl").read_bytes().splitlines()]
    asked = {item: row for row in rows for item in row["items"]}
    assert set(asked) == {truth.item for truth in default_world.with_flaw("answerable-from-facts")}
    for name, row in asked.items():
        item = default_world.items[name]
        assert row["subject"] in item.question
        assert item.choices[item.gold[0]].text == row["value"]
        assert all(row["value"] in sentence for sentence in row["sentences"])
    values = Counter((row["property"], row["value"]) for row in rows)
    assert set(values.values()) == {5}, "no value is more likely than another"


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


def test_a_world_of_two_options(tmp_path: Path) -> None:
    """What is right or marked stays among them, and blind guessing is right half of the time."""
    new_world(tmp_path / "w", load_rates("two-options"), items=200, seed=4)
    truths = read_truth(tmp_path / "w")
    assert {truth.options for truth in truths} == {2}
    assert all(len(truth.right) == 2 for truth in truths if "two-right-options" in truth.flaws)
    assert all(truth.gold != truth.gold_before for truth in truths if "wrong-gold" in truth.flaws)
    assert 0.4 < sum(truth.gold == "A" for truth in truths) / len(truths) < 0.6
    full = msgspec.structs.replace(load_rates("two-options"), options=0)
    new_world(tmp_path / "f", full, items=200, seed=4)
    for one, other in zip(truths, read_truth(tmp_path / "f"), strict=True):
        assert (one.flaws, one.kind, one.scene) == (other.flaws, other.kind, other.scene)


def test_other_worlds_that_come_with_eyetest(tmp_path: Path) -> None:
    assert set(load_rates("rare").rates.values()) == {0.01}
    assert set(load_rates("rare").rates) == set(load_rates("default").rates)
    unleaked, usual = load_rates("unleaked"), load_rates("default")
    assert unleaked.rates == {flaw: rate for flaw, rate in usual.rates.items() if not flaw.startswith("leaked")}
    assert not unleaked.groups
    (tmp_path / "one.yaml").write_text("options: 1\n")
    with pytest.raises(InputError, match="options: found 1, expected 2 or more"):
        load_rates(str(tmp_path / "one.yaml"))
