"""A run as a Polars frame: who was asked what, and what they said."""

from pathlib import Path

import polars as pl

from eyetest.runs import responsetable
from eyetest.runs.journal import read_segment, sealed, segment, segment_numbers
from eyetest.runs.plan import PLAN

_FEW = ("model", "sight", "ask", "shots", "marks", "method")
"""Columns of few different values; as categories, ten million rows of them fit into memory."""
_SAID = ("request", "outcome", "text", "candidates", "given")


def answers_frame(folder: Path) -> pl.LazyFrame:
    """One row an answer, lazily: the plan's columns, then what was said. What was not asked yet is not there."""
    plan = pl.scan_parquet(folder / PLAN).with_columns(pl.col(_FEW).cast(pl.Categorical))
    said = responses_frame(folder).with_columns(pl.col("outcome").cast(pl.Categorical))
    return plan.join(said, on="request", how="inner", maintain_order="left")


def responses_frame(folder: Path) -> pl.LazyFrame:
    """The responses that count, one row a request: of a request that was asked again, the last."""
    parts: list[pl.LazyFrame] = []
    for number in sorted(segment_numbers(folder)):
        if sealed(folder, number).exists():
            parts.append(pl.scan_parquet(sealed(folder, number)).select(_SAID))
        else:
            table = responsetable.to_table(read_segment(segment(folder, number))[0])
            frame = pl.from_arrow(table)
            assert isinstance(frame, pl.DataFrame)
            parts.append(frame.lazy().select(_SAID))
    if not parts:
        empty = pl.from_arrow(responsetable.SCHEMA.empty_table())
        assert isinstance(empty, pl.DataFrame)
        return empty.lazy().select(_SAID)
    frame_ = pl.concat(parts)
    rows, requests = frame_.select(pl.len(), pl.col("request").hash().n_unique().alias("requests")).collect().row(0)
    return frame_ if rows == requests else frame_.unique("request", keep="last")
