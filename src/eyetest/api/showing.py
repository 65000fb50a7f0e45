"""Notebooks show benchmarks, items and runs as cards.

The rooms below know nothing of pages, so cards are put on their classes from here, and drawn when somebody looks.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from eyetest.benchmarks import Benchmark
from eyetest.records import Item
from eyetest.runs import Run

_CARDS: dict[type, str] = {Benchmark: "benchmark_card", Item: "item_card", Run: "run_card"}


def _drawn_by(name: str) -> Callable[[Any], str]:
    def draw(thing: Any) -> str:
        drawn: str = getattr(import_module("eyetest.api.views"), name)(thing)
        return drawn

    return draw


for _kind, _name in _CARDS.items():
    _kind._repr_html_ = _drawn_by(_name)  # type: ignore[attr-defined]
