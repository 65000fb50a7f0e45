"""Any table file, by its suffix: JSON (lines, or one document), Excel, and those of `table` and `record_files`;
and logs of inspect-ai.

All but Parquet and Excel may be compressed. In Excel, dates (1-2 becomes one) and numbers over 15 digits are marked:
what was typed is lost.
"""

import codecs
import errno
import json
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import date, datetime, time
from functools import partial
from itertools import takewhile, zip_longest
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from eyetest.errors import InputError, first_line, nearest, short
from eyetest.tabular.record_files import ArrowTable, parquet_part
from eyetest.tabular.table import (
    MAX_UNPACKED,
    Grid,
    Row,
    SeparatedTable,
    Table,
    kind_of,
    most_unpacked,
    named_sheet,
    one_line,
    open_plain,
    plain_size,
    unfolds,
)

_ROWS_AT_ONCE = 5_000
MAX_LINE = 256 * 2**20
MAX_DOCUMENT = 2**31
_BLANK = b"\xef\xbb\xbf \t\r\n"
_decode = msgspec.json.Decoder().decode


class JsonTable(Table):
    """The objects of a file as rows. Columns are those of all objects."""

    def rows(self) -> Iterator[Row]:
        """The objects."""
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


EXCEL_CELL = 32_767  # Excel's longest cell. A text of that length was truncated by the program that wrote the file
EXCEL_DIGITS = 15
MAX_ROWS = 2**20  # Excel's own limit. A file may place a single cell a billion rows below the others
MAX_CELLS = 20_000_000
_SMALL = 2**26
_PACKED = 100  # largest decompression of a part of more than `_SMALL` bytes; tables of text reach 20
_FORMAT = re.compile(r"(?P<fixed>(?:#,##)?0\.(0+))|(?P<percent>0(?:\.(0+))?%)|(?P<padded>0{2,})")


class ExcelDate(str):
    """The text of a cell that Excel treats as a date or a time."""


class CutNumber(str):
    """The text of a whole number that has more digits than Excel keeps."""


class ExcelTable(Grid):
    """The first sheet, or the named one; numbers and dates as values, or as displayed (``seen``)."""

    def __init__(self, path: Path, sheet: str = "", *, seen: bool = False) -> None:
        super().__init__(path)
        self._sheet, self._seen = sheet, seen

    def cells(self) -> Iterator[list[Any]]:
        """The cells under all columns that have a name, and under the first; header first."""
        rows = self._all_cells()
        header = [str(cell) for cell in next(rows, [])]
        while header and not header[-1]:
            header.pop()
        named = [index for index, name in enumerate(header) if name or not index]
        yield [header[index] for index in named]
        for line, cells in enumerate(rows, 1):
            if any(cell != "" for cell in cells[len(header) :]):
                there = f"there is more than the {len(header)} columns that have a name"
                raise InputError(f"{self.path.name} row {line}: {there}")
            yield [cells[index] if index < len(cells) else "" for index in named]

    def _all_cells(self) -> Iterator[list[Any]]:
        """Every cell; a formula without a computed value as its text."""
        rows = cells = 0
        with _opened(self.path, data_only=True) as computed, _opened(self.path, data_only=False) as written:
            values = _sheet(self.path, computed, self._sheet).iter_rows(values_only=not self._seen)
            formulas = _sheet(self.path, written, self._sheet).iter_rows(values_only=True)
            for pair in zip(values, formulas, strict=True):
                rows += 1
                cells += max(map(len, pair))
                if rows > MAX_ROWS or cells > MAX_CELLS:
                    read = f"{rows - 1:,} rows and {cells:,} cells"
                    raise InputError(f"{self.path} goes on after {read}; write it as CSV or JSON Lines")
                shown = map(as_seen, pair[0]) if self._seen else pair[0]
                yield [_cell(value, formula) for value, formula in zip_longest(shown, pair[1])]


def _cell(value: Any, formula: Any) -> Any:
    is_text = isinstance(formula, str) and formula.startswith("=") and not value
    return formula if is_text else "" if value is None else value


def sheet_names(path: Path) -> list[str]:
    """The sheets of a file, in its order."""
    with _opened(path, data_only=True) as book:
        return [sheet.title for sheet in book.worksheets]


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
    style = _FORMAT.fullmatch(cell.number_format.split(";")[0])
    if style and style["fixed"]:
        text = f"{value:.{len(style[2])}f}"
        return text if float(text) == value else value
    if style and style["percent"]:
        text = f"{100 * value:.{len(style[4] or '')}f}"
        return f"{text}%" if abs(float(text) / 100 - value) < 10**-EXCEL_DIGITS else value
    return f"{int(value):0{len(style[0])}d}" if style and value == int(value) >= 0 else value


def open_table(path: Path, sheet: str = "", *, seen: bool = False) -> Table:
    """A file as a table. Excel: a sheet, and with ``seen`` the displayed texts."""
    with one_line(path):
        return ExcelTable(path, sheet, seen=seen) if is_excel(path) else _OPENERS[kind_of(path)](path)


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a file of answers, each with its number for messages."""
    path, sheet = named_sheet(path)
    if path.is_dir() or kind_of(path) not in _OPENERS:
        what = " is a folder;" if path.is_dir() else ":"
        raise InputError(f"{path}{what} answers are read from {', '.join(_OPENERS)} files")
    if not path.is_file():
        raise InputError(f"{path} is no file")
    table = open_table(path, sheet)
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


_OPENERS: dict[str, Callable[[Path], Table]] = {
    ".parquet": lambda path: ArrowTable(path, [parquet_part(path, _ROWS_AT_ONCE)]),
    ".jsonl": JsonTable,
    ".json": JsonTable,
    ".csv": SeparatedTable,
    ".tsv": SeparatedTable,
    ".xlsx": ExcelTable,
}
ENDINGS = tuple(_OPENERS)


# Samples of inspect-ai logs: ``.eval`` (a Zstandard zip, which ``zipfile`` reads from 3.14) or one JSON file.

MAX_SAMPLE = 256 * 2**20
_HEADER, _START, _SAMPLES = "header.json", "_journal/start.json", "samples/"  # an unfinished log has no header
_ZSTANDARD = 93
_LOCAL = struct.Struct("<4s22xHH")
_LOG = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"')
_PEEK = 200
_ATTACHMENT = "attachment://"
Kind = TypeVar("Kind")


class LogPart(msgspec.Struct):
    """A part of a message's content: text, or an image by its bytes or path."""

    type: str = ""
    text: str = ""
    image: str = ""


class LogMessage(msgspec.Struct):
    """A message of a conversation."""

    role: str = ""
    content: str | list[LogPart] = ""

    @property
    def text(self) -> str:
        """The text, without images and reasoning."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if part.type == "text")


class _Completion(msgspec.Struct):
    message: LogMessage = msgspec.field(default_factory=LogMessage)
    stop_reason: str = ""


class _Output(msgspec.Struct):
    choices: list[_Completion] = []
    error: str | None = None


class _Event(msgspec.Struct):
    event: str = ""
    output: Any = None


class _Score(msgspec.Struct):
    value: Any = None
    explanation: str | None = None


class Sample(msgspec.Struct):
    """One question in one epoch, as published by inspect-ai; other content of a log is ignored."""

    id: int | str
    epoch: int = 1
    input: str | list[LogMessage] = ""
    choices: list[str] | None = None
    target: str | list[str] = ""
    messages: list[LogMessage] = []
    output: _Output = msgspec.field(default_factory=_Output)
    scores: dict[str, _Score] | None = None
    metadata: dict[str, Any] = {}
    attachments: dict[str, str] = {}
    events: list[_Event] = []
    error: Any = None
    limit: Any = None
    invalidation: Any = None

    @property
    def question(self) -> str:
        """The question, without the images."""
        if isinstance(self.input, str):
            return self._attached(self.input)
        return "\n\n".join(self._attached(message.text) for message in self.input if message.role == "user")

    @property
    def images(self) -> list[str]:
        """The images of the question, as data URLs or paths."""
        messages = self.input if isinstance(self.input, list) else []
        parts = [part for message in messages for part in message.content if isinstance(part, LogPart)]
        return [self._attached(part.image) for part in parts if part.type == "image"]

    @property
    def prompt(self) -> str:
        """The last message to the model."""
        asked = [message.text for message in self.messages if message.role == "user"]
        return self._attached(asked[-1]) if asked else ""

    @property
    def completion(self) -> str | None:
        """The model's reply; None where there is none."""
        return self._attached(self.output.choices[0].message.text) if self.output.choices else None

    @property
    def spoken(self) -> str | None:
        """The model's last output before scoring, even if it was overwritten; None if unknown."""
        solving = takewhile(lambda event: event.event != "score", self.events)
        calls = [event.output for event in solving if event.event == "model"]
        try:
            return self._attached(msgspec.convert(calls[-1], _Output).choices[0].message.text)
        except (msgspec.ValidationError, IndexError):
            return None

    def _attached(self, text: str) -> str:
        """Resolve references to attachments, in which long texts and images are stored."""
        return self.attachments.get(text.removeprefix(_ATTACHMENT), text) if text.startswith(_ATTACHMENT) else text


class _Step(msgspec.Struct):
    solver: str = ""
    params: dict[str, Any] = {}


class _Plan(msgspec.Struct):
    steps: list[_Step] = []


class _Evaluation(msgspec.Struct):
    model: str


class Header(msgspec.Struct):
    """The metadata of a log, common to its samples."""

    eval: _Evaluation
    plan: _Plan = msgspec.field(default_factory=_Plan)


class _WholeLog(Header):
    samples: list[Sample] | None = None


def is_inspect_log(path: Path) -> bool:
    """Whether a file is a log: by its suffix, or by the beginning of a JSON document."""
    kind = kind_of(path)
    if kind != ".json" or not path.is_file():
        return kind == ".eval"
    with open_plain(path) as file:
        return _LOG.match(file.read(_PEEK)) is not None


def read_inspect_log(path: Path) -> Iterator[tuple[Header, Sample]]:
    """The samples of a log, each with the log's metadata."""
    if not path.is_file():
        raise InputError(f"{path} is no file")
    if kind_of(path) == ".json":
        data = read_document(path, "convert it: inspect log convert --to eval")
        document = _typed(data, _WholeLog, path.name)
        yield from ((document, sample) for sample in document.samples or ())
        return
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            yield from _unpacked(path, archive)
    except (zipfile.BadZipFile, struct.error, zlib.error, pa.ArrowException, EOFError, NotImplementedError) as error:
        raise InputError(f"{path} cannot be read: {first_line(error)}") from None


def _unpacked(path: Path, archive: zipfile.ZipFile) -> Iterator[tuple[Header, Sample]]:
    parts = {part.filename: part for part in archive.infolist()}
    wanted = [part for name, part in parts.items() if name.startswith(_SAMPLES) and name.endswith(".json")]
    header = parts.get(_HEADER) or parts.get(_START)
    if header is None:
        raise InputError(f"{path} is no log of inspect-ai: there is no {_HEADER} in it")
    if sum(part.file_size for part in wanted) > most_unpacked(path):
        raise unfolds(path)
    log = _typed(_bytes_of(path, archive, header), Header, f"{path.name} {header.filename}")
    for part in wanted:
        yield log, _typed(_bytes_of(path, archive, part), Sample, f"{path.name} {part.filename}")


def _bytes_of(path: Path, archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bytes:
    """A part's bytes, at most as many as it declares."""
    where = f"{path.name} {part.filename}"
    if part.file_size > MAX_SAMPLE:
        raise InputError(f"{where} is larger than {MAX_SAMPLE // 2**20} MB")
    if part.flag_bits & 1:
        raise InputError(f"{where} is encrypted")
    if part.compress_type != _ZSTANDARD:
        with archive.open(part) as file:
            return file.read(part.file_size)
    assert archive.fp is not None
    archive.fp.seek(part.header_offset)
    magic, name, extra = _LOCAL.unpack(archive.fp.read(_LOCAL.size))
    if magic != b"PK\3\4":
        raise zipfile.BadZipFile("a part is not where it should be")
    archive.fp.seek(name + extra, 1)
    packed = pa.py_buffer(archive.fp.read(min(part.compress_size, path.stat().st_size)))
    data: bytes = pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read(part.file_size + 1)
    if len(data) != part.file_size or zlib.crc32(data) != part.CRC:
        raise zipfile.BadZipFile(f"{part.filename} is damaged")
    return data


def _typed(data: bytes, kind: type[Kind], where: str) -> Kind:
    """Scores that do not exist are written as NaN, which is not JSON; then a slower parser is used."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        content = decode(data, where)
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{where} is not as inspect-ai writes it: {error}") from None
