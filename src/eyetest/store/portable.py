"""Locks, flushing to disk and exchanging folders on Linux, macOS and Windows: calls that not all systems have."""

import ctypes
import errno
import os
import sys
from pathlib import Path
from typing import Any

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:
    fcntl = None
    import msvcrt

READ_ONLY = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    READ_ONLY |= getattr(os, _flag, 0)
BINARY: int = getattr(os, "O_BINARY", 0)
_LOCKED_BYTE = 2**40  # Windows refuses reads of locked bytes: the lock is far behind the content
_AT_FDCWD = -100
_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_NOT_POSSIBLE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def lock(file: int, *, shared: bool = False, wait: bool = False) -> bool:
    """Lock an open file until it is closed or the process ends; False where another process holds a lock on it."""
    try:
        if fcntl is not None:
            kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
            fcntl.flock(file, kind | (0 if wait else fcntl.LOCK_NB))
        else:
            _lock_byte(file, wait=wait)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _lock_byte(file: int, *, wait: bool) -> None:
    """Lock a byte of a file, as Windows does; its own waiting ends after ten attempts."""
    while True:
        before = os.lseek(file, 0, os.SEEK_CUR)
        try:
            os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError as error:  # EDEADLK: not to be had in ten attempts
            if not (wait and error.errno == errno.EDEADLK):
                raise
        else:
            return
        finally:
            os.lseek(file, before, os.SEEK_SET)


def sync(file: int) -> None:
    """Flush the content of a file to disk; on macOS, fsync alone leaves it in the drive's memory."""
    if sys.platform == "darwin" and fcntl is not None:
        try:
            fcntl.fcntl(file, fcntl.F_FULLFSYNC)
        except OSError:  # network drives lack it
            os.fsync(file)
    else:
        getattr(os, "fdatasync", os.fsync)(file)


def flush(path: Path) -> None:
    """Flush a file or, where the system can, a directory entry to disk."""
    if os.name == "nt" and path.is_dir():
        return
    file = os.open(path, (os.O_RDWR if os.name == "nt" else os.O_RDONLY) | BINARY)
    try:
        sync(file)
    finally:
        os.close(file)


def exchange(new: Path, old: Path) -> None:
    """Swap two folders: in one step where the system can, so that ``old`` exists at any moment."""
    names = os.fsencode(new), os.fsencode(old)
    failed = -1
    if sys.platform == "linux" and (rename := getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)):
        failed = rename(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _SWAP)
    elif sys.platform == "darwin" and (rename := getattr(ctypes.CDLL(None, use_errno=True), "renamex_np", None)):
        failed = rename(*names, _SWAP)
    if failed == 0:
        return
    if (number := ctypes.get_errno()) not in (0, *_NOT_POSSIBLE):
        raise OSError(number, os.strerror(number), str(new))
    aside = new.parent / "old"
    old.rename(aside)
    new.rename(old)
