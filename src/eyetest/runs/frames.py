"""A run as a Polars frame: who was asked what, and what they said."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pyarrow as pa

from eyetest.errors import damaged
from eyetest.runs import responsetable
from eyetest.runs.journal import read_segment, sealed, segment, segment_numbers
from eyetest.runs.plan import PLAN, plan_table

_FEW = ("model", "sight", "ask", "shots", "marks", "method")
"""Columns of few different values; as categories, ten million rows of them fit into memory."""
_SAID = ("request", "outcome", "text", "candidates", "given")


def answers_frame(folder: Path) -> pl.LazyFrame:
    """One row an answer, lazily: the plan's columns, then what was said. What was not asked yet is not there.

    Rows stand in the order of the plan, so that what is made of them is the same each time.
    """
    path = folder / PLAN
    plan = _scan(path) if path.exists() else _frame(plan_table(folder))
    plan = plan.with_columns(pl.col(_FEW).cast(pl.Categorical))
    said = responses_frame(folder).with_columns(pl.col("outcome").cast(pl.Categorical))
    return plan.join(said, on="request", how="inner", maintain_order="left")


def responses_frame(folder: Path) -> pl.LazyFrame:
    """The responses that count, one row a request: of a request that was asked again, the last."""
    parts = [part for number in sorted(segment_numbers(folder)) if (part := part_frame(folder, number)) is not None]
    if not parts:
        return _frame(responsetable.SCHEMA.empty_table()).select(_SAID)
    frame = pl.concat(parts)
    with one_line_if_damaged(folder):
        counts = frame.select(pl.len(), pl.col("request").hash().n_unique().alias("requests")).collect()
    rows, requests = counts.row(0)
    return frame if rows == requests else frame.unique("request", keep="last")


@contextmanager
def one_line_if_damaged(place: Path) -> Iterator[None]:
    """Whatever is wrong with the tables that a lazy frame reads shows when it is collected; it becomes one line."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise damaged(place, error) from None


def part_frame(folder: Path, number: int) -> pl.LazyFrame | None:
    """One segment. It may be sealed between looking for it and opening it; then its Parquet file is there instead."""
    if not sealed(folder, number).exists():
        try:
            return _frame(responsetable.to_table(read_segment(segment(folder, number))[0])).select(_SAID)
        except FileNotFoundError:
            if not sealed(folder, number).exists():  # an empty segment goes without a trace
                return None
    return _scan(sealed(folder, number)).select(_SAID)


def _scan(path: Path) -> pl.LazyFrame:
    """A file by its name alone: brackets and stars in it are no pattern."""
    return pl.scan_parquet(path, glob=False)


def _frame(table: pa.Table) -> pl.LazyFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.lazy()
