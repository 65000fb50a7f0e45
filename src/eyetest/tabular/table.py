"""A table of rows with named values, from any kind of file; and the syntax of column names."""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from eyetest.errors import InputError, heading, nearest, short

_CODECS = {".gz": "gzip", ".zst": "zstd"}
PACKED = tuple(_CODECS)
MAX_UNPACKED = 2**31
MAX_GROWTH = 200  # a compressed file may decompress into `MAX_UNPACKED` bytes, or into so many times its size
_SHEET = re.compile(r"(.+\.xlsx)#(.+)", re.IGNORECASE)
_BUFFER = 2**20
Values = dict[str, Any]


class Row(NamedTuple):
    """One row of a table: its number from 0, its name in messages, and its values by column."""

    number: int
    where: str
    values: Values
    line: int = 0  # counted from 1: lines in JSON Lines, rows below the header elsewhere


class Rows(Protocol):
    """A file as rows; each iteration starts anew."""

    path: Path
    done: float  # share of the file that the latest iteration has read, from 0 to 1

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the values that its rows may have."""

    def __iter__(self) -> Iterator[Row]: ...


def kind_of(path: Path) -> str:
    """A file's kind by its ending, that of ``quiz.csv.gz`` being ``.csv``."""
    return Path(unpacked_name(path.name.lower())).suffix


def unpacked_name(name: str) -> str:
    """The name without the suffix of compression."""
    return name[: -len(ending)] if (ending := next(filter(name.lower().endswith, PACKED), "")) else name


def named_sheet(path: Path) -> tuple[Path, str]:
    """A file, and the sheet that ``quiz.xlsx#Items`` names; no sheet where it names none."""
    named = _SHEET.fullmatch(path.name)
    return (path.with_name(named[1]), named[2]) if named and not path.exists() else (path, "")


def open_plain(path: Path) -> io.BufferedReader:
    """A file's bytes, decompressed if needed."""
    packed = path.suffix.lower() in PACKED
    return io.BufferedReader(_Unpacking(path) if packed else io.FileIO(path), _BUFFER)


def plain_size(path: Path) -> int:
    """The number of bytes `open_plain` gives, at least 1; of a compressed file what it declares, for display only."""
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        if path.suffix.lower() == ".gz" and size > 4:
            file.seek(-4, io.SEEK_END)
            size = int.from_bytes(file.read(4), "little")
    return max(size, 1)


class _Unpacking(io.RawIOBase):
    def __init__(self, path: Path) -> None:
        self._file = pa.CompressedInputStream(pa.OSFile(str(path)), _CODECS[path.suffix.lower()])
        self._path, self._total = path, 0
        self._most = max(MAX_UNPACKED, MAX_GROWTH * path.stat().st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(min(len(buffer), _BUFFER))
        self._total += len(data)
        if self._total > self._most:
            size = f"{self._most // 2**20:,} MB, far more than its size"
            raise InputError(f"{self._path} unpacks into more than {size}")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def refuse_twins(path: Path, names: Iterable[str]) -> None:
    """Refuse two columns with one name, of which a row could keep only one."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InputError(f"{path}: several columns are called {short(twice[0])}; rename them")


def parse_pairs(texts: Iterable[str], takes: str) -> Iterator[tuple[str, str]]:
    """The pairs of ``question=prompt,options=choices``; ``takes``: what was expected, if there is none."""
    for pair in (part for text in texts for part in text.split(",")):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise InputError(f'{takes}; found "{pair}"')
        yield name, value


def refuse_unknown_field(field: str, parameter: str, fields: Iterable[str]) -> None:
    """Raise where a user names an unknown field."""
    if field not in fields:
        raise InputError(f'{heading(parameter)}: no field "{field}"; {nearest(field, fields)}')


def split_columns(value: str) -> tuple[str, ...]:
    """The columns that ``A+B+C`` names."""
    return tuple(value.split("+")) if value else ()


def nearest_column(name: str, columns: Sequence[str]) -> str:
    """The nearest column, or the first few where there are thousands."""
    hint = nearest(name, columns)
    return hint if hint.startswith("did you") else f"known: {listed_columns(columns)}"


def listed_columns(columns: Sequence[str]) -> str:
    """The first few columns of a file, for a message."""
    shown = ", ".join(short(name, 40)[1:-1] for name in columns[:12])
    return f"{shown} … ({len(columns)} columns)" if len(columns) > 12 else shown
