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
from eyetest.store.objects import RemoteError
from eyetest.store.packs import PACKS, PackIndex, open_index, write_packs

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
        self._packs: dict[Path, PackFetcher] = {}

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
        index = open_index(path.parent.parent.parent)
        row = index.row(path.name) if index is not None else None
        if index is None or row is None:
            loose = self.mirror.objects.read(self.mirror.name(path))
            if loose is not None:
                place(path, loose)
            return loose
        if (data := index.read(row)) is None:
            self._fetching(index).bring(index.pack_of(row))
            data = index.read(row)
        return data

    def _fetching(self, index: PackIndex) -> "PackFetcher":
        folder = index.path(0).parent
        if folder not in self._packs or self._packs[folder].index is not index:
            self._packs[folder] = PackFetcher(self.mirror, index)
        return self._packs[folder]

    def pack(self, pictures: Path, names: Sequence[str]) -> None:
        """Get the pictures of a folder that is being made ready to travel."""
        if names:
            write_packs(pictures.parent, names)


class PackFetcher:
    """Brings packs as their pictures are looked at, and the next one before it is asked for."""

    def __init__(self, mirror: Mirror, index: PackIndex) -> None:
        self._mirror, self.index = mirror, index
        self._packs: dict[int, Future[None]] = {}
        self._lock = threading.Lock()
        self._fetcher = ThreadPoolExecutor(2, "packs")

    def bring(self, pack: int) -> None:
        """Have a pack here; whoever reads one after the other finds the next one coming."""
        with self._lock:
            wanted = self._ordered(pack)
            if pack - 1 in self._packs and pack + 1 < len(self.index.packs):
                self._ordered(pack + 1)
        try:
            wanted.result()
        except Exception:
            with self._lock:
                self._packs.pop(pack, None)
            raise

    def _ordered(self, pack: int) -> Future[None]:
        if pack not in self._packs:
            self._packs[pack] = self._fetcher.submit(self._fetch, pack)
        return self._packs[pack]

    def _fetch(self, pack: int) -> None:
        path = self.index.path(pack)
        if not path.exists():
            data = self._mirror.objects.read(self._mirror.name(path), self.index.size(pack))
            if data is not None:
                place(path, data)


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
