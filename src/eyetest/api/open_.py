"""What a notebook begins with: a benchmark, or the answers of a run. It shows them, and items, as cards.

The rooms below know nothing of pages, so cards are put on their classes here, and drawn when somebody looks.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from eyetest.benchmarks import Benchmark, ReadOptions, open_benchmark
from eyetest.jobs import opening
from eyetest.jobs.opening import AnyPath, AnyRun
from eyetest.records import Item
from eyetest.runs import Run

_CARDS: dict[type, str] = {Benchmark: "benchmark_card", Item: "item_card", Run: "run_card"}


def open(path: AnyPath, read: ReadOptions | None = None) -> Benchmark:  # noqa: A001 (what one types in a notebook)
    """Open a benchmark folder, or any file that eyetest can read as one.

    A file is read once and kept in the cache. Large benchmarks are read as you go: ``bench["17"]`` is the item of
    that id, ``bench[17]`` the one at that place, counted from 0, ``bench[:5]`` the first five; ``bench.frame`` is a
    Polars table of all.

    >>> bench = et.open("world/benchmark")
    >>> item = next(iter(bench))
    >>> bench[item.id] == bench[0] == bench[:5][0] == item
    True
    >>> bench.frame.columns[:5]
    ['id', 'question', 'options', 'gold', 'images']
    """
    return open_benchmark(path, read)


def open_run(path: AnyRun) -> Run:
    """Open the answers of a run, wherever they came from.

    >>> et.open_run("run").manifest.benchmark.items
    60
    """
    return opening.open_run(path)


def _drawn_by(name: str) -> Callable[[Any], str]:
    return lambda thing: str(getattr(import_module("eyetest.api.views"), name)(thing))


for _kind, _name in _CARDS.items():
    _kind._repr_html_ = _drawn_by(_name)  # type: ignore[attr-defined]
