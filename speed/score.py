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

import msgspec
import numpy as np
import polars as pl

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Condition, Item, Manifest, ModelEntry, RunBenchmark, RunStep
from eyetest.runs import RunWriter
from eyetest.runs.journal import SCHEMA
from eyetest.runs.stored import PLAN

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
USUAL = msgspec.structs.asdict(Condition())
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
    (path / "responses").mkdir(exist_ok=True)
    plans = []
    share = ITEMS * MODELS
    for sample in range(answers // share):
        numbers = np.arange(share)
        request = pl.Series([f"{sample:08x}{number:024x}" for number in numbers])
        plan = pl.DataFrame(
            {
                "item": pl.Series((numbers % ITEMS).astype(str)),
                "model": pl.Series(np.char.add("m", (numbers // ITEMS).astype(str))),
            }
        ).with_columns(
            *(
                pl.lit(value).alias(name)
                for name, value in (("modality", "image"), ("ask", "direct"), ("shots", "none"))
            ),
            *(pl.lit(0, pl.Int64).alias(name) for name in ("template", "order")),
            *(
                pl.lit(value).alias(name)
                for name, value in (("letters", "upper"), ("method", "generate"), ("history", "gold"))
            ),
            pl.lit(sample, pl.Int64).alias("sample"),
            request.alias("request"),
        )
        plans.append(plan)
        said = {
            "request": request,
            "outcome": pl.repeat("answered", share, eager=True),
            "text": pl.Series(replies[draw.integers(len(replies), size=share)]),
        }
        empty = pl.from_arrow(SCHEMA.empty_table())
        frame = pl.concat([empty, pl.DataFrame(said)], how="diagonal")  # type: ignore[type-var]
        frame.write_parquet(path / f"responses/{sample + 1:06d}.parquet")  # type: ignore[union-attr]
    pl.concat(plans).write_parquet(path / PLAN)


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
