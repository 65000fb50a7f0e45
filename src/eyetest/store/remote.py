"""A remote store (S3 or any other of fsspec) and its mirror; files are uploaded first, growing ones when sealed.
A process that writes to a run puts a marker object beside it, so that writers on other machines are refused.
"""

import os
import shutil
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec

from eyetest.store.local import BusyError, LocalStore, taken
from eyetest.store.packs import PACKS, open_index, read_part, write_packs
from eyetest.store.urls import WRITER, Mirror, RemoteError, place


class WriterMarker(msgspec.Struct):
    """The process that writes to a run, and its start."""

    host: str
    mirror: str  # its mirror: if two processes share one, the lock on the disk shows whether the other runs
    pid: int
    since: str

    def __str__(self) -> str:
        return f"{self.pid} on {self.host}"


class RemoteStore(LocalStore):
    """A bucket and its mirror."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self._fetching = threading.Lock()

    @contextmanager
    def lock(self, path: Path) -> Iterator[None]:
        """Hold a lock on this disk and a marker in the bucket, and fetch what earlier writers uploaded."""
        with super().lock(path):
            marker = _marker(path)
            self._mark(marker)
            try:
                self.mirror.bring(path.parent)
                yield
            finally:
                with suppress(RemoteError):
                    self.mirror.remove_object(marker)

    def _mark(self, marker: Path) -> None:
        since = datetime.now(UTC).isoformat(" ", timespec="seconds")
        data = msgspec.json.encode(WriterMarker(socket.gethostname(), str(self.mirror.root), os.getpid(), since))
        try:
            self.mirror.put(marker, data, create=True)
        except FileExistsError:
            if other := self._elsewhere(marker):
                hint = f"if that has ended, remove {self.mirror.url_of(marker)}"
                raise BusyError(f"is being written by process {other} since {other.since}; {hint}") from None
            self.mirror.put(marker, data)

    def _elsewhere(self, marker: Path) -> WriterMarker | None:
        """The writer that a marker names, unless it is an ended one of this mirror, whose lock is held here."""
        try:
            found = msgspec.json.decode(self.mirror.read(marker) or b"", type=WriterMarker)
        except msgspec.DecodeError:
            return None
        return None if (found.host, found.mirror) == (socket.gethostname(), str(self.mirror.root)) else found

    def holder(self, path: Path) -> int | str | None:
        """The process that holds a lock."""
        return super().holder(path) or (str(other) if (other := self._elsewhere(_marker(path))) else None)

    @contextmanager
    def replacing_file(self, target: Path, *, overwrite: bool = True) -> Iterator[Path]:
        """Yield a path to write; the file is uploaded, and becomes ``target``, when the block ends."""
        with super().replacing_file(target, overwrite=overwrite) as new:
            yield new
            if not _is_being_made(target):
                try:
                    self.mirror.send(new, target, create=not overwrite)
                except FileExistsError:
                    raise taken(target) from None

    @contextmanager
    def replacing_folder(self, target: Path, *, overwrite: bool = True) -> Iterator[Path]:
        """Yield an empty folder; it is uploaded, and becomes ``target``, when the block ends."""
        with super().replacing_folder(target, overwrite=overwrite) as content:
            yield content
            if not _is_being_made(target):
                self.mirror.send_folder(content, target)
                shutil.rmtree(content / PACKS, ignore_errors=True)

    def write(self, path: Path, data: bytes) -> None:
        """Write a file and its folder; a file of a folder that is being made is uploaded with the folder."""
        if _is_being_made(path):
            super().write(path, data)
            return
        with self.replacing_file(path) as new:
            super().write(new, data)

    def remove(self, path: Path) -> None:
        """Remove a file, locally and remotely."""
        self.mirror.remove(path)

    def missing(self, path: Path) -> bytes | None:
        """The content of an image that is not here yet, fetched with the rest of its pack."""
        index = open_index(path.parent.parent.parent)
        found = None if index is None else index.find(path.name)
        if found is None:
            loose = self.mirror.read(path)
            if loose is not None:
                place(path, loose)
            return loose
        with self._fetching:
            if not found[0].exists() and (data := self.mirror.read(found[0])) is not None:
                place(found[0], data)
        return read_part(*found)

    def pack(self, images: Path, names: Sequence[str]) -> None:
        """Put the images of a folder that is being made into packs."""
        if names:
            write_packs(images.parent, names)


def _marker(path: Path) -> Path:
    return path.with_name(path.name + WRITER)


def _is_being_made(path: Path) -> bool:
    return any(part.startswith(".") and ".partial-" in part for part in path.parts)


@cache
def remote_store(mirror: Mirror) -> RemoteStore:
    """The only store of a mirror in this process."""
    return RemoteStore(mirror)
