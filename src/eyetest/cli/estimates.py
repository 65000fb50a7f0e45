"""Tables of estimates for people, spreadsheets, programs and papers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
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
    shown = measured.table.head(limit) if limit else measured.table
    told = _told(shown)
    table = Table(box=None, header_style="dim", pad_edge=False)
    for column in told:
        table.add_column(column, justify="left" if _is_text(shown, column) else "right", no_wrap=True)
    for row in zip(*told.values(), strict=True):
        table.add_row(*(Text(safe(cell)) for cell in row))
    print_table(table)
    if len(shown) < len(measured.table):
        note(f"{len(shown):,} of {len(measured.table):,} rows; --limit 0 shows all, --csv prints them")


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


def _told(table: pl.DataFrame) -> dict[str, list[str]]:
    """The columns as words. Bounds go into the column of their value; tags lose their prefix."""
    told: dict[str, list[str]] = {}
    for column in table.columns:
        if _says_nothing(table.get_column(column)):
            continue
        value = column.removesuffix("_low").removesuffix("_high")
        if value != column and value in table.columns:
            continue
        group = [name for name in (column, f"{column}_low", f"{column}_high") if name in table.columns]
        values, *bounds = _whole(table, group)
        cells = [_cell(cell) for cell in values]
        if bounds:
            cells = [_with_bounds(*row) for row in zip(cells, *bounds, strict=True)]
        told[column.removeprefix(TAG).replace("_", " ")] = cells
    return told


def _whole(table: pl.DataFrame, columns: Sequence[str]) -> list[pl.Series]:
    """Columns of ranks and the like, which count without being counts, as whole numbers."""
    floats = [column for column in columns if table.schema[column].is_float()]
    values = table.select(floats).unpivot().get_column("value").drop_nulls() if floats else pl.Series()
    if len(values) and (values.abs().max() or 0) > 1 and (values.round() == values).all():  # type: ignore[operator]
        table = table.with_columns(pl.col(floats).cast(pl.Int64))
    return [table.get_column(column) for column in columns]


def _says_nothing(column: pl.Series) -> bool:
    """Whether a column is empty, or names the only benchmark there is."""
    return column.null_count() == len(column) > 0 or (column.name == "benchmark" and column.n_unique() == 1)


def _with_bounds(cell: str, low: float | None, high: float | None) -> str:
    return cell if low is None or high is None else f"{cell} [{_cell(low)}, {_cell(high)}]"


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
