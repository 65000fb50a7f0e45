"""Cards that notebooks show: an item with its pictures, a benchmark, a run, a table of estimates.

Whatever a dataset says is text there, never markup: templates escape it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import home_of
from eyetest.pages.item_view import Album, show_item
from eyetest.pages.page import clip, fill_page, plain
from eyetest.records import Item
from eyetest.runs import Run
from eyetest.runs.frames import answers_frame, one_line_if_damaged
from eyetest.wording import counted, listed

_FIRST_ITEMS = 3
_LONGEST_CELL = 200


def card(
    title: str,
    columns: Sequence[Mapping[str, Any]],
    notes: Iterable[str] = (),
    *,
    sentences: Iterable[str] = (),
    left_out: int = 0,
) -> str:
    """A table as a card. A column has a ``name``, ``cells`` of text, and a ``kind``: text, number or drawn."""
    told = {"notes": notes, "sentences": sentences, "left_out": left_out}
    return _page("table.html.j2", title=title, columns=columns, **told)


def item_card(item: Item) -> str:
    """An item with its pictures, wherever a benchmark that has them was opened, and its gold marked."""
    return _page("item.html.j2", items=[_shown(item)])


def benchmark_card(benchmark: Benchmark) -> str:
    """What a benchmark says of itself, and its first items."""
    manifest, counts = benchmark.manifest, benchmark.manifest.counts
    options = ", ".join(f"{number:,} with {count} options" for count, number in counts.options.items())
    facts = {
        "items": f"{counts.items:,}" + (f" ({options})" if options else ""),
        "without options": f"{counts.text_items:,}" if counts.text_items else "",
        "pictures": f"{counts.images:,}, {counts.image_bytes / 2**20:,.1f} MB",
        "licence": manifest.licence,
        "made by": listed([step.step for step in manifest.lineage], 6),
        "folder": str(benchmark.path),
    }
    first = [_shown(item) for item in benchmark.take(range(min(_FIRST_ITEMS, len(benchmark))))]
    told = {name: clip(value, _LONGEST_CELL) for name, value in facts.items() if value}
    return _page("benchmark.html.j2", title=f"{manifest.name}, version {manifest.version}", facts=told, items=first)


def run_card(run: Run) -> str:
    """Who was asked about what, and what came of it."""
    about = run.manifest.benchmark
    heads = ("model", "sight", "ask", "outcome")
    counts = _outcomes(run, heads)
    words = {name: [plain(row[name]) for row in counts] for name in (*heads, "answers")}
    columns = [
        {"name": name, "cells": cells, "kind": "number" if name == "answers" else "text"}
        for name, cells in words.items()
    ]
    told = f"{about.name}, {counted(about.items, 'item')}" if about else "answers without a benchmark"
    return card(f"Run: {told}", columns, [str(run.path)])


def _outcomes(run: Run, heads: Sequence[str]) -> list[dict[str, Any]]:
    with one_line_if_damaged(run.path):
        frame = answers_frame(run.path).group_by(pl.col(heads).cast(pl.String)).agg(pl.len().alias("answers"))
        return frame.sort(heads).collect(engine="streaming").to_dicts()


def _shown(item: Item) -> dict[str, Any]:
    album = Album(next((found for image in item.images if (found := home_of(image))), None))
    shown = show_item(item.id, "", [], item, album)
    return {"shown": shown, "pixels": {picture.ref: url for picture, url in album.pictures}}


def _page(template: str, **contents: Any) -> str:
    return fill_page(template, contents, "eyetest.api")
