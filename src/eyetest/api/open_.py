"""What a notebook begins with: a benchmark, or the answers of a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar, cast

from eyetest.benchmarks import Benchmark, ReadOptions, open_benchmark
from eyetest.runs import Run

Kind = TypeVar("Kind")
Place = str | Path
Bench = Benchmark | Place
"""A benchmark, or where one lies: a folder of ours, or any file that can be read."""
AnyRun = Run | Place


def open(path: Place, read: ReadOptions | None = None) -> Benchmark:  # noqa: A001 (what one types in a notebook)
    """Open a benchmark folder, or any file that eyetest can read as one.

    A file is read once and kept in the cache. Large benchmarks are read as you go.

    >>> bench = et.open("world/benchmark")
    >>> item = next(iter(bench))
    >>> bench[item.id] == item
    True
    """
    return open_benchmark(path, read)


def open_run(path: Place) -> Run:
    """Open the answers of a run, wherever they came from.

    >>> et.open_run("run").manifest.benchmark.items
    60
    """
    return Run(Path(path))


def opened(bench: Bench, *, gold_required: bool = False) -> Benchmark:
    """The benchmark itself. Items whose answer is held back can be asked about and audited all the same."""
    return bench if isinstance(bench, Benchmark) else open_benchmark(bench, ReadOptions(gold_required=gold_required))


def as_run(run: AnyRun) -> Run:
    """The run itself."""
    return run if isinstance(run, Run) else open_run(run)


def several(said: Kind | Sequence[Kind]) -> list[Kind]:
    """One thing, or several of them, as a list. A word is one thing."""
    is_one = isinstance(said, str) or not isinstance(said, Sequence)
    return [cast("Kind", said)] if is_one else list(cast("Sequence[Kind]", said))
