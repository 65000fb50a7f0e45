"""``plan.parquet``: the planned calls and their request ids."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from eyetest.errors import InputError
from eyetest.records import Asked, Planned, columns
from eyetest.store import replacing_file
from eyetest.store.files import add_checksum, has_checksum, inside
from eyetest.tabular.record_files import damage_in_one_line, from_columns, indices, read_row_groups, schema

PLAN = "plan.parquet"
_SCHEMA = schema(Planned).with_metadata({"version": str(Planned.table_version)})
_KEY = list(columns(Asked))
_ROWS_AT_ONCE = 20_000
_ROW = "number of the row"

Mask = NDArray[np.bool_]


class PlanWriter:
    """Writes a plan over an existing one: newly planned rows replace theirs, the rest stays."""

    def __init__(self, folder: Path) -> None:
        self._path, self._stack = folder / PLAN, ExitStack()
        self._columns: list[list[object]] = [[] for _ in _SCHEMA.names]
        self.rows = 0

    def __enter__(self) -> "PlanWriter":
        self._temporary = self._stack.enter_context(replacing_file(self._path))
        self._parquet = pq.ParquetWriter(self._temporary, _SCHEMA, compression="zstd")
        return self

    def add(self, asked: Asked, request: str) -> None:
        """Append a row."""
        for column, name in zip(self._columns, _KEY, strict=False):
            column.append(getattr(asked, name))
        self._columns[-1].append(request)
        self.rows += 1
        if len(self._columns[-1]) >= _ROWS_AT_ONCE:
            self._flush()

    def add_batch(self, batch: pa.RecordBatch) -> None:
        """Append a batch of rows."""
        self._flush()
        self._parquet.write_batch(batch.select(_SCHEMA.names))
        self.rows += len(batch)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._flush()
        self._parquet.close()
        with self._stack:
            if error is not None:
                raise error
            self._complete()

    def _flush(self) -> None:
        if not self._columns[-1]:
            return
        self._parquet.write_table(from_columns(self._columns, _SCHEMA))
        for column in self._columns:
            column.clear()

    def _complete(self) -> None:
        """Keep the other rows of an older plan."""
        if self._path.exists() and (kept := self._kept()).any():
            new, whole = self._temporary, self._temporary.with_name("whole")
            with pq.ParquetWriter(whole, _SCHEMA, compression="zstd") as parquet:
                for table in chosen_tables(self._path.parent, kept):
                    parquet.write_table(table, _ROWS_AT_ONCE)
                with pq.ParquetFile(new) as file:
                    for group in range(file.num_row_groups):
                        parquet.write_table(file.read_row_group(group))
            whole.replace(new)
        add_checksum(self._temporary)

    def _kept(self) -> Mask:
        """Which rows of the older plan are not planned anew."""
        kept = np.zeros(sum(map(len, _read(self._path, ["request"]))), bool)
        alike = self._alike()
        if alike < len(kept):
            old = scan_table(self._path).with_row_index(_ROW).slice(alike)
            new = pl.scan_parquet(self._temporary, glob=False).slice(alike)
            rows = old.join(new, on=_KEY, how="anti").select(_ROW).collect(engine="streaming")
            kept[rows[_ROW].to_numpy()] = True
        return kept

    def _alike(self) -> int:
        """How many first rows both plans share: all where a run just goes on, so that nothing is joined."""
        rows = 0
        with pq.ParquetFile(self._temporary) as new:
            for old, group in zip(_read(self._path), range(new.num_row_groups), strict=False):
                if not old.select(_KEY).equals(new.read_row_group(group, _KEY)):
                    break
                rows += len(old)
        return rows


def write_plan(folder: Path, plan: pa.Table) -> None:
    """Replace the plan in one step."""
    with replacing_file(folder / PLAN) as temporary:
        with pq.ParquetWriter(temporary, _SCHEMA, compression="zstd") as parquet:
            parquet.write_table(plan.cast(_SCHEMA), _ROWS_AT_ONCE)
        add_checksum(temporary)


def plan_table(folder: Path) -> pa.Table:
    """The whole plan."""
    return pa.concat_tables([from_columns([()] * len(_SCHEMA), _SCHEMA), *plan_tables(folder)])


def plan_tables(folder: Path) -> Iterator[pa.Table]:
    """The plan in pieces, one in memory at a time."""
    path = folder / PLAN
    return _read(path) if path.exists() else iter(())


def plan_requests(folder: Path) -> pa.ChunkedArray:
    """The request of every row of a plan."""
    path = folder / PLAN
    tables = _read(path, ["request"]) if path.exists() else ()
    return pa.chunked_array([chunk for table in tables for chunk in table.column(0).chunks], pa.string())


def chosen_rows(folder: Path, wanted: Mask) -> Iterator[Planned]:
    """Some rows of a plan, few in memory at a time."""
    for table in chosen_tables(folder, wanted):
        yield from plan_rows(table)


def chosen_tables(folder: Path, wanted: Mask) -> Iterator[pa.Table]:
    """The same in pieces."""
    start = 0
    for table in plan_tables(folder):
        here = np.flatnonzero(wanted[start : start + len(table)])
        start += len(table)
        if len(here):
            yield table.take(indices(here))


def _read(path: Path, columns_: Sequence[str] | None = None) -> Iterator[pa.Table]:
    try:
        inside(path, path.parent)
        yield from read_row_groups(path, _SCHEMA, columns_, _refuse_damaged)
    except InputError as error:
        raise InputError(f"{error}; put it aside and run or import again: answers are kept") from None


def _refuse_damaged(table: pa.Table) -> None:
    requests = table.column("request")
    if requests.null_count or not pc.all(pc.match_substring_regex(requests, "^([0-9a-f]{2})*$")).as_py():
        raise ValueError("it has rows that lead to no request")


def plan_rows(plan: pa.Table) -> Iterator[Planned]:
    """A plan, or a part of it, row by row."""
    for batch in plan.to_batches(max_chunksize=_ROWS_AT_ONCE):
        for row in batch.to_pylist():
            yield Planned(**row)


def scan_table(path: Path) -> pl.LazyFrame:
    """A table of ours, lazily; one without a checksum is validated by Arrow first, as Polars trusts its input."""
    path = inside(path, path.parent)
    is_proven = has_checksum(path)
    with damage_in_one_line(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        for batch in () if is_proven else file.iter_batches():
            batch.validate(full=True)
    return pl.scan_parquet(path, glob=False)
