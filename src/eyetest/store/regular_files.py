"""Files that data names: only what lies inside the folder that the user named, and only plain files.

Whoever hands a benchmark or a run on decides what its names lead to: a link may lead to a key in the home folder, a
pipe never ends, a device may do anything. What the user names on the command line is their own and may be a link.

A snapshot of the Hugging Face hub is a folder of links into the ``blobs`` of its repository; these count as inside.
"""

import errno
import os
import re
import stat
from pathlib import Path

from eyetest.errors import InputError

_READ_ONLY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_HUB_REPOSITORY = re.compile("(?:datasets|models|spaces)--.+")
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}


def inside(path: Path, root: Path) -> Path:
    """The place itself that a name inside ``root`` leads to; one that leads out is refused."""
    try:
        real, home = path.resolve(), root.resolve()
    except (OSError, RuntimeError, ValueError):
        raise InputError(f"{path} leads nowhere") from None
    if not real.is_relative_to(home) and not real.is_relative_to(_hub_blobs(home) or home):
        raise InputError(f"{path} is a link that leaves {root}")
    return real


def open_regular(path: Path | str) -> int:
    """A descriptor of a plain file, never of a link, and never one that would wait for somebody to write."""
    try:
        file = os.open(path, _READ_ONLY)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise InputError(f"{path} is a symbolic link, not a file") from None
        if error.errno in (errno.ENXIO, errno.EOPNOTSUPP):
            raise InputError(f"{path} is a socket, not a file") from None
        raise
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode):
        os.close(file)
        raise InputError(f"{path} is {_kind(mode)}, not a file")
    return file


def read_regular(path: Path, root: Path, most: int = -1) -> bytes:
    """What a plain file inside a folder holds, or its first ``most`` bytes."""
    with open(open_regular(inside(path, root)), "rb") as file:
        return file.read(most)


def refuse_special(path: Path) -> None:
    """Stop before a pipe, a socket or a device is read that the user named: it may never end."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(f"{path} is {_kind(mode)}; write what comes out of it to a file, and name that")


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def _hub_blobs(root: Path) -> Path | None:
    """Where the files of a hub snapshot lie, if a folder is in one: ``datasets--NAME/snapshots/REVISION/…``."""
    for folder in root.parents:
        if folder.name == "snapshots" and _HUB_REPOSITORY.fullmatch(folder.parent.name):
            return folder.parent / "blobs"
    return None
