"""Folders that were written before are opened, continued and measured as then."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from eyetest.benchmarks import Benchmark
from tests.runs.conftest import Eyetest

KEPT = Path(__file__).parent / "fixtures" / "kept"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(KEPT, tmp_path / "kept")
    monkeypatch.chdir(tmp_path / "kept")
    return tmp_path / "kept"


def test_a_benchmark_opens(kept: Path) -> None:
    benchmark = Benchmark(kept / "benchmark")

    assert len(list(benchmark)) == 36
    assert (
        benchmark.manifest.fingerprint
        == json.loads((kept / "run" / "run.json").read_bytes())["benchmark"]["fingerprint"]
    )


def test_a_subset_of_a_benchmark_knows_what_it_was(kept: Path, eyetest: Eyetest) -> None:
    old = json.loads((kept / "benchmark/benchmark.json").read_bytes())
    eyetest("subset", "benchmark", "--to", "part", "--only", "task=fact,area,follow").fine()

    part = json.loads((kept / "part/benchmark/benchmark.json").read_bytes())
    assert [revision["fingerprint"] for revision in part["revisions"]] == [old["fingerprint"]]
    assert len(list(Benchmark(kept / "part/benchmark"))) == 6


@pytest.mark.parametrize("measure", ["accuracy", "gain"])
def test_a_run_measures_the_same(kept: Path, eyetest: Eyetest, measure: str) -> None:
    """But for the last digits, which depend on the order of sums."""
    texts = eyetest("measure", measure, "run", "--output", "json").out, (kept / f"{measure}.json").read_text()
    told, then = (json.loads(text, parse_float=lambda number: round(float(number), 12)) for text in texts)
    assert told == then


def test_a_run_goes_on_and_asks_only_what_is_left(kept: Path, eyetest: Eyetest) -> None:
    told = eyetest("run", "benchmark", "--models", "models.yaml", "--model", "keen,dull",
                  "--to", "run", "--condition", "image,no-image-guess", "--samples", "2").fine()  # fmt: skip

    assert "88 of 88 calls" in told
    assert pl.scan_parquet(kept / "run/responses/*.parquet").select(pl.len()).collect().item() == 288


def test_a_killed_run_goes_on_from_its_journal(kept: Path, eyetest: Eyetest) -> None:
    told = eyetest("run", "benchmark", "--models", "slow.yaml", "--to", "killed",
                  "--condition", "image,no-image-guess", "--samples", "2").fine()  # fmt: skip

    assert "80 of 80 calls" in told


def test_a_refinement_goes_on_with_what_people_decided(kept: Path, eyetest: Eyetest) -> None:
    waiting = pl.read_csv(kept / "refined/review/queue.csv")["item"]
    rows = [
        {"item": item, "reviewer": "a", "decision": "drop" if n < 3 else "keep"} for n, item in enumerate(waiting)
    ]
    pl.DataFrame(rows).write_csv(kept / "refined/review/decisions.csv")

    eyetest("refine", "benchmark", "--recipe", "recipe.yaml", "--to", "refined", "--models", "models.yaml",
           "--panel", "readers=keen,dull,guess", "--panel", "lookers=keen,dull")  # fmt: skip

    verdicts = pl.read_parquet(kept / "refined/verdicts.parquet").filter(pl.col("stage") == "review")
    assert dict(verdicts["verdict"].value_counts().iter_rows()) == {"keep": 7, "drop": 3}
    assert len(list(Benchmark(kept / "refined/benchmark"))) == 7
