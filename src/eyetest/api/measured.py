"""What a measure came to: a Polars table, what has to be said beside it, and intervals that can be seen."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from eyetest.api.views import card
from eyetest.measures import Settings
from eyetest.measures.printed import as_latex, as_markdown, is_text, told

_MOST_ROWS = 40
_WIDTH = 24


@dataclass(frozen=True, repr=False)
class Measured:
    """A table of estimates. Beside a value ``x`` stand ``x_low`` and ``x_high`` where it has an interval.

    >>> found = et.measure.accuracy("run", where={"sight": "image"})
    >>> found.frame.columns[:4]
    ['model', 'accuracy', 'accuracy_low', 'accuracy_high']
    >>> found.settings.level
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
        columns = words_of(self.frame)
        widths = [max(map(len, (column["name"], *column["cells"]))) for column in columns]
        sides = ["<" if column["kind"] != "number" else ">" for column in columns]
        rows = [[column["name"] for column in columns], *zip(*(column["cells"] for column in columns), strict=True)]
        lines = [
            "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)).rstrip()
            for row in rows
        ]
        if self.left_out:
            lines.append(f"… and {self.left_out:,} more rows in .frame")
        return "\n".join([*lines, *(f"note: {line}" for line in self.notes)])

    def _repr_html_(self) -> str:
        return card(self.name, words_of(self.frame), self.notes, left_out=self.left_out)


def words_of(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """A table in words, a column at a time: its name, its cells, its kind; beside its first intervals, a drawing."""
    words = told(frame, _MOST_ROWS)
    shown: list[dict[str, Any]] = [
        {"name": name, "cells": cells, "kind": "text" if is_text(frame, name) else "number"}
        for name, cells in words.items()
    ]
    if drawn := draw_intervals(frame.head(_MOST_ROWS)):
        scale, value, cells = drawn
        place = next(i for i, column in enumerate(shown) if column["name"] == value.replace("_", " "))
        shown.insert(place + 1, {"name": scale, "cells": cells, "kind": "drawn"})
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
    def place(number: float) -> int:
        return round((number - low) / (high - low or 1.0) * (_WIDTH - 1))

    value, first, last = row
    drawn = [" "] * _WIDTH
    if first is not None and last is not None:
        drawn[place(first) : place(last) + 1] = "─" * (place(last) - place(first) + 1)
        drawn[place(first)], drawn[place(last)] = "├", "┤"
    if value is not None:
        drawn[place(value)] = "●"
    return "".join(drawn)
