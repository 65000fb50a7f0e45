"""Logs of inspect-ai: a ``.eval`` file, or one JSON document, as the samples in it.

A ``.eval`` file is a zip of one JSON file a sample. Current versions pack it with Zstandard, which Python's own
reader of zip files does not know before 3.14. Samples are read one by one and nothing is unpacked before its size is
known to be bearable, because what lies in a zip may be a thousand times larger than the zip.
"""

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pyarrow as pa

from eyetest.errors import InputError
from eyetest.tabular.json_table import MAX_DOCUMENT, decode
from eyetest.tabular.table import MAX_GROWTH, MAX_UNPACKED, kind_of, open_plain

MAX_SAMPLE = 256 * 2**20
"""Bytes of one sample, with its pictures and events."""
_HEADER, _START, _SAMPLES = "header.json", "_journal/start.json", "samples/"
"""A log that was never finished has no header, but what it began with."""
_ZSTANDARD = 93
_LOCAL = struct.Struct("<4s22xHH")
_DOCUMENT = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"')
_PEEK = 200
_ATTACHMENT = "attachment://"
Kind = TypeVar("Kind")


class LogPart(msgspec.Struct):
    """A part of a message's content: text, or a picture by its bytes or by where it lies."""

    type: str = ""
    text: str = ""
    image: str = ""


class LogMessage(msgspec.Struct):
    """What somebody said in a conversation."""

    role: str = ""
    content: str | list[LogPart] = ""

    @property
    def text(self) -> str:
        """The words, without pictures and thoughts."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if part.type == "text")


class Spoken(msgspec.Struct):
    """One of the completions of an output."""

    message: LogMessage = msgspec.field(default_factory=LogMessage)
    stop_reason: str = ""


class Output(msgspec.Struct):
    """What came back from the model last."""

    choices: list[Spoken] = []
    error: str | None = None


class Event(msgspec.Struct):
    """Something that happened; of calls of the model, what came back."""

    event: str = ""
    output: Any = None


class LogScore(msgspec.Struct):
    """What a scorer says of a sample."""

    value: Any = None
    explanation: str | None = None


class Sample(msgspec.Struct):
    """One question in one epoch, as published by inspect-ai; what else a log holds is passed over."""

    id: int | str
    epoch: int = 1
    input: str | list[LogMessage] = ""
    choices: list[str] | None = None
    target: str | list[str] = ""
    messages: list[LogMessage] = []
    output: Output = msgspec.field(default_factory=Output)
    scores: dict[str, LogScore] | None = None
    score: LogScore | None = None
    """Of logs from before there were several scorers."""
    metadata: dict[str, Any] = {}
    attachments: dict[str, str] = {}
    events: list[Event] = []
    error: Any = None
    limit: Any = None
    invalidation: Any = None

    @property
    def question(self) -> str:
        """What is asked, without the pictures."""
        if isinstance(self.input, str):
            return self._attached(self.input)
        return "\n\n".join(self._attached(said.text) for said in self.input if said.role == "user")

    @property
    def images(self) -> list[str]:
        """The pictures that are asked about, as data URLs or as where they lie."""
        parts = [part for said in self._said() for part in said.content if isinstance(part, LogPart)]
        return [self._attached(part.image) for part in parts if part.type == "image"]

    @property
    def prompt(self) -> str:
        """What the model was told last."""
        asked = [said for said in self.messages if said.role == "user"]
        return self._attached(asked[-1].text) if asked else ""

    @property
    def completion(self) -> str | None:
        """What the model said; None where nothing came back."""
        return self._attached(self.output.choices[0].message.text) if self.output.choices else None

    @property
    def spoken(self) -> str | None:
        """What came back from the model last, whatever was written over it since; None where the log does not say.

        A scorer may ask a model too, but not before it scores.
        """
        solving = takewhile(lambda event: event.event != "score", self.events)
        calls = [event.output for event in solving if event.event == "model"]
        try:
            said = msgspec.convert(calls[-1], Output).choices[0].message.text
        except (msgspec.ValidationError, IndexError):
            return None
        return self._attached(said)

    def _said(self) -> list[LogMessage]:
        return self.input if isinstance(self.input, list) else []

    def _attached(self, text: str) -> str:
        """Long texts and pictures lie beside the messages, which only name them."""
        return self.attachments.get(text.removeprefix(_ATTACHMENT), text) if text.startswith(_ATTACHMENT) else text


class Step(msgspec.Struct):
    """A solver of the plan."""

    solver: str = ""
    params: dict[str, Any] = {}


class LogPlan(msgspec.Struct):
    """How samples were solved."""

    steps: list[Step] = []


class Evaluation(msgspec.Struct):
    """Who was asked what."""

    model: str
    task: str = ""


class Header(msgspec.Struct):
    """What a log says once for all of its samples."""

    eval: Evaluation
    plan: LogPlan = msgspec.field(default_factory=LogPlan)


class _Document(Header):
    samples: list[Sample] | None = None


def is_inspect_log(path: Path) -> bool:
    """Whether a file is a log: by its ending, or by how a JSON document begins."""
    kind = kind_of(path)
    if kind != ".json" or not path.is_file():
        return kind == ".eval"
    with open_plain(path) as file:
        return _DOCUMENT.match(file.read(_PEEK)) is not None


def read_inspect_log(path: Path) -> Iterator[tuple[Header, Sample]]:
    """The samples of a log, each with what holds for all."""
    if not path.is_file():
        raise InputError(f"{path} is no file")
    if kind_of(path) == ".json":
        with open_plain(path) as file:
            data = file.read(MAX_DOCUMENT + 1)
        if len(data) > MAX_DOCUMENT:
            raise InputError(f"{path} is one JSON value of more than 2 GB; convert it: inspect log convert --to eval")
        document = _typed(data, _Document, path.name)
        yield from ((document, sample) for sample in document.samples or ())
        return
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            yield from _unpacked(path, archive)
    except (zipfile.BadZipFile, struct.error, zlib.error, pa.ArrowException, EOFError, NotImplementedError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{path} cannot be read: {why}") from None


def _unpacked(path: Path, archive: zipfile.ZipFile) -> Iterator[tuple[Header, Sample]]:
    parts = {part.filename: part for part in archive.infolist()}
    wanted = [part for name, part in parts.items() if name.startswith(_SAMPLES) and name.endswith(".json")]
    header = parts.get(_HEADER) or parts.get(_START)
    if header is None:
        raise InputError(f"{path} is no log of inspect-ai: there is no {_HEADER} in it")
    most = max(MAX_UNPACKED, MAX_GROWTH * path.stat().st_size)
    if sum(part.file_size for part in wanted) > most:
        raise InputError(f"{path} unpacks into more than {most // 2**20:,} MB, far more than its size")
    log = _typed(_bytes_of(path, archive, header), Header, f"{path.name} {header.filename}")
    for part in wanted:
        yield log, _typed(_bytes_of(path, archive, part), Sample, f"{path.name} {part.filename}")


def _bytes_of(path: Path, archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bytes:
    """A part's bytes, no more of them than it says that there are."""
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
    """Scores that do not exist are written as NaN, which is no JSON; then the slower way is taken."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        content = decode(data, where)
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{where} is not as inspect-ai writes it: {error}") from None
