"""Any table of rows, read a row at a time: Parquet, JSON Lines, JSON, CSV, TSV, Excel."""

import codecs
import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from eyetest.errors import InputError, short
from eyetest.tabular.bounded_parquet import open_bounded
from eyetest.tabular.excel import excel_rows
from eyetest.tabular.lenient_json import decode
from eyetest.tabular.sheets import restored_row

Row = dict[str, Any]
Numbered = tuple[int, Row]
"""A row and its number in the file: of the line in JSON Lines, of the row below the header elsewhere, from 1."""
_SHEETS = (".csv", ".tsv", ".xlsx")
_BATCH = 5_000
_LARGEST_JSON = 2 * 2**30


def read_rows(path: Path) -> Iterator[Numbered]:
    """The rows of a file by its ending; whatever is wrong with it becomes one line."""
    reader = _READERS.get(path.suffix.lower())
    if path.is_dir():
        raise InputError(f"{path} is a folder; answers are read from {', '.join(_READERS)} files")
    if reader is None:
        raise InputError(f"{path}: answers are read from {', '.join(_READERS)} files")
    if not path.is_file():
        raise InputError(f"{path} is no file")
    sheet = is_sheet(path)
    try:
        for number, row in reader(path):
            yield number, restored_row(row) if sheet else row
    except (pa.ArrowException, UnicodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {_first_line(error)}") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise InputError(f"{path} cannot be read: {_first_line(error)}") from None  # pyarrow's, of damaged pages


def is_sheet(path: Path) -> bool:
    """Whether a file's format has only one kind of emptiness, so that nothing said and nothing known look alike."""
    return path.suffix.lower() in _SHEETS


def is_excel(path: Path) -> bool:
    """Whether long texts may have been cut off by the format."""
    return path.suffix.lower() == ".xlsx"


def _parquet(path: Path) -> Iterator[Numbered]:
    with open_bounded(path) as file:
        _refuse_twins(path, file.schema.names)
        number = 0
        for batch in file.batches(_BATCH):
            for row in batch.to_pylist():
                number += 1
                yield number, row


def _json_lines(path: Path) -> Iterator[Numbered]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if text.strip():
                row = decode(text, f"{path} line {number}")
                if not isinstance(row, dict):
                    raise InputError(f"{path} line {number}: found {short(row)}, expected an object")
                yield number, row


def _json(path: Path) -> Iterator[Numbered]:
    """A list of objects, or objects under keys; a key is kept as the column ``key``."""
    if path.stat().st_size > _LARGEST_JSON:
        raise InputError(f"{path} is larger than {_LARGEST_JSON // 2**30} GB; make it JSON Lines")
    content = decode(path.read_bytes().removeprefix(codecs.BOM_UTF8), str(path))
    if isinstance(content, dict):
        content = [{"key": key, **value} if isinstance(value, dict) else value for key, value in content.items()]
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise InputError(f"{path}: expected a list of objects, or objects under keys")
    yield from enumerate(content, 1)


def _separated(separator: str) -> Callable[[Path], Iterator[Numbered]]:
    def read(path: Path) -> Iterator[Numbered]:
        csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file, delimiter=separator, strict=True)
            header = next(lines, None)
            if header is None:
                raise InputError(f"{path} is empty")
            _refuse_twins(path, header)
            for number, cells in enumerate(_told(lines, path), 1):
                if cells:
                    if len(cells) != len(header):
                        raise InputError(f"{path} row {number}: {len(cells)} cells under {len(header)} columns")
                    yield number, dict(zip(header, cells, strict=True))

    return read


def _told(lines: Iterator[list[str]], path: Path) -> Iterator[list[str]]:
    """The records of a file; strictly, because a quote that nobody closes would swallow the rest in silence."""
    number = 0
    try:
        for number, cells in enumerate(lines, 1):  # noqa: B007 (told below)
            yield cells
    except csv.Error as error:
        raise InputError(f"{path} row {number + 1}: the quotes are wrong: {error}") from None


def _excel(path: Path) -> Iterator[Numbered]:
    rows = excel_rows(path)
    header = [str(cell) for cell in next(rows, [])]
    while header and not header[-1]:
        header.pop()
    _refuse_twins(path, [name for place, name in enumerate(header) if name or not place])
    for number, cells in enumerate(rows, 1):
        if any(cell != "" for cell in cells[len(header) :]):
            raise InputError(f"{path} row {number}: there is more than the {len(header)} columns that have a name")
        if any(cell != "" for cell in cells):
            named = zip(header, cells + [""] * (len(header) - len(cells)), strict=False)
            yield number, {name: cell for place, (name, cell) in enumerate(named) if name or not place}


def _refuse_twins(path: Path, names: Iterable[str]) -> None:
    """Of two columns with one name, a row could only keep one."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{path}: several columns are called {short(twice[0])}; rename them")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


_READERS: dict[str, Callable[[Path], Iterator[Numbered]]] = {
    ".parquet": _parquet,
    ".jsonl": _json_lines,
    ".json": _json,
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".xlsx": _excel,
}
