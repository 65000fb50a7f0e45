"""Items as rows of ``items.parquet``: plain columns that any Parquet reader shows.

Tags and spellings are JSON text, because every benchmark has others; the rest are real columns.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import pyarrow as pa

from eyetest.records import Item

_TEXT = pa.string()


def _list_of(**fields: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct(list(fields.items())))


_PROVENANCE = pa.struct([("author", _TEXT), ("checked_by", pa.list_(_TEXT))])
SCHEMA = pa.schema(
    {
        "id": _TEXT,
        "question": _TEXT,
        "images": _list_of(sha256=_TEXT, format=_TEXT, width=pa.int32(), height=pa.int32(), size=pa.int64()),
        "choices": _list_of(text=_TEXT, correct=pa.bool_(), provenance=_PROVENANCE),
        "references": pa.list_(_TEXT),
        "hint": _TEXT,
        "history": _list_of(question=_TEXT, answer=_TEXT),
        "description": _TEXT,
        "group": _TEXT,
        "tags": _TEXT,
        "lineage": _list_of(step=_TEXT, source=_TEXT, item=_TEXT, note=_TEXT, seed=pa.int64()),
        "spellings": _TEXT,
    }
)
_FIRST_SCHEMA = SCHEMA.set(3, pa.field("choices", _list_of(text=_TEXT, correct=pa.bool_())))
"""Of folders in which an option could not yet say who wrote it."""
_JSON_COLUMNS = ("tags", "spellings")


def to_table(items: Iterable[Item]) -> pa.Table:
    """Items as an Arrow table."""
    rows = [_row(item) for item in items]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def is_readable(schema: pa.Schema) -> bool:
    """Whether a file has the columns of items, as they are now or as they were before."""
    return bool(schema.equals(SCHEMA) or schema.equals(_FIRST_SCHEMA))


def from_batch(batch: pa.RecordBatch) -> Iterator[Item]:
    """Items of an Arrow batch."""
    for row in batch.to_pylist():
        for name in _JSON_COLUMNS:
            row[name] = msgspec.json.decode(row[name]) if row[name] else {}
        for choice in row["choices"]:
            if not choice.get("provenance"):
                choice.pop("provenance", None)
        yield msgspec.convert(row, Item)


def _row(item: Item) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.structs.asdict(item)
    for name in ("images", "choices", "history", "lineage"):
        row[name] = [msgspec.structs.asdict(value) for value in row[name]]
    for choice in row["choices"]:
        choice["provenance"] = msgspec.structs.asdict(choice["provenance"]) if choice["provenance"] else None
    for name in _JSON_COLUMNS:
        row[name] = msgspec.json.encode(row[name]).decode() if row[name] else None
    return row
