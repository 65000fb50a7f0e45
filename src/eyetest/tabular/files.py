"""Any table file, by its content: JSON and JSON Lines, Excel, and those of `table` and `record_files`."""

import json
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime, time
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from eyetest.errors import InputError, short
from eyetest.store.files import inside
from eyetest.tabular.record_files import ParquetTable
from eyetest.tabular.table import (
    MAX_LINE,
    Grid,
    Row,
    SeparatedTable,
    Table,
    allowed_unfolding,
    is_system_error,
    most_unpacked,
    one_line,
    table_kind,
    unfolds,
)

MAX_DOCUMENT = 2**31
_BLANK = b"\xef\xbb\xbf \t\r\n"
_decode = msgspec.json.Decoder().decode


class JsonLines(Table):
    """The objects of a file, one a line, as rows. Columns are those of all objects."""

    def rows(self) -> Iterator[Row]:
        """The objects."""
        with self.path.open("rb") as file:
            for number, line in enumerate(iter(partial(file.readline, MAX_LINE), b""), 1):
                where = f"{self.path.name} line {number}"
                if len(line) >= MAX_LINE:
                    raise InputError(f"{where} is longer than {MAX_LINE // 2**20} MB")
                if text := line.strip(_BLANK):
                    try:
                        values = decode(text, where)
                    except InputError as error:
                        self.refuse(where, str(error))
                        continue
                    if isinstance(values, dict):
                        yield Row(where, values)
                    else:
                        self.refuse(where, f"{where}: found {short(values)}, expected a JSON object")


class JsonDocument(Table):
    """The objects in one JSON value: in a list, in the one list under a key, or under keys of their own."""

    def rows(self) -> Iterator[Row]:
        """The objects."""
        content = decode(read_document(self.path), str(self.path))
        if isinstance(content, dict):
            keyed = [part for part in content.values() if isinstance(part, dict) and _are_objects([*part.values()])]
            if len(keyed) == 1 and not _are_objects([*content.values()]):
                content = keyed[0]  # the results beside what they add up to
            lists = [part for part in content.values() if _are_objects(part)]
            plain = all(isinstance(part, str | float | int) for part in content.values())
            pairs = [(key, {"value": part} if plain else part) for key, part in content.items()]
            rows = [{"key": key, **part} if isinstance(part, dict) else part for key, part in pairs]
            content = lists[0] if len(lists) == 1 else rows
        if content != [] and not _are_objects(content):
            expected = "a list of objects, one such list under a key, or objects or texts under keys"
            raise InputError(f"{self.path}: expected {expected}")
        for number, values in enumerate(content, 1):
            yield Row(f"{self.path.name} object {number}", values)


def read_document(path: Path) -> bytes:
    """The bytes of a file that is one JSON value."""
    with path.open("rb") as file:
        data = file.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise InputError(f"{path} is one JSON value of more than 2 GB; write it as JSON Lines")
    return data.strip(_BLANK)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def decode(data: bytes, where: str) -> Any:
    """The value; NaN is allowed, and half a surrogate pair becomes U+FFFD, since it cannot be stored."""
    why = "it is not UTF-8"
    try:
        try:
            return _decode(data)
        except msgspec.DecodeError as error:
            why = str(error)
            text = json.dumps(json.loads(data.decode()), ensure_ascii=False)
            return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except RecursionError:
        raise InputError(f"{where} is nested too deeply") from None
    except ValueError:  # also what is not UTF-8
        raise InputError(f"{where} is not JSON: {why}") from None


EXCEL_CELL = 32_767  # Excel's longest cell. A text of that length was truncated by the program that wrote the file
MAX_ROWS = 2**20  # Excel's own limit. A file may place a single cell a billion rows below the others
MAX_CELLS = 20_000_000
_SMALL = 2**26
_PACKED = 100  # largest decompression of a part of more than `_SMALL` bytes; tables of text reach 20


class ExcelTable(Grid):
    """The first sheet. A formula is read as its text: what it computes may not be in the file."""

    def cells(self) -> Iterator[list[Any]]:
        """The cells under all columns that have a name, and under the first; header first."""
        width = total = length = 0
        most = max(_SMALL, _PACKED * self.path.stat().st_size, allowed_unfolding())
        named: list[int] = []
        for line, row in enumerate(_first_sheet(self.path)):
            total += len(row)
            length += sum(len(value) for value in row if isinstance(value, str))  # cells may share one text
            if length > most:
                raise unfolds(self.path, most)
            if line >= MAX_ROWS or total > MAX_CELLS:
                read = f"{line:,} rows and {total:,} cells"
                raise InputError(f"{self.path} goes on after {read}; write it as CSV or JSON Lines")
            cells = [_cell(value) for value in row]
            if line == 0:
                cells = [str(cell) for cell in cells]
                while cells and not cells[-1]:
                    cells.pop()
                width, named = len(cells), [index for index, name in enumerate(cells) if name or not index]
            elif any(cell != "" for cell in cells[width:]):
                there = f"there is more than the {width} columns that have a name"
                raise InputError(f"{self.path.name} row {line}: {there}")
            yield [cells[index] if index < len(cells) else "" for index in named]


def _cell(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, datetime) and value.time() == time():
        return value.date()
    return "" if value is None else value


def _first_sheet(path: Path) -> Iterator[tuple[Any, ...]]:
    """The rows of a workbook's first sheet; any error becomes one line."""
    import openpyxl  # noqa: PLC0415 (slow to load, and few files are Excel's)

    warnings.filterwarnings("ignore", module=r"openpyxl\b")
    try:
        _check_parts(path)
        with path.open("rb") as file, closing(openpyxl.load_workbook(file, read_only=True)) as book:
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # some writers say "A1" whatever there is
            yield from sheet.iter_rows(values_only=True)
    except Exception as error:  # openpyxl raises whatever its parsers raise
        if isinstance(error, InputError) or is_system_error(error):
            raise
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{path} is no Excel file: {why}") from None


def _check_parts(path: Path) -> None:
    """Refuse what decompresses into far more than a table; zipfile never reads more than a part declares."""
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
    for part in parts:
        if part.file_size > max(_SMALL, _PACKED * part.compress_size):
            sizes = f"from {part.compress_size:,} bytes into {part.file_size // 2**20:,} MB"
            raise InputError(f"{path}: {short(part.filename)} unpacks {sizes}")
    if sum(part.file_size for part in parts) > most_unpacked(path):
        raise unfolds(path, most_unpacked(path))


def was_cut(text: str) -> bool:
    """Whether a text fills a cell of Excel, which counts in UTF-16."""
    return len(text) >= EXCEL_CELL // 2 and len(text.encode("utf-16-le", "surrogatepass")) // 2 >= EXCEL_CELL


def open_table(path: Path) -> Table:
    """A file as a table; of an Excel file the first sheet."""
    with one_line(path):
        return _OPENERS.get(table_kind(path), SeparatedTable)(path)


class JsonFolder(Table):
    """The objects of all JSON files of a folder, one file after the other, each with the name of its file."""

    def rows(self) -> Iterator[Row]:
        """The objects."""
        for file in sorted(path for path in self.path.iterdir() if path.suffix in (".json", ".jsonl")):
            inside(file, self.path)
            for row in open_table(file):
                yield Row(row.where, {"file": file.stem, **row.values})


def known_table(path: Path, *, skips_bad: bool = False) -> Table:
    """A file as a table, if it is one by its content or its ending; ``skips_bad`` leaves out unreadable rows."""
    if not path.is_file():
        raise InputError(f"{path} is {'a folder' if path.is_dir() else 'no file'}; expected a table ({KINDS_LISTED})")
    if not table_kind(path):
        raise InputError(f"{path}: expected a table ({KINDS_LISTED})")
    table = open_table(path)
    table.skips_bad = skips_bad
    if isinstance(table, Grid) and not table.columns:
        raise InputError(f"{path} is empty")
    return table


_OPENERS: dict[str, Callable[[Path], Table]] = {
    ".parquet": lambda path: ParquetTable([path]),
    ".jsonl": JsonLines,
    ".json": JsonDocument,
    ".xlsx": ExcelTable,
}
KINDS_LISTED = "CSV, TSV, Excel, JSON, JSON Lines or Parquet"
