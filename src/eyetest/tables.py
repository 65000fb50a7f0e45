"""Tables of records as files that people open: Parquet, CSV or JSON Lines, by the file's name."""

import csv
from collections.abc import Sequence
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.replacing import refuse_to_lose, replacing_file
from eyetest.errors import InputError
from eyetest.records import columns

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
    with replacing_file(to, overwrite=overwrite) as place:
        if to.suffix == ".parquet":
            version = str(getattr(kind, "table_version", 1))
            table = pa.Table.from_pylist(rows, schema=schema(kind)).replace_schema_metadata({"version": version})
            pq.write_table(table, place, compression="zstd")
        elif to.suffix == ".csv":
            with place.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, columns(kind))
                writer.writeheader()
                writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
        else:
            place.write_bytes(msgspec.json.Encoder().encode_lines(records))


def _cell(value: object) -> object:
    return value if value is None or isinstance(value, str | int | float) else msgspec.json.encode(value).decode()


def schema(kind: type[msgspec.Struct]) -> pa.Schema:
    """The columns of a record's table as Arrow types; what has no plain type is JSON text."""
    return pa.schema([(field.encode_name, _arrow_type(field.type)) for field in msgspec.structs.fields(kind)])


def _arrow_type(annotation: Any) -> pa.DataType:
    if annotation is tuple or get_origin(annotation) is tuple:
        return pa.list_(pa.string())
    kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return next((_PLAIN_TYPES[kind] for kind in kinds if kind in _PLAIN_TYPES), pa.string())
