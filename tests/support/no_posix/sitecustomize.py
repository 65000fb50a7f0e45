"""A stand-in for Windows, loaded at the start of Python: eyetest finds no fcntl and no resource, the os module lacks
calls of POSIX, locks are those of bytes (msvcrt), and a file that is open cannot be removed.
"""

import builtins
import errno
import fcntl
import os
import struct
import types
from pathlib import Path
from typing import Any

_IMPORT = builtins.__import__
_UNLINK = os.unlink
_F_OFD_SETLK = 37  # a lock of an open file, as on Windows, not of a process
_LK_LOCK = 1


def _import(name: str, globals: Any = None, *rest: Any, **named: Any) -> Any:  # noqa: A002 (its name is given)
    if str((globals or {}).get("__name__", "")).startswith("eyetest"):
        if name in ("fcntl", "resource"):
            raise ImportError(f"no module named {name}")
        if name == "msvcrt":
            return types.SimpleNamespace(LK_LOCK=_LK_LOCK, LK_NBLCK=2, locking=_locking)
    return _IMPORT(name, globals, *rest, **named)


def _locking(file: int, mode: int, count: int) -> None:
    is_written = (fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE) != os.O_RDONLY
    kind = fcntl.F_WRLCK if is_written else fcntl.F_RDLCK
    start = os.lseek(file, 0, os.SEEK_CUR)
    try:
        fcntl.fcntl(file, _F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, start, count, 0))
    except OSError:
        raise OSError(errno.EDEADLK if mode == _LK_LOCK else errno.EACCES, "locked") from None


def _unlink(path: Any, *, dir_fd: int | None = None) -> None:
    for file in Path("/proc/self/fd").iterdir() if dir_fd is None else ():
        try:
            is_open = file.samefile(path)
        except OSError:
            continue
        if is_open:
            raise PermissionError(errno.EACCES, "the file is open", os.fspath(path))
    _UNLINK(path, dir_fd=dir_fd)


setattr(builtins, "__import__", _import)  # noqa: B010 (its full signature is not needed)
for _name in ("fdatasync", "pread", "pwrite", "O_NOFOLLOW", "O_NONBLOCK"):
    delattr(os, _name)
os.unlink = os.remove = _unlink
