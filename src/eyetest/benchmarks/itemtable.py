"""Items as rows of ``items.parquet``: plain columns that any Parquet reader shows.

Tags and spellings are JSON text, because every benchmark has others; the rest are real columns.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pyarrow as pa

from eyetest.records import Item

_TEXT = pa.string()
SCHEMA = pa.schema(
    [
        ("id", _TEXT),
        ("question", _TEXT),
        (
            "images",
            pa.list_(
                pa.struct(
                    [
                        ("sha256", _TEXT),
                        ("format", _TEXT),
                        ("width", pa.int32()),
                        ("height", pa.int32()),
                        ("size", pa.int64()),
                    ]
                )
            ),
        ),
        ("choices", pa.list_(pa.struct([("text", _TEXT), ("correct", pa.bool_())]))),
        ("references", pa.list_(_TEXT)),
        ("hint", _TEXT),
        ("history", pa.list_(pa.struct([("question", _TEXT), ("answer", _TEXT)]))),
        ("description", _TEXT),
        ("group", _TEXT),
        ("tags", _TEXT),
        (
            "lineage",
            pa.list_(
                pa.struct(
                    [
                        ("step", _TEXT),
                        ("source", _TEXT),
                        ("item", _TEXT),
                        ("note", _TEXT),
                        ("seed", pa.int64()),
                    ]
                )
            ),
        ),
        ("spellings", _TEXT),
    ]
)
_JSON_COLUMNS = ("tags", "spellings")


def to_table(items: Iterable[Item]) -> pa.Table:
    """Items as an Arrow table."""
    rows = [_row(item) for item in items]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def from_batch(batch: pa.RecordBatch) -> Iterator[Item]:
    """Items of an Arrow batch."""
    for row in batch.to_pylist():
        for name in _JSON_COLUMNS:
            row[name] = msgspec.json.decode(row[name]) if row[name] else {}
        yield msgspec.convert(row, Item)


def _row(item: Item) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.structs.asdict(item)
    for name in ("images", "choices", "history", "lineage"):
        row[name] = [msgspec.structs.asdict(value) for value in row[name]]
    for name in _JSON_COLUMNS:
        row[name] = msgspec.json.encode(row[name]).decode() if row[name] else None
    return row
