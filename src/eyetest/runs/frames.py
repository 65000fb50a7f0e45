"""A run as a Polars frame: who was asked what, and what they said."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.errors import InputError, damaged
from eyetest.runs.parts import SCHEMA, PartName, part_names, sealed
from eyetest.runs.plan import PLAN, plan_table
from eyetest.runs.stored import read_part, refuse_if_all_is_damaged, tell_damage
from eyetest.store.checksums import has_checksum
from eyetest.store.regular_files import inside
from eyetest.tabular.record_files import damage_in_one_line

_FEW = ("model", "sight", "ask", "shots", "marks", "method")
"""Columns of few different values; as categories, ten million rows of them fit into memory."""
_SAID = ("request", "outcome", "text", "candidates", "given")


def answers_frame(folder: Path) -> pl.LazyFrame:
    """One row an answer, lazily: the plan's columns, then what was said. What was not asked yet is not there.

    Rows stand in the order of the plan, so that what is made of them is the same each time.
    """
    path = folder / PLAN
    plan = scan_table(path) if path.exists() else _frame(plan_table(folder))
    plan = plan.with_columns(pl.col(_FEW).cast(pl.Categorical))
    said = responses_frame(folder).with_columns(pl.col("outcome").cast(pl.Categorical))
    return plan.join(said, on="request", how="inner", maintain_order="left")


def responses_frame(folder: Path) -> pl.LazyFrame:
    """The responses that count, one row a request: of a request that was asked again, the last."""
    refuse_if_all_is_damaged(folder)
    parts = [frame for name in part_names(folder) if (frame := part_frame(folder, name)) is not None]
    if not parts:
        return _frame(SCHEMA.empty_table()).select(_SAID)
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
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise damaged(place, error) from None


def scan_table(path: Path) -> pl.LazyFrame:
    """A table of ours, lazily, by its name alone: brackets and stars in it are no pattern.

    Polars believes what a file says, so one without a checksum is gone through by Arrow first, which does not.
    """
    path = inside(path, path.parent)
    if not has_checksum(path):
        with damage_in_one_line(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
            for batch in file.iter_batches():
                batch.validate(full=True)
    return pl.scan_parquet(path, glob=False)


def part_frame(folder: Path, name: PartName) -> pl.LazyFrame | None:
    """One part: lazily where it is sealed and sure of itself, otherwise as it can be read."""
    with suppress(InputError, FileNotFoundError):
        path = inside(sealed(folder, name), folder)
        if has_checksum(path) and pq.read_schema(path).equals(SCHEMA):
            return pl.scan_parquet(path, glob=False).select(_SAID)
    part = read_part(folder, name)
    tell_damage(part)
    return None if part.table is None else _frame(part.table.select(_SAID))


def _frame(table: pa.Table) -> pl.LazyFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.lazy()
