"""Plain files with a row an item and pictures as paths beside them: JSON Lines, CSV, Excel."""

from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks.folder import Benchmark, distinct_images
from eyetest.benchmarks.formats.support.sheet_rows import SheetReader, SheetTable
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions, plain_row
from eyetest.benchmarks.rows.layout import NoQuestionError, as_cell, unreserved
from eyetest.errors import InputError, short
from eyetest.records import Item
from eyetest.store.files import inside
from eyetest.tabular.excel import sheet_names
from eyetest.tabular.files import TableFile, is_excel
from eyetest.tabular.sheets import GUARDED, SheetWriter, inert
from eyetest.tabular.table import PACKED


def with_packed(*endings: str) -> tuple[str, ...]:
    """Endings, and the same of packed files."""
    return tuple(ending + packed for ending in endings for packed in ("", *PACKED))


class Jsonl:
    """JSON Lines, or one JSON array: an object an item. An export is a folder, its pictures beside the file."""

    name = "jsonl"
    summary = "JSON Lines: one object an item, image paths, base64 or data URLs"
    is_folder = True
    _usual_name = "items.jsonl"
    endings: tuple[str, ...] = with_packed(".jsonl", ".json")

    def recognises(self, folder: Path) -> bool:
        """A folder with a file of the name that an export has."""
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
                file.write(msgspec.json.encode(plain_row(item) | _pictures(item)) + b"\n")


class Sheet(Jsonl):
    """A sheet that somebody wrote."""

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


def _pictures(item: Item) -> dict[str, Any]:
    return {"images": [f"images/{image.filename}" for image in item.images]} if item.images else {}


def _sheet_row(item: Item) -> dict[str, Any]:
    """An item as cells; golds are given by letter alone, since a list of texts would have to be told from a text."""
    row = plain_row(item, _is_column)
    if item.choices:
        row.pop("answer", None)
    return row | _pictures(item)


def _is_column(name: str, value: Any) -> bool:
    """Whether a tag can be a column: some text, under a name that stays as it is in a sheet."""
    named = unreserved(name) and name.split() == [name] and name == inert(name) != GUARDED
    return named and isinstance(value, str) and bool(value)


FORMAT = (Jsonl(), Sheet())
