"""The journal: every response is a line on disk before anybody hears of it.

A writer appends to a segment of its own, ``journal/000007.jsonl``, and never to one that it did not begin, so a line
that a killed process left torn stays the last of its file. A full segment is sealed in the background into
``responses/000007.parquet``, which takes its place in one step. Whoever finds both reads the sealed one.
"""

import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.errors import EyetestError, system_words
from eyetest.records import Response
from eyetest.replacing import replacing_file, sweep
from eyetest.runs import responsetable
from eyetest.tables import read_parquet

JOURNAL = "journal"
RESPONSES = "responses"
_ROWS_A_SEGMENT = 5_000
_BYTES_A_SEGMENT = 64 * 2**20
_SYNC_SECONDS = 1.0
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
            if not path.stat().st_size:  # begun and never written: its number is free, and leaves no gap
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
        return _encode(response) + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair, which no UTF-8 can hold
        texts = {name: value for name, value in msgspec.structs.asdict(response).items() if isinstance(value, str)}
        whole = {name: value.encode("utf-8", "replace").decode() for name, value in texts.items()}
        return _encode(msgspec.structs.replace(response, **whole)) + b"\n"


def segment(folder: Path, number: int) -> Path:
    """The file of a journal segment."""
    return folder / JOURNAL / f"{number:06d}.jsonl"


def sealed(folder: Path, number: int) -> Path:
    """The Parquet file that a segment is sealed into."""
    return folder / RESPONSES / f"{number:06d}.parquet"


def segment_numbers(folder: Path) -> set[int]:
    """Numbers of all segments, open or sealed."""
    files = [*(folder / JOURNAL).glob("*.jsonl"), *(folder / RESPONSES).glob("*.parquet")]
    return {int(path.stem) for path in files if path.stem.isdigit()}


def seal(folder: Path, number: int) -> None:
    """Turn a segment that nobody writes to any more into Parquet."""
    path = segment(folder, number)
    if sealed(folder, number).exists():
        sweep(sealed(folder, number))
    else:
        responses, torn = read_segment(path)
        if responses:
            table = responsetable.to_table(responses).replace_schema_metadata({"torn": str(torn)})
            with replacing_file(sealed(folder, number)) as place:
                pq.write_table(table, place, compression="zstd")
        elif torn:
            return
    path.unlink(missing_ok=True)


def read_segment(path: Path) -> tuple[list[Response], int]:
    """The responses of an open segment, and how many lines are torn or damaged."""
    responses, torn = [], 0
    for line in path.read_bytes().split(b"\n"):
        if line:
            try:
                responses.append(_decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError):
                torn += 1
    return responses, torn


def read_sealed(path: Path) -> tuple[pa.Table, int]:
    """The table of a sealed segment, and how many lines were torn before it was sealed."""
    table = read_parquet(path)
    return table, int((table.schema.metadata or {}).get(b"torn", b"0"))
