"""Tables as rows of named values, CSV and TSV among them, and texts that hold lists. Which column holds which field:
as the user says, else by the names that tools use for it; several columns of a field are joined by ``+``.

A text that a spreadsheet would compute (=, +, -, @) is written with an apostrophe.
"""

import ast
import codecs
import csv
import errno
import io
import os
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import msgspec
import pyarrow as pa

from eyetest.errors import InputError, RowError, first_line, heading, nearest, short
from eyetest.grammar import read_pairs

MAX_UNPACKED = 2**31  # bytes of memory: Python values that a small file may become, parts of an archive
MAX_REPEATED = 2**28  # bytes of text: a dictionary of a few bytes may stand for hours of reading the same text again
MAX_GROWTH = 200  # a file may unfold into these, or into so many times its size: gigabytes of images are no bomb
UNFOLD = "EYETEST_UNFOLD_MB"  # raises both limits for somebody who trusts a file
_MOST_DIGITS = 9
Values = dict[str, Any]


class Row(NamedTuple):
    """One row of a table: its name in messages, and its values by column."""

    where: str
    values: Values


class Table:
    """A file as rows; each iteration starts anew, and errors about its content become one line."""

    skips_bad = False  # whether rows that cannot be read are left out

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bad_rows: dict[str, str] = {}  # those that were left out, with what is wrong with them

    def refuse(self, where: str, problem: str) -> None:
        """Refuse a row that cannot be read, or note that it is left out."""
        if not self.skips_bad:
            raise RowError(problem)
        self.bad_rows[where] = problem

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
    """A table of cells whose first row names the columns; blank rows are left out."""

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
        columns = self.columns
        for line, cells in enumerate(islice(self.cells(), 1, None), 1):
            if cells.count("") == len(cells):
                continue
            where = f"{self.path.name} row {line}"
            if len(cells) != len(columns):
                self.refuse(where, f"{where}: {len(cells)} cells under {len(columns)} columns")
                continue
            yield Row(where, dict(zip(columns, cells, strict=True)))


_SAMPLE = 2**16
_OBJECTS_ON_LINES = re.compile(rb"\{[^\n]*\}\s*\n\s*\{")
_INSPECT_LOG = re.compile(rb'\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"')
ENDINGS = (".parquet", ".jsonl", ".json", ".csv", ".tsv", ".xlsx")


def table_kind(path: Path) -> str:
    """What a table is by its content, as an ending: ``.jsonl`` for JSON Lines in a ``.json``; empty for no table."""
    ending = path.suffix.lower()
    with one_line(path), path.open("rb") as file:
        sample = file.read(_SAMPLE).removeprefix(codecs.BOM_UTF8).lstrip()
    if sample.startswith(b"\x1f\x8b"):
        raise InputError(f"{path} is packed with gzip: unpack it first (gunzip)")
    if sample.startswith(b"PAR1"):
        return ".parquet"
    if sample.startswith(b"PK\x03\x04") and (b"[Content_Types].xml" in sample or b"xl/" in sample):
        return ".xlsx"
    if _INSPECT_LOG.match(sample):
        raise InputError(f"{path} is a log of inspect-ai; convert it: inspect log convert {path} --to eval")
    if sample[:1] in (b"{", b"["):  # one object alone is a line or a document
        is_lines = sample[:1] == b"{" and (ending == ".jsonl" or _OBJECTS_ON_LINES.match(sample))
        return ".jsonl" if is_lines else ".json"
    return ending if ending in ENDINGS else ""


def most_unpacked(path: Path) -> int:
    """The number of bytes of memory that a file may unfold into."""
    return max(MAX_UNPACKED, MAX_GROWTH * path.stat().st_size, allowed_unfolding())


def most_repeated(path: Path) -> int:
    """The number of bytes of text that a file may hold, each counted as often as it is repeated."""
    return max(MAX_REPEATED, MAX_GROWTH * path.stat().st_size, allowed_unfolding())


def allowed_unfolding() -> int:
    """The number of bytes that the user allows any file to unfold into."""
    megabytes = os.environ.get(UNFOLD, "0")
    if not megabytes.isascii() or not megabytes.isdigit() or len(megabytes) > _MOST_DIGITS:
        raise InputError(f"{UNFOLD}: found {short(megabytes)}, expected a number of megabytes")
    return int(megabytes) * 2**20


def unfolds(path: Path, most: int) -> InputError:
    """The message about a file that unfolds into more bytes than that."""
    size = f"{path} unfolds into more than {most // 2**20:,} MB, far more than its size"
    return InputError(f"{size}; if you trust it, allow more with {UNFOLD}=N")


@contextmanager
def one_line(path: Path, what: str = "cannot be read") -> Iterator[None]:
    """Turn errors about the content of a file into one line; those of the system pass."""
    try:
        yield
    except MemoryError:
        raise unfolds(path, most_unpacked(path)) from None
    except (pa.ArrowException, msgspec.DecodeError, ValueError, EOFError, RecursionError, OSError) as error:
        if is_system_error(error):
            raise
        raise InputError(f"{path} {what}: {first_line(error)}") from None


def is_system_error(error: BaseException) -> bool:
    """Whether the disk or the system failed, and not the content of a file.

    EINVAL counts as content: a damaged file may name a place before its beginning, to which nothing can seek.
    """
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)


def refuse_twins(path: Path, names: Iterable[str]) -> None:
    """Refuse two columns with one name, of which a row could keep only one."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{path}: several columns are called {short(twice[0])}; rename them")


MAX_CELL = 64 * 2**20
MAX_LINE = 256 * 2**20
MAX_COLUMNS = 100_000
_SEPARATORS = (",", ";", "\t", "|")  # the first that is in a header, outside quotes, separates its cells
_QUOTED = re.compile('"[^"]*"')
_LONGEST_HEADER = 2**20


class SeparatedTable(Grid):
    """CSV and TSV as rows of text; strict, since an open quote would silently consume the rest."""

    @cached_property
    def _separator(self) -> str:
        with self.path.open("rb") as file:
            header = _QUOTED.sub("", file.readline(_LONGEST_HEADER).decode("utf-8", "replace"))
        usual = "\t" if self.path.suffix.lower() == ".tsv" else ","
        return next((mark for mark in (usual, *_SEPARATORS) if mark in header), usual)

    def cells(self) -> Iterator[list[Any]]:
        """The cells of all rows, header first."""
        csv.field_size_limit(MAX_CELL)
        number = 0
        with self.path.open(encoding="utf-8-sig", newline="") as file:
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
        while line := file.readline(MAX_LINE):
            if len(line) >= MAX_LINE:
                raise InputError(f"{self.path.name} has a line that is longer than {MAX_LINE // 2**20} MB")
            if line.count(self._separator) > MAX_COLUMNS:
                raise InputError(f"{self.path.name} has a line of more than {MAX_COLUMNS:,} columns")
            yield line


GUARD = "'"
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


def write_sheet(file: TextIO, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as CSV, each with a cell for every column; no spreadsheet computes a text."""
    cells = ([inert(cell) if isinstance(cell, str) else cell for cell in row] for row in chain([columns], rows))
    csv.writer(file).writerows(cells)


def sheet_text(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A whole table as the text of its file."""
    file = io.StringIO(newline="")
    write_sheet(file, columns, rows)
    return file.getvalue()


_PART = re.compile(
    r"""\s*+(?:(?P<text>[rRuU]?(?:'[^'\\\n]*(?:\\.[^'\\\n]*)*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"))"""
    r"""|(?P<number>-?\s*+\.?\d[\w.]*(?:(?<=[eE])[+-]\d+)?))\s*(?:,|\Z)""",
    re.DOTALL,
)
_MOST_PARTS = 20_000
_QUOTED_TEXT = r"""'[^'\\\n]*(?:\\.[^'\\\n]*)*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*\""""
_SPACED_PART = re.compile(rf"\s*({_QUOTED_TEXT})(?=\s|\Z)", re.DOTALL)  # as NumPy prints texts, without commas
_PAIR = re.compile(
    rf"\s*(?P<key>{_QUOTED_TEXT}|\d{{1,3}})\s*:\s*(?:(?P<text>{_QUOTED_TEXT})|(?P<number>-?[\d.]{{1,30}})|(?P<none>None))"
    r"\s*(?:,|\Z)",
    re.DOTALL,
)


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
    found = _from_json(text, quoted=quoted)
    return _from_python(text.strip()[1:-1], quoted=quoted) if found is None else found


def parse_array(text: str) -> list[str] | None:
    """The texts of ``['a' 'b']``, as NumPy prints an array; Python would join them, and one alone is no array."""
    if not looks_like_list(text):
        return None
    body = text.strip()[1:-1]
    parts: list[str] = []
    at = 0
    while at < len(body) and len(parts) <= _MOST_PARTS and (match := _SPACED_PART.match(body, at)):
        part = _unquoted(match[1])
        if part is None:
            return None
        parts.append(part)
        at = match.end()
    return parts if len(parts) > 1 and not body[at:].strip() else None


def parse_object(text: str) -> dict[str, Any] | None:
    """The values by name of an object literal (JSON or Python) that is never evaluated, else None."""
    try:
        record = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        body = text.strip()
        return _object_from_python(body[1:-1]) if body[:1] == "{" and body[-1:] == "}" else None
    return record if isinstance(record, dict) else None


def _object_from_python(body: str) -> dict[str, Any] | None:
    """The pairs of ``'A': 'cat', 'B': 'dog'``: quoted texts, numbers and None, and nothing else."""
    pairs: dict[str, Any] = {}
    at = 0
    while at < len(body) and len(pairs) <= _MOST_PARTS and (match := _PAIR.match(body, at)):
        key, value = (_unquoted(match[name]) for name in ("key", "text"))
        if key is None or (match["text"] and value is None):
            return None
        pairs[key] = value if match["text"] else match["number"]
        at = match.end()
    return None if body[at:].strip() or not pairs else pairs


def _unquoted(literal: str | None) -> str | None:
    """The text that a literal in quotes spells; a number as it is written."""
    if literal is None or literal.isdigit():
        return literal
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(literal)
        value.encode()
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return str(value)


def _from_json(text: str, *, quoted: bool) -> list[str] | None:
    try:
        raw = [bytes(part) for part in msgspec.json.decode(text, type=list[msgspec.Raw])]
        if not all(part[:1] in (b'"' if quoted else b'"-0123456789') for part in raw):
            return None
        return [msgspec.json.decode(part) if part[:1] == b'"' else part.decode() for part in raw]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _from_python(body: str, *, quoted: bool) -> list[str] | None:
    """The parts of ``item, item, …``: quoted texts and numbers separated by commas, and nothing else."""
    parts: list[str] = []
    at = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            while at < len(body) and len(parts) <= _MOST_PARTS and (match := _PART.match(body, at)):
                if quoted and not match["text"]:
                    return None
                value = ast.literal_eval(match["text"] or match["number"])
                parts.append(value if match["text"] else match["number"])
                at = match.end()
        "".join(parts).encode()
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    return None if body[at:].strip() else parts


def parse_fields(
    texts: Iterable[str], parameter: str, fields: Collection[str], example: str, kind: str = "FIELD=COLUMN"
) -> dict[str, str]:
    """A user's columns, or values, of known fields: the pairs of ``question=prompt,options=choices``."""
    found: dict[str, str] = {}
    for field, text in read_pairs(texts, parameter, example, between=",", form=kind).items():
        value = text.strip()
        refuse_unknown_field(field, parameter, fields)
        if not value and kind == "FIELD=COLUMN":
            raise InputError(f"{heading(parameter)}: {field} names no column, expected {kind}, such as {example}")
        found[field] = value
    return found


def set_once(settings: dict[str, str], field: str, value: str, parameter: str) -> None:
    """Set a field that has no other value yet."""
    if settings.setdefault(field, value) != value:
        raise InputError(f"{heading(parameter)}: {field} is given twice with different values")


def refuse_unknown_field(field: str, parameter: str, fields: Iterable[str]) -> None:
    """Raise where a user names an unknown field."""
    if field not in fields:
        raise InputError(f'{heading(parameter)}: no field "{field}"; {nearest(field, fields)}')


def split_columns(value: str) -> tuple[str, ...]:
    """The columns that ``A+B+C`` names."""
    return tuple(value.split("+")) if value else ()


def named_columns(mapping: Mapping[str, str]) -> list[str]:
    """All columns of a mapping."""
    return [name for value in mapping.values() for name in split_columns(value)]


def usual_columns(fields: Mapping[str, Sequence[str]], columns: Mapping[str, str]) -> dict[str, str]:
    """The columns of fields by their usual names, best first. ``columns``: those of a file that are free, by name."""
    found = {field: next((columns[name] for name in names if name in columns), "") for field, names in fields.items()}
    return {field: column for field, column in found.items() if column}


@lru_cache(maxsize=4_096)
def usual_name(column: str) -> str:
    """A column's name in small letters with ``_`` between its words: ``Question ID`` is ``question_id``."""
    return re.sub(r"\W+", "_", column.strip().lower()).strip("_")


def unknown_columns(names: Iterable[str], columns: Sequence[str]) -> list[str]:
    """What is wrong with each name that is no column."""
    return [f'no column "{name}"; {nearest(name, columns, 12)}' for name in names if name not in columns]


def listed_columns(columns: Sequence[str]) -> str:
    """The first few columns of a file, for a message."""
    shown = ", ".join(short(name, 40)[1:-1] for name in columns[:12])
    return f"{shown} … ({len(columns)} columns)" if len(columns) > 12 else shown
