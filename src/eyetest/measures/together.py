"""Tests that stand in one table are tests made together: each p has beside it what Holm's rule leaves of it."""

from collections.abc import Sequence

import polars as pl

from eyetest.measures.stats.paired import holm

ADJUSTED = "p_adjusted"


def with_adjusted(table: pl.DataFrame, families: Sequence[str], p: str = "p") -> pl.DataFrame:
    """The table with ``p_adjusted`` after its p: over all rows that are alike in some columns, or over all rows."""
    numbered = table.with_row_index("row")
    parts = numbered.partition_by(families, maintain_order=True) if families else [numbered]
    adjusted: list[float | None] = [None] * len(table)
    for part in parts:
        for row, value in zip(part.get_column("row"), holm(part.get_column(p).to_list()), strict=True):
            adjusted[row] = value
    found = table.with_columns(pl.Series(ADJUSTED, adjusted, pl.Float64))
    names = table.columns
    after = names.index(p) + 1
    return found.select(*names[:after], ADJUSTED, *names[after:])
