"""Put a whole file or folder in place in one step: whoever looks sees the old one or the new one.

The new content grows in a hidden sibling, ``.NAME.partial-…``, which is renamed (or, where something stands
there already, exchanged) when it is complete. A process that is killed leaves only such a sibling behind;
it is locked for as long as its writer lives, so that the next writer can tell the dead from the living and sweep.
"""

import ctypes
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from eyetest.errors import InputError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """Give an empty folder to fill; it becomes ``target`` when the block ends, and vanishes if it fails."""
    with _sibling(target) as sibling:
        content = sibling / "content"
        content.mkdir()
        yield content
        _flush(content)
        if target.exists():
            _exchange(content, target)
        else:
            content.rename(target)
        _flush(target.parent)


@contextmanager
def replacing_file(target: Path) -> Iterator[Path]:
    """Give a path to write; the file becomes ``target`` when the block ends, and vanishes if it fails."""
    with _sibling(target) as sibling:
        content = sibling / target.name
        yield content
        _flush(content)
        content.replace(target)
        _flush(target.parent)


def refuse_to_lose(target: Path, *, overwrite: bool, marker: str = "") -> None:
    """Stop before anything is written where it would cost somebody something that is not ours to replace.

    ``marker`` names a file that tells a folder of our own making from any other.
    """
    if not target.exists() and not target.is_symlink():
        return
    if target.is_dir() and not any(target.iterdir()):
        return
    if not overwrite:
        raise InputError(f"{target} is already there; choose another place or add --overwrite")
    if target.is_symlink() or (target.is_dir() and not (marker and (target / marker).is_file())):
        raise InputError(f"{target} was not written by eyetest (no {marker} in it), so it is not overwritten")
    if not target.is_dir() and marker:
        raise InputError(f"{target} is a file; a folder was to be written there")


@contextmanager
def _sibling(target: Path) -> Iterator[Path]:
    if not target.parent.is_dir():
        try:
            target.parent.mkdir(parents=True)
        except OSError as error:
            raise InputError(f"cannot make folder {target.parent}: {error.strerror}") from None
    _sweep(target)
    try:
        sibling, lock = _make_locked(target)
    except OSError as error:
        raise InputError(f"cannot write beside {target}: {error.strerror}") from None
    try:
        yield sibling
    finally:
        shutil.rmtree(sibling, ignore_errors=True)
        os.close(lock)


def _make_locked(target: Path) -> tuple[Path, int]:
    """A new sibling and the lock on it, which the system gives up when this process ends, however it ends."""
    while True:
        sibling = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
        lock = os.open(sibling, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if sibling.exists():  # nobody swept it between its making and its locking
            return sibling, lock
        os.close(lock)


def _sweep(target: Path) -> None:
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


def _prefix(target: Path) -> str:
    return f".{target.name}.partial-"


def _exchange(new: Path, old: Path) -> None:
    """Swap two folders so that at no moment is there none at ``old``."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is not None:
        if rename(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE) == 0:
            return
        if ctypes.get_errno() not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
            raise OSError(ctypes.get_errno(), f"cannot put the new {old} in place")
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
