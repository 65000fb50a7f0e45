"""Tables of estimates as words, for whoever prints them: a terminal, a page, a paper."""

from typing import Any

import polars as pl
import polars.selectors as cs

from eyetest.measures.results import TAG
from eyetest.tabular.sheets import inert

DASH = "–"
_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)
_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>|#"} | {"\n": " ", "\r": " "})


def told(table: pl.DataFrame, limit: int = 0) -> dict[str, list[str]]:
    """The columns as words. Bounds go into the column of their value; tags lose their prefix.

    What no row of the whole table has is left out, but never the value that the table is about, its first.
    """
    words: dict[str, list[str]] = {}
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
        words[column.removeprefix(TAG).replace("_", " ")] = cells
    return words


def is_text(table: pl.DataFrame, column: str) -> bool:
    """Whether a column of `told` holds words; those stand to the left."""
    for name in (column, column.replace(" ", "_"), TAG + column, TAG + column.replace(" ", "_")):
        if name in table.columns:
            return table.schema[name] == pl.String
    return True


def plain(table: pl.DataFrame) -> pl.DataFrame:
    """The table for programs: tags by their names, nothing that JSON cannot hold."""
    known = {column: column.removeprefix(TAG) for column in table.columns if column.startswith(TAG)}
    clear = {old: new for old, new in known.items() if new not in table.columns}
    floats = [name for name, kind in table.schema.items() if kind.is_float()]
    finite = [pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in floats]
    return table.with_columns(finite).rename(clear)


def csv_text(table: pl.DataFrame) -> str:
    """The table for spreadsheets: what `plain` gives, with texts that none of them computes."""
    known = plain(table)
    texts = known.select(cs.string() | cs.categorical() | cs.enum()).cast(pl.String)
    safe = [pl.Series(c.name, [v and inert(v) for v in c], pl.String) for c in texts]
    return known.with_columns(safe).rename(inert).write_csv()


def as_latex(table: pl.DataFrame) -> str:
    """A table for a paper (booktabs)."""
    words = told(table)
    kinds = "".join("l" if is_text(table, column) else "r" for column in words)
    rows = [" & ".join(column.translate(_LATEX) for column in words)]
    rows += [
        " & ".join(cell.translate(_LATEX).replace(DASH, "--") for cell in row)
        for row in zip(*words.values(), strict=True)
    ]
    lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", rows[0] + r" \\", r"\midrule"]
    return "\n".join([*lines, *(row + r" \\" for row in rows[1:]), r"\bottomrule", r"\end{tabular}"])


def as_markdown(table: pl.DataFrame) -> str:
    """A table for a model card or an issue."""
    words = told(table)
    rows = [list(words), *zip(*words.values(), strict=True)]
    lines = ["| " + " | ".join(cell.translate(_MARKDOWN) for cell in row) + " |" for row in rows]
    rule = "|" + "|".join("---" if is_text(table, column) else "--:" for column in words) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


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


def _with_bounds(cell: str, low: str = DASH, high: str = DASH) -> str:
    return cell if DASH in (low, high) else f"{cell} [{low}, {high}]"


def _cell(value: Any) -> str:
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}" if not value or 1e-3 <= abs(value) < 1e4 else f"{value:.2g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
