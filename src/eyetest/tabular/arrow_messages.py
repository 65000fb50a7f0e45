"""How much the batches of an Arrow stream unpack into, by what stands in front of each buffer; nothing is unpacked.

Only compressed batches can be more in memory than in the file. Their metadata is a FlatBuffer, of which a few numbers
are needed here: where the buffers are. Each begins with its length when unpacked.
"""

import struct
from pathlib import Path
from typing import BinaryIO

from eyetest.errors import InputError

MAX_UNPACKED = 2**28
_PACKED = 100
"""A batch of more than `MAX_UNPACKED` bytes may unpack to so many times its stored size."""
_LONGEST_METADATA = 2**28
_CONTINUED = 0xFFFFFFFF
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3


def check_stream(path: Path) -> None:
    """Refuse a stream in which a few bytes unpack into far more."""
    if not path.is_file():
        raise InputError(f"{path} is no file")
    with path.open("rb") as file:
        try:
            while (metadata := _metadata(file)) is not None:
                body = file.tell()
                length = _number(metadata, _root(metadata), 3, "<q")
                unpacked = sum(_unpacked(file, body, start) for start in _compressed(metadata))
                if unpacked > max(MAX_UNPACKED, _PACKED * length):
                    raise InputError(f"{path}: {length:,} bytes unpack into {unpacked // 2**20:,} MB")
                file.seek(body + length if length >= 0 else length)  # a negative position is an error
        except (struct.error, ValueError, OverflowError, OSError):
            raise InputError(f"{path} is damaged: its batches cannot be told apart") from None


def _metadata(file: BinaryIO) -> bytes | None:
    """The metadata of the next message; None at the end of the stream."""
    head = file.read(4)
    if len(head) < 4:
        return None
    (length,) = struct.unpack("<I", head)
    if length == _CONTINUED:
        (length,) = struct.unpack("<I", file.read(4))
    if length == 0:
        return None
    if length > _LONGEST_METADATA:
        raise ValueError("metadata of any length")
    data = file.read(length)
    if len(data) < length:
        raise ValueError("cut")
    return data


def _compressed(metadata: bytes) -> list[int]:
    """Where in a message's body its buffers begin, if they are compressed."""
    message = _root(metadata)
    kind = _number(metadata, message, 1, "<B")
    if kind not in (_DICTIONARY_BATCH, _RECORD_BATCH):
        return []
    batch = _inside(metadata, message, 2)
    if kind == _DICTIONARY_BATCH:
        batch = _inside(metadata, batch, 1)
    if not _field(metadata, batch, 3):
        return []
    buffers = _inside(metadata, batch, 2)
    (number,) = struct.unpack_from("<I", metadata, buffers)
    extents = struct.unpack_from(f"<{2 * number}q", metadata, buffers + 4)
    return [start for start, length in zip(extents[::2], extents[1::2], strict=True) if length > 8]


def _unpacked(file: BinaryIO, body: int, start: int) -> int:
    """The length of a buffer when it is unpacked; −1 stands for one that is not packed."""
    file.seek(body + start)
    (length,) = struct.unpack("<q", file.read(8))
    return max(int(length), 0)


def _root(data: bytes) -> int:
    return int(struct.unpack_from("<I", data, 0)[0])


def _field(data: bytes, table: int, number: int) -> int:
    """Where a field of a FlatBuffer's table is; 0 where it is absent."""
    index = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, index)[0]
    slot = 4 + 2 * number
    offset = struct.unpack_from("<H", data, index + slot)[0] if slot < size else 0
    return table + offset if offset else 0


def _number(data: bytes, table: int, number: int, kind: str) -> int:
    position = _field(data, table, number)
    return int(struct.unpack_from(kind, data, position)[0]) if position else 0


def _inside(data: bytes, table: int, number: int) -> int:
    """Where the table or vector is that a field refers to."""
    position = _field(data, table, number)
    if not position:
        raise ValueError("a field is missing")
    return position + int(struct.unpack_from("<I", data, position)[0])
