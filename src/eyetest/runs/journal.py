"""The journal: every response is a line on disk before anybody hears of it.

A writer appends to a segment of its own, ``journal/000007.jsonl``, and never to one that it did not begin, so a line
that a killed process left torn stays the last of its file. A full segment is sealed in the background into
``responses/000007.parquet``, which takes its place in one step. Whoever finds both reads the sealed one.

A line ends with the CRC-32 of what comes before it, and a sealed segment knows its SHA-256, so damage is found and
costs no more than what it hit.
"""

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple
from zlib import crc32

import msgspec
import pyarrow as pa

from eyetest.errors import EyetestError, InputError, system_words
from eyetest.records import Response
from eyetest.runs import responsetable
from eyetest.store.regular_files import inside, read_regular
from eyetest.store.replacing import replacing_file, sweep
from eyetest.tabular.record_files import read_parquet, write_parquet

JOURNAL = "journal"
RESPONSES = "responses"
_ROWS_A_SEGMENT = 5_000
_BYTES_A_SEGMENT = 64 * 2**20
_SYNC_SECONDS = 1.0
_CHECK = b',"crc":"%08x"}'
_CHECK_SIZE = len(_CHECK % 0)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Response).decode


class JournalError(EyetestError):
    """The journal cannot be written, so nothing more may be asked."""


class Journal:
    """Appends responses to a run folder whose lock the caller holds."""

    def __init__(self, folder: Path, *, rows_a_segment: int = _ROWS_A_SEGMENT) -> None:
        self._folder = folder
        self._most_rows = rows_a_segment
        self._sealer = ThreadPoolExecutor(1, "seal")
        self._sealing: list[Future[None]] = []
        self._file = -1
        self._rows = self._bytes = 0
        for part in (JOURNAL, RESPONSES):
            (folder / part).mkdir(exist_ok=True)
        for path in (folder / JOURNAL).glob("*.jsonl"):
            status = path.lstat()
            if S_ISREG(status.st_mode) and not status.st_size:  # begun and never written: its number is free again
                path.unlink()
        numbers = segment_numbers(folder)
        self._next = max(numbers, default=0) + 1
        for number in sorted(numbers):
            if segment(folder, number).exists():
                self._sealing.append(self._sealer.submit(seal, folder, number))
        self._closing = threading.Event()
        self._syncer = threading.Thread(target=self._sync, name="sync", daemon=True)
        self._syncer.start()

    def append(self, response: Response) -> None:
        """Put a response on disk; when this returns, killing the process cannot lose it."""
        line = _line(response)
        if self._file < 0:
            self._begin()
        try:
            written = os.write(self._file, line)
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError as error:
            self._take_back()
            raise self._cannot_write(error) from None
        self._rows += 1
        self._bytes += len(line)
        if self._rows >= self._most_rows or self._bytes >= _BYTES_A_SEGMENT:
            self._end()

    def close(self) -> None:
        """Seal what is there and wait for it."""
        self._closing.set()
        self._syncer.join()
        if self._file >= 0:
            self._end()
        self._sealer.shutdown()
        for sealing in self._sealing:
            sealing.result()

    def _begin(self) -> None:
        self._number, self._next = self._next, self._next + 1
        path = segment(self._folder, self._number)
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        except OSError as error:
            raise self._cannot_write(error) from None
        self._rows = self._bytes = 0

    def _take_back(self) -> None:
        """Leave no torn line where the next one goes: if it cannot be cut off, the next goes into a new segment."""
        try:
            os.ftruncate(self._file, self._bytes)
        except OSError:
            file, self._file = self._file, -1
            with suppress(OSError):
                os.close(file)

    def _cannot_write(self, error: OSError) -> JournalError:
        path = segment(self._folder, self._number)
        return JournalError(f"the journal cannot be written: {system_words(error)}: {path}")

    def _end(self) -> None:
        file, self._file = self._file, -1
        os.close(file)
        self._sealing = [sealing for sealing in self._sealing if not sealing.done() or sealing.result()]
        self._sealing.append(self._sealer.submit(seal, self._folder, self._number))

    def _sync(self) -> None:
        """Hand what was written to the disk itself once in a while, off the path of the calls.

        A killed process loses nothing without this; it is for the machine that loses power.
        """
        seen = (-1, 0)
        while not self._closing.wait(_SYNC_SECONDS):
            state = (self._file, self._bytes)
            if state != seen and state[0] >= 0:
                try:
                    os.fdatasync(state[0])
                except OSError:  # the segment ended meanwhile; sealing it syncs it
                    continue
            seen = state


def _line(response: Response) -> bytes:
    try:
        text = _encode(response)
    except UnicodeEncodeError:  # half a surrogate pair, which no UTF-8 can hold
        texts = {name: value for name, value in msgspec.structs.asdict(response).items() if isinstance(value, str)}
        whole = {name: value.encode("utf-8", "replace").decode() for name, value in texts.items()}
        text = _encode(msgspec.structs.replace(response, **whole))
    return b"%b%b\n" % (text[:-1], _CHECK % crc32(text))


def segment(folder: Path, number: int) -> Path:
    """The file of a journal segment."""
    return folder / JOURNAL / f"{number:06d}.jsonl"


def sealed(folder: Path, number: int) -> Path:
    """The Parquet file that a segment is sealed into."""
    return folder / RESPONSES / f"{number:06d}.parquet"


def segment_numbers(folder: Path) -> set[int]:
    """Numbers of all segments, open or sealed."""
    files = [*(folder / JOURNAL).glob("*.jsonl"), *(folder / RESPONSES).glob("*.parquet")]
    return {int(path.stem) for path in files if path.stem.isdecimal() and path.stem.isascii()}


def seal(folder: Path, number: int) -> None:
    """Turn a segment that nobody writes to any more into Parquet. Lines that are damaged are kept beside it."""
    path, damaged = segment(folder, number), False
    if _is_sound(folder, number):
        sweep(sealed(folder, number))
    else:
        try:
            found = read_segment(path)
        except InputError:  # no file at all, which readers name
            return
        if found.responses:
            table = responsetable.to_table(found.responses)
            with replacing_file(sealed(folder, number)) as place:
                write_parquet(table.replace_schema_metadata({"torn": str(found.torn + len(found.damaged))}), place)
        elif found.torn or found.damaged:
            return
        damaged = bool(found.damaged)
    if damaged:
        path.replace(path.with_suffix(".damaged"))
    else:
        path.unlink(missing_ok=True)


def _is_sound(folder: Path, number: int) -> bool:
    try:
        read_sealed(folder, number)
    except (FileNotFoundError, InputError):
        return False
    return True


class Segment(NamedTuple):
    """What an open segment holds."""

    responses: list[Response]
    torn: int
    """Lines that a kill left unfinished: one, or none."""
    damaged: list[int]
    """Numbers of the lines, from 1, that are not what was written."""


def read_segment(path: Path) -> Segment:
    """The responses of an open segment. An older eyetest wrote lines without a checksum, but never among others."""
    *lines, last = read_regular(path, path.parent.parent).split(b"\n")
    checked = any(_stated(line) is not None for line in lines)
    responses, damaged = [], []
    for number, line in enumerate(lines, 1):
        if line:
            try:
                responses.append(_response(line, checked))
            except (msgspec.DecodeError, ValueError, RecursionError):
                damaged.append(number)
    if last:
        try:
            responses.append(_response(last, checked))
        except (msgspec.DecodeError, ValueError, RecursionError):
            return Segment(responses, 1, damaged)
    return Segment(responses, 0, damaged)


def _response(line: bytes, checked: bool) -> Response:
    stated = _stated(line)
    if stated is not None:
        line = line[:-_CHECK_SIZE] + b"}"
    if checked and stated != b"%08x" % crc32(line):
        raise ValueError("its checksum does not fit")
    response = _decode(line)
    if not checked:
        bytes.fromhex(response.request)
    return response


def _stated(line: bytes) -> bytes | None:
    """The checksum that a line ends with."""
    end = line[-_CHECK_SIZE:]
    return end[8:16] if end.startswith(_CHECK[:8]) and end.endswith(_CHECK[-2:]) else None


def read_sealed(folder: Path, number: int) -> tuple[pa.Table, int]:
    """The table of a sealed segment, and how many lines were lost before it was sealed."""
    path = inside(sealed(folder, number), folder)
    table = read_parquet(path, responsetable.SCHEMA, responsetable.refuse_damaged)
    return table, int((table.schema.metadata or {}).get(b"torn", b"0"))
