"""Responses as rows of ``responses/*.parquet``: plain columns that any Parquet reader shows."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pyarrow as pa

from eyetest.records import Response
from eyetest.tabular.record_files import from_columns

SCHEMA = pa.schema(
    [
        ("request", pa.string()),
        ("outcome", pa.string()),
        ("text", pa.string()),
        ("thinking", pa.string()),
        ("error", pa.string()),
        ("detail", pa.string()),
        ("finish", pa.string()),
        ("tokens_in", pa.int64()),
        ("tokens_out", pa.int64()),
        ("seconds", pa.float64()),
        ("attempts", pa.int64()),
        ("time", pa.float64()),
        ("likelihoods", pa.string()),
        ("candidates", pa.string()),
        ("given", pa.float64()),
    ]
)
_JSON_COLUMNS = ("likelihoods", "candidates")


def to_table(responses: Iterable[Response]) -> pa.Table:
    """Responses as an Arrow table; likelihoods are JSON text."""
    rows = list(responses)
    columns: list[list[Any]] = [[getattr(row, name) for row in rows] for name in SCHEMA.names]
    for name in _JSON_COLUMNS:
        place = SCHEMA.names.index(name)
        columns[place] = [msgspec.json.encode(value).decode() if value else None for value in columns[place]]
    return from_columns(columns, SCHEMA)


def refuse_damaged(table: pa.Table) -> None:
    """Find values in a table without a checksum that no response has, before they are used."""
    int((table.schema.metadata or {}).get(b"torn", b"0"))
    for batch in table.to_batches():
        for response in from_batch(batch):
            bytes.fromhex(response.request)


def from_batch(batch: pa.RecordBatch) -> Iterator[Response]:
    """Responses of an Arrow batch."""
    for row in batch.to_pylist():
        for name in _JSON_COLUMNS:
            row[name] = msgspec.json.decode(row[name]) if row[name] else ()
        yield msgspec.convert(row, Response)
