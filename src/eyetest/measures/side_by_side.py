"""Models side by side on the same items: the array that ranks, spread and shifts are computed from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.measures.results import TAG, Results

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SideBySide:
    """Scores of items × columns, nan where missing. ``key`` says what they share, ``columns`` what not."""

    key: Mapping[str, Any]
    columns: Sequence[tuple[Any, ...]]
    scores: Floats
    clusters: NDArray[np.str_]
    items: Sequence[str] = ()

    def table(self, columns: Sequence[tuple[Any, ...]]) -> Floats:
        """These columns in this order; one that nobody has is nan."""
        place = {column: i for i, column in enumerate(self.columns)}
        nothing = np.full(len(self.scores), np.nan)
        return np.column_stack([self.scores[:, place[c]] if c in place else nothing for c in columns])


def side_by_side(results: Results, around: Sequence[str], across: Sequence[str] = ("model",)) -> list[SideBySide]:
    """One array for each value of the columns ``around``, with a column for each value of the columns ``across``.

    An item's tests are averaged, failed calls are out. Items of the same name, and of the same cluster, are one row.
    """
    tags = [name for name in (*around, *across) if name.startswith(TAG)]
    scores = (
        results.with_items("cluster", *tags)
        .group_by(*around, *across, "item", "cluster")
        .agg(pl.col("score").mean())
        .drop_nulls(["score", *(name for name in across if name.startswith(TAG))])
        .sort(*around, *across, "item", "cluster")
        .collect(engine="streaming")
    )
    if not around:
        return [_arranged({}, scores, across)] if len(scores) else []
    groups = scores.group_by(*around, maintain_order=True)
    return [_arranged(dict(zip(around, key, strict=True)), part, across) for key, part in groups]


def _arranged(key: Mapping[str, Any], scores: pl.DataFrame, across: Sequence[str]) -> SideBySide:
    rows = scores.select("item", "cluster").unique().sort("item", "cluster").with_row_index("row")
    columns = scores.select(across).unique().sort(across).with_row_index("column")
    placed = scores.join(rows, on=("item", "cluster")).join(columns, on=list(across))
    table = np.full((len(rows), len(columns)), np.nan)
    row, column, score = (placed.get_column(name).to_numpy() for name in ("row", "column", "score"))
    table[row, column] = score
    clusters = rows.get_column("cluster").to_numpy().astype(np.str_)
    return SideBySide(key, columns.drop("column").rows(), table, clusters, rows.get_column("item").to_list())
