"""``plan.parquet``: who is to be asked what, and under which request id."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eyetest.errors import InputError
from eyetest.records import Asked, Planned, columns
from eyetest.store import replacing_file
from eyetest.store.files import add_checksum, inside
from eyetest.tabular.record_files import from_columns, read_parquet, schema, write_parquet

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
        self._temporary = self._replacing.__enter__()
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
        """Append rows that are columns already."""
        self._flush()
        self._parquet.write_batch(batch.select(_SCHEMA.names))
        self.rows += len(batch)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._flush()
        self._parquet.close()
        try:
            if kind is None:
                self._complete()
        except BaseException as failure:
            self._replacing.__exit__(type(failure), failure, failure.__traceback__)
            raise
        self._replacing.__exit__(kind, error, trace)

    def _flush(self) -> None:
        if not self._columns[-1]:
            return
        self._parquet.write_table(from_columns(self._columns, _SCHEMA))
        for column in self._columns:
            column.clear()

    def _complete(self) -> None:
        """Keep what an older plan has beside these rows."""
        if self._path.exists():
            old, new = _read(self._path), read_parquet(self._temporary)
            rest = old.join(new.select(_KEY), keys=_KEY, join_type="left anti", use_threads=False)
            if len(rest):
                table = pa.concat_tables([rest.select(_SCHEMA.names), new]).cast(_SCHEMA)
                write_parquet(table, self._temporary)
                return
        add_checksum(self._temporary)


def plan_table(folder: Path) -> pa.Table:
    """The whole plan."""
    path = folder / PLAN
    return _read(path) if path.exists() else from_columns([()] * len(_SCHEMA), _SCHEMA)


def _read(path: Path) -> pa.Table:
    try:
        inside(path, path.parent)
        return read_parquet(path, _SCHEMA, _refuse_damaged)
    except InputError as error:
        raise InputError(f"{error}; put it aside and run or import again: answers are kept") from None


def _refuse_damaged(table: pa.Table) -> None:
    requests = table.column("request")
    if requests.null_count or not pc.all(pc.match_substring_regex(requests, "^([0-9a-f]{2})*$")).as_py():
        raise ValueError("it has rows that lead to no request")


def plan_rows(plan: pa.Table) -> Iterator[Planned]:
    """A plan, or a part of one, row by row."""
    for batch in plan.to_batches(max_chunksize=_ROWS_AT_ONCE):
        for row in batch.to_pylist():
            yield Planned(**row)
