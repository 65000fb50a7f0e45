"""Sheets that people write: CSV or Excel, a row an item, pictures as paths beside the file."""

from collections.abc import Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks.folder import Benchmark
from eyetest.benchmarks.formats.jsonl import write_pictures
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions, plain_row
from eyetest.benchmarks.rows.writing import unreserved
from eyetest.records import Item
from eyetest.store.regular_files import inside
from eyetest.tabular.files import TableFile
from eyetest.tabular.sheets import GUARDED, SheetWriter, inert
from eyetest.tabular.table import Row, kind_of

_USUAL_NAME = "items.csv"


class SheetTable:
    """The rows of a sheet. An empty cell says nothing, and numbers and dates say what they look like."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = TableFile(path)
        self.columns = tuple(name for name in self._file.columns if name)

    @property
    def done(self) -> float:
        """Share of the file that was read."""
        return self._file.done

    def __iter__(self) -> Iterator[Row]:
        number = 0
        for row in self._file:
            values = {name: _said(cell) for name, cell in row.values.items() if name and cell not in ("", None)}
            if values:
                yield row._replace(number=number, values=values)
                number += 1


class Sheet:
    """The format itself."""

    name = "csv"
    summary = "CSV or Excel: one row an item, image paths, options in columns A, B, C … or in one cell"
    is_folder = True

    def recognises(self, path: Path) -> bool:
        """A .csv or .xlsx file, or a folder with an ``items.csv``."""
        return (path / _USUAL_NAME).is_file() or (path.is_file() and kind_of(path) in (".csv", ".xlsx"))

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading."""
        if path.is_dir():
            inside(path / _USUAL_NAME, path)
            path /= _USUAL_NAME
        return ItemReader(SheetTable(path), options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write a folder: ``items.csv`` and ``images/``."""
        write_pictures(benchmark, to)
        columns = dict.fromkeys(name for item in benchmark for name in _row(item))
        with (to / _USUAL_NAME).open("w", newline="", encoding="utf-8") as file:
            sheet = SheetWriter(file, list(columns), mark=True)
            for row in map(_row, benchmark):
                sheet.write([[_cell(row.get(name, "")) for name in columns]])
        return []


def _said(cell: Any) -> Any:
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return str(cell) if isinstance(cell, datetime | date | time) else cell


def _row(item: Item) -> dict[str, Any]:
    """An item as cells; golds are given by letter alone, since a list of texts would have to be told from a text."""
    row = plain_row(item, _is_column)
    if item.choices:
        row.pop("answer", None)
    if item.images:
        row["images"] = [f"images/{image.filename}" for image in item.images]
    return row


def _is_column(name: str, value: Any) -> bool:
    """Whether a tag can be a column: some text, under a name that stays as it is in a sheet."""
    named = unreserved(name) and name.split() == [name] and name == inert(name) != GUARDED
    return named and isinstance(value, str) and bool(value)


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


FORMAT = Sheet()
