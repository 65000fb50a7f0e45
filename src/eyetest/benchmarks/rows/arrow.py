"""Rows that come as Arrow batches, from Parquet or from a folder saved by ``datasets``."""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from eyetest.benchmarks.rows.gold import AnswerStyle
from eyetest.benchmarks.rows.reading import Row
from eyetest.errors import InputError, param, short

_SLICE = 64
METADATA_KEY = b"eyetest"


class Note(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What our own exports say about themselves in the schema, so that nothing has to be guessed on return."""

    answers: AnswerStyle | None = None
    drop: tuple[str, ...] = ()
    """Columns that only serve another tool."""


class Part(NamedTuple):
    """One file of a dataset: its split, and a way to go through it."""

    name: str
    split: str
    rows: int
    batches: Callable[[], Iterator[pa.RecordBatch]]


class ArrowRows:
    """The rows of all parts, one after the other. A split that only the file's name tells becomes a column."""

    def __init__(self, path: Path, schema: pa.Schema, parts: list[Part]) -> None:
        self.path = path
        self.note = read_note(schema)
        self._labels = _class_labels(schema)
        for name, times in Counter(schema.names).items():
            if times > 1:
                raise InputError(f"{path.name}: two columns are named {short(name)}")
        self._parts = parts
        self._name_splits = "split" not in schema.names and any(part.split for part in parts) and not self.note
        self.columns = (*schema.names, "split") if self._name_splits else tuple(schema.names)
        self._total = max(sum(part.rows for part in parts), 1)
        self._read = 0

    @property
    def done(self) -> float:
        """Share of the rows that were read."""
        return self._read / self._total

    def __iter__(self) -> Iterator[Row]:
        self._read = 0
        for part in self._parts:
            first = self._read
            for values in self._values(part):
                if self._name_splits:
                    values["split"] = part.split
                yield Row(self._read, f"{part.name} row {self._read - first + 1}", values)
                self._read += 1

    def _values(self, part: Part) -> Iterator[dict[str, Any]]:
        for batch in part.batches():
            for start in range(0, batch.num_rows, _SLICE):
                piece = batch.slice(start, _SLICE)
                names = piece.schema.names
                columns = [self._column(part, name, piece.column(name)) for name in names]
                for row in zip(*columns, strict=True):
                    yield dict(zip(names, row, strict=True))

    def _column(self, part: Part, name: str, values: pa.Array) -> list[Any]:
        """One column as Python values: dates and the like as text, class numbers by name, NaN as nothing."""
        try:
            if pa.types.is_temporal(values.type) or pa.types.is_decimal(values.type):
                values = values.cast(pa.string())
            found: list[Any] = values.to_pylist()
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            why = str(error).splitlines()[0]
            mend = f"leave it out with {param('drop', name)}"
            raise InputError(f"{part.name}: {name} cannot be read ({why}); {mend}") from None
        if labels := self._labels.get(name):
            return [labels[v] if isinstance(v, int) and 0 <= v < len(labels) else v for v in found]
        if pa.types.is_floating(values.type):
            return [value if value is not None and math.isfinite(value) else None for value in found]
        return found


def _class_labels(schema: pa.Schema) -> dict[str, list[str]]:
    """Columns that hold numbers for names, as `datasets` notes them in the schema."""
    try:
        note = msgspec.json.decode((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = note["info"]["features"]
        return {name: list(f["names"]) for name, f in features.items() if f.get("_type") == "ClassLabel"}
    except (msgspec.DecodeError, UnicodeError, RecursionError, KeyError, TypeError, AttributeError):
        return {}


def read_note(schema: pa.Schema) -> Note | None:
    """What an export of ours noted, or None where the file is somebody else's."""
    text = (schema.metadata or {}).get(METADATA_KEY)
    try:
        return msgspec.json.decode(text, type=Note) if text is not None else None
    except (msgspec.DecodeError, UnicodeError):
        return None
