"""A run is scored into a table of its own, and nothing else of it moves."""

import shutil
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from eyetest.benchmarks import Benchmark, copy_without_images
from eyetest.errors import InputError
from eyetest.models import parse_models
from eyetest.records import Asked, Condition, Score, columns, shown_order
from eyetest.results.scores import benchmark_of, score_run
from eyetest.running import Asking, Session
from eyetest.runs import BENCHMARK, Run
from eyetest.scoring import Scorer
from tests.running.benches import hashes, read_scores
from tests.scoring.test_table import animals, make_answers, make_bench
from tests.support.refusals import refusal


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    return make_bench(tmp_path / "b", [animals(f"q{n}", n % 4, question=f"Which is {n}?") for n in range(12)])


@pytest.fixture
def run(tmp_path: Path, bench: Benchmark) -> Run:
    texts = ("A dog", "b", "The answer is C.", "?")
    said = [(Asked(item=f"q{n}", model="m"), texts[n % 4]) for n in range(12)]
    return make_answers(tmp_path / "r", said, bench)


# Scores.


def test_other_rules_have_their_own_table_and_responses_stay_byte_for_byte(run: Run, bench: Benchmark) -> None:
    before = hashes(run.path)
    ours = score_run(run, bench, Scorer("eyetest"))
    theirs = score_run(run, bench, Scorer("mmmu"))
    after = hashes(run.path)
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {"scores/eyetest.parquet", "scores/mmmu.parquet"}
    assert (ours, theirs) == tuple(run.path / "scores" / f"{name}.parquet" for name in ("eyetest", "mmmu"))
    by_us, by_them = read_scores(run.path), read_scores(run.path, "mmmu")
    assert tuple(by_us.columns) == columns(Score)
    assert by_us.get_column("choice").to_list()[:4] == ["B", "B", "C", None]
    assert by_them.get_column("choice").to_list()[:4] == ["A", None, "C", None]
    assert by_us.get_column("rule").str.starts_with("eyetest/").all()
    assert by_them.get_column("rule").str.starts_with("mmmu/").all()
    again = score_run(run, bench, Scorer("eyetest")).read_bytes()
    assert hashes(run.path)["scores/mmmu.parquet"] == after["scores/mmmu.parquet"]
    assert again == score_run(run, bench, Scorer("eyetest")).read_bytes(), "the same each time, byte for byte"


@pytest.mark.parametrize("method", ["generate", "likelihood"])
def test_from_asking_to_scores_in_every_order_and_under_all_letters(
    tmp_path: Path, bench: Benchmark, method: Any
) -> None:
    """A scripted model that knows the gold scores 1 and says the gold's letter, however the options were shown."""
    conditions = tuple(
        Condition(order=order, letters=letters, method=method)
        for order in (0, 1, -8)
        for letters in ("upper", "lower", "digit")
    )
    asking = Asking(conditions=conditions)
    Session(bench, parse_models(["knows=scripted:right=1", "errs=scripted:right=0"]), asking).run(tmp_path / "r")
    run = Run(tmp_path / "r")
    score_run(run, bench, Scorer())
    found = read_scores(run.path)
    assert len(found) == 2 * 9 * 12
    assert set(found.get_column("reading")) == {"chosen"}
    letters = pl.col("item").replace_strict({f"q{n}": "ABCD"[n % 4] for n in range(12)})
    knows, errs = (found.filter(pl.col("model") == name) for name in ("knows", "errs"))
    assert set(knows.get_column("score")) == {1.0}
    assert set(errs.get_column("score")) == {0.0}
    assert knows.filter(pl.col("choice") != letters).is_empty()
    assert errs.filter(pl.col("choice") == letters).is_empty()
    moved = [n for n in range(12) if shown_order(animals(f"q{n}"), Condition(order=1)) != (0, 1, 2, 3)]
    assert len(moved) > 6, "orders do differ"


def test_damaged_tables_are_one_line(run: Run, bench: Benchmark) -> None:
    place = score_run(run, bench, Scorer())
    whole = place.read_bytes()
    for damage in (b"", b"PAR1", whole[: len(whole) // 2], b"\0" * len(whole)):
        place.write_bytes(damage)
        assert "is damaged" in refusal(read_scores, run.path)
    pl.DataFrame({"item": ["i"]}).write_parquet(place)
    assert "is damaged" in refusal(read_scores, run.path)


@pytest.mark.parametrize("part", ["plan.parquet", "responses/000001*.parquet"])
def test_a_damaged_run_leaves_its_old_scores_alone(run: Run, bench: Benchmark, part: str) -> None:
    kept = score_run(run, bench, Scorer()).read_bytes()
    (path,) = run.path.glob(part)
    data = path.read_bytes()
    for damage in (b"", data[: len(data) // 2], data[:-4] + b"xxxx"):
        path.write_bytes(damage)
        assert "is damaged" in refusal(score_run, run, bench, Scorer())
        assert [path.name for path in (run.path / "scores").iterdir()] == ["eyetest.parquet"]
        assert (run.path / "scores" / "eyetest.parquet").read_bytes() == kept


# Which benchmark.


def test_a_benchmark_that_changed_is_not_the_one(run: Run, bench: Benchmark, tmp_path: Path) -> None:
    shutil.rmtree(bench.path)
    changed = make_bench(bench.path, [animals("q0", 3), *(animals(f"q{n}", n % 4) for n in range(1, 12))])
    with pytest.raises(InputError, match=r'the benchmark "b" is not at .*; name it with --bench'):
        benchmark_of(run)
    with pytest.raises(InputError, match="holds answers to another version than"):
        benchmark_of(run, changed)


def test_a_run_that_keeps_its_items_outlives_the_benchmark(run: Run, bench: Benchmark, tmp_path: Path) -> None:
    copy_without_images(bench, run.path / BENCHMARK)
    asked = list(bench)
    shutil.rmtree(bench.path)
    assert list(benchmark_of(run)) == asked
    golds = (3, *(n % 4 for n in range(1, 12)))
    again = [animals(f"q{n}", gold, question=f"Which is {n}?") for n, gold in enumerate(golds)]
    repaired = make_bench(tmp_path / "repaired", again)
    assert benchmark_of(run, repaired) is repaired, "other golds, the same questions"
    other = msgspec.structs.replace(asked[0], question="Something else?")
    with pytest.raises(InputError, match=r"asks something else than .*: item 'q0' has changed"):
        benchmark_of(run, make_bench(tmp_path / "other", [other]))
