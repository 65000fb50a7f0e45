"""CSV and TSV: reading with detection of encoding and separator, and writing with cells that no spreadsheet computes.

An apostrophe before =, +, - or @ keeps a text from being computed, and is removed when the table is read again.
"""

import codecs
import csv
import io
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from eyetest.errors import InputError, ReadingWarning, short
from eyetest.tabular.table import Row, open_plain, plain_size, refuse_twins

MAX_CELL = 64 * 2**20
MAX_LINE = 256 * 2**20
MAX_COLUMNS = 100_000
UTF8, WESTERN = "utf-8-sig", "cp1252"
_MARKED = ((codecs.BOM_UTF8, UTF8), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_SEPARATORS = (",", ";", "\t")  # the first that is in a header, outside quotes, separates its cells
_LONGEST_HEADER = 2**20
_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_FOREIGN = re.compile(rb"[\x81\x8d\x8f\x90\x9d]|[\x80-\xff]{4}")  # unassigned, or four non-English letters in a row
_HIGH = re.compile(rb"[\x80-\xff]")
_WORD = re.compile(rb"[\w\x80-\xff]*[\x80-\xff][\w\x80-\xff]*")
GUARD = "'"
GUARDED = "guarded"  # the column that names the guarded cells of each row in a table that is read again
_PASSED_OVER = "\\s\x00-\x20\"'`\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
_COMPUTED = re.compile(f"[{_PASSED_OVER}]*[=+\\-@＝＋－＠﹢﹣﹦﹫]|'*[\t\r\n\0]")


class Dialect(NamedTuple):
    """How to read a file of text."""

    encoding: str
    separator: str
    preface: bool = False  # whether a line for Excel that names the separator precedes the header


def dialect_of(path: Path, separator: str = "") -> Dialect:
    """The dialect of a file; its separator is detected unless given."""
    encoding = _encoding(path)
    if separator:
        return Dialect(encoding, separator)
    with open_plain(path) as file:
        header = file.read(_LONGEST_HEADER).decode(encoding, "replace").lstrip("\ufeff")
    first = re.split("[\r\n]", header, maxsplit=1)[0]
    if named := re.fullmatch(r"sep=([,;\t|])", first, re.IGNORECASE):
        return Dialect(encoding, named[1], preface=True)
    bare = re.sub('"[^"]*"', "", first)
    return Dialect(encoding, next((mark for mark in _SEPARATORS if mark in bare), ","))


def _encoding(path: Path) -> str:
    """UTF-8 or UTF-16, else Windows-1252 if the bytes fit it: a few damaged ones among UTF-8 do not."""
    letters = sequences = 0
    sample = b""
    with open_plain(path) as file:
        head = file.peek(4)[:4]
        for mark, name in _MARKED:
            if head.startswith(mark):
                return name
        if len(head) > 1 and not (head[0] and head[1]):
            return "utf-16-le" if head[0] else "utf-16-be"
        for line in iter(partial(file.readline, MAX_LINE), b""):
            with suppress(UnicodeDecodeError):
                sequences += 0 if line.isascii() else len(line) - len(line.decode())
                continue
            whole = _SEQUENCE.findall(line)
            sequences += len(whole)
            letters += len(_HIGH.findall(line)) - sum(map(len, whole))
            sample = sample or max(_WORD.findall(line), key=len, default=b"")
            if _FOREIGN.search(line):
                sequences = letters
                break
    if not sample:
        return UTF8
    if letters <= sequences:
        hint = 'save it as "CSV UTF-8", or convert it (iconv -t utf-8)'
        raise InputError(f"{path} is not UTF-8, and no Western text either: {hint}")
    read = f"{path.name} is not UTF-8, so it was read as Windows-1252, as Excel writes CSV in the West"
    hint = f'({short(sample.decode(WESTERN))}); if that is wrong, save it as "CSV UTF-8"'
    warnings.warn(f"{read} {hint}", ReadingWarning, stacklevel=2)
    return WESTERN


class SeparatedTable:
    """CSV and the like as rows of text, each with a cell for every column of the first line."""

    errors = "strict"

    def __init__(self, path: Path, dialect: Dialect) -> None:
        self.path, self.done, self._dialect = path, 0.0, dialect
        self.columns = tuple(next(self.rows(), ()))
        refuse_twins(path, self.columns)

    def __iter__(self) -> Iterator[Row]:
        for line, cells in enumerate(self.rows()):
            if line:
                where = f"{self.path.name} row {line}"
                yield Row(line - 1, where, self.values(where, cells), line)

    def rows(self) -> Iterator[list[str]]:
        """The cells of all rows, header first; strict, since an open quote would silently consume the rest."""
        csv.field_size_limit(MAX_CELL)
        number = 0
        with io.TextIOWrapper(open_plain(self.path), self._dialect.encoding, self.errors, newline="") as file:
            if self._dialect.preface:
                file.readline(MAX_LINE)
            lines = csv.reader(self._lines(file), delimiter=self._dialect.separator, strict=True)
            try:
                for number, cells in enumerate(row for row in lines if row not in ([], [""])):  # noqa: B007
                    yield cells
            except csv.Error as error:
                long = f"found more than {MAX_CELL // 2**20} MB in a cell" if "field larger" in str(error) else ""
                why = long or f"the quotes are wrong: {error}"
                raise InputError(f"{self.path.name} row {number + 1}: {why}") from None

    def _lines(self, file: TextIO) -> Iterator[str]:
        size, position = plain_size(self.path), 0
        while line := file.readline(MAX_LINE):
            if len(line) >= MAX_LINE:
                raise InputError(f"{self.path.name} has a line that is longer than {MAX_LINE // 2**20} MB")
            if line.count(self._dialect.separator) > MAX_COLUMNS:
                raise InputError(f"{self.path.name} has a line of more than {MAX_COLUMNS:,} columns")
            position += len(line)
            self.done = position / size
            yield line

    def values(self, where: str, cells: list[str]) -> dict[str, str | bytes]:
        """A row's values by column."""
        if len(cells) != len(self.columns):
            raise InputError(f"{where}: {len(cells)} cells under {len(self.columns)} columns")
        return dict(zip(self.columns, cells, strict=True))


def inert(text: str) -> str:
    """A text as a cell that no spreadsheet computes."""
    return GUARD + text if _needs_guard(text) else text


def restored(cell: str) -> str:
    """The original text of an ``inert`` cell."""
    return cell[1:] if cell.startswith(GUARD) and _needs_guard(cell[1:]) else cell


def restored_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a table that is read again, without the guards that it declares; any other row unchanged."""
    names = str(row.get(GUARDED) or "").split()
    if GUARDED not in row or not all(isinstance(row.get(name), str) for name in names):
        return row
    cells = {name: restored(row[name]) for name in names}
    return {name: cells.get(name, cell) for name, cell in row.items() if name != GUARDED}


class SheetWriter:
    """Writes rows as CSV with inert texts; ``mark`` adds a column that names the changed cells of each row."""

    def __init__(self, file: TextIO, columns: Sequence[str], *, mark: bool = False) -> None:
        self.guarded = False
        self._writer = csv.writer(file)
        self._columns, self._mark = columns, mark
        self._writer.writerow([inert(name) for name in columns] + [GUARDED] * mark)

    def write(self, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows, each with a cell for every column."""
        self._writer.writerows(map(self._cells, rows))

    def _cells(self, row: Sequence[Any]) -> list[Any]:
        cells = [inert(cell) if isinstance(cell, str) else cell for cell in row]
        changed = [name for name, old, new in zip(self._columns, row, cells, strict=True) if old is not new]
        self.guarded |= bool(changed)
        return [*cells, " ".join(changed)] if self._mark else cells


def sheet_text(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, mark: bool = False) -> str:
    """A whole table as the text of its file."""
    file = io.StringIO(newline="")
    SheetWriter(file, columns, mark=mark).write(rows)
    return file.getvalue()


def _needs_guard(text: str) -> bool:
    return bool(text) and not text[0].isalnum() and _COMPUTED.match(text) is not None
