"""How a table of text was written: in which encoding, and with what between its cells.

Spreadsheets say neither. Excel writes CSV in the encoding of the country, UTF-8 with a mark, or UTF-16, and
semicolons where the comma is part of a number. What can be told for certain is; of the encodings of countries only
that of the West is taken, since its accents stand alone among plain letters, and whoever reads is told so.
"""

import codecs
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from eyetest.errors import InputError, ReadingWarning, short
from eyetest.tabular.table import open_plain

UTF8, WESTERN = "utf-8-sig", "cp1252"
_MARKED = ((codecs.BOM_UTF8, UTF8), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_SEPARATORS = (",", ";", "\t")
"""The first that is in a header, outside quotes, separates its cells."""
_LONGEST_HEADER = 2**20
_PIECE = 2**24
"""A longer line is looked at piece by piece."""
_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
"""A letter as UTF-8 writes it."""
_FOREIGN = re.compile(rb"[\x81\x8d\x8f\x90\x9d]|[\x80-\xff]{4}")
"""What Western text has not: bytes without a meaning, and four letters in a row that are none of the English ones."""
_HIGH = re.compile(rb"[\x80-\xff]")
_WORD = re.compile(rb"[\w\x80-\xff]*[\x80-\xff][\w\x80-\xff]*")


class Dialect(NamedTuple):
    """How to read a file of text."""

    encoding: str
    separator: str
    preface: bool = False
    """Whether a line stands before the header that only says what separates cells, for Excel."""


TABS = Dialect(UTF8, "\t")


def dialect_of(path: Path, separator: str = "") -> Dialect:
    """The dialect of a file; its separator is looked for unless it is known."""
    encoding = _encoding(path)
    if separator:
        return Dialect(encoding, separator)
    with open_plain(path) as file:
        header = file.read(_LONGEST_HEADER).decode(encoding, "replace").lstrip("\ufeff")
    first = re.split("[\r\n]", header, maxsplit=1)[0]
    if said := re.fullmatch(r"sep=([,;\t|])", first, re.IGNORECASE):
        return Dialect(encoding, said[1], preface=True)
    bare = re.sub('"[^"]*"', "", first)
    return Dialect(encoding, next((one for one in _SEPARATORS if one in bare), ","))


def _encoding(path: Path) -> str:
    with open_plain(path) as file:
        head = file.peek(4)[:4]
        for mark, name in _MARKED:
            if head.startswith(mark):
                return name
        if len(head) > 1 and not (head[0] and head[1]):
            return "utf-16-le" if head[0] else "utf-16-be"
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for piece in _pieces(file):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return _western(path)
    return UTF8


def _western(path: Path) -> str:
    """The encoding of Western Excel, if the bytes may be in it: a few damaged ones among UTF-8 are not."""
    letters = sequences = 0
    sample = b""
    with open_plain(path) as file:
        for piece in _pieces(file):
            if piece.isascii():
                continue
            whole = _SEQUENCE.findall(piece)
            sequences += len(whole)
            letters += len(_HIGH.findall(piece)) - sum(map(len, whole))
            sample = sample or max(_WORD.findall(piece), key=len, default=b"")
            if _FOREIGN.search(piece):
                letters = 0
                break
    if letters <= sequences:
        raise InputError(
            f'{path} is not UTF-8, and no Western text either: save it as "CSV UTF-8", or convert it (iconv -t utf-8)'
        )
    warnings.warn(
        f"{path.name} is not UTF-8, so it was read as Windows-1252, as Excel writes CSV in the West "
        f'({short(sample.decode(WESTERN))}); if that is wrong, save it as "CSV UTF-8"',
        ReadingWarning,
        stacklevel=2,
    )
    return WESTERN


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.readline(_PIECE):
        yield piece
