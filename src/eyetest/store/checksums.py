"""Files that know their own hash: Parquet, so that a flipped bit is found, and texts that a person may change.

The checksum is the last field of the file's footer, under the number that the Parquet format keeps free for
extensions; every reader skips it. It covers the whole file but for itself. A file without one (of an older eyetest
or of somebody else) is as good as its pages look.
"""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

from eyetest.errors import InputError
from eyetest.store.regular_files import open_regular, read_regular

_MAGIC = b"PAR1"
_NAME = b"eyetest.sha-256:"
_SIZE = hashlib.sha256().digest_size
_FIELD = b"\x08\xfe\xff\x03" + bytes([len(_NAME) + _SIZE]) + _NAME
"""Thrift's compact protocol: a binary value, field 32767, its length, and whose it is."""
_END = 1 + 4 + len(_MAGIC)
"""A footer's last byte, its length and the magic number."""
_MOST_WRONG = 2
"""Bytes of that field that may be damaged before the file is taken for one without a checksum."""
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
    """Whether a file carries a checksum, which is found to fit. One that does not fit is an error, in one line."""
    with open(open_regular(path), "rb") as file:  # noqa: PTH123 (a descriptor)
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
    """A Markdown text with a last line that no reader sees and that fits nothing but this text."""
    body = text.rstrip("\n") + "\n"
    return f"{body}\n{_SIGNED}{_text_digest(body)}{_SIGNED_END}"


def is_as_written(path: Path) -> bool:
    """Whether a file is a signed text that nobody has touched: if somebody has, it is not ours to replace."""
    try:
        body, begin, rest = read_regular(path, path.parent).decode("utf-8").rpartition(f"\n{_SIGNED}")
    except (OSError, InputError, UnicodeDecodeError):
        return False
    return bool(begin) and rest == f"{_text_digest(body)}{_SIGNED_END}"


def _text_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:24]
