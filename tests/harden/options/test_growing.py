"""What becomes of items: golds and old options stay, others come, and some are left alone."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy import stats

from eyetest.benchmarks import Benchmark
from eyetest.harden.options import OPTIONS_STEP, GrownOptions, OptionSettings, dealing, grow_options
from eyetest.harden.options.guessing import LEAST_ITEMS, Guesser
from eyetest.probes.audit import run_audit
from eyetest.probes.subject import Subject
from eyetest.records import Choice, ImageRef, Item
from eyetest.world import Truth, load_rates, new_world, read_truth
from tests.harden.options.items import bench, choice_item, numeric_items
from tests.world.solving import Scene, solve


@pytest.fixture(scope="module")
def numeric(tmp_path_factory: pytest.TempPathFactory) -> tuple[Benchmark, GrownOptions]:
    folder = tmp_path_factory.mktemp("numeric")
    items = [item for options in (2, 4, 5) for item in numeric_items(60, options, options)]
    items = [msgspec.structs.replace(item, id=f"i{number}") for number, item in enumerate(items)]
    given = bench(folder / "given", items)
    return given, grow_options(given, folder / "grown", OptionSettings(seed=3))


def test_golds_and_old_options_stay(numeric: tuple[Benchmark, GrownOptions]) -> None:
    given, grown = numeric
    for before, after in zip(given, grown.benchmark, strict=True):
        assert before.id == after.id
        assert before.choices[before.gold[0]] in after.choices
        assert [choice.correct for choice in after.choices].count(True) == 1
        assert {choice.text for choice in before.choices} <= {choice.text for choice in after.choices}
        assert after.lineage[-1].step == OPTIONS_STEP
        assert len({choice.text for choice in after.choices}) == len(after.choices) == 10
        new = [choice for choice in after.choices if choice not in before.choices]
        assert all(choice.provenance.author == "number rule" for choice in new)  # type: ignore[union-attr]


def test_ranks_and_positions_are_uniform(numeric: tuple[Benchmark, GrownOptions]) -> None:
    record = numeric[1].record
    assert record.outcomes == {"grown": 180}
    (ranks,) = record.places("rank").values()
    (positions,) = record.places("position").values()
    assert stats.chisquare(ranks).pvalue > 0.05
    assert max(positions) - min(positions) <= 1


def test_a_flawless_benchmark_raises_no_alarm(numeric: tuple[Benchmark, GrownOptions]) -> None:
    names = ("shortcuts", "looks", "positions", "option-order", "malformed")
    assert not run_audit(Subject(numeric[1].benchmark), names).alarms


def test_the_same_seed_gives_the_same_bytes_in_any_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With as many items as learners need: what they learn must not depend on hashes or threads."""
    learners: list[Guesser] = []

    def new_guesser(*given: Any) -> Guesser:
        learners.append(Guesser(*given))
        return learners[-1]

    monkeypatch.setattr(dealing, "Guesser", new_guesser)
    given = bench(tmp_path / "given", numeric_items(LEAST_ITEMS, 4, 1))
    one, other = (grow_options(given, tmp_path / f"seed-{seed}", OptionSettings(seed=seed)) for seed in (3, 4))
    assert len(learners) == 6
    assert one.benchmark.manifest.fingerprint != other.benchmark.manifest.fingerprint
    command = ("harden", "options", given.path, "--to", tmp_path / "again", "--seed", 3, "--skip-probes")
    program = "from eyetest.cli import main; main()"
    environment = os.environ | {"PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", program, *map(str, command)], check=True, env=environment)
    again = tmp_path / "again/benchmark/items.parquet"
    assert again.read_bytes() == (one.benchmark.path / "items.parquet").read_bytes()


def test_what_is_left_alone_and_why(tmp_path: Path) -> None:
    picture = ImageRef("0" * 64, "png", 8, 8, 10)
    items = [
        choice_item("enough", [str(number) for number in range(100, 110)]),
        Item(id="several", question="Which?", choices=(Choice("1", True), Choice("2", True), Choice("3"))),
        Item(id="no gold", question="Which?", choices=(Choice("1"), Choice("2"))),
        choice_item("pictures", ["<image 1>", "<image 2>"]),
        choice_item("letters", ["12", "15", "Both A and B"]),
        choice_item("polar", ["yes", "no"]),
        choice_item("all", ["12", "15", "All of the above"], gold=2),
        choice_item("none", ["12", "15", "None of these"], gold=2),
        Item(id="open", question="How many?", references=("7",)),
        choice_item("lonely", ["Grace Hopper", "Ada Lovelace"]),
    ]
    assert picture.width == 8
    grown = grow_options(bench(tmp_path / "given", items), tmp_path / "grown", OptionSettings())
    assert {one.item: one.reason for one in grown.record.items} == {
        "enough": "has enough options",
        "several": "several golds",
        "no gold": "no gold",
        "pictures": "pictures in options",
        "letters": "options tied to their order or letters",
        "polar": "only two answers are possible",
        "all": "the gold speaks of other options",
        "none": "the gold speaks of other options",
        "open": "an open question",
        "lonely": "nothing to offer",
    }
    assert list(grown.benchmark) == items
    assert not grown.verdicts


def test_where_nothing_can_be_grown_everything_stays(tmp_path: Path) -> None:
    items = [choice_item(f"y{number}", ["yes", "no"], number % 2, "Is it so?") for number in range(3)]
    grown = grow_options(bench(tmp_path / "given", items), tmp_path / "grown", OptionSettings())
    assert list(grown.benchmark) == items
    assert not grown.verdicts


def test_closing_options_stay_last(tmp_path: Path) -> None:
    items = [
        choice_item(f"{number}", ["120", "150", "210", "All of these", "None of the above"], number % 3)
        for number in range(16)
    ]
    grown = grow_options(bench(tmp_path / "given", items), tmp_path / "grown", OptionSettings())
    after = list(grown.benchmark)
    assert {len(item.choices) for item in after} == {10}
    assert {tuple(one.text for one in item.choices[-2:]) for item in after} == {("All of these", "None of the above")}
    assert Counter(item.gold[0] for item in after) == dict.fromkeys(range(8), 2)


def test_open_numbers_become_choice_items_on_demand(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    golds = [str(int(value)) for value in np.exp(rng.uniform(3, 8, 60))]
    items = [Item(id=f"q{n}", question="What is the value?", references=(gold,)) for n, gold in enumerate(golds)]
    items.append(Item(id="words", question="Who is it?", references=("Ada Lovelace",)))
    grown = grow_options(bench(tmp_path / "given", items), tmp_path / "grown", OptionSettings(open=True))
    *numbers, words = grown.benchmark
    assert words == items[-1]
    assert [item.choices[item.gold[0]].text for item in numbers] == golds
    assert {len(item.choices) for item in numbers} == {10}
    assert not any(item.references for item in numbers)


def test_answers_of_the_same_kind_come_from_other_items(tmp_path: Path) -> None:
    names = [
        "Rome",
        "Oslo",
        "Bonn",
        "Lima",
        "Kyiv",
        "Baku",
        "Doha",
        "Riga",
        "Bern",
        "Cairo",
        "Delhi",
        "Paris",
        "Tunis",
    ]
    items = [
        choice_item(f"c{n}", [names[n % 13], names[(n + 3) % 13], names[(n + 5) % 13]], n % 3, "Which city is shown?")
        for n in range(39)
    ]
    grown = grow_options(bench(tmp_path / "given", items), tmp_path / "grown", OptionSettings(options=6))
    assert Counter(len(item.choices) for item in grown.benchmark) == {6: 39}
    assert set(grown.record.authors) == {"other items"}
    assert grown.record.pool_risk is not None
    assert 0 < grown.record.pool_risk.hits < grown.record.pool_risk.drawn
    offered = Counter(choice.text for item in grown.benchmark for choice in item.choices)
    assert max(offered.values()) <= 1.7 * min(offered.values())


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
