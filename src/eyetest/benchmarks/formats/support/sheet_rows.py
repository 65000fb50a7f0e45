"""A sheet that somebody wrote, in CSV or Excel, as rows of items."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions
from eyetest.errors import ReadingWarning
from eyetest.records import Item
from eyetest.tabular.excel_looks import EXCEL_DIGITS, CutNumber, ExcelDate
from eyetest.tabular.files import TableFile
from eyetest.tabular.table import Row

_CHANGED = {
    ExcelDate: "a date to Excel, which makes one of 1-2; if a text was meant, format the column as text and type it",
    CutNumber: f"a number of which Excel keeps {EXCEL_DIGITS} digits; if there were more, format the column as text",
}


class SheetTable:
    """The rows of a sheet. An empty cell says nothing, and numbers and dates say what they look like."""

    def __init__(self, path: Path, sheet: str = "") -> None:
        self.path, self.done = path, 0.0
        self._file = TableFile(path, sheet, seen=True)
        self.columns = tuple(name for name in self._file.columns if name)

    def __iter__(self) -> Iterator[Row]:
        number = 0
        for row in self._file:
            values = {name: _said(cell) for name, cell in row.values.items() if name and cell not in ("", None)}
            self.done = self._file.done
            if values:
                yield row._replace(number=number, values=values)
                number += 1


class SheetReader(ItemReader):
    """Rows of a sheet as items. What Excel made of an id, an option or a gold is told, once for each column."""

    def __init__(self, rows: SheetTable, options: ReadOptions, store: ImageStore) -> None:
        super().__init__(rows, options, store)
        layout = self.layout
        columns = (layout.id, layout.answer, layout.answer_letter, *layout.options)
        self._unlooked = {name for name in columns if name}

    def item(self, row: Row) -> Item:
        """The row as an item."""
        for column in sorted(self._unlooked):
            value = row.values.get(column)
            if isinstance(value, ExcelDate | CutNumber):
                self._unlooked.remove(column)
                told = f"{row.where}: {column}: {value} is {_CHANGED[type(value)]}"
                warnings.warn(told, ReadingWarning, stacklevel=1)
        return super().item(row._replace(values={name: _plain(cell) for name, cell in row.values.items()}))


def _said(cell: Any) -> Any:
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _plain(cell: Any) -> Any:
    return str(cell) if isinstance(cell, ExcelDate | CutNumber) else cell
