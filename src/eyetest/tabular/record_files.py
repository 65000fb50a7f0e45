"""Tables of records as files: Parquet, CSV or JSON Lines, by the file's name."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from eyetest.errors import InputError, damaged, first_line
from eyetest.records import columns
from eyetest.store import refuse_to_lose, replacing_file
from eyetest.store.files import add_checksum, has_checksum
from eyetest.tabular.arrow import open_bounded
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
    """Write a table as a Parquet file with a checksum."""
    pq.write_table(table, path, compression="zstd")
    add_checksum(path)


def read_parquet(path: Path) -> pa.Table:
    """A whole Parquet file of eyetest; any error becomes one line."""
    proven = has_checksum(path)
    with damage_in_one_line(path), open_bounded(path, trusted=proven) as file:
        return file.table()


def read_row_groups(
    path: Path, fields: pa.Schema, columns_: Sequence[str] | None, check: Callable[[pa.Table], None]
) -> Iterator[pa.Table]:
    """The row groups of a Parquet file of eyetest with these fields; ``check`` tests those without a checksum."""
    proven = has_checksum(path)
    with damage_in_one_line(path), open_bounded(path, trusted=proven) as file:
        if not file.schema.equals(fields):
            raise ValueError("its columns are others than it should have")
        for group in range(file.metadata.num_row_groups):
            table = file.table(columns_, group)
            if not proven:
                check(table)
            yield table


@contextmanager
def damage_in_one_line(path: Path) -> Iterator[None]:
    """Turn errors of Arrow and decoders about a damaged file into one line."""
    try:
        yield
    except (pa.ArrowException, msgspec.DecodeError, ValueError, MemoryError, RecursionError) as error:
        why = first_line(error, "more than memory holds").rstrip(".")
        raise InputError(f"{path} is damaged: {why}") from None
    except FileNotFoundError:  # a reader beside a writer tries again
        raise
    except OSError as error:
        raise damaged(path, error) from None


def from_columns(columns_: Sequence[Sequence[Any]], fields: pa.Schema) -> pa.Table:
    """A table from lists of text and numbers, in which None is missing."""
    arrays = [array(values, field.type) for values, field in zip(columns_, fields, strict=True)]
    return pa.Table.from_arrays(arrays, schema=fields)


def array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Texts, whole numbers or floats as an Arrow array, made by Polars: pyarrow's own conversion loads pandas."""
    if pa.types.is_string(kind):
        values = [value and value.encode("utf-8", "replace").decode() for value in values]
    dtype = pl.String if pa.types.is_string(kind) else pl.Int64 if kind == pa.int64() else pl.Float64
    return pl.Series(values=values, dtype=dtype).to_arrow(compat_level=pl.CompatLevel.oldest()).cast(kind)


def numbers(values: pa.Array) -> NDArray[np.int64]:
    """Whole numbers or booleans of an Arrow array, missing ones as 0."""
    return pl.Series(values).cast(pl.Int64).fill_null(0).to_numpy()


def indices(rows: NDArray[np.int64]) -> pa.Array:
    """Row numbers as an Arrow array."""
    return pl.Series(rows.astype(np.int64)).to_arrow()


def schema(kind: type[msgspec.Struct]) -> pa.Schema:
    """The columns of a record's table as Arrow types; a field without a plain type is JSON text."""
    return pa.schema([(field.encode_name, _arrow_type(field.type)) for field in msgspec.structs.fields(kind)])


def _arrow_type(annotation: Any) -> pa.DataType:
    if annotation is tuple or get_origin(annotation) is tuple:
        return pa.list_(pa.string())
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return next((_PLAIN_TYPES[kind] for kind in kinds if kind in _PLAIN_TYPES), pa.string())
