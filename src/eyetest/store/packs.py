"""Packs: many images in one file, as buckets hold them, with an index of where each image is."""

import hashlib
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from eyetest.errors import InputError, first_line

LOOSE, PACKS, INDEX = "images", "packs", "images.index.parquet"
_COLUMNS = {"name": "string", "pack": "string", "offset": "int64", "size": "int64"}
_PACK = re.compile(r"[0-9a-f]{32}")
_BYTES_A_PACK = 8 * 2**20
_MOST_OPEN = 8


class PackIndex:
    """The locations of all images of a benchmark."""

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
            raise InputError(f"{path} is damaged: {first_line(error)}") from None
        self.packs: list[str] = packs.dictionary.to_pylist()
        if not all(map(_PACK.fullmatch, self.packs)) or (self._starts < 0).any() or (self._ends < self._starts).any():
            raise InputError(f"{path} is damaged: it leads to no pack")
        self._names = np.array(names.to_pylist(), np.bytes_)
        self._order = self._names.argsort()

    def find(self, name: str) -> tuple[Path, int, int] | None:
        """The pack of an image, its offset, and its size; None where it is in none."""
        key = name.encode()
        at = int(self._names.searchsorted(key, sorter=self._order))
        if at == len(self._order) or self._names[self._order[at]] != key:
            return None
        row = self._order[at]
        pack = self._folder / f"{self.packs[self._pack_of[row]]}.pack"
        return pack, int(self._starts[row]), int(self._ends[row] - self._starts[row])

    def image(self, name: str) -> bytes | None:
        """An image by its name, if it is in a pack on this disk."""
        found = self.find(name)
        return None if found is None else read_packed(*found)


def read_packed(pack: Path, start: int, size: int) -> bytes | None:
    """An image from its pack, if that is on this disk."""
    try:
        with pack.open("rb", buffering=0) as file:
            return os.pread(file.fileno(), size, start)
    except FileNotFoundError:
        return None


def write_packs(folder: Path, names: Sequence[str]) -> None:
    """Put the images of ``images/`` into packs beside it, in the order in which they are asked about."""
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


def open_index(folder: Path) -> PackIndex | None:
    """The index of a benchmark folder, if its images are in packs."""
    try:
        return _opened(folder / INDEX, (folder / INDEX).stat().st_mtime_ns)
    except FileNotFoundError:
        return None


@lru_cache(maxsize=_MOST_OPEN)
def _opened(index: Path, time: int) -> PackIndex:
    return PackIndex(index)
