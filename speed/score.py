"""Score a run of ten million answers: 5,000 items, 200 models, ten samples.

    python speed/score.py [--answers 10000000]

The run is made up, with replies in the manner of real models; reading, scoring and writing the table are measured in
a process of their own. Reading alone, side by side with other tools' rules, is measured by speed/read.py.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Asked, Choice, Item, Manifest, ModelEntry, RunBenchmark, RunStep
from eyetest.runs import RunWriter
from eyetest.runs.journal import SCHEMA
from eyetest.runs.stored import planning, write_part

ITEMS, MODELS = 5_000, 200
WAYS = (
    "{}",
    "({})",
    "{}.",
    "The answer is {}.",
    "**{}**",
    "Answer: {}",
    "I think it is {}",
    "{}\n",
    "Option {}",
    "???",
)
USUAL = msgspec.structs.asdict(Asked(item="", model=""))
SCORE = """
import sys
from pathlib import Path
from eyetest.benchmarks import Benchmark
from eyetest.runs import Run
from eyetest.results.scores import score_run
from eyetest.scoring import Scorer
score_run(Run(Path(sys.argv[1])), Benchmark(Path(sys.argv[2])), Scorer())
"""


def write_benchmark(path: Path) -> Benchmark:
    """Items of four options."""
    with BenchmarkWriter(path, Manifest(name="many")) as writer:
        for number in range(ITEMS):
            choices = tuple(Choice(f"thing {number} {i}", i == number % 4) for i in range(4))
            writer.add(Item(id=str(number), question=f"Which is thing {number}?", choices=choices))
    return Benchmark(path)


def write_run(path: Path, benchmark: Benchmark, answers: int) -> None:
    """A run folder with so many answers."""
    draw = np.random.default_rng(0)
    about = RunBenchmark(name="many", path=str(benchmark.path), fingerprint=benchmark.manifest.fingerprint)
    with RunWriter(path) as run:
        run.record(RunStep(what="ask"), {f"m{i}": ModelEntry(spec="scripted:") for i in range(MODELS)}, about)
    replies = np.array([way.format(mark) for way in WAYS for mark in "ABCD"])
    empty = pl.from_arrow(SCHEMA.empty_table())
    numbers = np.arange(ITEMS * MODELS)
    with planning(path) as plan:
        for sample in range(max(1, answers // len(numbers))):
            request = pl.Series([f"{sample:08x}{number:024x}" for number in numbers])
            columns: dict[str, Any] = USUAL | {
                "item": pl.Series((numbers % ITEMS).astype(str)),
                "model": pl.Series(np.char.add("m", (numbers // ITEMS).astype(str))),
                "sample": sample,
                "request": request,
            }
            planned = pl.DataFrame(columns)
            plan.add_table(planned.to_arrow())
            answered = pl.select(
                request=request,
                outcome=pl.repeat("answered", len(numbers)),
                text=pl.Series(replies[draw.integers(len(replies), size=len(numbers))]),
            )
            write_part(path, pl.concat([empty, answered], how="diagonal"))  # type: ignore[type-var, arg-type]


def main() -> None:
    """Make the run, score it, say what it cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=10_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        benchmark, run = write_benchmark(Path(folder) / "bench"), Path(folder) / "run"
        write_run(run, benchmark, options.answers)
        started = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-c", SCORE, str(run), str(benchmark.path)])
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        if status:
            sys.exit("scoring failed")
        rows = pl.scan_parquet(run / "scores/eyetest.parquet").select(pl.len()).collect().item()
        cpu, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        print(f"{rows:,} scores: {wall:.0f} s wall, {cpu:.0f} s CPU, {peak:,.0f} MB peak")


if __name__ == "__main__":
    main()
