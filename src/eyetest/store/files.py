"""Files that data names: only regular, unchanged files inside the folder that the user named.

Parquet files contain their own hash in the footer's last field, which other readers skip; editable texts have one.
"""

import errno
import hashlib
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO

from eyetest.errors import InputError

_READ_ONLY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_HUB_REPOSITORY = re.compile("(?:datasets|models|spaces)--.+")
_LONGEST_NAME = 255
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a symbolic link",
}


def inside(path: Path, root: Path) -> Path:
    """The resolved path of a name inside ``root``; one that leads out is refused."""
    try:
        real, home = path.resolve(), root.resolve()
    except (OSError, RuntimeError, ValueError):
        raise InputError(f"{path} leads nowhere") from None
    if os.path.islink(real):  # noqa: PTH114 (a link to itself, of which Python says nothing from 3.13 on; never raises)
        raise InputError(f"{path} leads nowhere")
    if not real.is_relative_to(home) and not real.is_relative_to(_hub_blobs(home) or home):
        raise InputError(f"{path} is a link that leaves {root}")
    return real


def open_regular(path: Path | str) -> int:
    """A descriptor of a regular file, never of a link; opening never waits for a writer."""
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
    """The content of a regular file inside a folder, or its first ``most`` bytes."""
    with open(open_regular(inside(path, root)), "rb") as file:
        return file.read(most)


def refuse_special(path: Path) -> None:
    """Raise before a pipe, socket or device that the user named is read: it may never end."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InputError(f"{path} is {_kind(mode)}; write what comes out of it to a file, and name that")


def is_plain_name(name: str) -> bool:
    """Whether an external name stays in its folder and is valid on this disk."""
    return (
        name not in ("", ".", "..")
        and name.isprintable()
        and not set(name) & set("/\\")
        and len(name.encode("utf-8", "replace")) <= _LONGEST_NAME
    )


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def _hub_blobs(root: Path) -> Path | None:
    """The blobs of a hub snapshot, if a folder is in one: ``datasets--NAME/snapshots/REVISION/…``."""
    for folder in root.parents:
        if folder.name == "snapshots" and _HUB_REPOSITORY.fullmatch(folder.parent.name):
            return folder.parent / "blobs"
    return None


_MAGIC = b"PAR1"
_NAME = b"eyetest.sha-256:"
_SIZE = hashlib.sha256().digest_size
_FIELD = b"\x08\xfe\xff\x03" + bytes([len(_NAME) + _SIZE]) + _NAME  # Thrift compact: binary field 32767, length, name
_END = 1 + 4 + len(_MAGIC)  # A footer's last byte, its length and the magic number
_MOST_WRONG = 2  # bytes of that field that may be damaged before the file is taken for one without a checksum
_AT_ONCE = 2**20
_SIGNED, _SIGNED_END = "<!-- written by eyetest; the same until it is edited: ", " -->\n"


def add_checksum(path: Path) -> None:
    """Write a finished Parquet file's checksum into its footer."""
    with path.open("r+b") as file:
        start = file.seek(-_END, os.SEEK_END)
        length = int.from_bytes(file.read(_END)[1:5], "little") + len(_FIELD) + _SIZE
        end = b"\0" + length.to_bytes(4, "little") + _MAGIC
        digest = _digest(file, start, _FIELD + end)
        file.seek(start)
        file.write(_FIELD + digest + end)


def has_checksum(path: Path) -> bool:
    """Whether a file has a checksum, which is verified. A wrong one raises an error of one line."""
    with open(open_regular(path), "rb") as file:
        start = os.fstat(file.fileno()).st_size - _END - _SIZE - len(_FIELD)
        file.seek(max(start, 0))
        rest = file.read()
        wrong = sum(ours != theirs for ours, theirs in zip(_FIELD, rest, strict=False))
        if start < 0 or wrong > _MOST_WRONG or not rest.endswith(_MAGIC):
            return False
        stored, end = rest[len(_FIELD) : -_END], rest[-_END:]
        if wrong or _digest(file, start, _FIELD + end) != stored:
            raise InputError(f"{path} is damaged: its checksum does not fit what it holds")
        return True


def _digest(file: BinaryIO, length: int, rest: bytes) -> bytes:
    digest = hashlib.sha256()
    file.seek(0)
    while length > 0 and (piece := file.read(min(_AT_ONCE, length))):
        digest.update(piece)
        length -= len(piece)
    digest.update(rest)
    return digest.digest()


def signed(text: str) -> str:
    """A Markdown text with an invisible last line that holds its checksum."""
    body = text.rstrip("\n") + "\n"
    return f"{body}\n{_SIGNED}{_text_digest(body)}{_SIGNED_END}"


def is_as_written(path: Path) -> bool:
    """Whether a file is a signed text that was not edited since; an edited one must not be replaced."""
    try:
        body, begin, rest = read_regular(path, path.parent).decode("utf-8").rpartition(f"\n{_SIGNED}")
    except (OSError, InputError, UnicodeDecodeError):
        return False
    return bool(begin) and rest == f"{_text_digest(body)}{_SIGNED_END}"


def _text_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]
