"""``plan.parquet``: who is to be asked what, and under which request id."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.records import Asked, Planned, columns
from eyetest.replacing import replacing_file
from eyetest.tables import from_columns, read_parquet, schema

PLAN = "plan.parquet"
_SCHEMA = schema(Planned).with_metadata({"version": str(Planned.table_version)})
_KEY = list(columns(Asked))
_ROWS_AT_ONCE = 20_000


class PlanWriter:
    """Writes a plan over the one that is there: what is planned anew replaces its row, the rest stays."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / PLAN
        self._replacing = replacing_file(self._path)
        self._columns: list[list[object]] = [[] for _ in _SCHEMA.names]
        self.rows = 0

    def __enter__(self) -> "PlanWriter":
        self._place = self._replacing.__enter__()
        self._parquet = pq.ParquetWriter(self._place, _SCHEMA, compression="zstd")
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
        """Append rows that are columns already."""
        self._flush()
        self._parquet.write_batch(batch.select(_SCHEMA.names))
        self.rows += len(batch)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._flush()
        self._parquet.close()
        if kind is None and self._path.exists():
            self._keep_the_rest()
        self._replacing.__exit__(kind, error, trace)

    def _flush(self) -> None:
        if not self._columns[-1]:
            return
        self._parquet.write_table(from_columns(self._columns, _SCHEMA))
        for column in self._columns:
            column.clear()

    def _keep_the_rest(self) -> None:
        old, new = read_parquet(self._path), read_parquet(self._place)
        rest = old.join(new.select(_KEY), keys=_KEY, join_type="left anti", use_threads=False).select(_SCHEMA.names)
        if len(rest):
            pq.write_table(pa.concat_tables([rest, new]).cast(_SCHEMA), self._place, compression="zstd")


def plan_table(folder: Path) -> pa.Table:
    """The whole plan."""
    path = folder / PLAN
    return read_parquet(path) if path.exists() else _SCHEMA.empty_table()


def read_plan(folder: Path) -> Iterator[Planned]:
    """The plan, row by row."""
    for batch in plan_table(folder).to_batches(max_chunksize=_ROWS_AT_ONCE):
        for row in batch.to_pylist():
            yield Planned(**row)
