"""What becomes of items: golds and old options stay, others come, and some are left alone."""

import os
import subprocess
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pytest
from eyetest_world import Truth, load_rates, new_world, read_truth
from scipy import stats
from world_tests.world.solving import Scene, solve

from eyetest.benchmarks import Benchmark
from eyetest.harden.options.fitting import LEAST_ITEMS
from eyetest.harden.options.growing import GrownOptions, grow_options
from eyetest.harden.options.record import FOUND, OPTIONS_STEP, OptionSettings
from eyetest.probes.audit import run_audit
from eyetest.probes.subject import Subject
from eyetest.records import Choice, Item
from tests.harden.options.items import choice_item, numeric_items, places
from tests.scoring.test_table import make_bench
from tests.support.command import MAIN

pytestmark = pytest.mark.journey


@pytest.fixture(scope="module")
def numeric(tmp_path_factory: pytest.TempPathFactory) -> tuple[Benchmark, GrownOptions]:
    folder = tmp_path_factory.mktemp("numeric")
    items = [item for options in (2, 4, 5) for item in numeric_items(60, options, options)]
    items = [msgspec.structs.replace(item, id=f"i{number}") for number, item in enumerate(items)]
    given = make_bench(folder / "given", items)
    return given, grow_options(given, folder / "grown", OptionSettings(seed=3))


def test_golds_and_old_options_stay(numeric: tuple[Benchmark, GrownOptions]) -> None:
    given, grown = numeric
    kept = {entry.item: entry for entry in grown.record.items}
    for before, after in zip(given, grown.benchmark, strict=True):
        assert before.id == after.id
        assert before.choices[before.gold[0]] in after.choices
        assert [choice.correct for choice in after.choices].count(True) == 1
        assert {choice.text for choice in before.choices} <= {choice.text for choice in after.choices}
        if kept[after.id].reason == FOUND:
            assert after == before
            continue
        assert after.lineage[-1].step == OPTIONS_STEP
        assert len({choice.text for choice in after.choices}) == len(after.choices) == 10
        new = [choice for choice in after.choices if choice not in before.choices]
        assert all(choice.provenance.author == "number rule" for choice in new)  # type: ignore[union-attr]


def test_ranks_and_positions_are_uniform(numeric: tuple[Benchmark, GrownOptions]) -> None:
    record = numeric[1].record
    grown = {entry.item for entry in record.items if entry.outcome == "grown"}
    values = {item.id: [int(choice.text) for choice in item.choices] for item in numeric[1].benchmark}
    golds = {item.id: item.gold[0] for item in numeric[1].benchmark}
    ranks = Counter(sum(value < values[name][golds[name]] for value in values[name]) for name in grown)
    assert set(record.outcomes) <= {"grown", FOUND}
    assert record.outcomes["grown"] > 130
    positions = places(record)
    assert stats.chisquare([ranks[rank] for rank in range(10)]).pvalue > 0.05
    assert max(positions) - min(positions) <= 1


def test_a_flawless_benchmark_raises_no_alarm(numeric: tuple[Benchmark, GrownOptions]) -> None:
    names = ("shortcuts", "surface-cues", "positions", "option-order", "malformed")
    assert not run_audit(Subject(numeric[1].benchmark), names).alarms


def test_the_same_seed_gives_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    """With as many items as learners need: what they learn must not depend on hashes or threads."""
    given = make_bench(tmp_path / "given", numeric_items(LEAST_ITEMS, 4, 1))
    one, other = (grow_options(given, tmp_path / f"seed-{seed}", OptionSettings(seed=seed)) for seed in (3, 4))
    assert one.benchmark.manifest.fingerprint != other.benchmark.manifest.fingerprint
    command = ("harden", "options", given.path, "--to", tmp_path / "again", "--seed", 3)
    environment = os.environ | {"PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    subprocess.run([*MAIN, *map(str, command)], check=True, env=environment)
    again = tmp_path / "again/benchmark/items.parquet"
    assert again.read_bytes() == (one.benchmark.path / "items.parquet").read_bytes()


def test_what_is_left_alone_and_why(tmp_path: Path) -> None:
    complete, refers = "no other answers are possible", "the gold speaks of other options"
    several = (Choice("1", True), Choice("2", True), Choice("3"))
    four = choice_item("count", ["12", "15", "20", "31"], 0, "Which of the four has most?")
    cases = [
        (choice_item("enough", [str(number) for number in range(100, 110)]), "has enough options"),
        (Item(id="several", question="Which?", choices=several), "several golds"),
        (Item(id="no gold", question="Which?", choices=(Choice("1"), Choice("2"))), "no gold"),
        (choice_item("images", ["<image 1>", "<image 2>"]), "images in options"),
        (choice_item("letters", ["12", "15", "Both A and B"]), "options tied to their order or letters"),
        (choice_item("polar", ["yes", "no"]), complete),
        (choice_item("statement", ["True", "False", "The information is insufficient"]), complete),
        (choice_item("how often", ["always", "sometimes", "never"]), complete),
        (four, "the question names letters or number of its options"),
        (choice_item("all", ["12", "15", "All of the above"], gold=2), refers),
        (choice_item("none", ["12", "15", "None of these"], gold=2), refers),
        (Item(id="open", question="How many?", references=("7",)), "an open question"),
        (choice_item("lonely", ["Grace Hopper", "Ada Lovelace"]), "nothing to offer"),
    ]
    items = [item for item, _ in cases]
    grown = grow_options(make_bench(tmp_path / "given", items), tmp_path / "grown", OptionSettings())
    assert {one.item: one.reason for one in grown.record.items} == {item.id: reason for item, reason in cases}
    assert list(grown.benchmark) == items
    assert not grown.verdicts


@pytest.mark.parametrize(
    ("question", "new"),
    [
        ("How long? Select from A, B, C and D.", "How long? Select from the options."),
        ("How long is it? Choose one of (A), (B), (C), (D)", "How long is it? Choose from the options"),
        ("Which of the following four is it?", "Which of the following is it?"),
        ("Pick one of the 4 possible answers.", "Pick one of the possible answers."),
        ("Which of the two options is longer?", "Which of the two options is longer?"),
        ("Is the line from A to D longer than three options?", "Is the line from A to D longer than three options?"),
    ],
)
def test_a_question_that_names_its_options_is_reworded_with_a_record(tmp_path: Path, question: str, new: str) -> None:
    given = make_bench(tmp_path / "given", [choice_item("q", ["120", "150", "210", "340"], 1, question)])
    (item,) = grow_options(given, tmp_path / "grown", OptionSettings()).benchmark
    assert (item.question, len(item.choices)) == (new, 10)
    assert [one.note.split(":")[0] for one in item.lineage][:-1] == ([] if question == new else ["reworded"])


def test_closing_options_stay_last(tmp_path: Path) -> None:
    items = [
        choice_item(f"{number}", ["120", "150", "210", "All of these", "None of the above"], number % 3)
        for number in range(16)
    ]
    grown = grow_options(make_bench(tmp_path / "given", items), tmp_path / "grown", OptionSettings())
    after = list(grown.benchmark)
    assert {len(item.choices) for item in after} == {10}
    assert {tuple(one.text for one in item.choices[-2:]) for item in after} == {("All of these", "None of the above")}
    assert Counter(item.gold[0] for item in after) == dict.fromkeys(range(8), 2)


def test_open_numbers_become_choice_items_on_demand(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    golds = [str(int(value)) for value in np.exp(rng.uniform(3, 8, 60))]
    items = [Item(id=f"q{n}", question="What is the value?", references=(gold,)) for n, gold in enumerate(golds)]
    items.append(Item(id="words", question="Who is it?", references=("Ada Lovelace",)))
    grown = grow_options(make_bench(tmp_path / "given", items), tmp_path / "grown", OptionSettings(open=True))
    *numbers, words = grown.benchmark
    assert words == items[-1]
    assert [item.choices[item.gold[0]].text for item in numbers] == golds
    assert {len(item.choices) for item in numbers} == {10}
    assert not any(item.references for item in numbers)


def check_scene(item: Item, truth: Truth, scene: Scene) -> None:
    right = solve(truth.kind, scene, item.question)
    gold = item.choices[item.gold[0]].text
    assert gold in right
    assert not {choice.text for choice in item.choices if not choice.correct} & right


def test_a_drawn_world_keeps_its_golds(tmp_path: Path) -> None:
    given = new_world(tmp_path / "world", load_rates("none"), items=300, seed=23)
    grown = grow_options(given, tmp_path / "grown", OptionSettings())
    truths = {truth.item: truth for truth in read_truth(tmp_path / "world")}
    for before, after in zip(given, grown.benchmark, strict=True):
        assert before.choices[before.gold[0]].text == after.choices[after.gold[0]].text
        truth = truths[after.id]
        check_scene(after, truth, msgspec.json.decode(truth.scene))
    new = [c.provenance for item in grown.benchmark for c in item.choices if c.provenance is not msgspec.UNSET]
    assert len(new) > 600
    assert {(one.author, one.checked_by) for one in new} == {("scene rule", ("scene graph",))}
