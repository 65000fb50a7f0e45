"""What a run has been answered so far, read at any time, also while it is being written."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from eyetest.errors import DamagedWarning, InputError
from eyetest.records import Response
from eyetest.runs.journal import read_segment
from eyetest.runs.parts import SCHEMA, PartName, from_batch, part_names, read_sealed, segment, to_table

_MOST_NAMED = 5


class StoredPart(NamedTuple):
    """One part, open or sealed."""

    table: pa.Table | None
    """Its responses; None where it cannot be read, or went away empty."""
    torn: int = 0
    """Lines that were lost to a kill."""
    damage: str = ""
    """What is wrong with it, for people."""


def read_part(folder: Path, name: PartName) -> StoredPart:
    """A part from wherever it is.

    It may be sealed between looking for it and opening it; then its Parquet file is there instead. A damaged one
    is a loss only where the journal does not hold it any more.
    """
    damage = ""
    for look in (_sealed_part, _open_part, _sealed_part):
        try:
            return look(folder, name)
        except FileNotFoundError:
            continue
        except InputError as error:
            damage = damage or str(error)
    return StoredPart(None, damage=damage)


def _sealed_part(folder: Path, name: PartName) -> StoredPart:
    return StoredPart(*read_sealed(folder, name))


def _open_part(folder: Path, name: PartName) -> StoredPart:
    path = segment(folder, name)
    lines = read_segment(path)
    damage = f"{path} is damaged: {_lines(lines.damaged)} not what was written" if lines.damaged else ""
    return StoredPart(to_table(lines.responses), lines.torn + len(lines.damaged), damage)


def _lines(numbers: list[int]) -> str:
    named = ", ".join(str(number) for number in numbers[:_MOST_NAMED])
    if len(numbers) == 1:
        return f"line {named} is"
    more = f" and {len(numbers) - _MOST_NAMED:,} more" if len(numbers) > _MOST_NAMED else ""
    return f"lines {named}{more} are"


def stored_tables(folder: Path) -> Iterator[tuple[pa.Table, int]]:
    """Each part as a table, oldest first, with its number of torn lines. What is damaged is told and left out."""
    for name in part_names(folder):
        part = read_part(folder, name)
        tell_damage(part)
        if part.table is not None:
            yield part.table, part.torn


def tell_damage(part: StoredPart) -> None:
    """Say once what is left out."""
    if part.damage:
        told = f"{part.damage}; what is damaged is left out, and the next run asks it again"
        warnings.warn(told, DamagedWarning, stacklevel=1)  # its text and this line: told once a process


def refuse_if_all_is_damaged(folder: Path) -> None:
    """For those who would make a table of nothing: an empty one would look as if nothing had been asked."""
    damage = ""
    for name in part_names(folder):
        part = read_part(folder, name)
        if part.table is not None:
            return
        damage = damage or part.damage
    if damage:
        raise InputError(damage)


def damaged_parts(folder: Path) -> list[str]:
    """What is damaged, a line each."""
    parts = (read_part(folder, name) for name in part_names(folder))
    return [part.damage for part in parts if part.damage]


def read_responses(folder: Path) -> Iterator[Response]:
    """Every stored response, oldest first. A request that was asked again appears again; the last one counts."""
    for table, _ in stored_tables(folder):
        for batch in table.to_batches():
            yield from from_batch(batch)


def responses_table(folder: Path) -> pa.Table:
    """The responses that count, one row a request, as an Arrow table."""
    tables = [table.replace_schema_metadata() for table, _ in stored_tables(folder)]
    table = pa.concat_tables(tables) if tables else SCHEMA.empty_table()
    last = {request: row for row, request in enumerate(table.column("request").to_pylist())}
    return table if len(last) == len(table) else table.take(np.fromiter(last.values(), np.int64))


def stored_outcomes(folder: Path) -> dict[bytes, str]:
    """By request id: its error word if it failed, an empty string if it has an answer."""
    found: dict[bytes, str] = {}
    for table, _ in stored_tables(folder):
        columns = (table.column(name).to_pylist() for name in ("request", "outcome", "error"))
        for request, outcome, error in zip(*columns, strict=True):
            found[bytes.fromhex(request)] = (error or "failed") if outcome == "failed" else ""
    return found


class StoredResponses:
    """Stored responses by request id, kept as an Arrow table, so that many of them fit into memory."""

    def __init__(self, folder: Path, wanted: set[bytes]) -> None:
        table = responses_table(folder)
        requests = table.column("request").to_pylist()
        self._table = table
        self._rows = {request: row for row, request in enumerate(requests) if bytes.fromhex(request) in wanted}

    def get(self, request: str) -> Response | None:
        """The response to a request, if there is one."""
        row = self._rows.get(request)
        if row is None:
            return None
        return next(from_batch(self._table.slice(row, 1).combine_chunks().to_batches()[0]))


def torn_lines(folder: Path) -> int:
    """How many lines were lost to kills: each was a response that nobody had been told of yet."""
    return sum(torn for _, torn in stored_tables(folder))
