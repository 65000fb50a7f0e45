"""The disk of this machine: the one place where files are locked, appended to and exchanged by calls of the system.

Whole files and folders are put in place in one step: whoever looks sees the old one or the new one. The new content
grows in a hidden sibling, ``.NAME.partial-…``, which is renamed (or, where something stands there already, exchanged)
when it is complete. Locks are those of the system, which a killed process gives up by dying: so the next writer can
tell what the dead left behind, and sweeps it.
"""

import ctypes
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep

from eyetest.errors import EyetestError, InputError, system_error, system_words
from eyetest.store.files import open_regular
from eyetest.store.packs import packed

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_LOOKS = 40
_SECONDS_BETWEEN_LOOKS = 0.01
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)


class BusyError(EyetestError):
    """Somebody else holds a lock."""


class TakenError(InputError):
    """Somebody else has put something where only a new file or folder was to be made."""


class GrowingFile:
    """A file that is appended to, locked for as long as its writer lives."""

    def __init__(self, path: Path) -> None:
        self.size, self.torn = 0, False
        while True:
            self._file = os.open(path, _APPEND, 0o666)
            fcntl.flock(self._file, fcntl.LOCK_EX)
            if path.exists():  # nobody took it for a dead writer's between its making and its locking
                return
            os.close(self._file)

    def add(self, data: bytes) -> None:
        """Append a piece, whole or not at all."""
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
        """Hand what was written to the disk itself; a file that is closed meanwhile is synced by who closed it."""
        with suppress(OSError):
            os.fdatasync(self._file)

    def close(self) -> None:
        """Add no more."""
        file, self._file = self._file, -1
        with suppress(OSError):
            os.close(file)


class LocalStore:
    """The disk, as `eyetest.store.Store` describes it."""

    @contextmanager
    def lock(self, path: Path) -> Iterator[None]:
        """Hold a lock until the block ends or the process does, however it ends; a `BusyError` if another has it."""
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

    def holder(self, path: Path) -> int | None:
        """The process that holds a lock."""
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

    def make_folder(self, path: Path) -> None:
        """Make a folder, and those above it, unless it is there."""
        path.mkdir(parents=True, exist_ok=True)

    def names(self, folder: Path, suffix: str) -> Iterator[str]:
        """The names in a folder that end so; none where there is no folder."""
        return (path.name for path in folder.glob(f"*{suffix}"))

    def begin(self, path: Path) -> GrowingFile:
        """Begin a file that is not there yet."""
        return GrowingFile(path)

    @contextmanager
    def claimed(self, path: Path) -> Iterator[int | None]:
        """The size of a file that nobody is appending to, and nobody else claims until the block ends."""
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
        """Give an empty folder to fill; it becomes ``target`` when the block ends, and vanishes if it fails."""
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
                _refuse_unless(overwrite, target)
                _exchange(content, target)
            _flush(target.parent)

    @contextmanager
    def replacing_file(self, target: Path, *, overwrite: bool = True) -> Iterator[Path]:
        """Give a path to write; the file becomes ``target`` when the block ends, and vanishes if it fails."""
        with _sibling(target) as sibling:
            content = sibling / target.name
            yield content
            _flush(content)
            if target.exists():
                _refuse_unless(overwrite, target)
            content.replace(target)
            _flush(target.parent)

    def write(self, path: Path, data: bytes) -> None:
        """Write a file of a folder that is being made, and the folder around it."""
        try:
            file = os.open(path, _WRITE, 0o666)
        except FileNotFoundError:
            self.make_folder(path.parent)
            file = os.open(path, _WRITE, 0o666)
        try:
            write_all(file, data)
        finally:
            os.close(file)

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""
        path.unlink(missing_ok=True)

    def missing(self, path: Path) -> bytes | None:
        """What a picture holds that is no file of its own: out of the pack in which it was copied here."""
        return packed(path)

    def pack(self, pictures: Path, names: Sequence[str]) -> None:
        """Nothing: on a disk, every picture is a file."""

    def sweep(self, target: Path) -> None:
        """Remove what killed writers of the same target left behind: siblings that nobody holds a lock on."""
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
    """Write all of it, as often as the system has to be asked."""
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, data[written:])


def _is_locked(file: int) -> bool:
    """Take the lock. A reader who looks whether it is held holds it for a moment, so look more than once."""
    for _ in range(_LOOKS):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sleep(_SECONDS_BETWEEN_LOOKS)
        else:
            return True
    return False


def _refuse_unless(overwrite: bool, target: Path) -> None:
    if not overwrite:
        raise TakenError(f"{target} was written by somebody else meanwhile; choose another place")


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
        if system is None or _is_elsewhere(system, sibling):
            raise
        raise InputError(f"cannot write {target}: {system_words(system)}") from None
    finally:
        shutil.rmtree(sibling, ignore_errors=True)
        os.close(lock)
        for folder in made:
            with suppress(OSError):
                folder.rmdir()


def _is_elsewhere(error: OSError, sibling: Path) -> bool:
    """Whether an error names a file that is not the one being written; one that names none is of what is written."""
    names = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    return bool(names) and not any(Path(name).is_relative_to(sibling) for name in names)


def _make_locked(target: Path) -> tuple[Path, int]:
    """A new sibling and the lock on it."""
    while True:
        sibling = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
        lock = os.open(sibling, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if sibling.exists():  # nobody swept it between its making and its locking
            return sibling, lock
        os.close(lock)


def _prefix(target: Path) -> str:
    return f".{target.name}.partial-"


def _exchange(new: Path, old: Path) -> None:
    """Swap two folders so that at no moment is there none at ``old``."""
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
    """Ask the disk to have a file or a directory entry; pictures are covered by their folder's rename order."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
