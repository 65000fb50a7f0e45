"""Samples of inspect-ai logs: ``.eval``, a Zstandard zip, which ``zipfile`` reads from 3.14."""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from eyetest.errors import InputError, first_line
from eyetest.tabular.files import decode
from eyetest.tabular.table import is_system_error, most_unpacked, unfolds

MAX_SAMPLE = 256 * 2**20
_HEADER, _START, _SAMPLES = "header.json", "_journal/start.json", "samples/"  # an unfinished log has no header
_ZSTANDARD = 93
_LOCAL = struct.Struct("<4s22xHH")
_ATTACHMENT = "attachment://"
_UNREADABLE = (
    zipfile.BadZipFile,
    struct.error,
    zlib.error,
    pa.ArrowException,
    EOFError,
    NotImplementedError,
    OSError,
)
Kind = TypeVar("Kind")


class _LogPart(msgspec.Struct):
    type: str = ""
    text: str = ""


class _LogMessage(msgspec.Struct):
    role: str = ""
    content: str | list[_LogPart] = ""

    @property
    def text(self) -> str:
        """The text, without images and reasoning."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if part.type == "text")


class _Completion(msgspec.Struct):
    message: _LogMessage = msgspec.field(default_factory=_LogMessage)
    stop_reason: str = ""


class _Output(msgspec.Struct):
    choices: list[_Completion] = []


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
    input: str | list[_LogMessage] = ""
    target: str | list[str] = ""
    choices: list[str] | None = None
    messages: list[_LogMessage] = []
    output: _Output = msgspec.field(default_factory=_Output)
    scores: dict[str, _Score] | None = None
    attachments: dict[str, str] = {}
    events: list[_Event] = []
    error: Any = None
    limit: Any = None
    invalidation: Any = None

    @property
    def question(self) -> str:
        """The text of the sample's input."""
        if isinstance(self.input, str):
            return self._attached(self.input)
        return "\n".join(self._attached(message.text) for message in self.input)

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


def is_inspect_log(path: Path) -> bool:
    """Whether a file is a log, by its ending."""
    return path.suffix.lower() == ".eval"


def read_inspect_log(path: Path) -> Iterator[tuple[Header, Sample]]:
    """The samples of a log, each with the log's metadata."""
    if not path.is_file():
        raise InputError(f"{path} is no file")
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            yield from _unpacked(path, archive)
    except _UNREADABLE as error:
        if is_system_error(error):
            raise
        raise InputError(f"{path} cannot be read: {first_line(error)}") from None


def _unpacked(path: Path, archive: zipfile.ZipFile) -> Iterator[tuple[Header, Sample]]:
    parts = {part.filename: part for part in archive.infolist()}
    wanted = [part for name, part in parts.items() if name.startswith(_SAMPLES) and name.endswith(".json")]
    header = parts.get(_HEADER) or parts.get(_START)
    if header is None:
        raise InputError(f"{path} is no log of inspect-ai: there is no {_HEADER} in it")
    if sum(part.file_size for part in wanted) > most_unpacked(path):
        raise unfolds(path, most_unpacked(path))
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
    try:
        data: bytes = pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read(part.file_size + 1)
    except OSError as error:
        raise zipfile.BadZipFile(f"{part.filename} is damaged: {first_line(error)}") from None
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
