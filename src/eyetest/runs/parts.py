"""The parts that a run's answers lie in: what each holds, without reading it, and which of them are gone.

A part is written once, under a number of its own, and never changed; only the open one grows at its end.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.errors import InputError
from eyetest.runs.journal import sealed, segment, segment_numbers
from eyetest.wording import counted, listed

_TAIL = 256 * 2**10
"""So many bytes of a file's end tell it from others: small files are read whole; of Parquet at least the footer,
where sizes and extremes of every column stand; of a journal that grows, its newest lines."""


def content_id(path: Path) -> str:
    """A short name for what a file holds, whatever it is called, wherever it was copied, whenever that was."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL))
        return blake2b(
            file.read(), digest_size=16, person=b"eyetest part", salt=size.to_bytes(16, "little")
        ).hexdigest()


def part_ids(folder: Path) -> dict[int, str]:
    """What every part holds, by its number. One may be sealed between looking for it and opening it."""
    found = {}
    for number in sorted(segment_numbers(folder)):
        for path in (sealed(folder, number), segment(folder, number), sealed(folder, number)):
            try:
                found[number] = content_id(path)
                break
            except FileNotFoundError:
                continue
    return found


def count_rows(folder: Path, known: Mapping[int, int]) -> dict[int, int]:
    """How many responses each sealed part holds. Those ``known`` are not counted again."""
    return {number: known.get(number) or _rows(sealed(folder, number)) for number in sorted(segment_numbers(folder))}


def refuse_lost(folder: Path, recorded: Mapping[int, int], covered: Iterable[int] = ()) -> None:
    """Stop where answers that were stored are gone, and say which.

    ``recorded`` are the parts that the run's last writer left, with their rows; what came later has numbers without a
    gap. ``covered`` are parts from which scores were made once.
    """
    there = segment_numbers(folder)
    later = range(max(recorded, default=0) + 1, max(there, default=0))
    gone = sorted({*recorded, *covered, *later} - there)
    if gone:
        names = listed([f"{sealed(folder, number).relative_to(folder)}" for number in gone])
        rows = sum(recorded.get(number, 0) for number in gone)
        told = f"with {counted(rows, 'answer')}" if rows else "and what was answered there"
        raise InputError(f"{folder} has lost {names}, {told}; bring it back, or run or import again what is missing")


def _rows(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return 0
