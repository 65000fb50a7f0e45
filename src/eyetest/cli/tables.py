"""Tables in a terminal, and the same ones for programs."""

from collections.abc import Iterable, Sequence

import polars as pl
from rich.table import Table
from rich.text import Text

from eyetest.cli.terminal import PlainConsole, echo, note, out, print_json, safe
from eyetest.measures import Measured
from eyetest.measures.printed import as_latex, csv_text, is_text, plain, told

_WIDE = 1_000


def print_table(table: Table) -> None:
    """Print a table; one that goes to a file or to another program is as wide as its numbers need."""
    console = out if out.is_terminal else PlainConsole(width=_WIDE)
    console.print(table)


def show_table(
    words: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[object]], title: str | None = None
) -> None:
    """A table to look at: columns of words to the left, of numbers to the right."""
    table = Table(box=None, header_style="dim", pad_edge=False, title=title, title_justify="left")
    for name in words:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(safe(str(cell))) for cell in row))
    print_table(table)


def print_table_as(shape: str, rows: pl.DataFrame, limit: int = 0) -> None:
    """A table of estimates: in the terminal an interval stands beside its value, for others in columns of its own."""
    if shape != "terminal":
        echo(csv_text(rows) if shape == "csv" else as_latex(rows) + "\n")
        return
    words, table = told(rows, limit), Table(box=None, header_style="dim", pad_edge=False)
    for column in words:
        table.add_column(column, justify="left" if is_text(rows, column) else "right", no_wrap=True)
    for row in zip(*words.values(), strict=True):
        table.add_row(*(Text(safe(cell)) for cell in row))
    print_table(table)
    if 0 < limit < len(rows):
        note(f"{limit:,} of {len(rows):,} rows; --limit 0 shows all, --csv prints them")


def print_measured(name: str, measured: Measured, shape: str, limit: int = 0) -> None:
    """What a measure came to, and what has to be said beside it."""
    if shape == "json":
        print_json({"measure": name, "rows": plain(measured.table).to_dicts(), "notes": list(measured.notes)})
        return
    print_table_as(shape, measured.table, limit)
    for line in measured.notes:
        note(line)
