"""A file of rows that lies in memory, and the items that are read from it."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions
from eyetest.records import Item
from eyetest.tabular.table import Row


class MemoryRows:
    """Rows with the columns that any of them has."""

    def __init__(self, *rows: dict[str, Any], folder: Path = Path()) -> None:
        self.path = folder / "table.jsonl"
        self.columns = tuple(dict.fromkeys(name for row in rows for name in row))
        self.done = 1.0
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        return (Row(number, f"table.jsonl row {number + 1}", row) for number, row in enumerate(self._rows))


def read_items(rows: MemoryRows, options: ReadOptions | None = None) -> list[Item]:
    """Every row as an item; the images themselves are thrown away."""
    with TemporaryDirectory() as folder:
        store = ImageStore(Path(folder))
        reader = ItemReader(rows, options or ReadOptions(), store)
        try:
            return [reader.item(row) for row in reader]
        finally:
            store.finish()


def read_item(*rows: dict[str, Any], options: ReadOptions | None = None) -> Item:
    """The first of these rows as an item."""
    return read_items(MemoryRows(*rows), options)[0]
