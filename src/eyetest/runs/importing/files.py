"""Any table of rows, read a row at a time: Parquet, JSON Lines, JSON, CSV, TSV, Excel."""

import csv
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.errors import InputError

Row = dict[str, Any]
EXCEL_CELL = 32_767
"""Excel's longest cell. A text of exactly this length was cut off by whoever wrote the file."""
_BATCH = 5_000
_LARGEST_JSON = 2 * 2**30


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file by its ending; whatever is wrong with it becomes one line."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InputError(f"{path}: answers are read from {', '.join(_READERS)} files")
    if not path.is_file():
        raise InputError(f"{path} is no file")
    try:
        yield from reader(path)
    except (pa.ArrowException, msgspec.DecodeError, UnicodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None


def _parquet(path: Path) -> Iterator[Row]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_BATCH):
            yield from batch.to_pylist()


def _json_lines(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    yield msgspec.json.decode(line, type=Row)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise InputError(f"{path} line {number}: {error}") from None


def _json(path: Path) -> Iterator[Row]:
    """A list of objects, or objects under keys; a key is kept as the column ``key``."""
    if path.stat().st_size > _LARGEST_JSON:
        raise InputError(f"{path} is larger than {_LARGEST_JSON // 2**30} GB; make it JSON Lines")
    content = msgspec.json.decode(path.read_bytes())
    if isinstance(content, dict):
        content = [{"key": key, **value} if isinstance(value, dict) else value for key, value in content.items()]
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise InputError(f"{path}: expected a list of objects, or objects under keys")
    yield from content


def _separated(separator: str) -> Callable[[Path], Iterator[Row]]:
    def read(path: Path) -> Iterator[Row]:
        csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file, delimiter=separator)
            header = next(lines, None)
            if header is None:
                raise InputError(f"{path} is empty")
            for number, cells in enumerate(lines, 2):
                if cells:
                    if len(cells) != len(header):
                        raise InputError(f"{path} row {number}: {len(cells)} cells under {len(header)} columns")
                    yield dict(zip(header, cells, strict=True))

    return read


def _excel(path: Path) -> Iterator[Row]:
    import openpyxl  # noqa: PLC0415 (slow to load, and few files are Excel's)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # openpyxl raises whatever its parsers raise
        raise InputError(f"{path} is no Excel file: {' '.join(str(error).split())[:200]}") from None
    try:
        rows = book.worksheets[0].iter_rows(values_only=True)
        header = [str(cell) if cell is not None else "" for cell in next(rows, ())]
        for cells in rows:
            if any(cell is not None for cell in cells):
                yield {name: cell for name, cell in zip(header, cells, strict=False) if name}
    finally:
        book.close()


_READERS: dict[str, Callable[[Path], Iterator[Row]]] = {
    ".parquet": _parquet,
    ".jsonl": _json_lines,
    ".json": _json,
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".xlsx": _excel,
}
