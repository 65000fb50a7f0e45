"""Tables of records as files that people open: Parquet, CSV or JSON Lines, by the file's name."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from eyetest.errors import InputError, damaged
from eyetest.records import columns
from eyetest.records.tables import COLUMNS_SINCE
from eyetest.store import refuse_to_lose, replacing_file
from eyetest.store.files import add_checksum, has_checksum
from eyetest.tabular.bounded_parquet import open_bounded
from eyetest.tabular.sheets import SheetWriter

_SUFFIXES = (".parquet", ".csv", ".jsonl")
_PLAIN_TYPES = {bool: pa.bool_(), int: pa.int64(), float: pa.float64()}


def write_records(
    records: Sequence[msgspec.Struct], kind: type[msgspec.Struct], to: Path, *, overwrite: bool
) -> None:
    """Write records with the columns of their table, in order."""
    if to.suffix not in _SUFFIXES:
        raise InputError(f"{to}: a table is written as {', '.join(_SUFFIXES)}, by the ending of its name")
    refuse_to_lose(to, overwrite=overwrite, ours=None)
    rows = [msgspec.to_builtins(record) for record in records]
    with replacing_file(to, overwrite=overwrite) as temporary:
        if to.suffix == ".parquet":
            version = str(getattr(kind, "table_version", 1))
            table = pa.Table.from_pylist(rows, schema=schema(kind)).replace_schema_metadata({"version": version})
            write_parquet(table, temporary)
        elif to.suffix == ".csv":
            with temporary.open("w", newline="", encoding="utf-8") as file:
                names = columns(kind)
                SheetWriter(file, names).write([_cell(row[name]) for name in names] for row in rows)
        else:
            temporary.write_bytes(msgspec.json.Encoder().encode_lines(records))


def _cell(value: object) -> object:
    return value if value is None or isinstance(value, str | int | float) else msgspec.json.encode(value).decode()


def write_parquet(table: pa.Table, path: Path) -> None:
    """A table as a Parquet file that can tell when it was damaged."""
    pq.write_table(table, path, compression="zstd")
    add_checksum(path)


def read_parquet(path: Path) -> pa.Table:
    """A whole Parquet file of ours; whatever is wrong with it becomes one line."""
    has_checksum(path)
    with damage_in_one_line(path), open_bounded(path) as file:
        return file.table()


def read_row_groups(
    path: Path, fields: pa.Schema, unproven: Callable[[pa.Table], None], columns_: Sequence[str] | None = None
) -> Iterator[pa.Table]:
    """A Parquet file of ours, or some of its columns, one row group after the other, for files that may be large.

    ``fields`` are the columns that it must have; those that came later are filled in. ``unproven`` looks closer at a
    file that has no checksum, as an older eyetest wrote it.
    """
    proven = has_checksum(path)
    with damage_in_one_line(path), open_bounded(path) as file:
        if not file.schema.equals(_as_written(fields, file.schema.names)):
            raise ValueError("its columns are others than it should have")
        for group in range(file.metadata.num_row_groups):
            table = file.table(columns_, group)
            if not proven:
                unproven(table)
            yield table if columns_ else _completed(table, fields)


def _as_written(fields: pa.Schema, names: Sequence[str]) -> pa.Schema:
    """What a table of ours must look like that has these columns: those that came later need not be there."""
    return pa.schema([field for field in fields if field.name in names or field.name not in COLUMNS_SINCE])


def _completed(table: pa.Table, fields: pa.Schema) -> pa.Table:
    """The table with the columns that came later."""
    for index, field in enumerate(fields):
        if field.name not in table.column_names:
            table = table.add_column(index, field, pa.repeat(COLUMNS_SINCE[field.name], len(table)))
    return table


@contextmanager
def damage_in_one_line(path: Path) -> Iterator[None]:
    """Whatever Arrow and decoders say of a file that is not what it should be becomes one line."""
    try:
        yield
    except (pa.ArrowException, msgspec.DecodeError, ValueError, MemoryError, RecursionError) as error:
        why = (str(error).splitlines() or ["more than memory holds"])[0]
        raise InputError(f"{path} is damaged: {why.rstrip('.')}") from None
    except FileNotFoundError:  # whoever reads while another writes looks again
        raise
    except OSError as error:
        raise damaged(path, error) from None


def from_columns(columns_: Sequence[Sequence[Any]], fields: pa.Schema) -> pa.Table:
    """A table out of plain lists of text and numbers, in which None is absence."""
    arrays = [array(values, field.type) for values, field in zip(columns_, fields, strict=True)]
    return pa.Table.from_arrays(arrays, schema=fields)


def array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Texts, whole numbers or floats as an Arrow array.

    Made from buffers, because pyarrow's own way from lists loads pandas wherever that is installed, which takes
    longer than most of what eyetest does.
    """
    absent = [value is None for value in values]
    missing = sum(absent)
    bitmap = pa.py_buffer(np.packbits(~np.array(absent, bool), bitorder="little").tobytes()) if missing else None
    if pa.types.is_string(kind):
        texts = [b"" if value is None else value.encode("utf-8", "replace") for value in values]
        ends = np.cumsum([0, *map(len, texts)])
        if ends[-1] < 2**31:
            buffers = [bitmap, pa.py_buffer(ends.astype(np.int32).tobytes()), pa.py_buffer(b"".join(texts))]
            return pa.Array.from_buffers(kind, len(values), buffers, missing)
        return pa.array(values, kind)
    number = np.array([0 if value is None else value for value in values], np.int64 if kind == pa.int64() else float)
    return pa.Array.from_buffers(kind, len(values), [bitmap, pa.py_buffer(number.tobytes())], missing)


def numbers(values: pa.Array) -> NDArray[np.int64]:
    """Whole numbers or truths of an Arrow array, absent ones as 0; from its buffers, for the same reason."""
    plain = pc.cast(values, pa.int64())
    data = np.frombuffer(plain.buffers()[1] or b"", np.int64)[plain.offset : plain.offset + len(plain)]
    return np.where(numbers(plain.is_valid()), data, 0) if plain.null_count else data


def indices(rows: NDArray[np.int64]) -> pa.Array:
    """Numbers of rows as Arrow takes them, made from a buffer, for the same reason."""
    return pa.Array.from_buffers(pa.int64(), len(rows), [None, pa.py_buffer(rows.astype(np.int64).tobytes())])


def schema(kind: type[msgspec.Struct]) -> pa.Schema:
    """The columns of a record's table as Arrow types; what has no plain type is JSON text."""
    return pa.schema([(field.encode_name, _arrow_type(field.type)) for field in msgspec.structs.fields(kind)])


def _arrow_type(annotation: Any) -> pa.DataType:
    if annotation is tuple or get_origin(annotation) is tuple:
        return pa.list_(pa.string())
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return next((_PLAIN_TYPES[kind] for kind in kinds if kind in _PLAIN_TYPES), pa.string())
