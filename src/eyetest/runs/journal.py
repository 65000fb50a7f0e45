"""The journal: every response is a line on disk before it is acknowledged, in parts that are sealed into Parquet.

A part begins as lines, ``journal/000007-3f9a1c2b.jsonl``, and becomes ``responses/000007-3f9a1c2b.parquet``: the
seventh in time, by the writer of that name, so that several may write at once. A writer appends only to its own
parts, so a line torn by a kill stays the last of its file. A full part is sealed in the background; one left
unsealed, by the next writer. A line ends with the CRC-32 of what precedes it, and a sealed part contains its SHA-256,
so that damage is found and costs only what it hit.
"""

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple
from zlib import crc32

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.errors import EyetestError, InputError, counted, listed, system_words
from eyetest.records import Response
from eyetest.records.item import read_candidates, write_candidates
from eyetest.store import store_of
from eyetest.store.files import BusyError, GrowingFile, read_regular
from eyetest.tabular.record_files import from_columns, schema, sound_file, write_parquet

JOURNAL = "journal"
RESPONSES = "responses"
_IN_CANDIDATES = ("candidate_tokens", "candidate_bytes")
SCHEMA = pa.schema(
    [
        pa.field(field.name, pa.string() if field.name == "candidates" else field.type)
        for field in schema(Response)
        if field.name not in _IN_CANDIDATES
    ]
)
"""Responses as rows. Candidates (log-probability, tokens, bytes) are JSON text."""
_NAME = re.compile("([0-9]{1,18})(?:-([0-9a-z]{1,32}))?")
# Bytes of a file's end that identify it: all of a small file, a Parquet footer with sizes and extremes of every
# column, the newest lines of a growing journal
_TAIL = 256 * 2**10


class PartName(NamedTuple):
    """The identity of a part; parts are read in this order, so that the newest answer comes last."""

    number: int  # one more than the largest at its start
    writer: str = ""

    @classmethod
    def parse(cls, text: str) -> "PartName | None":
        """The part of a key or a file's stem."""
        match = _NAME.fullmatch(text)
        return cls(int(match[1]), match[2] or "") if match else None

    @property
    def key(self) -> str:
        """Its key in other files: ``7-3f9a1c2b``, or ``7``."""
        return "-".join(filter(None, (str(self.number), self.writer)))

    @property
    def stem(self) -> str:
        """The stem of its own files."""
        return "-".join(filter(None, (f"{self.number:06d}", self.writer)))


def segment(folder: Path, part: PartName) -> Path:
    """The lines of an open part."""
    return folder / JOURNAL / f"{part.stem}.jsonl"


def sealed(folder: Path, part: PartName) -> Path:
    """The Parquet file of a sealed part."""
    return folder / RESPONSES / f"{part.stem}.parquet"


def part_names(folder: Path) -> list[PartName]:
    """All parts, open or sealed, oldest first."""
    files = [*(folder / JOURNAL).glob("*.jsonl"), *(folder / RESPONSES).glob("*.parquet")]
    return sorted({part for path in files if (part := PartName.parse(path.stem))})


def next_part(folder: Path, writer: str = "") -> PartName:
    """The name of a new part."""
    return PartName(max((part.number for part in part_names(folder)), default=0) + 1, writer)


def to_table(responses: Iterable[Response]) -> pa.Table:
    """Responses as an Arrow table."""
    rows = list(responses)
    columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in rows] for name in SCHEMA.names}
    columns["candidates"] = [write_candidates(row) for row in rows]
    return from_columns(list(columns.values()), SCHEMA)


def from_batch(batch: pa.RecordBatch) -> Iterator[Response]:
    """Responses of an Arrow batch."""
    for row in batch.to_pylist():
        weighed = read_candidates(row["candidates"])
        row["candidates"] = [value.logprob for value in weighed]
        row["candidate_tokens"] = [value.tokens for value in weighed if value.tokens is not None]
        row["candidate_bytes"] = [value.bytes for value in weighed if value.bytes is not None]
        yield msgspec.convert(row, Response)


def sound_part(folder: Path, part: PartName) -> Path:
    """The file of a sealed part, whose checksum and columns are valid; damage is one line."""
    return sound_file(sealed(folder, part), folder, SCHEMA)


def content_id(path: Path) -> str:
    """A short hash of a file's contents, independent of its name, place and time."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL))
        return blake2b(
            file.read(), digest_size=16, person=b"eyetest part", salt=size.to_bytes(16, "little")
        ).hexdigest()


def part_ids(folder: Path) -> dict[str, str]:
    """The content hash of every part, by key. A part may be sealed between listing and opening."""
    ids = {}
    for part in part_names(folder):
        for path in (sealed(folder, part), segment(folder, part), sealed(folder, part)):
            try:
                ids[part.key] = content_id(path)
                break
            except FileNotFoundError:
                continue
    return ids


def count_rows(folder: Path, known: Mapping[str, int]) -> dict[str, int]:
    """How many responses each sealed part holds, by key. Those ``known`` are not counted again."""
    return {part.key: known.get(part.key) or _rows(sealed(folder, part)) for part in part_names(folder)}


def refuse_lost(folder: Path, recorded: Mapping[str, int], covered: Iterable[str] = ()) -> None:
    """Refuse a run with missing stored answers, naming them.

    ``recorded``: the parts at the last writer's end, with their rows. ``covered``: parts once scored.
    """
    known = {part for key in (*recorded, *covered) if (part := PartName.parse(key))}
    if gone := sorted(known.difference(part_names(folder))):
        names = listed([f"{sealed(folder, part).relative_to(folder)}" for part in gone])
        rows = sum(recorded.get(part.key, 0) for part in gone)
        lost = f"with {counted(rows, 'answer')}" if rows else "and what was answered there"
        raise InputError(f"{folder} has lost {names}, {lost}; bring it back, or run or import again what is missing")


def _rows(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return 0


_ROWS_A_SEGMENT = 5_000
_BYTES_A_SEGMENT = 64 * 2**20
_SYNC_SECONDS = 1.0
_WRITERS_SECONDS = 45.0  # how long orphaned workers may take to end
_SECONDS_BETWEEN_LOOKS = 0.05
_CHECK = b',"crc":"%08x"}'
_CHECK_SIZE = len(_CHECK % 0)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Response).decode


class JournalError(EyetestError):
    """The journal cannot be written, so no more calls may be made."""


class Journal:
    """Appends responses to a run folder, in parallel with writers of other names."""

    def __init__(
        self, folder: Path, writer: str = "", *, rows_a_segment: int = _ROWS_A_SEGMENT, adopts: bool = True
    ) -> None:
        """``adopts``: whether it seals dead writers' parts; of several that begin together one does."""
        self._folder, self._writer = folder, writer
        self._most_rows = rows_a_segment
        self._sealer = ThreadPoolExecutor(1, "seal")
        self._sealing: list[Future[None]] = []
        self._part = PartName(0, writer)
        self._file: GrowingFile | None = None
        self._rows = 0
        self._sync_error: OSError | None = None
        for name in (JOURNAL, RESPONSES):
            (folder / name).mkdir(parents=True, exist_ok=True)
        if adopts:
            self._adopt()
        self._closing = threading.Event()
        self._syncer = threading.Thread(target=self._sync, name="sync", daemon=True)
        self._syncer.start()

    def _adopt(self) -> None:
        """Seal the parts of dead writers."""
        for part in part_names(self._folder):
            if segment(self._folder, part).exists():
                self._sealing.append(self._sealer.submit(seal, self._folder, part))

    def append(self, response: Response) -> None:
        """Write a response to disk; after the return, killing the process cannot lose it."""
        line = _line(response)
        try:
            if self._sync_error is not None:
                raise self._sync_error
            if self._file is None:
                self._part = next_part(self._folder, self._writer)
                self._file, self._rows = GrowingFile(segment(self._folder, self._part)), 0
            self._file.add(line)
        except OSError as error:
            if self._file is not None and self._file.torn:
                self._file.close()
                self._file = None
            path = segment(self._folder, self._part)
            raise JournalError(f"the journal cannot be written: {system_words(error)}: {path}") from None
        self._rows += 1
        if self._rows >= self._most_rows or self._file.size >= _BYTES_A_SEGMENT:
            self._end(self._file)

    def close(self) -> None:
        """Seal the rest and wait for it."""
        self._closing.set()
        self._syncer.join()
        if self._file is not None:
            self._end(self._file)
        self._sealer.shutdown()
        for sealing in self._sealing:
            sealing.result()

    def _end(self, file: GrowingFile) -> None:
        self._file = None
        file.close()
        self._sealing = [sealing for sealing in self._sealing if not sealing.done() or sealing.result()]
        self._sealing.append(self._sealer.submit(seal, self._folder, self._part))

    def _sync(self) -> None:
        """Sync now and then, against power loss."""
        synced: tuple[GrowingFile | None, int] = (None, 0)
        while not self._closing.wait(_SYNC_SECONDS):
            file = self._file
            if file is not None and (file, file.size) != synced:
                synced = (file, file.size)
                try:
                    file.sync()
                except OSError as error:  # what was flushed before may be lost with the power
                    self._sync_error = error


def wait_for_writers(folder: Path, seconds: float = _WRITERS_SECONDS) -> None:
    """Wait until no process appends to a run: workers briefly outlive a killed driver."""
    store, deadline = store_of(folder), monotonic() + seconds
    for part in part_names(folder):
        path = segment(folder, part)
        while path.exists():
            with store.claimed(path) as size:
                if size is not None or not path.is_file():
                    break
            if monotonic() > deadline:
                raise BusyError(f"is being written: {path.name} grows without a lock; wait, or stop the writer")
            sleep(_SECONDS_BETWEEN_LOOKS)


def seal(folder: Path, part: PartName) -> None:
    """Turn a part without a writer into Parquet. Damaged lines are kept beside it."""
    path, store, is_open = segment(folder, part), store_of(folder), False
    with store.claimed(path) as size:  # None: appended to, sealed now, or no file, which readers report
        if size is not None and _has_sealed(folder, part, path):
            try:
                store.remove(path)  # before a writer that has just made it can lock it
            except PermissionError:
                is_open = True  # Windows removes no open file
    if is_open:
        with suppress(PermissionError):  # a writer that has just made it goes on in it
            store.remove(path)


def _has_sealed(folder: Path, part: PartName, path: Path) -> bool:
    """Write the responses of a part as Parquet; whether its lines are no longer needed."""
    with suppress(FileNotFoundError, InputError):
        sound_part(folder, part)
        store_of(folder).sweep(sealed(folder, part))
        return True
    try:
        lines = read_segment(path)
    except InputError:
        return False
    if not lines.responses:
        return not (lines.torn or lines.damaged)
    table = to_table(lines.responses)
    table = table.replace_schema_metadata({"torn": str(lines.torn + len(lines.damaged))})
    with store_of(folder).replacing_file(sealed(folder, part)) as new:
        write_parquet(table, new)
    if lines.damaged:
        store_of(folder).write(path.with_suffix(".damaged"), read_regular(path, folder))
    return True


def _line(response: Response) -> bytes:
    try:
        text = _encode(response)
    except UnicodeEncodeError:  # a lone surrogate, which UTF-8 cannot hold
        texts = {name: value for name, value in msgspec.structs.asdict(response).items() if isinstance(value, str)}
        whole = {name: value.encode("utf-8", "replace").decode() for name, value in texts.items()}
        text = _encode(msgspec.structs.replace(response, **whole))
    return b"%b%b\n" % (text[:-1], _CHECK % crc32(text))


class Segment(NamedTuple):
    """The lines of an open part."""

    responses: list[Response]
    torn: int  # unfinished lines after a kill: one, or none
    damaged: list[int]  # numbers of the damaged lines, from 1


def read_segment(path: Path) -> Segment:
    """The responses of an open part."""
    lines = read_regular(path, path.parent.parent).split(b"\n")
    responses, damaged = [], []
    for number, line in enumerate(lines, 1):
        text = line[:-_CHECK_SIZE] + b"}"
        if line and line[-_CHECK_SIZE:] != _CHECK % crc32(text):
            damaged.append(number)
        elif line:
            try:
                responses.append(_decode(text))
            except (msgspec.DecodeError, ValueError, RecursionError):
                damaged.append(number)
    is_torn = damaged[-1:] == [len(lines)]
    return Segment(responses, int(is_torn), damaged[:-1] if is_torn else damaged)
