"""Put a whole file or folder in place in one step: whoever looks sees the old one or the new one.

The new content grows in a hidden sibling, ``.NAME.partial-…``, which is renamed (or, where something stands
there already, exchanged) when it is complete. A process that is killed leaves only such a sibling behind;
it is locked for as long as its writer lives, so that the next writer can tell the dead from the living and sweep.
"""

import ctypes
import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from eyetest.errors import InputError, param, short, system_error, system_words

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_PARTIAL = re.compile(r"\..+\.partial-")
"""What a killed writer left of a file in a folder that is replaced now."""


@contextmanager
def replacing_folder(target: Path, *, overwrite: bool = True) -> Iterator[Path]:
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
            if not overwrite:
                raise InputError(f"{target} was written by somebody else meanwhile; choose another place") from None
            _exchange(content, target)
        _flush(target.parent)


@contextmanager
def replacing_file(target: Path, *, overwrite: bool = True) -> Iterator[Path]:
    """Give a path to write; the file becomes ``target`` when the block ends, and vanishes if it fails."""
    with _sibling(target) as sibling:
        content = sibling / target.name
        yield content
        _flush(content)
        if target.exists() and not overwrite:
            raise InputError(f"{target} was written by somebody else meanwhile; choose another place")
        content.replace(target)
        _flush(target.parent)


def refuse_to_lose(target: Path, *, overwrite: bool, ours: Collection[str] | None) -> None:
    """Stop before anything is written where it would cost somebody something that is not ours to replace.

    ``ours`` names what may stand in a folder that is replaced; None where a file is to be written.
    """
    if target.is_symlink():
        raise InputError(f"{target} is a symbolic link; name the place itself")
    if target.resolve() == Path.cwd():
        raise InputError(f"{target} is the folder you are in; name a new one")
    if not target.exists():
        return
    if target.is_dir() != (ours is not None):
        raise InputError(f"{target} is already there, and it is a {'folder' if target.is_dir() else 'file'}")
    inside = [path.name for path in target.iterdir()] if target.is_dir() else [target.name]
    if inside and not overwrite:
        raise InputError(f"{target} is already there; choose another place or add {param('overwrite', True)}")
    if foreign := [name for name in inside if ours is not None and name not in ours and not _PARTIAL.match(name)]:
        raise InputError(f"{target} holds {short(foreign[0])}, which eyetest did not write, so it is not replaced")


@contextmanager
def _sibling(target: Path) -> Iterator[Path]:
    made = [folder for folder in target.parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        sweep(target)
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
    """A new sibling and the lock on it, which the system gives up when this process ends, however it ends."""
    while True:
        sibling = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
        lock = os.open(sibling, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if sibling.exists():  # nobody swept it between its making and its locking
            return sibling, lock
        os.close(lock)


def sweep(target: Path) -> None:
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
