"""Any table a person may have, by the ending of its name; all but Parquet and Excel may be packed."""

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from eyetest.errors import InputError
from eyetest.tabular.arrow_table import ArrowTable, parquet_part
from eyetest.tabular.dialect import dialect_of
from eyetest.tabular.excel import ExcelTable
from eyetest.tabular.json_table import JsonTable
from eyetest.tabular.separated import SeparatedTable
from eyetest.tabular.sheets import GUARDED, restored_row
from eyetest.tabular.table import Row, Rows, kind_of, named_sheet

_SHEETS = (".csv", ".tsv", ".xlsx")
_ROWS_AT_ONCE = 5_000


class TableFile:
    """A file as a table; whatever is wrong with it becomes one line.

    ``sheet`` names one of an Excel file; with ``seen`` its cells say what a person sees in them.
    """

    def __init__(self, path: Path, sheet: str = "", *, seen: bool = False) -> None:
        self.path, self.done = path, 0.0
        with _one_line(path):
            self._table = ExcelTable(path, sheet, seen=seen) if is_excel(path) else _OPENERS[kind_of(path)](path)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the values that its rows may have."""
        with _one_line(self.path):
            return self._table.columns

    def __iter__(self) -> Iterator[Row]:
        guarded = is_sheet(self.path) and GUARDED in self.columns
        with _one_line(self.path):
            for row in self._table:
                self.done = self._table.done
                yield row._replace(values=restored_row(row.values)) if guarded else row


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, UnicodeError, EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the others are pyarrow's and gzip's, of damaged files
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path} cannot be read: {why}") from None


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file of answers, each with its number for a person."""
    path, sheet = named_sheet(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; answers are read from {', '.join(_OPENERS)} files")
    if kind_of(path) not in _OPENERS:
        raise InputError(f"{path}: answers are read from {', '.join(_OPENERS)} files")
    if not path.is_file():
        raise InputError(f"{path} is no file")
    table = TableFile(path, sheet)
    if is_sheet(path) and not table.columns:
        raise InputError(f"{path} is empty")
    for row in table:
        yield row.line, row.values


def is_sheet(path: Path) -> bool:
    """Whether a file's format has only one kind of emptiness, so that nothing said and nothing known look alike."""
    return kind_of(path) in _SHEETS


def is_excel(path: Path) -> bool:
    """Whether long texts may have been cut off by the format."""
    return kind_of(path) == ".xlsx"


def _parquet(path: Path) -> ArrowTable:
    schema, part = parquet_part(path, _ROWS_AT_ONCE)
    return ArrowTable(path, schema, [part])


def _csv(path: Path) -> SeparatedTable:
    return SeparatedTable(path, dialect_of(path))


def _tsv(path: Path) -> SeparatedTable:
    return SeparatedTable(path, dialect_of(path, "\t"))


_OPENERS: dict[str, Callable[[Path], Rows]] = {
    ".parquet": _parquet,
    ".jsonl": JsonTable,
    ".json": JsonTable,
    ".csv": _csv,
    ".tsv": _tsv,
    ".xlsx": ExcelTable,
}
ENDINGS = tuple(_OPENERS)
"""Of the names of files that are tables."""
