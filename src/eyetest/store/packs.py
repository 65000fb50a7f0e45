"""Packs: the pictures of a benchmark in one file, so that they travel many at a time.

A request for a single object costs milliseconds of work, more than all the rest of a question. So on a store
elsewhere pictures lie in ``images.pack``, one after the other in the order in which they are asked about, and
``images.index.parquet`` says where each begins. Blocks of whole pictures are read at once.
"""

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.errors import InputError

LOOSE, PACK, INDEX = "images", "images.pack", "images.index.parquet"
_SCHEMA = pa.schema([("name", pa.string()), ("offset", pa.int64()), ("size", pa.int64())])
_NAME = re.compile(r"[0-9a-f]{64}\.[a-z]{3,4}")
"""Pictures are called by their hash, so that no name leads anywhere else."""
_BYTES_A_BLOCK = 8 * 2**20
_AT_ONCE = 2**20
_MOST_OPEN = 8


class Pack:
    """Where each picture of a pack lies."""

    def __init__(self, index: Path) -> None:
        try:
            table = pq.read_table(index, schema=_SCHEMA)
        except (OSError, pa.ArrowException, ValueError) as error:
            raise InputError(f"{index} is damaged: {(str(error).splitlines() or [''])[0]}") from None
        self._names = np.array(table.column("name").to_pylist(), np.bytes_)
        self._offsets, self._sizes = (table.column(name).to_numpy() for name in ("offset", "size"))
        ends = self._offsets + self._sizes
        if len(table) and (self._offsets[0] or (self._sizes < 0).any() or (self._offsets[1:] != ends[:-1]).any()):
            raise InputError(f"{index} is damaged: its pictures do not lie one after the other")
        self._order = np.argsort(self._names)
        self._block_of = self._offsets // _BYTES_A_BLOCK
        """A picture belongs to the block in which it begins."""

    def row(self, name: str) -> int | None:
        """The place of a picture in the pack."""
        key = name.encode()
        at = int(np.searchsorted(self._names, key, sorter=self._order))
        if at == len(self._order) or self._names[self._order[at]] != key:
            return None
        return int(self._order[at])

    def span(self, row: int) -> tuple[int, int]:
        """From where to where a picture lies."""
        return int(self._offsets[row]), int(self._offsets[row] + self._sizes[row])

    def block(self, row: int) -> int:
        """The block that a picture comes with."""
        return int(self._block_of[row])

    def pictures(self, block: int) -> Iterator[tuple[str, int, int]]:
        """Name, begin and end of each picture of a block."""
        first, last = np.searchsorted(self._block_of, [block, block + 1])
        for row in range(first, last):
            name = self._names[row].decode()
            if _NAME.fullmatch(name):
                yield (name, *self.span(row))


def write_pack(folder: Path, names: Sequence[str]) -> None:
    """Put the pictures of ``images/`` into a pack beside it."""
    sizes = []
    with (folder / PACK).open("wb") as pack:
        for name in names:
            begin = pack.tell()
            with (folder / LOOSE / name[:2] / name).open("rb") as picture:
                while piece := picture.read(_AT_ONCE):
                    pack.write(piece)
            sizes.append(pack.tell() - begin)
    offsets = np.cumsum([0, *sizes])[:-1]
    table = pa.table([pa.array(names, pa.string()), pa.array(offsets), pa.array(sizes, pa.int64())], schema=_SCHEMA)
    pq.write_table(table, folder / INDEX, compression="zstd")


def packed(path: Path) -> bytes | None:
    """A picture out of the pack that was copied to this disk beside the folder where its file would be."""
    folder = path.parent.parent.parent
    pack = open_pack(folder)
    row = pack.row(path.name) if pack else None
    if pack is None or row is None or not (folder / PACK).is_file():
        return None
    begin, end = pack.span(row)
    with (folder / PACK).open("rb") as file:
        file.seek(begin)
        return file.read(min(end, os.fstat(file.fileno()).st_size) - begin)


def open_pack(folder: Path) -> Pack | None:
    """The pack of a benchmark folder, if it has one."""
    try:
        return _opened(folder / INDEX, (folder / INDEX).stat().st_mtime_ns)
    except FileNotFoundError:
        return None


@lru_cache(maxsize=_MOST_OPEN)
def _opened(index: Path, time: int) -> Pack:
    return Pack(index)
