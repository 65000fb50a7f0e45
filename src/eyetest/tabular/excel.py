"""A sheet of an Excel file, as whoever made it meant it.

A text that begins with "=" is written as a formula by pandas' Excel writers, which nobody ever computes; what it says
is then in the formula, and its value is missing or 0.
"""

import errno
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, TypeVar

from eyetest.errors import InputError, nearest, short
from eyetest.tabular.excel_looks import as_seen
from eyetest.tabular.table import Row, refuse_twins

EXCEL_CELL = 32_767
"""Excel's longest cell. A text that fills one was cut off by whoever wrote the file."""
MAX_ROWS = 2**20
"""Excel's own limit. A file may say of a single cell that it stands a billion rows below the others."""
MAX_CELLS = 20_000_000
"""Cells of the sheet, empty ones to the left of others counted, because they take their time as well."""
MAX_UNPACKED = 2**31
_SMALL = 2**26
_PACKED = 100
"""A part of more than `_SMALL` bytes may unpack to so many times its stored size; tables of text come to 20."""


_Read = TypeVar("_Read")


class ExcelTable:
    """The rows below the first, each with an empty text for an empty cell; rows of nothing are no rows.

    ``sheet`` names one, else it is the first. Numbers and dates are values, or with ``seen`` what a person sees.
    """

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
    """The rows, header first, with an empty text for an empty cell."""
    rows = cells = 0
    with _opened(path, data_only=True) as computed, _opened(path, data_only=False) as written:
        values = _sheet(path, computed, sheet).iter_rows(values_only=not seen)
        formulas = _sheet(path, written, sheet).iter_rows(values_only=True)
        for pair in _quietly(zip(values, formulas, strict=True)):
            rows += 1
            cells += max(map(len, pair))
            _check_count(path, rows, cells)
            said = map(as_seen, pair[0]) if seen else pair[0]
            yield [_cell(*both) for both in zip_longest(said, pair[1])]


def _quietly(rows: Iterator[_Read]) -> Iterator[_Read]:
    """The same rows; what openpyxl warns of is no concern of a table, but others may warn between two rows."""
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = next(rows, None)
        if row is None:
            return
        yield row


def _sheet(path: Path, book: Any, name: str) -> Any:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if name and name not in sheets:
        raise InputError(f"{path} has no sheet {short(name)}; {nearest(name, sheets)}")
    sheet = sheets[name] if name else book.worksheets[0]
    sheet.reset_dimensions()  # some writers say "A1" whatever there is
    return sheet


@contextmanager
def _opened(path: Path, *, data_only: bool) -> Iterator[Any]:
    """The workbook; whatever is wrong with it, now or while it is read, becomes one line."""
    import openpyxl  # noqa: PLC0415 (slow to load, and few files are Excel's)

    book = None
    try:
        _check_parts(path)
        with path.open("rb") as file:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                book = openpyxl.load_workbook(file, read_only=True, data_only=data_only)
            yield book
    except InputError:
        raise
    except OSError as error:
        if error.errno not in (None, errno.EINVAL):  # of a place in the archive that cannot be
            raise
        raise _unreadable(path, error) from None
    except Exception as error:  # openpyxl raises whatever its parsers raise
        raise _unreadable(path, error) from None
    finally:
        if book is not None:
            book.close()


def _check_parts(path: Path) -> None:
    """Refuse what unpacks into far more than a table; zipfile never unpacks more than a part is said to hold."""
    with zipfile.ZipFile(path) as archive:
        parts = archive.infolist()
    for part in parts:
        if part.file_size > max(_SMALL, _PACKED * part.compress_size):
            raise InputError(
                f"{path}: {short(part.filename)} unpacks from {part.compress_size:,} bytes into "
                f"{part.file_size // 2**20:,} MB"
            )
    if (total := sum(part.file_size for part in parts)) > MAX_UNPACKED:
        raise InputError(f"{path} unpacks into {total // 2**20:,} MB; write it as CSV or JSON Lines")


def _check_count(path: Path, rows: int, cells: int) -> None:
    if rows > MAX_ROWS or cells > MAX_CELLS:
        raise InputError(f"{path} goes on after {rows - 1:,} rows and {cells:,} cells; write it as CSV or JSON Lines")


def was_cut(text: str) -> bool:
    """Whether a text fills a cell, counted as Python does or as Excel does, to which 𝜋 is two characters."""
    if len(text) < EXCEL_CELL // 2:
        return False
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    return units >= EXCEL_CELL or (units == EXCEL_CELL - 1 and units > len(text))


def _cell(value: Any, formula: Any) -> Any:
    if isinstance(formula, str) and formula.startswith("=") and not value:
        return formula
    return "" if value is None else value


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(f"{path} is no Excel file: {' '.join(str(error).split())[:200] or type(error).__name__}")
