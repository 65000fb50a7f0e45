"""A suite from its file to its tables: what it asks, what counts, and what it says of a file that is wrong."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
import yaml

import eyetest as et
from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.commands.suite import PreparedSuite, SuiteResult, ask, measure_suite, prepare, suite, write_suite
from eyetest.errors import InputError
from eyetest.records import Choice, Item, Manifest
from eyetest.runs import Run

pytestmark = pytest.mark.journey

MODELS: Mapping[str, Any] = {
    "good": {"spec": "scripted:right=0.9", "trained_on": ["FG set"]},
    "fair": {"spec": "scripted:right=0.6,seed=2", "trained_on": ["elsewhere"]},
    "poor": "scripted:right=0.3,seed=3",
}
SUITE: Mapping[str, Any] = {
    "benchmarks": [
        {"bench": "cg", "dimension": "CG", "task": "scene"},
        {"bench": "fg", "tags": {"dataset": "from"}},
        "stp.jsonl",
    ],
    "models": "models.yaml",
    "conditions": {"shots": ["none", "format"], "perturb": ["instruction", "order"], "tests": 3},
}


def write_bench(path: Path, count: int, **tags: str) -> Benchmark:
    """Items with six options each, and one that speaks of the others."""
    with BenchmarkWriter(path, Manifest(name=path.name)) as writer:
        for number in range(count):
            last = "none of the above" if number == count - 1 else "fig"
            texts = ("ash", "box", "cup", "dot", "elm", last)
            choices = tuple(Choice(text, place == number % 5) for place, text in enumerate(texts))
            question = f"What is number {number}?"
            writer.add(Item(id=f"q{number}", question=question, choices=choices, tags=tags))
    return Benchmark(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two benchmark folders, a file, models and a suite."""
    place = tmp_path_factory.mktemp("suite")
    write_bench(place / "cg", 12, dimension="ignored")
    write_bench(place / "fg", 10, dimension="FG", task="detail", **{"from": "FG set"})
    lines = [f'{{"id": "{n}", "question": "Read {n}.", "answer": "word {n}"}}' for n in range(8)]
    (place / "stp.jsonl").write_text("\n".join(lines))
    (place / "models.yaml").write_text(yaml.safe_dump(dict(MODELS)))
    (place / "suite.yaml").write_text(yaml.safe_dump(dict(SUITE)))
    return place


@pytest.fixture(scope="module")
def asked(folder: Path) -> PreparedSuite:
    prepared = prepare(folder / "suite.yaml", folder / "out")
    assert ask(prepared) == (0, None)
    return prepared


@pytest.fixture(scope="module")
def whole(asked: PreparedSuite) -> SuiteResult:
    return measure_suite(asked)


def test_a_run_for_each_benchmark(folder: Path, asked: PreparedSuite) -> None:
    assert sorted(path.name for path in (folder / "out/runs").iterdir()) == ["cg", "fg", "stp"]
    assert len(asked.conditions) == 6
    assert Run(folder / "out/runs/cg").responses().num_rows == 12 * 3 * 6


def test_models_stand_in_rows_and_dimensions_in_columns(folder: Path, whole: SuiteResult) -> None:
    table = whole.tables["accuracy-by-dimension"]
    assert table.columns[:2] == ["model", "shots"]
    dimensions = [name for name in table.columns[2:] if not name.endswith(("_low", "_high"))]
    assert dimensions == ["CG", "FG", "stp", "unread", "mean_rank", "rank"]
    alone = et.measure("accuracy", folder / "out/runs/cg").frame
    both = table.join(alone, on=["model", "shots"])
    assert both.height == 6
    for end in ("", "_low", "_high"):
        assert both.get_column(f"CG{end}").to_list() == pytest.approx(both.get_column(f"accuracy{end}").to_list())
    assert table.filter(shots="none").select("model", "rank").rows() == [("good", 1), ("fair", 2), ("poor", 3)]


def test_the_headline_speaks_of_each_benchmark(folder: Path, tmp_path: Path) -> None:
    """Pooled, two benchmarks would be called "this benchmark"."""
    benchmarks = [str(folder / name) for name in ("cg", "fg")]
    suite = {"benchmarks": benchmarks, "models": dict(MODELS), "conditions": {"modality": ["image", "no-image"]}}
    prepared = prepare(suite, tmp_path / "out")
    ask(prepared)
    page = write_suite(prepared, measure_suite(prepared)).read_text()
    assert "this benchmark" not in page.lower()
    assert " on cg" in page
    assert " on fg" in page


def test_unread_answers_are_in_the_tables_and_notes(folder: Path, tmp_path: Path) -> None:
    models = {"mute": "scripted:right=0.5,refuse=0.5,seed=1", "good": "scripted:right=0.9"}
    prepared = prepare({"benchmarks": [str(folder / "cg")], "models": models}, tmp_path / "out")
    ask(prepared)
    found = measure_suite(prepared)
    for name in ("accuracy-by-dimension", "accuracy-by-task", "scores", "overall"):
        shares = dict(found.tables[name].select("model", "unread").iter_rows())
        assert shares["good"] == 0
        assert shares["mute"] > 0.2
    assert any("answers were not read" in note and "mute" in note for note in found.notes)
    assert "answers were not read" in write_suite(prepared, found).read_text()


def test_every_table_is_there(folder: Path, asked: PreparedSuite, whole: SuiteResult) -> None:
    names = {f"{what}-by-{tag}" for what in ("accuracy", "instability") for tag in ("dimension", "task", "dataset")}
    names |= {"instability-by-source", "scores", "overall", "format-hits", "positions", "circular", "correlation"}
    assert set(whole.tables) == names | {"table-3", "table-4"}
    assert not any("not measured" in note for note in whole.notes)
    hits = whole.tables["format-hits"]
    assert [name for name in hits.columns if not name.endswith(("_low", "_high"))] == ["model", "format", "none"]
    page = write_suite(asked, whole, "eyetest suite suite.yaml").read_text()
    assert all(title in page for title in ("Accuracy by tag", "eyetest suite"))
    assert {path.stem for path in (folder / "out/tables").iterdir()} == set(whole.tables)
    shape = pl.read_csv(folder / "out/tables/scores.csv").shape
    assert shape == whole.tables["scores"].shape
    assert whole.results.items.height == 12 + 10 + 8


def test_what_models_were_trained_on_is_left_out_without_asking(folder: Path, asked: PreparedSuite) -> None:
    before = {path: path.stat().st_mtime_ns for path in (folder / "out/runs").glob("*/run.json")}
    unseen = measure_suite(asked._replace(suite=msgspec.structs.replace(asked.suite, unseen=True)))
    assert set(unseen.results.items.get_column("tag.dataset")) == {"cg", "stp"}
    assert "10 items of FG set left out: good trained on it" in unseen.notes
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_what_an_earlier_suite_asked_does_not_count(folder: Path, asked: PreparedSuite, whole: SuiteResult) -> None:
    conditions = {**SUITE["conditions"], "tests": 2}
    models = {"good": MODELS["good"], "poor": MODELS["poor"]}
    fewer = {**SUITE, "models": models, "conditions": conditions, "limit": 5}
    (folder / "fewer.yaml").write_text(yaml.safe_dump(fewer))
    prepared = prepare(folder / "fewer.yaml", folder / "out")
    part = measure_suite(prepared)
    assert set(part.tables["accuracy-by-dimension"].get_column("model")) == {"good", "poor"}
    assert part.results.scores.select(pl.col("item").n_unique(), pl.len()).collect().row(0) == (15, 15 * 2 * 2 * 2)
    assert part.tables["scores"].get_column("missing").sum() == 0


def test_answers_that_are_there_count_in_the_place_of_asking(folder: Path, asked: PreparedSuite) -> None:
    run = str(folder / "out/runs/cg")
    prepared = prepare({"benchmarks": [{"runs": [run], "dimension": "X"}]}, folder / "recorded")
    assert ask(prepared) == (0, None)
    assert not (folder / "recorded").exists()
    again = measure_suite(prepared)
    assert again.results.items.get_column("tag.dimension").unique().to_list() == ["X"]
    alone = et.measure("accuracy", run).frame.sort("model", "shots")
    scores = again.tables["accuracy-by-dimension"].sort("model", "shots").get_column("X")
    assert scores.to_list() == pytest.approx(alone.get_column("accuracy").to_list())
    other = {"benchmarks": [{"runs": [run, str(folder / "out/runs/fg")]}]}
    with pytest.raises(InputError, match="are about several benchmarks: cg, fg"):
        measure_suite(prepare(other, folder / "recorded"))


def test_a_budget_is_for_all_benchmarks_together(folder: Path, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="the limit of 300 calls is reached"):
        stopped = suite(folder / "suite.yaml", to=tmp_path / "out", budget="calls=300")
    assert (stopped.tables, stopped.exit_code) == ({}, 130)
    runs = [Run(path.parent).responses().num_rows for path in (tmp_path / "out/runs").glob("*/run.json")]
    assert sorted(runs) == [300 - 216, 216]
    sessions = prepare(folder / "suite.yaml", tmp_path / "out").sessions()
    calls = [session.estimate(entry.runs[0]).calls for entry, session in sessions]
    assert calls[0] == 0
    assert calls[1] == 180 - 84


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"benchmrks": []}, 'no setting "benchmrks"; did you mean "benchmarks"?'),
        ({"benchmarks": [{"dimension": "x"}]}, "benchmarks 1: say which benchmark is asked (bench)"),
        ({"benchmarks": ["cg", {"bench": "cg"}]}, 'two benchmarks of the suite are called "cg"'),
        ({"models": []}, "names no models"),
        ({"conditions": {"modalty": "no-image"}}, "condition: no axis 'modalty'; did you mean \"modality\"?"),
        ({"conditions": {"perturb": "ordr"}}, "perturb: no source 'ordr'; did you mean \"order\"?"),
        (
            {"conditions": {"order": 7, "perturb": "order"}},
            "perturb=order starts from the usual order; leave out order",
        ),
        ({"benchmarks": [{"runs": ["r"], "limit": 2}]}, "limit is about what is asked"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(folder: Path, tmp_path: Path, change: dict[str, Any], line: str) -> None:
    (folder / "wrong.yaml").write_text(yaml.safe_dump({**SUITE, **change}))
    with pytest.raises(InputError) as refused:
        prepare(folder / "wrong.yaml", tmp_path / "out")
    assert line in str(refused.value)
    assert not (tmp_path / "out").exists()
