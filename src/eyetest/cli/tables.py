"""Tables in a terminal, and the same ones for programs.

A terminal that is too narrow loses columns, never digits: words are wrapped between words, then the last columns go,
and a line names them.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from eyetest.cli.terminal import PlainConsole, echo, note, out, print_json, safe
from eyetest.measures.printed import as_latex, csv_text, is_text, plain, told
from eyetest.wording import counted

_WIDE = 1_000
_GAP = 2


class Column(NamedTuple):
    """A column of a table: words stand to the left and may be wrapped, numbers to the right, whole."""

    name: str
    cells: Sequence[str]
    has_words: bool = False

    @property
    def widest(self) -> int:
        """As wide as nothing has to be wrapped."""
        return max(cell_len(line) for text in (self.name, *self.cells) for line in text.split("\n"))

    @property
    def narrowest(self) -> int:
        """As wide as no word and no number is broken."""
        whole = [] if self.has_words else self.cells
        words = (word for text in (self.name, *(self.cells if self.has_words else ())) for word in text.split())
        return max(map(cell_len, (*words, *whole)), default=0)


def fitting(columns: Sequence[Column], width: int) -> tuple[list[tuple[Column, int]], list[Column]]:
    """The columns that a width has room for, each with its own width, and those that it has none for.

    What says what a row is about stays: the first column, and the first of numbers.
    """
    kept, left = list(columns), width
    first_number = next((column for column in columns if not column.has_words), None)
    dropped: list[Column] = []
    while sum(one.narrowest for one in kept) + _GAP * (len(kept) - 1) > width:
        last = next((one for one in reversed(kept[1:]) if one is not first_number), None)
        if last is None:
            break
        kept.remove(last)
        dropped.insert(0, last)
    left = width - _GAP * (len(kept) - 1) - sum(one.narrowest for one in kept)
    widths = []
    for column in kept:
        more = max(0, min(left, column.widest - column.narrowest))
        left -= more
        widths.append((column, column.narrowest + more))
    return widths, dropped


def print_columns(columns: Sequence[Column], title: str | None = None) -> None:
    """Print a table; one that goes to a file or to another program is as wide as its numbers need."""
    if not columns:
        return
    widths, dropped = fitting(columns, out.width if out.is_terminal else _WIDE)
    table = Table(box=None, header_style="dim", pad_edge=False)
    for column, width in widths:
        table.add_column(column.name, justify="left" if column.has_words else "right", width=width)
    for row in zip(*(column.cells for column, _ in widths), strict=True):
        table.add_row(*(Text(cell) for cell in row))
    if title:
        out.print(Text(title, "italic"), soft_wrap=True)
    PlainConsole(width=max(out.width, sum(width + _GAP for _, width in widths))).print(table, crop=False)
    if dropped:
        names = ", ".join(column.name for column in dropped)
        note(f"{counted(len(dropped), 'more column')} ({names}): widen the terminal, or add | less -S")


def show_table(
    words: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None
) -> None:
    """A table to look at: columns of words to the left, of numbers to the right."""
    cells = [[safe(str(cell)) for cell in row] for row in rows]
    names = [*words, *numbers]
    columns = zip(*cells, strict=True) if cells else [()] * len(names)
    print_columns(
        [Column(name, of, place < len(words)) for place, (name, of) in enumerate(zip(names, columns, strict=True))],
        title,
    )


def print_table_as(shape: str, rows: pl.DataFrame, limit: int = 0) -> None:
    """A table of estimates: in the terminal an interval stands beside its value, for others in columns of its own."""
    if shape != "terminal":
        echo(csv_text(rows) if shape == "csv" else as_latex(rows) + "\n")
        return
    shown = told(rows, limit)
    print_columns(
        [Column(name, [safe(cell) for cell in cells], is_text(rows, name)) for name, cells in shown.items()]
    )
    if 0 < limit < len(rows):
        note(f"{limit:,} of {len(rows):,} rows; --limit 0 shows all, --csv prints them")


def print_measured(name: str, table: pl.DataFrame, notes: Sequence[str], shape: str, limit: int = 0) -> None:
    """What a measure came to, and what has to be said beside it."""
    if shape == "json":
        print_json({"measure": name, "rows": plain(table).to_dicts(), "notes": list(notes)})
        return
    print_table_as(shape, table, limit)
    for line in notes:
        note(line)
