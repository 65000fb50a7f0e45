"""Packs: many pictures of a benchmark in one file, so that they travel together.

A request for a single object costs milliseconds of work, more than all the rest of a question. So on a store
elsewhere pictures lie in ``packs/``, one after the other in the order in which they are asked about, and
``images.index.parquet`` says where each begins. Blocks of whole pictures are read at once.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.errors import InputError

LOOSE, PACKS, INDEX = "images", "packs", "images.index.parquet"
_SCHEMA = pa.schema([("name", pa.string()), ("pack", pa.int64()), ("offset", pa.int64()), ("size", pa.int64())])
_NAME = re.compile(r"[0-9a-f]{64}\.[a-z]{3,4}")
"""Pictures are called by their hash, so that no name leads anywhere else."""
_BYTES_A_PACK = 24 * 2**20
"""So large a pack is put in one request, and put again at little cost if that fails."""
_BYTES_A_BLOCK = 8 * 2**20
_MOST_OPEN = 8


class Packed(NamedTuple):
    """Where a picture lies."""

    name: str
    pack: str
    start: int
    end: int


class PackIndex:
    """Where all pictures of a benchmark lie."""

    def __init__(self, path: Path) -> None:
        try:
            table = pq.read_table(path, schema=_SCHEMA)
        except (OSError, pa.ArrowException, ValueError) as error:
            raise InputError(f"{path} is damaged: {(str(error).splitlines() or [''])[0]}") from None
        self._names = np.array(table.column("name").to_pylist(), np.bytes_)
        self._packs, starts, sizes = (table.column(name).to_numpy() for name in ("pack", "offset", "size"))
        self._starts, self._ends = starts, starts + sizes
        follows = (np.diff(self._packs) == 0) & (starts[1:] == self._ends[:-1])
        begins = (np.diff(self._packs) == 1) & (starts[1:] == 0)
        if (sizes < 0).any() or (starts[:1] != 0).any() or not (follows | begins).all():
            raise InputError(f"{path} is damaged: its pictures do not lie one after the other")
        self._order = np.argsort(self._names)
        new = begins | (np.diff(starts // _BYTES_A_BLOCK) != 0)
        self._blocks = np.concatenate([[0], np.cumsum(new)])
        """A picture belongs to the block in which it begins."""

    def row(self, name: str) -> int | None:
        """The place of a picture among all."""
        key = name.encode()
        at = int(np.searchsorted(self._names, key, sorter=self._order))
        if at == len(self._order) or self._names[self._order[at]] != key:
            return None
        return int(self._order[at])

    def picture(self, row: int) -> Packed:
        """Where one lies."""
        pack = f"{PACKS}/{self._packs[row]:06d}.pack"
        return Packed(self._names[row].decode(), pack, int(self._starts[row]), int(self._ends[row]))

    def block(self, row: int) -> int:
        """The block that a picture comes with."""
        return int(self._blocks[row])

    def pictures(self, block: int) -> Iterator[Packed]:
        """All of a block."""
        first, last = np.searchsorted(self._blocks, [block, block + 1])
        for row in range(first, last):
            if _NAME.fullmatch(self._names[row].decode()):
                yield self.picture(row)


def write_packs(folder: Path, names: Sequence[str]) -> None:
    """Put the pictures of ``images/`` into packs beside it."""
    rows: list[tuple[int, int, int]] = []
    (folder / PACKS).mkdir()
    at, number = _BYTES_A_PACK, -1
    for name in names:
        data = (folder / LOOSE / name[:2] / name).read_bytes()
        if at >= _BYTES_A_PACK:
            at, number = 0, number + 1
        with (folder / PACKS / f"{number:06d}.pack").open("ab") as pack:
            pack.write(data)
        rows.append((number, at, len(data)))
        at += len(data)
    columns = [pa.array(names, pa.string()), *(pa.array(column, pa.int64()) for column in zip(*rows, strict=True))]
    pq.write_table(pa.table(columns, schema=_SCHEMA), folder / INDEX, compression="zstd")


def packed(path: Path) -> bytes | None:
    """A picture out of packs that were copied to this disk beside the folder where its file would be."""
    folder = path.parent.parent.parent
    index = open_index(folder)
    row = index.row(path.name) if index else None
    if index is None or row is None:
        return None
    picture = index.picture(row)
    try:
        with (folder / picture.pack).open("rb") as file:
            file.seek(picture.start)
            return file.read(picture.end - picture.start)
    except FileNotFoundError:
        return None


def open_index(folder: Path) -> PackIndex | None:
    """The index of a benchmark folder, if its pictures are in packs."""
    try:
        return _opened(folder / INDEX, (folder / INDEX).stat().st_mtime_ns)
    except FileNotFoundError:
        return None


@lru_cache(maxsize=_MOST_OPEN)
def _opened(index: Path, time: int) -> PackIndex:
    return PackIndex(index)
