"""A store elsewhere (S3 or whatever fsspec reaches), as `eyetest.store.Store` describes it, through its mirror.

What is written is sent before it takes its place in the mirror; only a file that grows may be ahead here, by what was
added since it was last sent. Locks, and the right to append to a part or to seal it, are leases.
"""

import logging
import shutil
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from eyetest.store.lease import Lease
from eyetest.store.local import BusyError, GrowingFile, LocalStore, TakenError
from eyetest.store.mirror import Mirror, beside, place
from eyetest.store.objects import RemoteError, Span
from eyetest.store.packs import LOOSE, PACKS, PackIndex, open_index, write_packs

_log = logging.getLogger(__name__)


class RemoteFile:
    """A file that is appended to here, and sent whole whenever it is synced."""

    def __init__(self, store: "RemoteStore", path: Path) -> None:
        self._store, self._path, self._sent, self._closed = store, path, 0, False
        self._sending = threading.Lock()
        self._lease = store.hold(path)
        self._guards = [self._lease, *store.locks_above(path)]
        self._file = GrowingFile(path)
        store.mirror.note_growing(path, "", 0)

    @property
    def size(self) -> int:
        """Bytes that were added so far."""
        return self._file.size

    @property
    def torn(self) -> bool:
        """Whether a piece was cut off that could not be taken back."""
        return self._file.torn

    def add(self, data: bytes) -> None:
        """Append a piece here, whole or not at all."""
        refuse_lost(self._guards)
        self._file.add(data)

    def sync(self) -> None:
        """Send all of it. A store that cannot be reached now may be next time; until then it is here."""
        self._file.sync()
        with self._sending:
            if not self._closed:
                try:
                    self._send(self._path)
                except OSError as error:
                    _log.warning("not sent yet: %s", error)

    def close(self) -> None:
        """Add no more. Whoever seals it sends it; if somebody else has done so without us, it gets another name."""
        with self._sending:
            self._closed = True
            self._file.close()
            with suppress(RemoteError):
                if not self._lease.holds() and self._path.exists():
                    self._send(self._path.rename(beside(self._path)))

    def _send(self, path: Path) -> None:
        if path == self._path and not self._lease.holds():
            return
        size = self._file.size
        if size > self._sent:
            mirror = self._store.mirror
            mirror.note_growing(path, mirror.objects.put(mirror.name(path), path), size)
            self._sent = size


class RemoteStore:
    """A bucket and its mirror."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self._disk = LocalStore()
        self._locks: dict[Path, Lease] = {}
        self._held: dict[Path, Lease] = {}
        self._pictures: dict[Path, RemotePictures] = {}

    @contextmanager
    def lock(self, path: Path) -> Iterator[None]:
        """Hold a lock, on this machine and on all, and know what the one who had it before left."""
        with self._disk.lock(path):
            lease = Lease(self.mirror, path)
            lease.take()
            self._locks[path] = lease
            try:
                self.mirror.bring(path.parent)
                yield
            finally:
                del self._locks[path]
                with suppress(RemoteError):  # it expires
                    lease.release()

    def locks_above(self, path: Path) -> list[Lease]:
        """Locks of this process on folders around a path."""
        return [lease for lock, lease in self._locks.items() if path.is_relative_to(lock.parent)]

    def hold(self, path: Path) -> Lease:
        """The lease on a part, until it is sealed."""
        lease = Lease(self.mirror, path)
        lease.take()
        self._held[path] = lease
        return lease

    def holder(self, path: Path) -> int | str | None:
        """The process that holds a lock."""
        return self._disk.holder(path) or (str(who) if (who := Lease(self.mirror, path).holder()) else None)

    def make_folder(self, path: Path) -> None:
        """Make a folder here; elsewhere there are none."""
        self._disk.make_folder(path)

    def names(self, folder: Path, suffix: str) -> Iterator[str]:
        """The names in a folder that end so, as far as they were brought."""
        return self._disk.names(folder, suffix)

    def begin(self, path: Path) -> RemoteFile:
        """Begin a file that is not there yet."""
        return RemoteFile(self, path)

    @contextmanager
    def claimed(self, path: Path) -> Iterator[int | None]:
        """The size of a file that nobody is appending to on any machine, as it is by now."""
        with self._disk.claimed(path) as here:
            lease, size = self._held.pop(path, None), here
            if here is not None and lease is None:
                lease = Lease(self.mirror, path)
                try:
                    lease.take()
                    self.mirror.bring(path)
                    size = path.stat().st_size if path.exists() else None
                except BusyError:
                    lease = size = None
            try:
                yield size
            finally:
                if lease is not None:
                    with suppress(RemoteError):  # it expires
                        lease.release()

    @contextmanager
    def replacing_file(self, target: Path, *, overwrite: bool = True) -> Iterator[Path]:
        """Give a path to write; the file is sent, and becomes ``target``, when the block ends."""
        if _is_being_made(target):
            with self._disk.replacing_file(target, overwrite=overwrite) as new:
                yield new
            return
        with self._disk.replacing_file(target, overwrite=overwrite) as new:
            yield new
            if overwrite:  # what is new costs nobody anything
                refuse_lost(self.locks_above(target))
            try:
                self.mirror.send(new, target, create=not overwrite)
            except FileExistsError:
                raise TakenError(f"{target} was written by somebody else meanwhile; choose another place") from None

    @contextmanager
    def replacing_folder(self, target: Path, *, overwrite: bool = True) -> Iterator[Path]:
        """Give an empty folder to fill; it is sent, and becomes ``target``, when the block ends."""
        with self._disk.replacing_folder(target, overwrite=overwrite) as content:
            yield content
            if _is_being_made(target):
                return
            refuse_lost(self.locks_above(target))
            self.mirror.send_folder(content, target)
            shutil.rmtree(content / PACKS, ignore_errors=True)
            self._pictures.pop(target, None)

    def sweep(self, target: Path) -> None:
        """Remove what killed writers of the same target left behind here; there, nothing is half written."""
        self._disk.sweep(target)

    def write(self, path: Path, data: bytes) -> None:
        """Write a file, and the folder around it; one of a folder that is being made is sent with it."""
        if _is_being_made(path):
            self._disk.write(path, data)
            return
        with self.replacing_file(path) as new:
            self._disk.write(new, data)

    def remove(self, path: Path) -> None:
        """Remove a file, here and there."""
        self.mirror.remove(path)

    def missing(self, path: Path) -> bytes | None:
        """What a picture holds that was not brought yet, together with those that are asked about next."""
        folder = path.parent.parent.parent
        index = open_index(folder)
        if index is not None and (row := index.row(path.name)) is not None:
            if folder not in self._pictures or self._pictures[folder].index is not index:
                self._pictures[folder] = RemotePictures(self.mirror, folder, index)
            self._pictures[folder].bring(index.block(row))
            with suppress(FileNotFoundError):
                return path.read_bytes()
        data = self.mirror.objects.read(self.mirror.name(path))
        if data is not None:
            place(path, data)
        return data

    def pack(self, pictures: Path, names: Sequence[str]) -> None:
        """Get the pictures of a folder that is being made ready to travel."""
        if names:
            write_packs(pictures.parent, names)


class RemotePictures:
    """Brings pictures out of packs block by block, and the next block before it is asked for."""

    def __init__(self, mirror: Mirror, folder: Path, index: PackIndex) -> None:
        self._mirror, self._folder, self.index = mirror, folder, index
        self._blocks: dict[int, Future[None]] = {}
        self._lock = threading.Lock()
        self._fetcher = ThreadPoolExecutor(2, "pictures")

    def bring(self, block: int) -> None:
        """Have the pictures of a block here; whoever reads one block after the other finds the next one coming."""
        with self._lock:
            wanted = self._ordered(block)
            if block - 1 in self._blocks:
                self._ordered(block + 1)
        try:
            wanted.result()
        except Exception:
            with self._lock:
                self._blocks.pop(block, None)
            raise

    def _ordered(self, block: int) -> Future[None]:
        if block not in self._blocks:
            self._blocks[block] = self._fetcher.submit(self._fetch, block)
        return self._blocks[block]

    def _fetch(self, block: int) -> None:
        missing = [one for one in self.index.pictures(block) if not self._path(one.name).exists()]
        if not missing:
            return
        start, pack = missing[0].start, self._mirror.name(self._folder / missing[0].pack)
        (data,) = self._mirror.objects.ranges([Span(pack, start, missing[-1].end)])
        if data is not None:
            for one in missing:
                place(self._path(one.name), memoryview(data)[one.start - start : one.end - start])

    def _path(self, name: str) -> Path:
        return self._folder / LOOSE / name[:2] / name


def refuse_lost(leases: Sequence[Lease]) -> None:
    """Stop where another process has taken over what we held."""
    for lease in leases:
        if lease.lost:
            raise RemoteError(f"another process has taken over {lease.path.with_suffix('')}; this one has stopped")


def _is_being_made(path: Path) -> bool:
    """Whether a path lies in a folder that will be sent as a whole."""
    return any(part.startswith(".") and ".partial-" in part for part in path.parts)


@cache
def remote_store(mirror: Mirror) -> RemoteStore:
    """The one store of a mirror in this process."""
    return RemoteStore(mirror)
