"""Tables as rows of named values, CSV and TSV among them, and texts that hold lists.

A text that a spreadsheet would compute (=, +, -, @) is written with an apostrophe, removed when it is read again.
"""

import ast
import codecs
import csv
import gzip
import io
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import msgspec
import pyarrow as pa

from eyetest.errors import InputError, first_line, heading, nearest, short

PACKED = ".gz"
_GZIP = b"\x1f\x8b"
MAX_UNPACKED = 2**31
MAX_GROWTH = 200  # a compressed file may decompress into `MAX_UNPACKED` bytes, or into so many times its size
_BUFFER = 2**20
Values = dict[str, Any]


class Row(NamedTuple):
    """One row of a table: its number from 0, its name in messages, and its values by column."""

    number: int
    where: str
    values: Values
    line: int = 0  # counted from 1: lines in JSON Lines, rows below the header elsewhere


class Table:
    """A file as rows; each iteration starts anew, and errors about its content become one line."""

    done = 0.0  # share of the file that the latest iteration has read, from 0 to 1

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the values that its rows may have, in order of appearance."""
        return tuple(dict.fromkeys(name for row in self for name in row.values))

    def __iter__(self) -> Iterator[Row]:
        with one_line(self.path):
            yield from self.rows()

    def rows(self) -> Iterator[Row]:
        """The rows from the first one on."""
        raise NotImplementedError


class Grid(Table):
    """A table of cells whose first row names the columns; blank rows are left out, and guarded texts restored."""

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The first row."""
        with one_line(self.path):
            columns = tuple(map(str, next(self.cells(), ())))
        refuse_twins(self.path, columns)
        return columns

    def cells(self) -> Iterator[list[Any]]:
        """The cells of all rows, header first; "" for an empty one."""
        raise NotImplementedError

    def rows(self) -> Iterator[Row]:
        """The rows below the header."""
        number, columns = 0, self.columns
        guarded = GUARDED in columns
        for line, cells in enumerate(islice(self.cells(), 1, None), 1):
            if cells.count("") == len(cells):
                continue
            where = f"{self.path.name} row {line}"
            if len(cells) != len(columns):
                raise InputError(f"{where}: {len(cells)} cells under {len(columns)} columns")
            values = dict(zip(columns, cells, strict=True))
            yield Row(number, where, restored_row(values) if guarded else values, line)
            number += 1


def kind_of(path: Path) -> str:
    """A file's kind by its ending, that of ``quiz.csv.gz`` being ``.csv``."""
    return Path(unpacked_name(path.name.lower())).suffix


_SAMPLE, _LONG_LINE = 2**16, 2**24
_OBJECTS_ON_LINES = re.compile(rb"\{[^\n]*\}\s*\n\s*\{")
_SHEETS = (".csv", ".tsv")
_QUOTED = re.compile('"([^"]*)"')
_NAME = re.compile(r"(?!\d)\S.{0,80}")


def table_kind(path: Path) -> str:
    """What a table is by its content, as an ending: ``.jsonl`` for JSON Lines in a ``.json``; empty for no table."""
    ending = kind_of(path)
    with one_line(path), open_plain(path) as file:
        sample = file.read(_SAMPLE).removeprefix(codecs.BOM_UTF8).lstrip()
        if sample[:1] == b"{" and b"\n" not in sample:
            sample += file.readline(_LONG_LINE) + file.read(_SAMPLE)
    if sample.startswith(b"PAR1"):
        return ".parquet"
    if sample.startswith(b"PK\x03\x04") and (b"[Content_Types].xml" in sample or b"xl/" in sample):
        return ".xlsx"
    if sample[:1] in (b"{", b"["):  # one object alone is a line or a document
        is_lines = sample[:1] == b"{" and (ending == ".jsonl" or _OBJECTS_ON_LINES.match(sample))
        return ".jsonl" if is_lines else ".json"
    separator = separator_of(sample, ending)
    if ending in (".parquet", ".xlsx", ".json", ".jsonl"):  # empty or damaged, if it is no text: its reader says so
        return ".csv" if separator else ending
    is_tsv = separator == "\t" if ending != ".tsv" else separator in ("", "\t")
    return "" if not separator and ending not in _SHEETS else ".tsv" if is_tsv and ending != ".csv" else ".csv"


def separator_of(sample: bytes, ending: str) -> str:
    """What separates the cells of a text, by its first line; empty if no header with several names is found.

    A file that is no ``.csv`` or ``.tsv`` by its name has to have as many cells in its second line.
    """
    lines = sample.decode("utf-8", "replace").splitlines()[:2]
    lines = [_QUOTED.sub(lambda quoted: re.sub(r"[,;\t|]", "_", quoted[1]), line) for line in lines]
    for mark in sorted(_SEPARATORS, key=lambda mark: (mark == "\t") != (ending == ".tsv")):
        names = [name.strip() for name in lines[0].split(mark)] if lines else []
        is_even = len(lines) == 2 and lines[1].count(mark) == len(names) - 1
        are_names = len(set(names)) == len(names) and all(map(_NAME.fullmatch, names))
        if len(names) > 1 and (ending in _SHEETS or (is_even and are_names)):
            return mark
    return ""


def unpacked_name(name: str) -> str:
    """The name without the suffix of compression."""
    return name[: -len(PACKED)] if name.lower().endswith(PACKED) else name


def open_plain(path: Path) -> io.BufferedReader:
    """A file's bytes, decompressed if they are packed with gzip, whatever its name."""
    with path.open("rb") as file:
        is_packed = file.read(len(_GZIP)) == _GZIP
    return io.BufferedReader(_Unpacking(path) if is_packed else io.FileIO(path), _BUFFER)


class _Unpacking(io.RawIOBase):
    def __init__(self, path: Path) -> None:
        self._file = gzip.open(path)  # noqa: SIM115 (closed with this)
        self._path, self._left = path, most_unpacked(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise unfolds(self._path)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def most_unpacked(path: Path) -> int:
    """The number of bytes that a file may unfold into."""
    return max(MAX_UNPACKED, MAX_GROWTH * path.stat().st_size)


def unfolds(path: Path) -> InputError:
    """The message about a file that unfolds into more."""
    return InputError(f"{path} unfolds into more than {most_unpacked(path) // 2**20:,} MB, far more than its size")


_UNREADABLE = (pa.ArrowException, msgspec.DecodeError, ValueError, EOFError, RecursionError, zlib.error)


@contextmanager
def one_line(path: Path, what: str = "cannot be read") -> Iterator[None]:
    """Turn errors about the content of a file into one line; those of the system pass."""
    try:
        yield
    except MemoryError:
        raise unfolds(path) from None
    except (*_UNREADABLE, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{path} {what}: {first_line(error)}") from None


def refuse_twins(path: Path, names: Iterable[str]) -> None:
    """Refuse two columns with one name, of which a row could keep only one."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{path}: several columns are called {short(twice[0])}; rename them")


def parse_pairs(texts: Iterable[str], takes: str) -> Iterator[tuple[str, str]]:
    """The pairs of ``question=prompt,options=choices``; ``takes``: what was expected, if there is none."""
    for pair in (part for text in texts for part in text.split(",")):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise InputError(f'{takes}; found "{pair}"')
        yield name, value


def refuse_unknown_field(field: str, parameter: str, fields: Iterable[str]) -> None:
    """Raise where a user names an unknown field."""
    if field not in fields:
        raise InputError(f'{heading(parameter)}: no field "{field}"; {nearest(field, fields)}')


def nearest_column(name: str, columns: Sequence[str]) -> str:
    """The nearest column, or the first few where there are thousands."""
    hint = nearest(name, columns)
    return hint if hint.startswith("did you") else f"known: {listed_columns(columns)}"


def listed_columns(columns: Sequence[str]) -> str:
    """The first few columns of a file, for a message."""
    shown = ", ".join(short(name, 40)[1:-1] for name in columns[:12])
    return f"{shown} … ({len(columns)} columns)" if len(columns) > 12 else shown


MAX_CELL = 64 * 2**20
MAX_LINE = 256 * 2**20
MAX_COLUMNS = 100_000
_SEPARATORS = (",", ";", "\t", "|")  # the first that is in a header, outside quotes, separates its cells
_LONGEST_HEADER = 2**20
_ENCODING = "utf-8-sig"


class SeparatedTable(Grid):
    """CSV and TSV as rows of text; strict, since an open quote would silently consume the rest."""

    @cached_property
    def _separator(self) -> str:
        with open_plain(self.path) as file:
            sample = file.readline(_LONGEST_HEADER) + file.readline(_LONGEST_HEADER)
        ending = kind_of(self.path)
        return separator_of(sample, ending) or ("\t" if ending == ".tsv" else ",")

    def cells(self) -> Iterator[list[Any]]:
        """The cells of all rows, header first."""
        csv.field_size_limit(MAX_CELL)
        number = 0
        with io.TextIOWrapper(open_plain(self.path), _ENCODING, newline="") as file:
            lines = csv.reader(self._lines(file), delimiter=self._separator, strict=True)
            try:
                for number, cells in enumerate(row for row in lines if row not in ([], [""])):  # noqa: B007
                    yield cells
            except UnicodeDecodeError:
                hint = 'save it as "CSV UTF-8", or convert it (iconv -t utf-8)'
                raise InputError(f"{self.path} is not UTF-8: {hint}") from None
            except csv.Error as error:
                long = f"found more than {MAX_CELL // 2**20} MB in a cell" if "field larger" in str(error) else ""
                why = long or f"the quotes are wrong: {error}"
                raise InputError(f"{self.path.name} row {number + 1}: {why}") from None

    def _lines(self, file: TextIO) -> Iterator[str]:
        size, position = max(self.path.stat().st_size, 1), 0
        while line := file.readline(MAX_LINE):
            if len(line) >= MAX_LINE:
                raise InputError(f"{self.path.name} has a line that is longer than {MAX_LINE // 2**20} MB")
            if line.count(self._separator) > MAX_COLUMNS:
                raise InputError(f"{self.path.name} has a line of more than {MAX_COLUMNS:,} columns")
            position += len(line)
            self.done = min(position / size, 1.0)
            yield line


GUARD = "'"
GUARDED = "guarded"  # the column that names the guarded cells of each row in a table that is read again
_PASSED_OVER = "\\s\x00-\x20\"'`\u00ad\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
_COMPUTED = re.compile(f"[{_PASSED_OVER}]*[=+\\-@＝＋－＠﹢﹣﹦﹫]|'*[\t\r\n\0]")


def inert(text: str) -> str:
    """A text as a cell that no spreadsheet computes."""
    return GUARD + text if _needs_guard(text) else text


def restored(cell: str) -> str:
    """The original text of an ``inert`` cell."""
    return cell[1:] if cell.startswith(GUARD) and _needs_guard(cell[1:]) else cell


def _needs_guard(text: str) -> bool:
    return bool(text) and not text[0].isalnum() and _COMPUTED.match(text) is not None


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


_PART = re.compile(
    r"""\s*(?:(?P<text>[rRuU]?(?:'[^'\\\n]*(?:\\.[^'\\\n]*)*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"))"""
    r"""|(?P<number>-?\s*\.?\d[\w.]*(?:(?<=[eE])[+-]\d+)?))\s*(?:,|\Z)""",
    re.DOTALL,
)
_MOST_PARTS = 20_000
_Part = tuple[str, bool]  # A text or a number as spelt, and whether it stands in quotes


def looks_like_list(text: str) -> bool:
    """Whether a text may be the literal of a list, judged by its first and last characters."""
    stripped = text.strip()
    return stripped.startswith("[") and stripped.endswith("]")


def parse_list(text: str, *, quoted: bool = False) -> list[str] | None:
    """The texts and numbers, as spelt, in a flat list literal (Python or JSON) that is never evaluated, else None.

    With ``quoted`` only a list of texts in quotes.
    """
    if not looks_like_list(text):
        return None
    found = _from_json(text)
    parts = _from_python(text.strip()[1:-1]) if found is None else found
    if parts is None or (quoted and not all(in_quotes for _, in_quotes in parts)):
        return None
    return [part for part, _ in parts]


def _from_json(text: str) -> list[_Part] | None:
    try:
        raw = [bytes(part) for part in msgspec.json.decode(text, type=list[msgspec.Raw])]
        if not all(part[:1] in b'"-0123456789' for part in raw):
            return None
        return [(msgspec.json.decode(part), True) if part[:1] == b'"' else (part.decode(), False) for part in raw]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _from_python(body: str) -> list[_Part] | None:
    """The parts of ``item, item, …``: quoted texts and numbers separated by commas, and nothing else."""
    parts: list[_Part] = []
    at = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            while at < len(body) and len(parts) <= _MOST_PARTS and (match := _PART.match(body, at)):
                value = ast.literal_eval(match["text"] or match["number"])
                parts.append((value, True) if match["text"] else (match["number"], False))
                at = match.end()
        "".join(part for part, _ in parts).encode()
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return None if body[at:].strip() else parts
