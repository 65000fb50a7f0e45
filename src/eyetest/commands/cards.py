"""Cards that notebooks show: an item with its images, a benchmark, a table of estimates.

Whatever a dataset says is text there, never markup: templates escape it.
"""

from collections.abc import Iterable
from typing import Any

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import home_of
from eyetest.commands.show import benchmark_facts
from eyetest.measures.printed import is_text, texts_of
from eyetest.pages.item_view import Album, show_item
from eyetest.pages.page import clip, fill_page
from eyetest.records import Item

_FIRST_ITEMS = 3
_LONGEST_CELL = 200
_MOST_ROWS = 40


def card(title: str, frame: pl.DataFrame, notes: Iterable[str]) -> str:
    """A table as a card."""
    columns = [
        {"name": name, "cells": cells, "kind": "text" if is_text(frame, name) else "number"}
        for name, cells in texts_of(frame, _MOST_ROWS).items()
    ]
    left_out = max(0, len(frame) - _MOST_ROWS)
    return _page("table.html.j2", title=title, columns=columns, notes=notes, left_out=left_out)


def item_card(item: Item) -> str:
    """An item with its images, wherever a benchmark that has them was opened, and its gold marked."""
    return _page("item.html.j2", items=[_shown(item)])


def benchmark_card(benchmark: Benchmark) -> str:
    """What a benchmark says of itself, and its first items."""
    first = [_shown(item) for item in benchmark.take(range(min(_FIRST_ITEMS, len(benchmark))))]
    facts = {name: clip(value, _LONGEST_CELL) for name, value in benchmark_facts(benchmark).items()}
    title = f"{benchmark.manifest.name}, version {benchmark.manifest.version}"
    return _page("benchmark.html.j2", title=title, facts=facts, items=first)


def _shown(item: Item) -> dict[str, Any]:
    album = Album(next((home for image in item.images if (home := home_of(image))), None))
    shown = show_item(item.id, "", [], item, album)
    return {"shown": shown, "pixels": {image.ref: url for image, url in album.images}}


def _page(template: str, **contents: Any) -> str:
    return fill_page(template, contents, "eyetest.commands")
