"""Write a report over a large run: seconds, bytes and memory of `eyetest report`, gallery off.

    python speed/report.py [--items 2000] [--models 20] [--keep DIR]

The run is made up: models of different strength under three modalities, with refusals and language backbones.
Reading and scoring the answers is done before the clock starts; speed/score.py measures that.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import yaml

from eyetest.benchmarks import BenchmarkWriter
from eyetest.records import Choice, Item, Manifest

MODALITIES = {"image": 1.0, "no-image": -0.4, "caption": 0.3}
"""What each modality adds to a model's ability."""
CORES, AXES = 6, 18
COMMAND = [sys.executable, "-c", "from eyetest.cli import main; main()"]


def write_benchmark(path: Path, items: int) -> None:
    """Items of four options, tagged as MMStar tags them."""
    with BenchmarkWriter(path, Manifest(name="large")) as writer:
        for number in range(items):
            choices = tuple(Choice(f"thing {number} {i}", i == number % 4) for i in range(4))
            tags = {"core": f"core {number % CORES}", "axis": f"axis {number % AXES:02d}"}
            item = Item(id=str(number), question=f"Which is thing {number}?", choices=choices, tags=tags)
            writer.add(item)


def answers(items: int, models: int) -> pl.DataFrame:
    """What models say: right more often the better they are, the easier the item is and the more they see."""
    draw = np.random.default_rng(0)
    hard = draw.normal(0, 1, items)
    parts = []
    for index, name in enumerate(names(models)):
        for modality, help_ in MODALITIES.items():
            ability = index / models * 2 - 1 + help_
            right = draw.random(items) < 0.25 + 0.75 / (1 + np.exp(hard - ability))
            gold = np.arange(items) % 4
            said = np.where(right, gold, (gold + draw.integers(1, 4, items)) % 4)
            text = np.array(list("ABCD"))[said].astype(object)
            text[draw.random(items) < 0.02] = "I'm sorry, but I can't help with that."
            parts.append(pl.DataFrame({"item": np.arange(items).astype(str), "text": text.astype(str)})
                         .with_columns(pl.lit(name).alias("model"), pl.lit(modality).alias("modality")))  # fmt: skip
    return pl.concat(parts)


def names(models: int) -> list[str]:
    """What the models are called."""
    return [f"model-{number:02d}-chat" for number in range(models)]


def eyetest(*words: str) -> tuple[float, float]:
    """Run one command; its seconds, and its peak in MB."""
    started = time.perf_counter()
    process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"eyetest {words[0]} failed")
    return time.perf_counter() - started, usage.ru_maxrss / 1024


def build(folder: Path, items: int, models: int) -> None:
    """The benchmark, the run, and what is known of the models."""
    write_benchmark(folder / "bench", items)
    answers(items, models).write_parquet(folder / "answers.parquet")
    entries = {name: {"spec": "replay:", "base": names(models)[0]} for name in names(models)[1:]}
    (folder / "models.yaml").write_text(yaml.safe_dump(entries))
    eyetest("import", f"{folder}/answers.parquet", "--to", f"{folder}/run", "--bench", f"{folder}/bench")
    eyetest("score", f"{folder}/run")


def main() -> None:
    """Build, write the page, say what it cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--keep", type=Path, help="leave everything here, to look at")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        build(folder, options.items, options.models)
        page = folder / "report.html"
        more = ("--models", f"{folder}/models.yaml", "--gallery", "0", "--overwrite")
        seconds, peak = eyetest("report", f"{folder}/run", "--page", str(page), *more)
        print(f"{options.items:,} items × {options.models} models × {len(MODALITIES)} modalities: "
              f"{seconds:.1f} s, {page.stat().st_size / 1e6:.2f} MB page, {peak:,.0f} MB peak")  # fmt: skip


if __name__ == "__main__":
    main()
