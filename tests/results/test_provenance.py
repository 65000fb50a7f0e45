"""Scores belong to what they were made from: whatever changes of it, the next measure sees it, by no clock."""

import os
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eyetest.benchmarks import Benchmark, copy_without_images
from eyetest.errors import InputError
from eyetest.measures import Results
from eyetest.models import parse_models
from eyetest.records import Asked, Item, Response
from eyetest.results import scores as scored
from eyetest.results.gather import results_of
from eyetest.results.judge import Judge, judge_run
from eyetest.results.scores import read_provenance, score_run
from eyetest.runs import BENCHMARK, Run, RunWriter
from eyetest.runs.journal import part_names, sealed
from eyetest.scoring import Scorer
from eyetest.scoring.scorer import score_table
from tests.scoring.test_table import Reply, animals, make_answers, make_bench, request
from tests.support.refusals import refusal

ITEMS = 10


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    texts = [Item(id=f"t{n}", question=f"What is {n}?", references=("a dog",)) for n in range(2)]
    return make_bench(
        tmp_path / "b", [*(animals(f"q{n}", 1, question=f"Which is {n}?") for n in range(ITEMS)), *texts]
    )


@pytest.fixture
def run(tmp_path: Path, bench: Benchmark) -> Run:
    """All right, by the usual metric."""
    replies = [(Asked(item=item.id, model="m"), "B" if item.choices else "It is a dog.") for item in bench]
    run = make_answers(tmp_path / "r", replies, bench)
    copy_without_images(bench, run.path / BENCHMARK)
    return run


def add(run: Run, asked: Asked, text: str) -> None:
    with RunWriter(run.path) as writer:
        with writer.planning() as plan:
            plan.add(asked, request(99))
        writer.journal.append(Response(request=request(99), outcome="answered", text=text))


def results(run: Run, bench: Benchmark | None = None, **scorer: Any) -> Results:
    return results_of([Run(run.path)], Scorer(**scorer), bench=bench)


def accuracy(run: Run, bench: Benchmark | None = None, **scorer: Any) -> tuple[Any, int]:
    found = results(run, bench, **scorer).scores.select(pl.col("score").mean(), pl.len().alias("n")).collect()
    return found.item(0, "score"), found.item(0, "n")


def age(place: Path, seconds: float) -> None:
    for path in (place, *place.rglob("*")):
        os.utime(path, (seconds, seconds))


def test_another_benchmark_does_not_become_the_score_of_the_run(run: Run, bench: Benchmark, tmp_path: Path) -> None:
    again = [animals(f"q{n}", 2, question=f"Which is {n}?") for n in range(ITEMS)]
    other = make_bench(tmp_path / "other golds", again)
    place = score_run(run, other, Scorer())
    assert place.name.startswith("eyetest.bench-")
    assert accuracy(run) == (1.0, ITEMS + 2)
    assert accuracy(run, other) == (0.0, ITEMS)
    assert score_run(run, Benchmark(bench.path), Scorer()) == run.path / "scores" / "eyetest.parquet", (
        "its own, named"
    )
    (bench.path / "items.parquet").unlink()
    assert accuracy(run, other) == (0.0, ITEMS), "compared with the run's own copy"


def test_golds_that_change_in_the_same_place_are_seen(run: Run, bench: Benchmark) -> None:
    """Where the folder does not say of itself that it has changed, it is refused."""
    run.path.joinpath(BENCHMARK).rename(run.path / "gone")
    assert accuracy(run)[0] == 1.0
    manifest = (bench.path / "benchmark.json").read_bytes()
    changed = [animals(item.id, 2, question=item.question) if item.choices else item for item in bench]
    shutil.rmtree(bench.path)
    make_bench(bench.path, changed)
    (bench.path / "benchmark.json").write_bytes(manifest)
    with pytest.raises(InputError, match=r"holds other items than benchmark\.json"):
        accuracy(run)


@pytest.mark.parametrize("clock", [0.0, 2e9])
def test_copies_whose_clocks_are_scrambled(run: Run, bench: Benchmark, tmp_path: Path, clock: float) -> None:
    place = score_run(run, bench, Scorer())
    kept = place.read_bytes()
    add(run, Asked(item="q0", model="late"), "A")
    stale = tmp_path / "stale"
    shutil.copytree(run.path, stale)
    age(stale, 1e9)
    age(stale / "scores", clock)
    assert accuracy(Run(stale)) == (pytest.approx((ITEMS + 2) / (ITEMS + 3)), ITEMS + 3), "a model is not missed"
    fresh = tmp_path / "fresh"
    shutil.copytree(stale, fresh)
    place = fresh / "scores/eyetest.parquet"
    whole = place.read_bytes()
    assert whole != kept
    age(fresh, 1e9)
    age(fresh / "scores", clock)
    before = place.stat().st_ino
    accuracy(Run(fresh))
    assert place.stat().st_ino == before, "nothing has changed, so nothing is scored again"


def test_a_run_that_grows_while_it_is_scored(run: Run, bench: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was answered meanwhile is not in the table, which is younger than all answers."""

    def slow(*args: Any) -> pl.LazyFrame:
        frame = score_table(*args).collect().lazy()
        add(run, Asked(item="q0", model="late"), "A")
        return frame

    monkeypatch.setattr(scored, "score_table", slow)
    score_run(run, bench, Scorer())
    monkeypatch.setattr(scored, "score_table", score_table)
    age(run.path, 1e9)
    assert accuracy(run)[1] == ITEMS + 3


def test_a_judge_stays_until_the_run_changes_and_is_missed_then(tmp_path: Path, bench: Benchmark) -> None:
    said = [(Asked(item=f"q{n}", model="m"), text) for n, text in enumerate(("Hm.", "B"))]
    run = make_answers(tmp_path / "j", said, bench)
    score_run(run, bench, Scorer())
    (judge,) = parse_models(["wise=scripted:right=1"]).items()
    judge_run(Run(run.path), bench, Scorer(), Judge(*judge))
    found = results(run)
    assert accuracy(run) == (1.0, 2), "its own replies in the journal do not make its readings old"
    assert any("wise read what the rules could not" in note for note in found.notes)
    add(run, Asked(item="q2", model="m"), "B")
    for _ in range(2):  # not only the first time
        found = results(run)
        assert accuracy(run) == (pytest.approx(2 / 3), 3)
        assert any("without the readings of wise" in note for note in found.notes)
    score_run(Run(run.path), bench, Scorer())
    assert not results(run).notes, "nobody asked for a judge this time"


def test_scores_are_not_taken_for_answers_that_are_gone(run: Run, bench: Benchmark) -> None:
    score_run(run, bench, Scorer())
    for part in (sealed(run.path, part_names(run.path)[0]), run.path / "plan.parquet"):
        shutil.move(part, run.path.parent / "aside")
        for do in (lambda: results(run), lambda: score_run(Run(run.path), bench, Scorer())):
            assert part.name in refusal(do)
        shutil.move(run.path.parent / "aside", part)
    assert accuracy(run)[0] == 1.0


def test_what_others_scored_is_scored_again_where_there_are_words(tmp_path: Path, bench: Benchmark) -> None:
    hidden = make_bench(tmp_path / "h", [*bench, animals("no gold")])
    replies: list[tuple[Asked, Reply]] = [
        (Asked(item="q0", model="m"), {"text": "A", "given": 1.0}),
        (Asked(item="q1", model="m"), {"text": None, "given": 0.5}),
        (Asked(item="q2", model="m"), "B"),
        (Asked(item="no gold", model="m"), {"text": "B", "given": 0.25}),
    ]
    run = make_answers(tmp_path / "given", replies, hidden)
    kept = score_run(run, hidden, Scorer())
    ours = score_run(run, hidden, Scorer(rescore_given=True))
    assert pl.read_parquet(kept).get_column("score").to_list() == [1.0, 0.5, 1.0, 0.25]
    rows = pl.read_parquet(ours).select("metric", "score").rows()
    assert rows == [("accuracy", 0.0), ("given", 0.5), ("accuracy", 1.0), ("given", 0.25)]
    assert kept != ours
    assert [getattr(read_provenance(place), "rescored", None) for place in (kept, ours)] == [False, True]
    (note,) = results(run, rescore_given=True).notes
    assert "2 answers with the score that others gave: no words or no gold" in note
    assert accuracy(run)[0] == pytest.approx(2.75 / 4), "the usual table is as it was"
