"""Tables of estimates for people, spreadsheets, programs and papers."""

from collections.abc import Callable, Mapping

from rich.table import Table
from rich.text import Text

from eyetest.cli.terminal import echo, note, print_json, print_table, safe
from eyetest.measures import Measured
from eyetest.measures.printed import as_latex, csv_text, is_text, plain, told


def print_terminal(name: str, measured: Measured, limit: int) -> None:
    """A table to look at: an interval stands beside its value."""
    words, rows = told(measured.table, limit), len(measured.table)
    table = Table(box=None, header_style="dim", pad_edge=False)
    for column in words:
        table.add_column(column, justify="left" if is_text(measured.table, column) else "right", no_wrap=True)
    for row in zip(*words.values(), strict=True):
        table.add_row(*(Text(safe(cell)) for cell in row))
    print_table(table)
    if 0 < limit < rows:
        note(f"{limit:,} of {rows:,} rows; --limit 0 shows all, --csv prints them")


def print_csv(name: str, measured: Measured, limit: int) -> None:
    """CSV with a column for each bound."""
    echo(csv_text(measured.table))


def print_as_json(name: str, measured: Measured, limit: int) -> None:
    """JSON for another program."""
    print_json({"measure": name, "rows": plain(measured.table).to_dicts(), "notes": list(measured.notes)})


def print_latex(name: str, measured: Measured, limit: int) -> None:
    """A table for a paper (booktabs)."""
    echo(as_latex(measured.table) + "\n")


FORMATS: Mapping[str, Callable[[str, Measured, int], None]] = {
    "terminal": print_terminal,
    "csv": print_csv,
    "json": print_as_json,
    "latex": print_latex,
}
