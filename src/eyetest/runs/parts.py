"""The parts that a run's answers lie in, each written once by one writer: names, rows, and which of them are gone.

A part begins as lines, ``journal/000007-3f9a1c2b.jsonl``, and becomes ``responses/000007-3f9a1c2b.parquet``: the
seventh in time, by the writer of that name, so that several may write at once. Older versions wrote no writer's name.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.errors import InputError
from eyetest.records import Response
from eyetest.records.request import read_candidates, write_candidates
from eyetest.store import store_of
from eyetest.store.files import has_checksum, inside
from eyetest.tabular.bounded_parquet import open_bounded
from eyetest.tabular.record_files import damage_in_one_line, from_columns
from eyetest.wording import counted, listed

JOURNAL = "journal"
RESPONSES = "responses"
SCHEMA = pa.schema(
    [
        ("request", pa.string()),
        ("outcome", pa.string()),
        ("text", pa.string()),
        ("thinking", pa.string()),
        ("error", pa.string()),
        ("detail", pa.string()),
        ("finish", pa.string()),
        ("tokens_in", pa.int64()),
        ("tokens_out", pa.int64()),
        ("seconds", pa.float64()),
        ("attempts", pa.int64()),
        ("time", pa.float64()),
        ("likelihoods", pa.string()),
        ("candidates", pa.string()),
        ("given", pa.float64()),
    ]
)
"""Responses as rows: plain columns that any Parquet reader shows. Likelihoods are JSON text; so are candidates, each
its log-probability, and how many tokens and bytes it has, where they are known."""
_NAME = re.compile("([0-9]{1,18})(?:-([0-9a-z]{1,32}))?")
_TAIL = 256 * 2**10
"""So many bytes of a file's end tell it from others: small files are read whole; of Parquet at least the footer,
where sizes and extremes of every column stand; of a journal that grows, its newest lines."""


class PartName(NamedTuple):
    """What tells a part from others; parts are read in this order, so that the newest answer comes last."""

    number: int
    """One more than the largest that was there when it was begun."""
    writer: str = ""

    @classmethod
    def parse(cls, text: str) -> "PartName | None":
        """The part that a key or the stem of a file stands for."""
        match = _NAME.fullmatch(text)
        return cls(int(match[1]), match[2] or "") if match else None

    @property
    def key(self) -> str:
        """As other files name it: ``7-3f9a1c2b``, or ``7``."""
        return "-".join(filter(None, (str(self.number), self.writer)))

    @property
    def stem(self) -> str:
        """As its own files are called."""
        return "-".join(filter(None, (f"{self.number:06d}", self.writer)))


def segment(folder: Path, part: PartName) -> Path:
    """The lines of a part, as long as it is open."""
    return folder / JOURNAL / f"{part.stem}.jsonl"


def sealed(folder: Path, part: PartName) -> Path:
    """The Parquet file that a part is sealed into."""
    return folder / RESPONSES / f"{part.stem}.parquet"


def part_names(folder: Path) -> list[PartName]:
    """All parts, open or sealed, oldest first."""
    store = store_of(folder)
    files = [*store.names(folder / JOURNAL, ".jsonl"), *store.names(folder / RESPONSES, ".parquet")]
    return sorted({part for name in files if (part := PartName.parse(name.rpartition(".")[0]))})


def next_part(folder: Path, writer: str = "") -> PartName:
    """The name of a part that is begun now."""
    return PartName(max((part.number for part in part_names(folder)), default=0) + 1, writer)


def to_table(responses: Iterable[Response]) -> pa.Table:
    """Responses as an Arrow table."""
    rows = list(responses)
    columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in rows] for name in SCHEMA.names}
    columns["likelihoods"] = [msgspec.json.encode(v).decode() if v else None for v in columns["likelihoods"]]
    columns["candidates"] = [write_candidates(row) for row in rows]
    return from_columns(list(columns.values()), SCHEMA)


def from_batch(batch: pa.RecordBatch) -> Iterator[Response]:
    """Responses of an Arrow batch."""
    for row in batch.to_pylist():
        row["likelihoods"] = msgspec.json.decode(row["likelihoods"]) if row["likelihoods"] else ()
        weighed = read_candidates(row["candidates"])
        row["candidates"] = [one.logprob for one in weighed]
        row["candidate_tokens"] = [one.tokens for one in weighed if one.tokens is not None]
        row["candidate_bytes"] = [one.bytes for one in weighed if one.bytes is not None]
        yield msgspec.convert(row, Response)


def read_sealed(folder: Path, part: PartName, columns: Sequence[str] | None = None) -> tuple[pa.Table, int]:
    """The table of a sealed part, or some columns, and how many lines were lost before it was sealed.

    A part without a checksum, as an older eyetest wrote it, is gone through first for values that no response has.
    """
    path = inside(sealed(folder, part), folder)
    proven = has_checksum(path)
    with damage_in_one_line(path), open_bounded(path) as file:
        if not file.schema.equals(SCHEMA):
            raise ValueError("its columns are others than it should have")
        table = file.table(columns if proven else None)
        torn = torn_in(table.schema)
        for batch in () if proven else table.to_batches():
            for response in from_batch(batch):
                bytes.fromhex(response.request)
    return (table if columns is None else table.select(columns)), torn


def torn_in(schema: pa.Schema) -> int:
    """How many lines were lost before a part was sealed, as it says itself."""
    return int((schema.metadata or {}).get(b"torn", b"0"))


def content_id(path: Path) -> str:
    """A short name for what a file holds, whatever it is called, wherever it was copied, whenever that was."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL))
        return blake2b(
            file.read(), digest_size=16, person=b"eyetest part", salt=size.to_bytes(16, "little")
        ).hexdigest()


def part_ids(folder: Path) -> dict[str, str]:
    """What every part holds, by its key. One may be sealed between looking for it and opening it."""
    ids = {}
    for part in part_names(folder):
        for path in (sealed(folder, part), segment(folder, part), sealed(folder, part)):
            try:
                ids[part.key] = content_id(path)
                break
            except FileNotFoundError:
                continue
    return ids


def count_rows(folder: Path, known: Mapping[str, int]) -> dict[str, int]:
    """How many responses each sealed part holds, by its key. Those ``known`` are not counted again."""
    return {part.key: known.get(part.key) or _rows(sealed(folder, part)) for part in part_names(folder)}


def refuse_lost(folder: Path, recorded: Mapping[str, int], covered: Iterable[str] = ()) -> None:
    """Stop where answers that were stored are gone, and say which.

    ``recorded`` are the parts that the run's last writer left, with their rows; what came later has numbers without a
    gap. ``covered`` are parts from which scores were made once.
    """
    there = part_names(folder)
    numbers = {part.number for part in there}
    known = {part for key in (*recorded, *covered) if (part := PartName.parse(key))}
    last = max((part.number for key in recorded if (part := PartName.parse(key))), default=0)
    later = {PartName(number) for number in range(last + 1, max(numbers, default=0)) if number not in numbers}
    if gone := sorted((known - set(there)) | later):
        names = listed([f"{sealed(folder, part).relative_to(folder)}" for part in gone])
        rows = sum(recorded.get(part.key, 0) for part in gone)
        told = f"with {counted(rows, 'answer')}" if rows else "and what was answered there"
        raise InputError(f"{folder} has lost {names}, {told}; bring it back, or run or import again what is missing")


def _rows(path: Path) -> int:
    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return 0
