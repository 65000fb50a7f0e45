"""Any table file, by its suffix; all but Parquet and Excel may be compressed. JSON may be one document."""

import codecs
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import msgspec

from eyetest.errors import InputError, short
from eyetest.tabular.arrow import ArrowTable, one_line, parquet_part
from eyetest.tabular.excel import ExcelTable
from eyetest.tabular.sheets import GUARDED, SeparatedTable, dialect_of, restored_row
from eyetest.tabular.table import Row, Rows, kind_of, named_sheet, open_plain, plain_size

_ROWS_AT_ONCE = 5_000
MAX_LINE = 256 * 2**20
MAX_DOCUMENT = 2**31
_BLANK = b"\xef\xbb\xbf \t\r\n"
_decode = msgspec.json.Decoder().decode


class JsonTable:
    """The objects of a file as rows. Columns are those of all objects, in order of appearance."""

    def __init__(self, path: Path) -> None:
        self.path, self.done = path, 0.0

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the values that any object has."""
        return tuple(dict.fromkeys(name for row in self for name in row.values))

    def __iter__(self) -> Iterator[Row]:
        position = number = 0
        size = plain_size(self.path)
        with open_plain(self.path) as file:
            for line_number, line in enumerate(iter(partial(file.readline, MAX_LINE), b""), 1):
                position += len(line)
                self.done = position / size
                where = f"{self.path.name} line {line_number}"
                if len(line) >= MAX_LINE:
                    raise InputError(f"{where} is longer than {MAX_LINE // 2**20} MB")
                text = line.strip(_BLANK) if line_number == 1 else line.strip()
                if line_number == 1 and self._is_document(text, more=bool(file.peek(1))):
                    yield from self._document()
                    return
                if text:
                    values = decode(text, where)
                    if not isinstance(values, dict):
                        raise InputError(f"{where}: found {short(values)}, expected a JSON object")
                    yield Row(number, where, values, line_number)
                    number += 1

    def _is_document(self, first_line: bytes, *, more: bool) -> bool:
        """Whether the whole file is one JSON value, judged by its first line and whether there are others."""
        if kind_of(self.path) != ".json":
            return first_line.startswith(b"[")
        with suppress(InputError):
            return not (more and first_line.endswith(b"}") and isinstance(decode(first_line, ""), dict))
        return True

    def _document(self) -> Iterator[Row]:
        data = read_document(self.path, "write it as JSON Lines")
        content = decode(data.removeprefix(codecs.BOM_UTF8), str(self.path))
        if isinstance(content, dict):
            lists = [part for part in content.values() if _are_objects(part)]
            plain = all(isinstance(part, str | float | int) for part in content.values())
            pairs = [(key, {"value": part} if plain else part) for key, part in content.items()]
            keyed = [{"key": key, **part} if isinstance(part, dict) else part for key, part in pairs]
            content = lists[0] if len(lists) == 1 else keyed
        if content != [] and not _are_objects(content):
            expected = "a list of objects, one such list under a key, or objects or texts under keys"
            raise InputError(f"{self.path}: expected {expected}")
        self.done = 1.0
        for number, values in enumerate(content):
            yield Row(number, f"{self.path.name} object {number + 1}", values, number + 1)


def read_document(path: Path, hint: str) -> bytes:
    """The bytes of a file that is one JSON value; ``hint``: advice for one that is too large."""
    with open_plain(path) as file:
        data = file.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        raise InputError(f"{path} is one JSON value of more than 2 GB; {hint}")
    return data


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def decode(data: bytes, where: str) -> Any:
    """The value; half a surrogate pair becomes U+FFFD, since it cannot be stored."""
    why = "it is not UTF-8"
    try:
        try:
            return _decode(data)
        except msgspec.DecodeError as error:
            why = str(error)
            return _without_halves(json.loads(data.decode()))
    except RecursionError:
        raise InputError(f"{where} is nested too deeply") from None
    except ValueError:  # also what is not UTF-8
        raise InputError(f"{where} is not JSON: {why}") from None


def _without_halves(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return list(map(_without_halves, value))
    if isinstance(value, dict):
        return {_without_halves(key): _without_halves(part) for key, part in value.items()}
    return value


class TableFile:
    """A file as a table; errors become one line. Excel: a sheet, and with ``seen`` the displayed texts."""

    def __init__(self, path: Path, sheet: str = "", *, seen: bool = False) -> None:
        self.path, self.done = path, 0.0
        with one_line(path):
            self._table = ExcelTable(path, sheet, seen=seen) if is_excel(path) else _OPENERS[kind_of(path)](path)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the values that its rows may have."""
        with one_line(self.path):
            return self._table.columns

    def __iter__(self) -> Iterator[Row]:
        guarded = is_sheet(self.path) and GUARDED in self.columns
        with one_line(self.path):
            for row in self._table:
                self.done = self._table.done
                yield row._replace(values=restored_row(row.values)) if guarded else row


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file of answers, each with its number for messages."""
    path, sheet = named_sheet(path)
    if path.is_dir() or kind_of(path) not in _OPENERS:
        what = " is a folder;" if path.is_dir() else ":"
        raise InputError(f"{path}{what} answers are read from {', '.join(_OPENERS)} files")
    if not path.is_file():
        raise InputError(f"{path} is no file")
    table = TableFile(path, sheet)
    if is_sheet(path) and not table.columns:
        raise InputError(f"{path} is empty")
    for row in table:
        yield row.line, row.values


def is_sheet(path: Path) -> bool:
    """Whether a file's format does not distinguish an empty text from a missing value."""
    return kind_of(path) in (".csv", ".tsv", ".xlsx")


def is_excel(path: Path) -> bool:
    """Whether the format may have truncated long texts."""
    return kind_of(path) == ".xlsx"


def _parquet(path: Path) -> ArrowTable:
    schema, part = parquet_part(path, _ROWS_AT_ONCE)
    return ArrowTable(path, schema, [part])


_OPENERS: dict[str, Callable[[Path], Rows]] = {
    ".parquet": _parquet,
    ".jsonl": JsonTable,
    ".json": JsonTable,
    ".csv": lambda path: SeparatedTable(path, dialect_of(path)),
    ".tsv": lambda path: SeparatedTable(path, dialect_of(path, "\t")),
    ".xlsx": ExcelTable,
}
ENDINGS = tuple(_OPENERS)
