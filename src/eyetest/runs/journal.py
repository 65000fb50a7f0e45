"""The journal: every response is a line on disk before anybody hears of it.

A writer appends to parts of its own, and never to one that it did not begin, so a line that a killed process left
torn stays the last of its file. A full part is sealed in the background into Parquet, which takes its place in one
step. Whoever finds both reads the sealed one. A part that its writer left unsealed is sealed by the next writer.

A line ends with the CRC-32 of what comes before it, and a sealed part knows its SHA-256, so damage is found and
costs no more than what it hit.
"""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep
from typing import NamedTuple
from zlib import crc32

import msgspec
import pyarrow as pa

from eyetest.errors import EyetestError, InputError, system_words
from eyetest.records import Response
from eyetest.runs.parts import (
    JOURNAL,
    RESPONSES,
    PartName,
    next_part,
    part_names,
    read_sealed,
    sealed,
    segment,
    to_table,
)
from eyetest.store import Growing, store_of
from eyetest.store.files import read_regular
from eyetest.store.local import BusyError, TakenError
from eyetest.tabular.record_files import write_parquet

_ROWS_A_SEGMENT = 5_000
_BYTES_A_SEGMENT = 64 * 2**20
_SYNC_SECONDS = 1.0
_WRITERS_SECONDS = 45.0
"""How long orphaned workers may take to end; on another machine, until their lease is over."""
_SECONDS_BETWEEN_LOOKS = 0.05
_CHECK = b',"crc":"%08x"}'
_CHECK_SIZE = len(_CHECK % 0)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Response).decode


class JournalError(EyetestError):
    """The journal cannot be written, so nothing more may be asked."""


class Journal:
    """Appends responses to a run folder, beside others who may be doing the same under other names."""

    def __init__(
        self, folder: Path, writer: str = "", *, rows_a_segment: int = _ROWS_A_SEGMENT, adopts: bool = True
    ) -> None:
        """``adopts``: whether it seals what dead writers left; of several that begin together one does."""
        self._folder, self._writer, self._store = folder, writer, store_of(folder)
        self._most_rows = rows_a_segment
        self._sealer = ThreadPoolExecutor(1, "seal")
        self._sealing: list[Future[None]] = []
        self._part = PartName(0, writer)
        self._file: Growing | None = None
        self._rows = 0
        for name in (JOURNAL, RESPONSES):
            self._store.make_folder(folder / name)
        if adopts:
            self._adopt()
        self._closing = threading.Event()
        self._syncer = threading.Thread(target=self._sync, name="sync", daemon=True)
        self._syncer.start()

    def _adopt(self) -> None:
        """Seal what writers left that are no more."""
        for part in reversed(part_names(self._folder)):
            with self._store.claimed(segment(self._folder, part)) as size:
                if size == 0:
                    _remove_empty(self._folder, part)
        for part in part_names(self._folder):
            if segment(self._folder, part).exists():
                self._sealing.append(self._sealer.submit(seal, self._folder, part))

    def append(self, response: Response) -> None:
        """Put a response on disk; when this returns, killing the process cannot lose it."""
        line = _line(response)
        try:
            if self._file is None:
                self._part = next_part(self._folder, self._writer)
                self._file, self._rows = self._store.begin(segment(self._folder, self._part)), 0
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
        """Seal what is there and wait for it."""
        self._closing.set()
        self._syncer.join()
        if self._file is not None:
            self._end(self._file)
        self._sealer.shutdown()
        for sealing in self._sealing:
            sealing.result()

    def _end(self, file: Growing) -> None:
        self._file = None
        file.close()
        self._sealing = [sealing for sealing in self._sealing if not sealing.done() or sealing.result()]
        self._sealing.append(self._sealer.submit(seal, self._folder, self._part))

    def _sync(self) -> None:
        """Hand what was written to the disk itself once in a while, off the path of the calls.

        A killed process loses nothing without this; it is for the machine that loses power.
        """
        synced: tuple[Growing | None, int] = (None, 0)
        while not self._closing.wait(_SYNC_SECONDS):
            file = self._file
            if file is not None and (file, file.size) != synced:
                synced = (file, file.size)
                file.sync()


def wait_for_writers(folder: Path, seconds: float = _WRITERS_SECONDS) -> None:
    """Wait until nobody appends to a run any more: workers outlive a killed process that led them by a moment.

    What is left to ask is only known when they are gone.
    """
    store, deadline = store_of(folder), monotonic() + seconds
    for part in part_names(folder):
        path = segment(folder, part)
        while path.exists():
            with store.claimed(path) as size:
                if size is not None or not path.is_file():
                    break
            if monotonic() > deadline:
                raise BusyError(f"is being written: {path.name} grows, though nobody holds the run; wait, or stop it")
            sleep(_SECONDS_BETWEEN_LOOKS)


def seal(folder: Path, part: PartName) -> None:
    """Turn a part that nobody writes to any more into Parquet. Lines that are damaged are kept beside it."""
    path = segment(folder, part)
    with store_of(folder).claimed(path) as size:
        if size is None:  # somebody appends to it or seals it, or it is no file at all, which readers name
            return
        if _is_sound(folder, part):
            store_of(folder).sweep(sealed(folder, part))
            store_of(folder).remove(path)
            return
        try:
            lines = read_segment(path)
        except InputError:
            return
        if not lines.responses:
            if not (lines.torn or lines.damaged):
                _remove_empty(folder, part)
            return
        table = to_table(lines.responses)
        table = table.replace_schema_metadata({"torn": str(lines.torn + len(lines.damaged))})
        try:
            _put(table, sealed(folder, part), overwrite=sealed(folder, part).exists())
        except TakenError:  # sealed on another machine, which may not have had all of it
            _put(table, sealed(folder, next_part(folder, part.writer)))
        if lines.damaged:
            store_of(folder).write(path.with_suffix(".damaged"), read_regular(path, folder))
        store_of(folder).remove(path)


def _put(table: pa.Table, target: Path, *, overwrite: bool = True) -> None:
    with store_of(target).replacing_file(target, overwrite=overwrite) as new:
        write_parquet(table, new)


def _remove_empty(folder: Path, part: PartName) -> None:
    """Take away a part that was begun and never written to, unless a later one would then seem to follow a gap."""
    if part.number >= max(other.number for other in part_names(folder)):
        store_of(folder).remove(segment(folder, part))


def _is_sound(folder: Path, part: PartName) -> bool:
    try:
        read_sealed(folder, part)
    except (FileNotFoundError, InputError):
        return False
    return True


def _line(response: Response) -> bytes:
    try:
        text = _encode(response)
    except UnicodeEncodeError:  # half a surrogate pair, which no UTF-8 can hold
        texts = {name: value for name, value in msgspec.structs.asdict(response).items() if isinstance(value, str)}
        whole = {name: value.encode("utf-8", "replace").decode() for name, value in texts.items()}
        text = _encode(msgspec.structs.replace(response, **whole))
    return b"%b%b\n" % (text[:-1], _CHECK % crc32(text))


class Segment(NamedTuple):
    """The lines of an open part."""

    responses: list[Response]
    torn: int
    """Lines that a kill left unfinished: one, or none."""
    damaged: list[int]
    """Numbers of the lines, from 1, that are not what was written."""


def read_segment(path: Path) -> Segment:
    """The responses of an open part. An older eyetest wrote lines without a checksum, but never among others."""
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
