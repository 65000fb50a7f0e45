"""Parquet that may come from anywhere, read in pieces whose size in memory is bounded whatever the file says.

A few kilobytes of Parquet can stand for gigabytes: pages that pack a million equal bytes into a hundred, one long
text in a dictionary that every row refers to, lists of nothing. So pages are measured before they are unpacked, texts
that a dictionary would multiply stay in it until they are needed, and then only as many rows as fit are taken out.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eyetest.errors import InputError
from eyetest.tabular.parquet_pages import Page, PagesError, pages, row_groups

MAX_PIECE = 2**27
"""Bytes of values that are handed out at once, unless one row holds more."""
MAX_ROW = 2**30
"""Bytes of values in one row."""
MAX_TABLE = 2**29
MAX_STREAM = 2**31
MAX_GROWTH = 200
"""All values of a file may come to so many times its size; else to `MAX_TABLE` bytes at once, or `MAX_STREAM` bytes
one after the other."""
_BATCH = 2**24
_FEW_ROWS, _MOST_ROWS = 64, 4_096
"""A batch holds about `_BATCH` bytes, and so many rows."""
MAX_SWOLLEN = 2**27
_PACKED = 100
"""Pages that unpack to more than so many times their stored size may come to `MAX_SWOLLEN` bytes beside each other.
Others may be larger: they are pictures, which hardly shrink at all."""
_FEW_VALUES = 2 * 10**7
"""Values inside the lists of one row group; more of them have to be there as bytes."""
_SPARED = 8
"""How much smaller than its whole dictionary a list's largest value is taken to be; pictures are many to one."""
_WIDEST = 2**20
"""Bytes of a column whose values all have one length."""


class _Plan(NamedTuple):
    """How to read a file: which columns stay in their dictionaries, and how many rows a batch may have."""

    kept: tuple[str, ...]
    rows: int
    in_batches: bool
    """Whether reading all rows at once could unfold without end, because no dictionary holds what they share."""
    metadata: pq.FileMetaData
    """The footer, which takes longer to read than most row groups where there are many."""


class BoundedParquet:
    """A Parquet file, opened for reading; made by `open_bounded`."""

    def __init__(self, path: Path, file: pq.ParquetFile, plan: _Plan) -> None:
        self.path = path
        self.metadata = file.metadata
        self.schema = dense_schema(file.schema_arrow)
        self._file = file
        self._plan = plan

    def batches(
        self, rows: int, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows in order, at most so many at once, and fewer where they are large."""
        unfolder = Unfolder(self.path)
        for group in range(self._file.num_row_groups) if groups is None else groups:
            for batch in self._file.iter_batches(self._plan.rows, row_groups=[group], columns=columns):
                refuse_damaged(self.path, batch)
                yield from unfolder.pieces(batch, rows)

    def table(self, columns: Sequence[str] | None = None, group: int | None = None) -> pa.Table:
        """All rows, or those of a row group, at once; for files of ours, which are not large for their size."""
        if self._plan.in_batches:
            batches = list(self.batches(_MOST_ROWS, columns, None if group is None else [group]))
            schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
            return pa.Table.from_batches(batches, schema)
        groups = range(self._file.num_row_groups) if group is None else [group]
        tables = [self._file.read_row_group(one, columns=columns) for one in groups]
        table = pa.concat_tables(tables) if tables else self._file.read(columns=columns)
        table.validate(full=True)
        dense = dense_schema(table.schema)
        if dense.equals(table.schema):
            return table
        most = _most(self.path, MAX_TABLE)
        if sum(unfolded(chunk) for column in table.columns for chunk in column.chunks) > most:
            raise _unfolds(self.path, most)
        return table.cast(dense)


@contextmanager
def open_bounded(path: Path) -> Iterator[BoundedParquet]:
    """A Parquet file whose pages have been measured; what it holds is validated, pyarrow's errors are the caller's.

    It is not mapped into memory: a file that shrinks meanwhile would end the process.
    """
    status = path.stat()
    plan = _plan(path, status.st_size, status.st_mtime_ns, status.st_ino)
    with pq.ParquetFile(
        path, metadata=plan.metadata, read_dictionary=list(plan.kept), page_checksum_verification=True
    ) as file:
        yield BoundedParquet(path, file, plan)


class Unfolder:
    """Takes the values of a file out of their dictionaries, a few rows at once, and counts what comes out."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._most = _most(path, MAX_STREAM)
        self._total = 0

    def pieces(self, batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
        """The batch without dictionaries, cut into pieces that are small enough to become Python values."""
        size = sum(unfolded(column) for column in batch.columns)
        if size > MAX_PIECE and batch.num_rows > 1:
            half = batch.num_rows // 2
            yield from self.pieces(batch.slice(0, half), rows)
            yield from self.pieces(batch.slice(half), rows)
            return
        self._total += size
        if size > MAX_ROW or self._total > self._most:
            raise _unfolds(self._path, MAX_ROW if size > MAX_ROW else self._most)
        dense = dense_schema(batch.schema)
        plain = batch if dense.equals(batch.schema) else batch.cast(dense)
        for start in range(0, plain.num_rows, rows):
            yield plain.slice(start, rows)


def refuse_damaged(path: Path, batch: pa.RecordBatch) -> None:
    """Look at every offset and every text before anybody follows one: Arrow itself believes what a file says."""
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        try:
            values.validate(full=True)
        except pa.ArrowException as error:
            why = str(error).splitlines()[0]
            what = "found bytes that are not UTF-8, expected text" if "UTF8" in why else f"is damaged ({why})"
            raise InputError(f"{path}: {name}: {what}") from None


def _most(path: Path, least: int) -> int:
    return max(least, MAX_GROWTH * path.stat().st_size)


def _unfolds(path: Path, most: int) -> InputError:
    return InputError(f"{path} unfolds into more than {most // 2**20:,} MB, far more than its size")


def unfolded(values: pa.Array) -> int:
    """About how many bytes values take once none of them shares its bytes with another."""
    kind = values.type
    if isinstance(values, pa.ExtensionArray):
        size = unfolded(values.storage)
    elif pa.types.is_dictionary(kind):
        size = _referred(values.dictionary, values.indices)
    elif pa.types.is_run_end_encoded(kind):
        size = len(values) * _largest(values.values)
    elif pa.types.is_struct(kind):
        size = sum(unfolded(part) for part in values.flatten())
    elif pa.types.is_map(kind):
        start, end = values.offsets[0].as_py(), values.offsets[-1].as_py()
        size = sum(unfolded(part.slice(start, end - start)) for part in (values.keys, values.items))
    elif _is_list(kind):
        size = unfolded(values.flatten())
    elif kind in (pa.string_view(), pa.binary_view()):
        size = sum(len(value.as_py() or b"") for value in values.cast(pa.binary_view()))
    else:
        size = values.nbytes
    return int(size) + 8 * len(values)


def _largest(values: pa.Array) -> int:
    return max((unfolded(values.slice(index, 1)) for index in range(len(values))), default=0)


def _referred(dictionary: pa.Array, indices: pa.Array) -> int:
    """Bytes of a dictionary's values, each as often as it is referred to."""
    kind = dictionary.type
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    if any(is_kind(kind) for is_kind in texts):
        lengths = pc.binary_length(dictionary).cast(pa.int64())
        return int(pc.sum(lengths.take(indices)).as_py() or 0)
    return _largest(dictionary) * len(indices)


def _is_list(kind: pa.DataType) -> bool:
    kinds = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
    return any(getattr(pa.types, f"is_{one}")(kind) for one in kinds)


def dense_schema(schema: pa.Schema) -> pa.Schema:
    """A schema in which nothing stays in a dictionary."""
    return pa.schema([_dense_field(field) for field in schema], schema.metadata)


def _dense_field(field: pa.Field) -> pa.Field:
    return field.with_type(_dense(field.type))


def _dense(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        kind = _dense(kind.value_type)
    elif pa.types.is_struct(kind):
        kind = pa.struct([_dense_field(kind.field(index)) for index in range(kind.num_fields)])
    elif pa.types.is_list(kind):
        kind = pa.list_(_dense_field(kind.value_field))
    elif pa.types.is_large_list(kind):
        kind = pa.large_list(_dense_field(kind.value_field))
    elif pa.types.is_fixed_size_list(kind):
        kind = pa.list_(_dense_field(kind.value_field), kind.list_size)
    elif pa.types.is_map(kind):
        kind = pa.map_(_dense_field(kind.key_field), _dense_field(kind.item_field))
    return kind


@lru_cache(maxsize=64)
def _plan(path: Path, _size: int, _changed: int, _file: int) -> _Plan:
    """Look at every page of a file; kept, because a benchmark's items are opened again and again."""
    kept: dict[str, None] = {}
    mixed: set[str] = set()
    at_once, in_batches = _MOST_ROWS, False
    with pq.ParquetFile(path) as opened, path.open("rb", buffering=0) as file:
        columns = [opened.schema.column(index) for index in range(opened.metadata.num_columns)]
        with _damage_told(path):
            groups = row_groups(file, len(columns))
        for group in groups:
            largest = unpacked = 1
            swollen = 0
            for column, stretch in zip(columns, group.columns, strict=True):
                with _damage_told(path):
                    chunk = _Chunk(path, column, pages(file, stretch.start, stretch.length))
                if chunk.is_multiplied:
                    kept[chunk.name] = None
                if chunk.is_mixed:
                    mixed.add(chunk.name)
                largest += chunk.largest_value
                in_batches |= chunk.largest_value > 0
                unpacked += chunk.unpacked
                swollen += chunk.swollen
            if swollen > MAX_SWOLLEN:
                raise InputError(f"{path}: a few of its bytes unpack into {swollen // 2**20:,} MB")
            usual = _BATCH * group.rows // unpacked
            at_once = min(at_once, MAX_PIECE // largest, max(usual, _FEW_ROWS))
        metadata = opened.metadata
    return _Plan(tuple(name for name in kept if name not in mixed), max(at_once, 1), in_batches, metadata)


@contextmanager
def _damage_told(path: Path) -> Iterator[None]:
    try:
        yield
    except (PagesError, OSError, OverflowError) as error:
        raise InputError(f"{path} is damaged: {error}") from None


class _Chunk:
    """One column of one row group, by its pages.

    Arrow cannot keep a list's texts in a dictionary where some of them are in none (``is_mixed``). Then rows are few
    enough for each to hold the largest of them.
    """

    def __init__(self, path: Path, column: Any, chunk_pages: Iterable[Page]) -> None:
        self.name: str = column.path
        is_text = column.physical_type == "BYTE_ARRAY"
        repeated = column.max_repetition_level > 0
        dictionary = values = self.unpacked = self.largest_value = self.swollen = 0
        refers, all_refer = False, True
        for page in chunk_pages:
            if page.unpacked > _PACKED * page.stored:
                self.swollen = max(self.swollen, page.unpacked)
            if page.is_dictionary:
                dictionary = max(dictionary, page.unpacked)
                continue
            values += page.values
            self.unpacked += page.unpacked
            refers |= page.uses_dictionary
            all_refer &= page.uses_dictionary
            if page.shares_beginnings:
                self.largest_value = max(self.largest_value, page.unpacked)
                if repeated and page.unpacked * page.values > MAX_ROW:
                    raise InputError(
                        f"{path}: {self.name}: lists of texts that share their beginnings (DELTA_BYTE_ARRAY) may "
                        "unfold without end; write the file with plain or dictionary encoding"
                    )
        if repeated and values > max(_FEW_VALUES, self.unpacked):
            raise InputError(f"{path}: {self.name}: {values:,} values in lists that take {self.unpacked:,} bytes")
        self.is_multiplied = is_text and refers and values * dictionary > MAX_PIECE
        self.is_mixed = repeated and self.is_multiplied and not all_refer
        if self.is_mixed:
            self.largest_value = max(self.largest_value, dictionary // _SPARED)
        if column.physical_type == "FIXED_LEN_BYTE_ARRAY":
            if column.length > _WIDEST:
                raise InputError(f"{path}: {self.name}: values of {column.length:,} bytes each")
            self.largest_value = max(self.largest_value, column.length)
