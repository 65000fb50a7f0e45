"""Rows that come as Arrow batches, from Parquet or from a folder saved by ``datasets``."""

import math
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from eyetest.errors import InputError, param
from eyetest.tabular.bounded_parquet import open_bounded
from eyetest.tabular.table import Row, refuse_twins


class ArrowPart(NamedTuple):
    """One file of a dataset: its split, and a way to go through it."""

    name: str
    split: str
    rows: int
    batches: Callable[[], Iterator[pa.RecordBatch]]


class ArrowTable:
    """The rows of all parts, one after the other. A split that only the file's name tells becomes a column."""

    def __init__(self, path: Path, schema: pa.Schema, parts: list[ArrowPart], *, name_splits: bool = False) -> None:
        self.path = path
        refuse_twins(path, schema.names)
        self._labels = _class_labels(schema)
        self._parts = parts
        self._name_splits = name_splits and "split" not in schema.names and any(part.split for part in parts)
        self.columns = (*schema.names, "split") if self._name_splits else tuple(schema.names)
        self._total = max(sum(part.rows for part in parts), 1)
        self.done = 0.0

    def __iter__(self) -> Iterator[Row]:
        number = 0
        for part in self._parts:
            for line, values in enumerate(self._values(part), 1):
                if self._name_splits:
                    values["split"] = part.split
                yield Row(number, f"{part.name} row {line}", values, line)
                number += 1
                self.done = number / self._total

    def _values(self, part: ArrowPart) -> Iterator[dict[str, Any]]:
        for batch in part.batches():
            names = batch.schema.names
            columns = [self._column(part, name, batch.column(name)) for name in names]
            for row in zip(*columns, strict=True):
                yield dict(zip(names, row, strict=True))

    def _column(self, part: ArrowPart, name: str, values: pa.Array) -> list[Any]:
        """One column as Python values: dates and the like as text, class numbers by name, NaN as nothing."""
        try:
            if pa.types.is_temporal(values.type) or pa.types.is_decimal(values.type):
                values = values.cast(pa.string())
            cells: list[Any] = values.to_pylist()
        except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
            why = str(error).splitlines()[0]
            mend = f"leave it out with {param('drop', name)}"
            raise InputError(f"{part.name}: {name} cannot be read ({why}); {mend}") from None
        if labels := self._labels.get(name):
            return [labels[v] if isinstance(v, int) and 0 <= v < len(labels) else v for v in cells]
        if pa.types.is_floating(values.type):
            return [value if value is not None and math.isfinite(value) else None for value in cells]
        return cells


def parquet_part(file: Path, rows: int, split: str = "", drop: Collection[str] = ()) -> tuple[pa.Schema, ArrowPart]:
    """A Parquet file as a part, at most so many rows at once; pyarrow's errors are the caller's."""
    with open_bounded(file) as opened:
        schema, total = opened.schema, opened.metadata.num_rows
    wanted = [name for name in schema.names if name not in drop]

    def batches() -> Iterator[pa.RecordBatch]:
        with open_bounded(file) as opened:
            yield from opened.batches(rows, wanted)

    return schema, ArrowPart(file.name, split, total, batches)


def _class_labels(schema: pa.Schema) -> dict[str, list[str]]:
    """Columns that hold numbers for names, as `datasets` notes them in the schema."""
    try:
        note = msgspec.json.decode((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = note["info"]["features"]
        return {name: list(f["names"]) for name, f in features.items() if f.get("_type") == "ClassLabel"}
    except (msgspec.DecodeError, UnicodeError, RecursionError, KeyError, TypeError, AttributeError):
        return {}
