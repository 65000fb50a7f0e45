"""What the pages of a Parquet file hold, by their own headers, read without unpacking anything.

The file's footer says how large everything is, but nothing holds it to that: readers allocate what the header in
front of each page says. So these headers are what has to be believed, and checked, before a page is read.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

_WINDOW = 2**12
_LONGEST_HEADER = 2**24
_LONGEST_FOOTER = 2**28
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_DICTIONARY_ENCODINGS = (2, 8)
_DELTA_BYTE_ARRAY = 7
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_INTEGERS = (4, 5, 6)
_DEEPEST = 8


class PagesError(ValueError):
    """Bytes that are no pages."""


class Page(NamedTuple):
    """One page: its bytes as stored and as unpacked, how many values it holds, and how."""

    stored: int
    unpacked: int
    values: int
    is_dictionary: bool
    uses_dictionary: bool
    shares_beginnings: bool
    """Whether a value may repeat the beginning of the one before it, at no cost in the file."""


class Stretch(NamedTuple):
    """Where a column of a row group lies in the file."""

    start: int
    length: int


class RowGroup(NamedTuple):
    """How many rows it has, and where its columns are."""

    rows: int
    columns: list[Stretch]


def row_groups(file: BinaryIO, columns: int) -> list[RowGroup]:
    """Where everything is, as the footer says. pyarrow would end the process where the footer makes no sense."""
    end = file.seek(0, 2)
    file.seek(max(0, end - 8))
    length = int.from_bytes(file.read(4), "little")
    if length > min(end - 8, _LONGEST_FOOTER):
        raise PagesError("its footer is longer than the file")
    file.seek(end - 8 - length)
    try:
        footer, _ = _struct(file.read(length), 0, 0)
        groups = [RowGroup(group[3], [_stretch(chunk[3]) for chunk in group[1]]) for group in footer.get(4, [])]
    except (IndexError, KeyError, TypeError, AttributeError):
        raise PagesError("its footer makes no sense") from None
    if any(len(group.columns) != columns or not isinstance(group.rows, int) for group in groups):
        raise PagesError("a row group lacks a column")
    return groups


def _stretch(about: dict[int, int]) -> Stretch:
    """A dictionary lies before the pages that use it."""
    start = about[9]
    return Stretch(about[11] if 0 < about.get(11, 0) < start else start, about[7])


def pages(file: BinaryIO, start: int, length: int) -> Iterator[Page]:
    """The pages of a column chunk, one after the other."""
    end = start + length
    if start < 0 or length < 0:
        raise PagesError("a column that is nowhere")
    while start < end:
        header, size = _header(file, start, end)
        stored, unpacked = header.get(3, -1), header.get(2, -1)
        if not isinstance(stored, int) or not isinstance(unpacked, int) or stored < 0 or unpacked < 0:
            raise PagesError("a page without a size")
        kind = header.get(1, -1)
        about = header.get({_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}.get(kind, 0), {})
        if not isinstance(about, dict) or not isinstance(about.get(1, 0), int):
            raise PagesError("a page without a number of values")
        encoding = about.get(4 if kind == _DATA_V2 else 2)
        yield Page(
            stored=stored,
            unpacked=unpacked,
            values=about.get(1, 0),
            is_dictionary=kind == _DICTIONARY,
            uses_dictionary=kind != _DICTIONARY and encoding in _DICTIONARY_ENCODINGS,
            shares_beginnings=encoding == _DELTA_BYTE_ARRAY,
        )
        start += size + stored


def _header(file: BinaryIO, start: int, end: int) -> tuple[dict[int, Any], int]:
    """A page's header and its length. Statistics may make one long, so the window grows until it fits."""
    window = _WINDOW
    while True:
        file.seek(start)
        data = file.read(min(window, end - start))
        try:
            return _struct(data, 0, 0)
        except IndexError:
            if window >= min(end - start, _LONGEST_HEADER) or len(data) < min(window, end - start):
                raise PagesError("a page's header is cut off") from None
            window *= 16


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """A structure in Thrift's compact protocol: the numbers and structures in it, by field."""
    if depth > _DEEPEST:
        raise PagesError("a header is nested too deeply")
    fields: dict[int, Any] = {}
    number = 0
    while (first := data[at]) != 0:
        at += 1
        kind = first & 15
        if first >> 4:
            number += first >> 4
        else:
            number, at = _zigzag(data, at)
        value, at = _value(data, at, kind, depth)
        fields[number] = value
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in _INTEGERS:
        return _zigzag(data, at)
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE, at
    if kind == _STRUCT:
        return _struct(data, at, depth + 1)
    if kind == _BINARY:
        length, at = _varint(data, at)
        return None, _skip(data, at, length)
    if kind in (_LIST, _SET):
        return _list(data, at, depth + 1)
    if kind in (_DOUBLE, _BYTE):
        return None, _skip(data, at, 8 if kind == _DOUBLE else 1)
    raise PagesError("a page's header holds what no header holds")


def _list(data: bytes, at: int, depth: int) -> tuple[list[Any], int]:
    if depth > _DEEPEST:
        raise PagesError("a header is nested too deeply")
    first = data[at]
    at += 1
    number, kind = first >> 4, first & 15
    if number == 15:
        number, at = _varint(data, at)
    values = []
    for _ in range(number):
        value, at = (None, _skip(data, at, 1)) if kind in (_TRUE, _FALSE) else _value(data, at, kind, depth)
        values.append(value)
    return values, at


def _skip(data: bytes, at: int, length: int) -> int:
    if at + length > len(data):
        raise IndexError
    return at + length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise PagesError("a number in a page's header is too long")


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at
