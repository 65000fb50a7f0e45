"""The pages "redo PAPER", command by command, from real files to the paper's tables."""

from pathlib import Path

import polars as pl
import pytest
import yaml

from eyetest.benchmarks import Benchmark
from tests.docs.pages import run_page, write_real

pytestmark = pytest.mark.journey

ITEMS = 30


@pytest.fixture
def here(workdir: Path, shared: Path) -> Path:
    """MathVista and PuzzleVQA as TSV files with images, annotation files, five models and two of their bases."""
    for name, folder in (("mathvista", "mathvista"), ("puzzles", "puzzlevqa")):
        write_real(Path(f"{name}.tsv"), shared / "data" / folder, ITEMS, name)
    models = {
        f"lvlm-{n}": {
            "spec": f"scripted:right=0.{4 + n},blind=0.3,seed={n}", "base": f"llm-{n % 2}", "size_b": 7 * (1 + n % 2),
            "series": f"series-{n % 2}", "encoder": "clip",
        }
        for n in range(5)
    }  # fmt: skip
    models |= {f"llm-{n}": {"spec": f"scripted:right=0.3,blind=0.3,seed={9 + n}"} for n in range(2)}
    Path("models.yaml").write_text(yaml.safe_dump(models))
    Path("elo.csv").write_text("\n".join(["model,score", *(f"lvlm-{n},{1000 + 37 * n}" for n in range(5))]))
    Path("queries.tsv").write_bytes(Path("puzzles.tsv").read_bytes())
    for name in ("VQAv2", "VSR", "A-OKVQA"):
        Path(name).symlink_to(shared / "data/native" / name)
    return workdir


def accuracy_by_hand(run: str, model: str) -> float:
    """A model's share of right answers with the image, from the scores alone."""
    (path,) = Path(run, "scores").glob("*.parquet")
    scores = pl.read_parquet(path).filter(pl.col("model") == model, pl.col("modality") == "image")
    return float(scores["score"].mean())  # type: ignore[arg-type]


def test_mmstar(here: Path) -> None:
    run_page("redo-mmstar.md")
    pool, star = Benchmark(here / "pool"), Benchmark(here / "star/benchmark")
    assert len(pool) == 2 * ITEMS
    assert {item.id.split("/")[0] for item in star} == {"mathvista", "puzzles"}
    (row,) = pl.read_csv(here / "table-5.csv").filter(model="lvlm-4").to_dicts()
    assert row["accuracy"] == pytest.approx(accuracy_by_hand("star-run", "lvlm-4"))


def test_lime(here: Path) -> None:
    printed = run_page("redo-lime.md")
    assert len(Benchmark(here / "lime/benchmark")) < len(Benchmark(here / "pool"))
    assert 20 <= len(Benchmark(here / "fit/benchmark")) <= 28
    assert {"pool", "benchmark"} & {*pl.read_csv(here / "table-2.csv")["benchmark"]}
    assert "saved" in printed["measure cost pool-run lime-run"]


def test_reform_eval(here: Path) -> None:
    run_page("redo-reform-eval.md")
    assert {item.id.split("/")[0] for item in Benchmark(here / "grid")} == {"vqav2", "vsr", "aokvqa"}
    assert len(pl.read_csv(here / "table-4.csv").drop_nulls("dimension")) > 0


def test_mmmu_pro(here: Path) -> None:
    run_page("redo-mmmu-pro.md")
    few, ten, screens = (Benchmark(here / name) for name in ("pro/benchmark", "ten-options/benchmark", "screenshots"))
    assert [item.id for item in ten] == [item.id for item in screens] == [item.id for item in few] != []
    assert max(len(item.choices) for item in ten) == 10
    assert {"original", "ten"} & {*pl.read_csv(here / "table-3.csv").columns}
    assert "Linked settings" in (here / "mmmu-pro.html").read_text()
