"""Parquet in validated batches, and tables of records as files.

What may expand is first read by a child with limited memory.
"""

import math
import os
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, BinaryIO, Union, get_args, get_origin

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.errors import InputError, damaged, first_line, param
from eyetest.store import refuse_to_lose, replacing_file
from eyetest.store.files import add_checksum, has_checksum, inside
from eyetest.tabular.table import (
    Row,
    Table,
    most_repeated,
    most_unpacked,
    one_line,
    refuse_twins,
    unfolds,
    write_sheet,
)

_CHILD_MEMORY = 3 * 2**29  # bytes for the child beyond the largest file: an uncompressed batch is read as it is
_CHILD_SECONDS = 900
_REFUSED = 2  # the child's exit status after it wrote why; any other but 0 means that it ran out of memory
_MAX_SWOLLEN, _PACKED = 2**27, 100  # decompressed bytes, or times the size, before values are expanded
_BATCH = 2**28  # bytes of a batch if each of its rows held all that its row group has
_WIDEST = 2**20
_ROWS = 5_000
_OBJECT = 64  # bytes of a Python value
_PLAIN_ENCODINGS = frozenset({"PLAIN", "RLE", "BIT_PACKED", "DELTA_LENGTH_BYTE_ARRAY"})
"""Encodings in which every text of a column is in the file; levels are RLE or BIT_PACKED."""
_DICTIONARY_ENCODINGS = _PLAIN_ENCODINGS | {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}
_PAGE_HEADER = 16  # bytes: a page begins with its kind and its size unpacked, in Thrift's compact protocol
_PAGE_FIELDS = re.compile(rb"\x15[\x00-\x7f]\x15([\x80-\xff]{0,4}[\x00-\x7f])", re.DOTALL)


@contextmanager
def open_bounded(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file of unknown origin, not mapped into memory, if its metadata is in proportion."""
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        metadata, status = file.metadata, path.stat()
        columns = [metadata.schema.column(index) for index in range(metadata.num_columns)]
        if wide := next((column for column in columns if column.length > _WIDEST), None):
            raise InputError(f"{path}: {wide.path}: values of {wide.length:,} bytes each")
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        if any(group.num_columns != len(columns) for group in groups):
            raise InputError(f"{path} is damaged: a row group lacks a column")
        unpacked = sum(group.total_byte_size for group in groups)
        if unpacked > max(_MAX_SWOLLEN, _PACKED * status.st_size):
            raise InputError(f"{path}: a few of its bytes unpack into {unpacked // 2**20:,} MB")
        values = sum(_values_of(group) for group in groups)
        if values * _OBJECT > most_unpacked(path):
            raise unfolds(path, most_unpacked(path))
        has_lists = any(column.max_repetition_level for column in columns)  # whose row may hold any number of values
        if has_lists or _most_text(path, groups) > most_repeated(path):
            _read_in_child(path, (status.st_size, status.st_mtime_ns, status.st_ino), most_repeated(path))
        yield file


def _values_of(group: pq.RowGroupMetaData) -> int:
    """The number of values of a row group that its metadata declares."""
    return sum(group.column(number).num_values for number in range(group.num_columns))


def _most_text(path: Path, groups: Sequence[pq.RowGroupMetaData]) -> int:
    """The most bytes of values that row groups may unfold into, by what they declare."""
    with path.open("rb") as file:
        return sum(_most_of_chunk(group.column(n), file) for group in groups for n in range(group.num_columns))


def _most_of_chunk(chunk: pq.ColumnChunkMetaData, file: BinaryIO) -> int:
    """The most bytes of values in a part of a column, some of which may refer to others.

    No text that is referred to is longer than the page of the dictionary, or than the part as a whole.
    """
    size: int = chunk.total_uncompressed_size
    is_text = chunk.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
    if not is_text or _PLAIN_ENCODINGS.issuperset(chunk.encodings):
        return size
    longest = size
    if _DICTIONARY_ENCODINGS.issuperset(chunk.encodings) and chunk.has_dictionary_page:
        file.seek(chunk.dictionary_page_offset)
        longest = min(size, _page_size(file.read(_PAGE_HEADER)) or size)
    values: int = chunk.num_values
    return size + values * longest


def _page_size(header: bytes) -> int:
    """The number of bytes that a page has unpacked, by the second field of its header; 0 where that is not there."""
    match = _PAGE_FIELDS.match(header)
    if not match:
        return 0
    size: int = sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(match[1]))
    return size >> 1


@lru_cache(maxsize=64)
def _read_in_child(path: Path, identity: tuple[int, ...], most: int) -> None:
    """Read a Parquet file in a child process with limited memory; raise where it unfolds into more than that."""
    command = [sys.executable, "-m", "eyetest.tabular.record_files", str(path)]
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # noqa: S603
    if done.returncode == _REFUSED:
        raise InputError((done.stderr.splitlines() or ["unreadable"])[-1])
    if done.returncode:
        raise unfolds(path, most)


def _read_under_limits(path: Path) -> int:
    """Read a file under limits; the exit status is the result."""
    memory = _CHILD_MEMORY + path.stat().st_size + most_repeated(path)
    with suppress(ImportError):  # Windows has no limits of a process
        resource = import_module("resource")
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CPU, (_CHILD_SECONDS, _CHILD_SECONDS))
    pa.set_cpu_count(1)
    try:
        with one_line(path, "is damaged"), pq.ParquetFile(path, page_checksum_verification=True) as file:
            for _ in bounded_batches(path, file, _ROWS):
                pass
    except InputError as error:
        print(error, file=sys.stderr)
        return _REFUSED
    return 0


def bounded_batches(
    path: Path, file: pq.ParquetFile, rows: int, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows in order, at most so many at once, and fewer where one may be all of its row group.

    Every offset and text is checked, because Arrow trusts the file; what it unfolds into is counted.
    """
    groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
    largest = max((group.total_byte_size for group in groups), default=0)
    rows = min(rows, max(_BATCH // max(largest, 1), 1))
    text = size = 0
    for batch in file.iter_batches(rows, columns=columns):
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            try:
                values.validate(full=True)
            except pa.ArrowException as error:
                why = str(error).splitlines()[0]
                what = "found bytes that are not UTF-8, expected text" if "UTF8" in why else f"is damaged ({why})"
                raise InputError(f"{path}: {name}: {what}") from None
        plain = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns]
        text += sum(column.nbytes for column in plain)
        size += sum(column.nbytes + _OBJECT * _count_values(column) for column in plain)
        if text > most_repeated(path):
            raise unfolds(path, most_repeated(path))
        if size > most_unpacked(path):
            raise unfolds(path, most_unpacked(path))
        yield pa.record_batch(plain, names=batch.schema.names)


def _count_values(values: pa.Array) -> int:
    """The number of values of a column, those inside lists, maps and structs included."""
    kind, parts = values.type, []
    if pa.types.is_map(kind):
        parts = [pa.ListArray.from_arrays(values.offsets, part) for part in (values.keys, values.items)]
    elif pa.types.is_struct(kind):
        parts = values.flatten()
    elif pa.types.is_nested(kind):  # a list of any kind: Parquet has no unions
        parts = [values.flatten()]
    return len(values) + sum(map(_count_values, parts))


class ParquetTable(Table):
    """The rows of Parquet files of the same columns."""

    def __init__(self, files: Sequence[Path], at_once: int = _ROWS, drop: Collection[str] = ()) -> None:
        super().__init__(files[0])
        self._files, self._at_once = files, at_once
        schemas = []
        for file in files:
            with one_line(file, "is not a Parquet file"), open_bounded(file) as opened:
                schemas.append(opened.schema_arrow)
                names = tuple(opened.schema_arrow.names)  # which may not be UTF-8
            if odd := sorted({*names} ^ {*schemas[0].names}):
                raise InputError(f"{file.name} has other columns than {files[0].name} ({', '.join(odd[:5])})")
        names = schemas[0].names
        refuse_twins(self.path, names)
        self._labels = _class_labels(schemas[0])
        self._wanted = [name for name in names if name not in drop]
        self.columns = tuple(names)

    def rows(self) -> Iterator[Row]:
        """The rows of all files."""
        for file in self._files:
            number = 0
            with one_line(file, "is damaged"), open_bounded(file) as opened:
                for batch in bounded_batches(file, opened, self._at_once, self._wanted):
                    names = batch.schema.names
                    columns = [self._column(file.name, name, batch.column(name)) for name in names]
                    for row in zip(*columns, strict=True):
                        number += 1
                        yield Row(f"{file.name} row {number}", dict(zip(names, row, strict=True)))

    def _column(self, file: str, name: str, values: pa.Array) -> list[Any]:
        """One column as Python values: class numbers by name, NaN as None."""
        try:
            if pa.types.is_temporal(values.type) or pa.types.is_decimal(values.type):
                values = values.cast(pa.string())
            cells: list[Any] = values.to_pylist()
        except (pa.ArrowException, ValueError, TypeError, OverflowError, MemoryError) as error:
            why = first_line(error, "more than memory holds")
            hint = f"leave it out with {param('drop', name)}"
            raise InputError(f"{file}: {name} cannot be read ({why}); {hint}") from None
        if labels := self._labels.get(name):
            return [labels[v] if isinstance(v, int) and 0 <= v < len(labels) else v for v in cells]
        if pa.types.is_floating(values.type):
            return [value if value is not None and math.isfinite(value) else None for value in cells]
        return cells


def _class_labels(schema: pa.Schema) -> dict[str, list[str]]:
    """Columns of class numbers, as `datasets` declares them in the schema."""
    try:
        note = msgspec.json.decode((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = note["info"]["features"]
        return {name: list(f["names"]) for name, f in features.items() if f.get("_type") == "ClassLabel"}
    except (msgspec.DecodeError, UnicodeError, RecursionError, KeyError, TypeError, AttributeError):
        return {}


SUFFIXES = (".parquet", ".csv", ".jsonl")
_PLAIN_TYPES = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


def write_records(
    records: Sequence[msgspec.Struct], kind: type[msgspec.Struct], to: Path, *, overwrite: bool
) -> None:
    """Write records with the columns of their table, in order."""
    rows = [msgspec.to_builtins(record) for record in records]
    write_table(pa.Table.from_pylist(rows, schema=schema(kind)), kind, to, overwrite=overwrite)


def write_table(table: pa.Table, kind: type[msgspec.Struct], to: Path, *, overwrite: bool) -> None:
    """Write a record's table."""
    import polars as pl  # noqa: PLC0415

    if to.suffix not in SUFFIXES:
        raise InputError(f"{to}: a table is written as {', '.join(SUFFIXES)}, by the ending of its name")
    refuse_to_lose(to, overwrite=overwrite, ours=None)
    rows = pl.DataFrame(table)
    with replacing_file(to, overwrite=overwrite) as temporary:
        if to.suffix == ".parquet":
            version = str(getattr(kind, "table_version", 1))
            write_parquet(table.cast(schema(kind).with_metadata({"version": version})), temporary)
        elif to.suffix == ".jsonl":
            rows.write_ndjson(temporary)
        else:
            with temporary.open("w", newline="", encoding="utf-8") as file:
                write_sheet(file, rows.columns, ([*map(_cell, row)] for row in rows.iter_rows()))


def _cell(value: object) -> object:
    return value if value is None or isinstance(value, str | int | float) else msgspec.json.encode(value).decode()


def write_parquet(table: pa.Table, path: Path) -> None:
    """Write a table as a Parquet file with a checksum."""
    pq.write_table(table, path, compression="zstd")
    add_checksum(path)


def read_parquet(path: Path) -> pa.Table:
    """A whole Parquet file, bounded like one of unknown origin unless it has a checksum; errors become one line."""
    proven = has_checksum(path)
    with damage_in_one_line(path):
        if proven:
            with pq.ParquetFile(path) as file:
                return file.read()
        with open_bounded(path) as file:
            batches = list(bounded_batches(path, file, _ROWS))
            return pa.Table.from_batches(batches) if batches else file.schema_arrow.empty_table()


def sound_file(path: Path, root: Path, fields: pa.Schema | None = None, repair: str = "") -> Path:
    """The path of a Parquet file of eyetest inside a folder, whose checksum and columns are valid."""
    path = inside(path, root)
    try:
        _refuse_damage(path, fields)
    except InputError as error:
        hint = f"; {repair}" if repair else ""
        raise InputError(f"{error}{hint}") from None
    return path


def _refuse_damage(path: Path, fields: pa.Schema | None) -> None:
    if not has_checksum(path):
        raise InputError(f"{path} is damaged: it has no checksum")
    with damage_in_one_line(path):
        if fields is not None and not pq.read_schema(path).equals(fields):
            raise ValueError("its columns are others than it should have")


@contextmanager
def damage_in_one_line(path: Path) -> Iterator[None]:
    """Turn errors about a damaged file into one line."""
    try:
        with one_line(path, "is damaged"):
            yield
    except FileNotFoundError:  # a reader beside a writer tries again
        raise
    except OSError as error:
        raise damaged(path, error) from None


def from_columns(columns_: Sequence[Sequence[Any]], fields: pa.Schema) -> pa.Table:
    """A table from lists of text and numbers, in which None is missing."""
    arrays = [array(values, field.type) for values, field in zip(columns_, fields, strict=True)]
    return pa.Table.from_arrays(arrays, schema=fields)


def array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Texts, whole numbers or floats, by Polars: pyarrow's own loads pandas, its casts `pyarrow.compute`."""
    import polars as pl  # noqa: PLC0415

    if pa.types.is_string(kind):
        values = [value and value.encode("utf-8", "replace").decode() for value in values]
    dtype = pl.String if pa.types.is_string(kind) else pl.Int64 if kind == pa.int64() else pl.Float64
    made = pl.Series(values=values, dtype=dtype).to_arrow(compat_level=pl.CompatLevel.oldest())
    if made.type == kind:
        return made
    valid, ends, texts = made.buffers()
    short_ends = np.frombuffer(ends, np.int64, len(made) + 1).astype(np.int32)
    return pa.StringArray.from_buffers(len(made), pa.py_buffer(short_ends), texts, valid)


def schema(kind: type[msgspec.Struct]) -> pa.Schema:
    """The columns of a record's table as Arrow types; a field without a plain type is JSON text."""
    return pa.schema([(field.encode_name, _arrow_type(field.type)) for field in msgspec.structs.fields(kind)])


def _arrow_type(annotation: Any) -> pa.DataType:
    if annotation is tuple or get_origin(annotation) is tuple:
        return pa.list_(pa.string())
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return next((_PLAIN_TYPES[kind] for kind in kinds if kind in _PLAIN_TYPES), pa.string())


if __name__ == "__main__":
    sys.exit(_read_under_limits(Path(sys.argv[1])))
