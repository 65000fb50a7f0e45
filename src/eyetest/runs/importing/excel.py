"""The first sheet of an Excel file, as whoever made it meant it.

A text that begins with "=" is written as a formula by pandas' Excel writers, which nobody ever computes; what it says
is then in the formula, and its value is missing or 0.
"""

import warnings
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from eyetest.errors import InputError

EXCEL_CELL = 32_767
"""Excel's longest cell. A text that fills one was cut off by whoever wrote the file."""


def excel_rows(path: Path) -> Iterator[list[Any]]:
    """The rows, header first, with an empty text for an empty cell."""
    import openpyxl  # noqa: PLC0415 (slow to load, and few files are Excel's)

    books: list[Any] = []
    try:
        with path.open("rb") as values_file, path.open("rb") as formulas_file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for file, data_only in ((values_file, True), (formulas_file, False)):
                books.append(openpyxl.load_workbook(file, read_only=True, data_only=data_only))
                for sheet in books[-1].worksheets[:1]:
                    sheet.reset_dimensions()  # some writers say "A1" whatever there is
            sheets = [book.worksheets[0].iter_rows(values_only=True) for book in books]
            for values, formulas in zip(*sheets, strict=True):
                yield [_cell(*pair) for pair in zip_longest(values, formulas)]
    except OSError as error:
        if error.errno is not None:
            raise
        raise _unreadable(path, error) from None
    except Exception as error:  # openpyxl raises whatever its parsers raise
        raise _unreadable(path, error) from None
    finally:
        for book in books:
            book.close()


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
