"""Packs: many pictures of a benchmark in one file, so that they travel together.

A request for a single object costs milliseconds of work, and making a file half a millisecond: more than all the rest
of a question. So on a store elsewhere pictures lie in ``packs/``, one after the other in the order in which they are
asked about, and ``images.index.parquet`` says where each begins. A pack is called by the hash of what it holds.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from eyetest.errors import InputError

LOOSE, PACKS, INDEX = "images", "packs", "images.index.parquet"
_COLUMNS = {"name": "string", "pack": "string", "offset": "int64", "size": "int64"}
_PACK = re.compile(r"[0-9a-f]{32}")
_BYTES_A_PACK = 8 * 2**20
_MOST_OPEN = 8


class PackIndex:
    """Where all pictures of a benchmark lie."""

    def __init__(self, path: Path) -> None:
        import numpy as np  # noqa: PLC0415 (every command loads this module, few have packs)
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._folder = path.parent / PACKS
        try:  # in ways that do not load pandas wherever that is installed
            with pq.ParquetFile(path) as file:
                table = file.read(list(_COLUMNS)).cast(pa.schema(list(_COLUMNS.items())))
            names, packs, starts, sizes = (column.combine_chunks() for column in table.columns)
            packs = packs.dictionary_encode()
            self._pack_of, self._starts = np.from_dlpack(packs.indices), np.from_dlpack(starts)
            self._ends = np.add(self._starts, np.from_dlpack(sizes))
        except (OSError, pa.ArrowException, ValueError) as error:
            raise InputError(f"{path} is damaged: {(str(error).splitlines() or [''])[0]}") from None
        self.packs: list[str] = packs.dictionary.to_pylist()
        if not all(map(_PACK.fullmatch, self.packs)) or (self._starts < 0).any() or (self._ends < self._starts).any():
            raise InputError(f"{path} is damaged: it leads to no pack")
        self._names = np.array(names.to_pylist(), np.bytes_)
        self._order = self._names.argsort()

    def row(self, name: str) -> int | None:
        """The place of a picture among all."""
        key = name.encode()
        at = int(self._names.searchsorted(key, sorter=self._order))
        if at == len(self._order) or self._names[self._order[at]] != key:
            return None
        return int(self._order[at])

    def pack_of(self, row: int) -> int:
        """In which pack a picture lies."""
        return int(self._pack_of[row])

    def path(self, pack: int) -> Path:
        """Where a pack lies."""
        return self._folder / f"{self.packs[pack]}.pack"

    def size(self, pack: int) -> int:
        """How many bytes a pack has."""
        return int(self._ends[self._pack_of == pack].max())

    def picture(self, name: str) -> bytes | None:
        """A picture by its name, if it is in a pack on this disk."""
        row = self.row(name)
        return None if row is None else self.read(row)

    def read(self, row: int) -> bytes | None:
        """A picture out of its pack, if that is on this disk."""
        try:
            file = os.open(self.path(self.pack_of(row)), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            return os.pread(file, int(self._ends[row] - self._starts[row]), int(self._starts[row]))
        finally:
            os.close(file)


def write_packs(folder: Path, names: Sequence[str]) -> None:
    """Put the pictures of ``images/`` into packs beside it."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    packs: list[str] = []
    offsets: list[int] = []
    sizes: list[int] = []
    pending = bytearray()
    (folder / PACKS).mkdir()

    def end() -> None:
        packs.extend([hashlib.sha256(pending).hexdigest()[:32]] * (len(sizes) - len(packs)))
        (folder / PACKS / f"{packs[-1]}.pack").write_bytes(pending)
        pending.clear()

    for name in names:
        data = (folder / LOOSE / name[:2] / name).read_bytes()
        offsets.append(len(pending))
        sizes.append(len(data))
        pending += data
        if len(pending) >= _BYTES_A_PACK:
            end()
    if pending:
        end()
    table = pa.table([names, packs, offsets, sizes], schema=pa.schema(list(_COLUMNS.items())))
    pq.write_table(table, folder / INDEX, compression="zstd")


def packed(path: Path) -> bytes | None:
    """A picture out of packs on this disk, beside the folder where its file would be."""
    index = open_index(path.parent.parent.parent)
    return None if index is None else index.picture(path.name)


def open_index(folder: Path) -> PackIndex | None:
    """The index of a benchmark folder, if its pictures are in packs."""
    try:
        return _opened(folder / INDEX, (folder / INDEX).stat().st_mtime_ns)
    except FileNotFoundError:
        return None


@lru_cache(maxsize=_MOST_OPEN)
def _opened(index: Path, time: int) -> PackIndex:
    return PackIndex(index)
