"""A sheet of an Excel file; dates (1-2 becomes one) and numbers over 15 digits are marked: their input is lost."""

import errno
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime, time
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from eyetest.errors import InputError, nearest, short
from eyetest.tabular.table import MAX_UNPACKED, Row, refuse_twins

EXCEL_CELL = 32_767  # Excel's longest cell. A text of that length was truncated by the program that wrote the file
MAX_ROWS = 2**20  # Excel's own limit. A file may place a single cell a billion rows below the others
MAX_CELLS = 20_000_000
_SMALL = 2**26
_PACKED = 100  # largest decompression of a part of more than `_SMALL` bytes; tables of text reach 20


class ExcelTable:
    """The rows below the first, "" for an empty cell; numbers and dates as values, or as displayed (``seen``)."""

    def __init__(self, path: Path, sheet: str = "", *, seen: bool = False) -> None:
        self.path, self.done = path, 0.0
        self._rows = partial(_sheet_rows, path, sheet, seen)
        header = [str(cell) for cell in next(self._rows(), [])]
        while header and not header[-1]:
            header.pop()
        self._header = header
        self.columns = tuple(name for index, name in enumerate(header) if name or not index)
        refuse_twins(path, self.columns)

    def __iter__(self) -> Iterator[Row]:
        number, width = 0, len(self._header)
        for line, cells in enumerate(islice(self._rows(), 1, None), 1):
            where = f"{self.path.name} row {line}"
            if any(cell != "" for cell in cells[width:]):
                raise InputError(f"{where}: there is more than the {width} columns that have a name")
            if any(cell != "" for cell in cells):
                named = zip_longest(self._header, cells[:width], fillvalue="")
                values = {name: cell for index, (name, cell) in enumerate(named) if name or not index}
                yield Row(number, where, values, line)
                number += 1
        self.done = 1.0


def sheet_names(path: Path) -> list[str]:
    """The sheets of a file, in its order."""
    with _opened(path, data_only=True) as book:
        return [sheet.title for sheet in book.worksheets]


def _sheet_rows(path: Path, sheet: str, seen: bool) -> Iterator[list[Any]]:
    rows = cells = 0
    with _opened(path, data_only=True) as computed, _opened(path, data_only=False) as written:
        values = _sheet(path, computed, sheet).iter_rows(values_only=not seen)
        formulas = _sheet(path, written, sheet).iter_rows(values_only=True)
        for pair in zip(values, formulas, strict=True):
            rows += 1
            cells += max(map(len, pair))
            if rows > MAX_ROWS or cells > MAX_CELLS:
                read = f"{rows - 1:,} rows and {cells:,} cells"
                raise InputError(f"{path} goes on after {read}; write it as CSV or JSON Lines")
            shown = [as_seen(cell) for cell in pair[0]] if seen else pair[0]
            yield [_cell(value, formula) for value, formula in zip_longest(shown, pair[1])]


def _cell(value: Any, formula: Any) -> Any:
    """A value, "" for none; a formula without a computed value as its text."""
    is_text = isinstance(formula, str) and formula.startswith("=") and not value
    return formula if is_text else "" if value is None else value


def _sheet(path: Path, book: Any, name: str) -> Any:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if name and name not in sheets:
        raise InputError(f"{path} has no sheet {short(name)}; {nearest(name, sheets)}")
    sheet = sheets[name] if name else book.worksheets[0]
    sheet.reset_dimensions()  # some writers say "A1" whatever there is
    return sheet


@contextmanager
def _opened(path: Path, *, data_only: bool) -> Iterator[Any]:
    """The workbook; any error, now or while it is read, becomes one line."""
    import openpyxl  # noqa: PLC0415 (slow to load, and few files are Excel's)

    warnings.filterwarnings("ignore", module=r"openpyxl\b")
    try:
        _check_parts(path)
        with path.open("rb") as file, closing(openpyxl.load_workbook(file, True, False, data_only)) as book:
            yield book
    except Exception as error:  # openpyxl raises whatever its parsers raise
        if isinstance(error, InputError) or getattr(error, "errno", None) not in (None, errno.EINVAL):
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
    if (total := sum(part.file_size for part in parts)) > MAX_UNPACKED:
        raise InputError(f"{path} unpacks into {total // 2**20:,} MB; write it as CSV or JSON Lines")


def was_cut(text: str) -> bool:
    """Whether a text fills a cell, counted as in Python or as in Excel, where 𝜋 is two characters."""
    if len(text) < EXCEL_CELL // 2:
        return False
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    return units >= EXCEL_CELL or (units == EXCEL_CELL - 1 and units > len(text))


_FIXED = re.compile(r"(?:#,##)?0\.(0+)")
_PERCENT = re.compile(r"0(?:\.(0+))?%")
_PADDED = re.compile(r"0{2,}")
EXCEL_DIGITS = 15


class ExcelDate(str):
    """The text of a cell that Excel treats as a date or a time."""


class CutNumber(str):
    """The text of a whole number that has more digits than Excel keeps."""


def as_seen(cell: Any) -> Any:
    """The value of a cell as displayed: text for a date or a number with a format, else unchanged."""
    value = cell.value
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    if isinstance(value, datetime | date | time):
        return ExcelDate(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if abs(value) >= 10**EXCEL_DIGITS:
        return CutNumber(f"{value:.0f}")
    return _formatted(value, cell.number_format.split(";")[0])


def _formatted(value: float, style: str) -> Any:
    if style == "General":
        return value
    if match := _FIXED.fullmatch(style):
        text = f"{value:.{len(match[1])}f}"
        return text if float(text) == value else value
    if match := _PERCENT.fullmatch(style):
        text = f"{100 * value:.{len(match[1] or '')}f}"
        return f"{text}%" if abs(float(text) / 100 - value) < 10**-EXCEL_DIGITS else value
    if _PADDED.fullmatch(style) and value == int(value) >= 0:
        return f"{int(value):0{len(style)}d}"
    return value
