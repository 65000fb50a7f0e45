"""The disk of this machine: files are locked by the system, appended to, and replaced atomically.
New content is in a hidden sibling, ``.NAME.partial-…``; a killed writer loses its lock, and the next removes it.
"""

import ctypes
import errno
import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from time import sleep

from eyetest.errors import EyetestError, InputError, first_line, system_error, system_words
from eyetest.store.files import open_regular

LOOSE, PACKS, INDEX = "images", "packs", "images.index.parquet"
_COLUMNS = {"name": "string", "pack": "string", "offset": "int64", "size": "int64"}
_PACK = re.compile(r"[0-9a-f]{32}")
_BYTES_A_PACK = 8 * 2**20
_MOST_OPEN = 8


class PackIndex:
    """The locations of all images of a benchmark."""

    def __init__(self, path: Path) -> None:
        import numpy as np  # noqa: PLC0415 (every command loads this module, few have packs)
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._folder = path.parent / PACKS
        try:  # in ways that do not load pandas wherever that is installed
            with pq.ParquetFile(path) as file:
                table = file.read(list(_COLUMNS)).cast(pa.schema(list(_COLUMNS.items())))
            names, packs, starts, sizes = (column.combine_chunks() for column in table.columns)
            packs = packs.dictionary_encode()
            self._pack_of, self._starts = np.from_dlpack(packs.indices), np.from_dlpack(starts)
            self._ends = np.add(self._starts, np.from_dlpack(sizes))
        except (OSError, pa.ArrowException, ValueError) as error:
            raise InputError(f"{path} is damaged: {first_line(error)}") from None
        self.packs: list[str] = packs.dictionary.to_pylist()
        if not all(map(_PACK.fullmatch, self.packs)) or (self._starts < 0).any() or (self._ends < self._starts).any():
            raise InputError(f"{path} is damaged: it leads to no pack")
        self._names = np.array(names.to_pylist(), np.bytes_)
        self._order = self._names.argsort()

    def find(self, name: str) -> tuple[Path, int, int] | None:
        """The pack of an image, its offset, and its size; None where it is in none."""
        key = name.encode()
        at = int(self._names.searchsorted(key, sorter=self._order))
        if at == len(self._order) or self._names[self._order[at]] != key:
            return None
        row = self._order[at]
        pack = self._folder / f"{self.packs[self._pack_of[row]]}.pack"
        return pack, int(self._starts[row]), int(self._ends[row] - self._starts[row])

    def image(self, name: str) -> bytes | None:
        """An image by its name, if it is in a pack on this disk."""
        found = self.find(name)
        return None if found is None else read_packed(*found)


def read_packed(pack: Path, start: int, size: int) -> bytes | None:
    """An image from its pack, if that is on this disk."""
    try:
        with pack.open("rb", buffering=0) as file:
            return os.pread(file.fileno(), size, start)
    except FileNotFoundError:
        return None


def write_packs(folder: Path, names: Sequence[str]) -> None:
    """Put the images of ``images/`` into packs beside it, in the order in which they are asked about."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    packs: list[str] = []
    offsets: list[int] = []
    sizes: list[int] = []
    pending = bytearray()
    (folder / PACKS).mkdir()

    def end() -> None:
        packs.extend([hashlib.sha256(pending).hexdigest()[:32]] * (len(sizes) - len(packs)))
        (folder / PACKS / f"{packs[-1]}.pack").write_bytes(pending)
        pending.clear()

    for name in names:
        data = (folder / LOOSE / name[:2] / name).read_bytes()
        offsets.append(len(pending))
        sizes.append(len(data))
        pending += data
        if len(pending) >= _BYTES_A_PACK:
            end()
    if pending:
        end()
    table = pa.table([names, packs, offsets, sizes], schema=pa.schema(list(_COLUMNS.items())))
    pq.write_table(table, folder / INDEX, compression="zstd")


def open_index(folder: Path) -> PackIndex | None:
    """The index of a benchmark folder, if its images are in packs."""
    try:
        return _opened(folder / INDEX, (folder / INDEX).stat().st_mtime_ns)
    except FileNotFoundError:
        return None


@lru_cache(maxsize=_MOST_OPEN)
def _opened(index: Path, time: int) -> PackIndex:
    return PackIndex(index)


_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_ATTEMPTS = 40
_SECONDS_BETWEEN_ATTEMPTS = 0.01
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


class BusyError(EyetestError):
    """Another process holds a lock."""


class GrowingFile:
    """A file that is appended to, locked as long as its writer runs."""

    def __init__(self, path: Path) -> None:
        self.size, self.torn = 0, False
        while True:
            self._file = os.open(path, _APPEND, 0o666)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            if path.exists():  # it was not taken for a dead writer's between its making and its locking
                return
            os.close(self._file)

    def add(self, data: bytes) -> None:
        """Append a piece, completely or not at all."""
        try:
            write_all(self._file, data)
        except OSError:
            try:
                os.ftruncate(self._file, self.size)
            except OSError:
                self.torn = True
            raise
        self.size += len(data)

    def sync(self) -> None:
        """Flush to disk; a file that is closed meanwhile is synced by the closing thread."""
        with suppress(OSError):
            os.fdatasync(self._file)

    def close(self) -> None:
        """Close the file."""
        file, self._file = self._file, -1
        with suppress(OSError):
            os.close(file)


class LocalStore:
    """The disk of this machine; refusals of the system are raised as `OSError`."""

    @contextmanager
    def lock(self, path: Path) -> Iterator[None]:
        """Hold a lock until the block or the process ends; a `BusyError` if another process has it."""
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _is_locked(file):
                pid = os.pread(file, 32, 0).decode().strip() or "unknown"
                raise BusyError(f"is being written by process {pid}; wait for it, or stop it")
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
            try:
                yield
            finally:
                os.ftruncate(file, 0)
        finally:
            os.close(file)

    def holder(self, path: Path) -> int | str | None:
        """The id of the process that holds a lock; with its machine where that may be another."""
        try:
            file = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return int(os.pread(file, 32, 0).decode().strip() or 0)
        else:
            return None
        finally:
            os.close(file)

    @contextmanager
    def claimed(self, path: Path) -> Iterator[int | None]:
        """The size of a file that no process appends to, and that no other claims until the block ends."""
        try:
            file = open_regular(path)
        except (FileNotFoundError, InputError):
            yield None
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            size: int | None = os.fstat(file).st_size if path.exists() else None
        except BlockingIOError:
            size = None
        try:
            yield size
        finally:
            os.close(file)

    @contextmanager
    def replacing_folder(self, target: Path, *, overwrite: bool = True) -> Iterator[Path]:
        """Yield an empty folder; it becomes ``target`` when the block ends, and is removed if it fails."""
        with _sibling(target) as sibling:
            content = sibling / "content"
            content.mkdir()
            yield content
            for path in (*(p for p in content.iterdir() if p.is_file()), content):
                _flush(path)
            try:
                content.rename(target)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                if not overwrite:
                    raise taken(target) from None
                _exchange(content, target)
            _flush(target.parent)

    @contextmanager
    def replacing_file(self, target: Path, *, overwrite: bool = True) -> Iterator[Path]:
        """Yield a path to write; the file becomes ``target`` when the block ends, and is removed if it fails."""
        with _sibling(target) as sibling:
            content = sibling / target.name
            yield content
            _flush(content)
            if target.exists() and not overwrite:
                raise taken(target)
            content.replace(target)
            _flush(target.parent)

    def write(self, path: Path, data: bytes | memoryview) -> None:
        """Write a file, and create its folder."""
        try:
            file = os.open(path, _WRITE, 0o666)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, _WRITE, 0o666)
        try:
            write_all(file, data)
        finally:
            os.close(file)

    def remove(self, path: Path) -> None:
        """Remove a file, if it exists."""
        path.unlink(missing_ok=True)

    def missing(self, path: Path) -> bytes | None:
        """The content of an image that is not a file of its own, from the pack in which it was copied here."""
        index = open_index(path.parent.parent.parent)
        return None if index is None else index.image(path.name)

    def pack(self, images: Path, names: Sequence[str]) -> None:
        """Do nothing: on a disk, every image is a file."""

    def sweep(self, target: Path) -> None:
        """Remove what killed writers of the same target left: siblings that are not locked."""
        for sibling in target.parent.iterdir():
            if sibling.name.startswith(_prefix(target)):
                with suppress(OSError):
                    lock = os.open(sibling, os.O_RDONLY)
                    try:
                        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        shutil.rmtree(sibling, ignore_errors=True)
                    finally:
                        os.close(lock)


def write_all(file: int, data: bytes | memoryview) -> None:
    """Write all bytes, with as many system calls as it takes."""
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, data[written:])


def _is_locked(file: int) -> bool:
    """Take the lock. A reader that tests it holds it for a moment, so try more than once."""
    for _ in range(_ATTEMPTS):
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        sleep(_SECONDS_BETWEEN_ATTEMPTS)
    return False


def taken(target: Path) -> InputError:
    """The error where another process has written a new file or folder first."""
    return InputError(f"{target} was written by another process meanwhile; choose another place")


@contextmanager
def _sibling(target: Path) -> Iterator[Path]:
    made = [folder for folder in target.parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        LocalStore().sweep(target)
        sibling, lock = _make_locked(target)
    except OSError as error:
        raise InputError(f"cannot write {target}: {system_words(error)}") from None
    try:
        yield sibling
    except Exception as error:
        system = system_error(error)
        paths = (system.filename, system.filename2) if system is not None else ()
        names = [Path(os.fsdecode(name)) for name in paths if isinstance(name, str | bytes)]
        elsewhere = bool(names) and not any(name.is_relative_to(sibling) for name in names)
        if system is None or elsewhere:  # an error that names no file is about the one being written
            raise
        raise InputError(f"cannot write {target}: {system_words(system)}") from None
    finally:
        shutil.rmtree(sibling, ignore_errors=True)
        os.close(lock)
        for folder in made:
            with suppress(OSError):
                folder.rmdir()


def _make_locked(target: Path) -> tuple[Path, int]:
    while True:
        sibling = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
        lock = os.open(sibling, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if sibling.exists():  # it was not swept between its making and its locking
            return sibling, lock
        os.close(lock)


def _prefix(target: Path) -> str:
    return f".{target.name}.partial-"


def _exchange(new: Path, old: Path) -> None:
    """Swap two folders so that ``old`` exists at any moment."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is not None:
        if rename(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE) == 0:
            return
        if ctypes.get_errno() not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(new))
    aside = new.parent / "old"
    old.rename(aside)
    new.rename(old)


def _flush(path: Path) -> None:
    """Flush a file or a directory entry to disk; images are covered by their folder's rename order."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
