"""Cards that notebooks show: an item with its pictures, a benchmark, a run, a table of estimates.

Whatever a dataset says is text there, never markup: templates escape it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import home_of
from eyetest.measures import Settings
from eyetest.measures.printed import as_latex, as_markdown, is_text, told
from eyetest.pages.item_view import Album, show_item
from eyetest.pages.page import clip, fill_page, plain
from eyetest.records import Item
from eyetest.runs import Run
from eyetest.runs.stored import answers_frame, one_line_if_damaged
from eyetest.wording import counted, listed

_FIRST_ITEMS = 3
_LONGEST_CELL = 200
_MOST_ROWS = 40
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
    shown = {name: clip(value, _LONGEST_CELL) for name, value in facts.items() if value}
    return _page("benchmark.html.j2", title=f"{manifest.name}, version {manifest.version}", facts=shown, items=first)


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
    title = f"{about.name}, {counted(about.items, 'item')}" if about else "answers without a benchmark"
    return card(f"Run: {title}", columns, [str(run.path)])


def _outcomes(run: Run, heads: Sequence[str]) -> list[dict[str, Any]]:
    with one_line_if_damaged(run.path):
        frame = answers_frame(run.path).group_by(pl.col(heads).cast(pl.String)).agg(pl.len().alias("answers"))
        return frame.sort(heads).collect(engine="streaming").to_dicts()


def _shown(item: Item) -> dict[str, Any]:
    album = Album(next((home for image in item.images if (home := home_of(image))), None))
    shown = show_item(item.id, "", [], item, album)
    return {"shown": shown, "pixels": {picture.ref: url for picture, url in album.pictures}}


def _page(template: str, **contents: Any) -> str:
    return fill_page(template, contents, "eyetest.jobs")


@dataclass(frozen=True, repr=False)
class MeasureTable:
    """A table of estimates. Beside a value ``x`` stand ``x_low`` and ``x_high`` where it has an interval.

    >>> table = et.measure.accuracy("run", where={"sight": "image"})
    >>> table.frame.columns[:4]
    ['model', 'accuracy', 'accuracy_low', 'accuracy_high']
    >>> table.settings.level
    0.95
    """

    name: str
    frame: pl.DataFrame
    notes: tuple[str, ...]
    settings: Settings
    """How it was measured: by what, at which level, with which seed."""

    def __len__(self) -> int:
        return len(self.frame)

    def to_latex(self) -> str:
        r"""The table for a paper.

        >>> et.measure.accuracy("run").to_latex().splitlines()[-1]
        '\\end{tabular}'
        """
        return as_latex(self.frame)

    def to_markdown(self) -> str:
        """The table for a model card or an issue.

        >>> et.measure.accuracy("run").to_markdown().splitlines()[0][:28]
        '| model | sight | accuracy |'
        """
        return as_markdown(self.frame)

    @property
    def left_out(self) -> int:
        """Rows that are not shown."""
        return max(0, len(self) - _MOST_ROWS)

    def __repr__(self) -> str:
        return "\n".join([*lines_of(self.frame), *(f"note: {line}" for line in self.notes)])

    def _repr_html_(self) -> str:
        return card(self.name, words_of(self.frame), self.notes, left_out=self.left_out)


def lines_of(frame: pl.DataFrame) -> list[str]:
    """A table as lines of text; of a long one its first rows, and how many more there are."""
    columns = words_of(frame)
    widths = [max(map(len, (column["name"], *column["cells"]))) for column in columns]
    sides = ["<" if column["kind"] != "number" else ">" for column in columns]
    rows = [[column["name"] for column in columns], *zip(*(column["cells"] for column in columns), strict=True)]
    lines = [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)).rstrip()
        for row in rows
    ]
    more = [f"… and {len(frame) - _MOST_ROWS:,} more rows in .frame"] if len(frame) > _MOST_ROWS else []
    return [*lines, *more]


def words_of(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """A table in words, a column at a time: its name, its cells, its kind; beside its first intervals, a drawing."""
    words = told(frame, _MOST_ROWS)
    shown: list[dict[str, Any]] = [
        {"name": name, "cells": cells, "kind": "text" if is_text(frame, name) else "number"}
        for name, cells in words.items()
    ]
    if drawn := draw_intervals(frame.head(_MOST_ROWS)):
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
