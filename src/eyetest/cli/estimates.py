"""Tables of estimates for people, spreadsheets, programs and papers."""

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import polars.selectors as cs
import typer
from rich.table import Table
from rich.text import Text

from eyetest.cli.terminal import note, print_json, print_table, safe
from eyetest.measures import Measured
from eyetest.measures.results import TAG

_DASH = "–"
_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)


def print_terminal(name: str, measured: Measured, limit: int) -> None:
    """A table to look at: an interval stands beside its value."""
    told, rows = _told(measured.table, limit), len(measured.table)
    table = Table(box=None, header_style="dim", pad_edge=False)
    for column in told:
        table.add_column(column, justify="left" if _is_text(measured.table, column) else "right", no_wrap=True)
    for row in zip(*told.values(), strict=True):
        table.add_row(*(Text(safe(cell)) for cell in row))
    print_table(table)
    if 0 < limit < rows:
        note(f"{limit:,} of {rows:,} rows; --limit 0 shows all, --csv prints them")


def print_csv(name: str, measured: Measured, limit: int) -> None:
    """CSV with a column for each bound."""
    typer.echo(_plain(measured.table).write_csv(), nl=False)


def print_as_json(name: str, measured: Measured, limit: int) -> None:
    """JSON for another program."""
    print_json({"measure": name, "rows": _plain(measured.table).to_dicts(), "notes": list(measured.notes)})


def print_latex(name: str, measured: Measured, limit: int) -> None:
    """A table for a paper (booktabs)."""
    told = _told(measured.table)
    kinds = "".join("l" if _is_text(measured.table, column) else "r" for column in told)
    rows = [" & ".join(column.translate(_LATEX) for column in told)]
    rows += [
        " & ".join(cell.translate(_LATEX).replace(_DASH, "--") for cell in row)
        for row in zip(*told.values(), strict=True)
    ]
    lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", rows[0] + r" \\", r"\midrule"]
    typer.echo("\n".join([*lines, *(row + r" \\" for row in rows[1:]), r"\bottomrule", r"\end{tabular}"]))


FORMATS: Mapping[str, Callable[[str, Measured, int], None]] = {
    "terminal": print_terminal,
    "csv": print_csv,
    "json": print_as_json,
    "latex": print_latex,
}


def _told(table: pl.DataFrame, limit: int = 0) -> dict[str, list[str]]:
    """The columns as words. Bounds go into the column of their value; tags lose their prefix.

    What no row of the whole table has is left out, but never the value that the table is about, its first.
    """
    told: dict[str, list[str]] = {}
    main = next((name for name, kind in table.schema.items() if kind.is_float()), None)
    for column in table.columns:
        if column != main and _says_nothing(table.get_column(column)):
            continue
        value = column.removesuffix("_low").removesuffix("_high")
        if value != column and value in table.columns:
            continue
        group = [name for name in (column, f"{column}_low", f"{column}_high") if name in table.columns]
        values, *bounds = _cells(table.select(group), limit or len(table))
        cells = [_with_bounds(*row) for row in zip(values, *bounds, strict=True)] if bounds else values
        told[column.removeprefix(TAG).replace("_", " ")] = cells
    return told


def _cells(columns: pl.DataFrame, limit: int) -> list[list[str]]:
    """A value and its bounds as words. Ranks and the like, which come in whole and half numbers, stay short."""
    floats = columns.select(cs.float())
    numbers = floats.unpivot().get_column("value").drop_nulls() if floats.width else pl.Series(dtype=pl.Float64)
    halves = bool((numbers.abs() > 1).any()) and bool(((2 * numbers).round() == 2 * numbers).all())
    return [
        [f"{v:g}" if halves and isinstance(v, float) else _cell(v) for v in column.head(limit)] for column in columns
    ]


def _says_nothing(column: pl.Series) -> bool:
    """Whether a column is empty, or names the only benchmark there is."""
    return column.null_count() == len(column) > 0 or (column.name == "benchmark" and column.n_unique() == 1)


def _with_bounds(cell: str, low: str = _DASH, high: str = _DASH) -> str:
    return cell if _DASH in (low, high) else f"{cell} [{low}, {high}]"


def _cell(value: Any) -> str:
    if value is None:
        return _DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}" if not value or 1e-3 <= abs(value) < 1e4 else f"{value:.2g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _is_text(table: pl.DataFrame, told: str) -> bool:
    """Whether a column holds words; those stand to the left."""
    for name in (told, told.replace(" ", "_"), TAG + told, TAG + told.replace(" ", "_")):
        if name in table.columns:
            return table.schema[name] == pl.String
    return True


def _plain(table: pl.DataFrame) -> pl.DataFrame:
    """The table for programs: tags by their names, nothing that JSON cannot hold."""
    known = {column: column.removeprefix(TAG) for column in table.columns if column.startswith(TAG)}
    clear = {old: new for old, new in known.items() if new not in table.columns}
    floats = [name for name, kind in table.schema.items() if kind.is_float()]
    finite = [pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in floats]
    return table.with_columns(finite).rename(clear)
