"""Tables of records as files that people open: Parquet, CSV or JSON Lines, by the file's name."""

import csv
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.benchmarks.replacing import refuse_to_lose, replacing_file
from eyetest.errors import InputError
from eyetest.records import columns

_SUFFIXES = (".parquet", ".csv", ".jsonl")


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
            table = pa.Table.from_pylist(rows, schema=_schema(kind)).replace_schema_metadata({"version": version})
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


def _schema(kind: type[msgspec.Struct]) -> pa.Schema:
    types = {"int": pa.int64(), "float": pa.float64(), "tuple": pa.list_(pa.string())}
    fields = []
    for field in msgspec.structs.fields(kind):
        name = str(field.type)
        found = next((types[word] for word in types if word in name), pa.string())
        fields.append((field.encode_name, found))
    return pa.schema(fields)
