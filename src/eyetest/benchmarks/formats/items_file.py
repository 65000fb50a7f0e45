"""Files with a row per item and images as paths beside them (JSON Lines, CSV, Excel), and logs of inspect-ai."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks.folder import Benchmark, distinct_images
from eyetest.benchmarks.formats import Format
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions, plain_row
from eyetest.benchmarks.rows.layout import NoQuestionError, as_cell, unreserved
from eyetest.errors import InputError, ReadingWarning, short
from eyetest.records import Item
from eyetest.store.files import inside
from eyetest.tabular.excel import EXCEL_DIGITS, CutNumber, ExcelDate, sheet_names
from eyetest.tabular.files import TableFile, is_excel
from eyetest.tabular.inspect_log import read_inspect_log
from eyetest.tabular.sheets import GUARDED, SheetWriter, inert
from eyetest.tabular.table import PACKED, Row, Values


def with_packed(*endings: str) -> tuple[str, ...]:
    """Suffixes, and the same with those of compressed files."""
    return tuple(ending + packed for ending in endings for packed in ("", *PACKED))


class Jsonl(Format):
    """JSON Lines, or one JSON array: one object per item. An export is a folder with images beside the file."""

    name = "jsonl"
    summary = "JSON Lines: one object an item, image paths, base64 or data URLs"
    is_folder = True
    _usual_name = "items.jsonl"
    endings: tuple[str, ...] = with_packed(".jsonl", ".json")

    def recognises(self, folder: Path) -> bool:
        """A folder with a file named as in an export."""
        return (folder / self._usual_name).is_file()

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading."""
        if path.is_dir():
            inside(path / self._usual_name, path)
            path /= self._usual_name
        return self._reader(path, options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write a folder: the items' file and ``images/``."""
        (to / "images").mkdir(parents=True)
        for image in distinct_images(benchmark):
            (to / "images" / image.filename).write_bytes(benchmark.images.read(image))
        self._write_items(benchmark, to / self._usual_name)
        return []

    def _reader(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        return ItemReader(TableFile(path), options, store)

    def _write_items(self, benchmark: Benchmark, to: Path) -> None:
        with to.open("wb") as file:
            for item in benchmark:
                file.write(msgspec.json.encode(plain_row(item) | _images(item)) + b"\n")


class Sheet(Jsonl):
    """A sheet written by hand."""

    name = "csv"
    summary = "CSV or Excel: one row an item, image paths, options in columns A, B, C … or in one cell"
    _usual_name = "items.csv"
    endings = (*with_packed(".csv"), ".xlsx")

    def _reader(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        try:
            return SheetReader(SheetTable(path, options.sheet), options, store)
        except NoQuestionError as error:
            sheets = sheet_names(path) if is_excel(path) else []
            if len(sheets) < 2:
                raise
            known = ", ".join(short(name)[1:-1] for name in sheets[:12])
            raise InputError(f"{error}; its sheets are {known}: name one as {path.name}#{sheets[-1]}") from None

    def _write_items(self, benchmark: Benchmark, to: Path) -> None:
        columns = dict.fromkeys(name for item in benchmark for name in _sheet_row(item))
        with to.open("w", newline="", encoding="utf-8") as file:
            sheet = SheetWriter(file, list(columns), mark=True)
            for row in map(_sheet_row, benchmark):
                sheet.write([[as_cell(row.get(name, "")) for name in columns]])


def _images(item: Item) -> dict[str, Any]:
    return {"images": [f"images/{image.filename}" for image in item.images]} if item.images else {}


def _sheet_row(item: Item) -> dict[str, Any]:
    """An item as cells; golds are given by letter only, since a list of texts is ambiguous with a text."""
    row = plain_row(item, _is_column)
    if item.choices:
        row.pop("answer", None)
    return row | _images(item)


def _is_column(name: str, value: Any) -> bool:
    """Whether a tag can be a column: some text, under a name that stays as it is in a sheet."""
    named = unreserved(name) and name.split() == [name] and name == inert(name) != GUARDED
    return named and isinstance(value, str) and bool(value)


_CHANGED = {
    ExcelDate: "a date to Excel, which makes one of 1-2; if a text was meant, format the column as text and type it",
    CutNumber: f"a number of which Excel keeps {EXCEL_DIGITS} digits; if there were more, format the column as text",
}


class SheetTable(TableFile):
    """The rows of a sheet. An empty cell is missing; numbers and dates are read as displayed."""

    def __init__(self, path: Path, sheet: str = "") -> None:
        super().__init__(path, sheet, seen=True)
        self.columns = tuple(filter(None, self.columns))

    def __iter__(self) -> Iterator[Row]:
        number = 0
        for row in super().__iter__():
            values = {name: _whole(cell) for name, cell in row.values.items() if name and cell not in ("", None)}
            if values:
                yield row._replace(number=number, values=values)
                number += 1


class SheetReader(ItemReader):
    """Rows of a sheet as items; warns once per column about ids, options or golds that Excel changed."""

    def __init__(self, rows: SheetTable, options: ReadOptions, store: ImageStore) -> None:
        super().__init__(rows, options, store)
        layout = self.layout
        self._unchecked = {layout.id, layout.answer, layout.answer_letter, *layout.options} - {""}

    def item(self, row: Row) -> Item:
        """The row as an item."""
        for column in sorted(self._unchecked):
            value = row.values.get(column)
            if isinstance(value, ExcelDate | CutNumber):
                self._unchecked.remove(column)
                message = f"{row.where}: {column}: {value} is {_CHANGED[type(value)]}"
                warnings.warn(message, ReadingWarning, stacklevel=1)
        plain = {name: str(cell) if isinstance(cell, str) else cell for name, cell in row.values.items()}
        return super().item(row._replace(values=plain))


def _whole(cell: Any) -> Any:
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


class InspectLog(Format):
    """A log's samples as items, each once however many epochs there were."""

    name = "inspect"
    summary = "a log of inspect-ai (.eval, or its .json when named): the questions in it; read only"
    is_only_read = True
    endings: tuple[str, ...] = (".eval",)

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading."""
        return ItemReader(_Questions(path), options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Refuse: a log without answers is none."""
        raise InputError("logs of inspect-ai are only read; write jsonl, which its json_dataset reads")


class _Questions:
    def __init__(self, path: Path) -> None:
        self.path, self.done = path, 0.0
        self.columns: tuple[str, ...] = ("id", "question", "images", "options", "answer", "tags")

    def __iter__(self) -> Iterator[Row]:
        seen: set[int | str] = set()
        for _, sample in read_inspect_log(self.path):
            if sample.id not in seen:
                values: Values = {"id": sample.id, "question": sample.question, "answer": sample.target}
                more = {"images": sample.images, "options": sample.choices, "tags": sample.metadata}
                values |= {name: value for name, value in more.items() if value}
                yield Row(len(seen), f"{self.path.name} sample {sample.id}", values, len(seen) + 1)
                seen.add(sample.id)
        self.done = 1.0


FORMAT = (Jsonl(), Sheet(), InspectLog())
