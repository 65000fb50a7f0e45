"""Cards that notebooks show: an item with its images, a benchmark, a run, a table of estimates.

Whatever a dataset says is text there, never markup: templates escape it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import home_of
from eyetest.commands.show import StatusResult, benchmark_facts
from eyetest.measures.printed import is_text, told
from eyetest.pages.item_view import Album, show_item
from eyetest.pages.page import clip, fill_page
from eyetest.records import Item
from eyetest.runs import Run

_FIRST_ITEMS = 3
_LONGEST_CELL = 200
MOST_SHOWN = 40
_WIDTH = 24


def card(
    title: str,
    columns: Sequence[Mapping[str, Any]],
    notes: Iterable[str] = (),
    *,
    sentences: Iterable[str] = (),
    left_out: int = 0,
) -> str:
    """A table as a card. A column has a ``name``, ``cells`` of text, and a ``kind``: text, number or drawn."""
    more = {"notes": notes, "sentences": sentences, "left_out": left_out}
    return _page("table.html.j2", title=title, columns=columns, **more)


def item_card(item: Item) -> str:
    """An item with its images, wherever a benchmark that has them was opened, and its gold marked."""
    return _page("item.html.j2", items=[_shown(item)])


def benchmark_card(benchmark: Benchmark) -> str:
    """What a benchmark says of itself, and its first items."""
    first = [_shown(item) for item in benchmark.take(range(min(_FIRST_ITEMS, len(benchmark))))]
    facts = {name: clip(value, _LONGEST_CELL) for name, value in benchmark_facts(benchmark).items()}
    title = f"{benchmark.manifest.name}, version {benchmark.manifest.version}"
    return _page("benchmark.html.j2", title=title, facts=facts, items=first)


def run_card(run: Run) -> str:
    """Who was asked about what, and what came of it."""
    return StatusResult(run)._repr_html_()


def _shown(item: Item) -> dict[str, Any]:
    album = Album(next((home for image in item.images if (home := home_of(image))), None))
    shown = show_item(item.id, "", [], item, album)
    return {"shown": shown, "pixels": {image.ref: url for image, url in album.images}}


def _page(template: str, **contents: Any) -> str:
    return fill_page(template, contents, "eyetest.commands")


def words_of(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """A table in words, a column at a time: its name, its cells, its kind; beside its first intervals, a drawing."""
    shown: list[dict[str, Any]] = [
        {"name": name, "cells": cells, "kind": "text" if is_text(frame, name) else "number"}
        for name, cells in told(frame, MOST_SHOWN).items()
    ]
    if drawn := draw_intervals(frame.head(MOST_SHOWN)):
        scale, value, cells = drawn
        index = next(i for i, column in enumerate(shown) if column["name"] == value.replace("_", " "))
        shown.insert(index + 1, {"name": scale, "cells": cells, "kind": "drawn"})
    return shown


def draw_intervals(table: pl.DataFrame) -> tuple[str, str, list[str]] | None:
    """The first value that has intervals, drawn on one scale for all rows: the scale, its name, a strip a row."""
    named = (name for name in table.columns if {f"{name}_low", f"{name}_high"} <= {*table.columns})
    value = next((name for name in named if table.get_column(f"{name}_low").is_finite().any()), None)
    if value is None:
        return None
    rows = table.select(value, f"{value}_low", f"{value}_high").rows()
    ends = [number for row in rows for number in row if number is not None]
    low, high = min(ends), max(ends)
    scale = f"{low:.2f}".ljust(_WIDTH - 5) + f"{high:.2f}".rjust(5)
    return scale, value, [_strip(row, low, high) for row in rows]


def _strip(row: tuple[float | None, float | None, float | None], low: float, high: float) -> str:
    def at(number: float) -> int:
        return round((number - low) / (high - low or 1.0) * (_WIDTH - 1))

    value, first, last = row
    drawn = [" "] * _WIDTH
    if first is not None and last is not None:
        drawn[at(first) : at(last) + 1] = "─" * (at(last) - at(first) + 1)
        drawn[at(first)], drawn[at(last)] = "├", "┤"
    if value is not None:
        drawn[at(value)] = "●"
    return "".join(drawn)
