"""What a run has been answered so far, read at any time, also while it is being written."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

from eyetest.records import Response
from eyetest.runs import responsetable
from eyetest.runs.journal import read_sealed, read_segment, sealed, segment, segment_numbers


def stored_tables(folder: Path) -> Iterator[tuple[pa.Table, int]]:
    """Each segment as a table, oldest first, with its number of torn lines.

    A segment may be sealed between looking for it and opening it; then its Parquet file is there instead.
    """
    for number in sorted(segment_numbers(folder)):
        try:
            yield read_sealed(sealed(folder, number))
        except FileNotFoundError:
            try:
                responses, torn = read_segment(segment(folder, number))
                yield responsetable.to_table(responses), torn
            except FileNotFoundError:
                with suppress(FileNotFoundError):  # an empty segment goes without a trace
                    yield read_sealed(sealed(folder, number))


def read_responses(folder: Path) -> Iterator[Response]:
    """Every stored response, oldest first. A request that was asked again appears again; the last one counts."""
    for table, _ in stored_tables(folder):
        for batch in table.to_batches():
            yield from responsetable.from_batch(batch)


def responses_table(folder: Path) -> pa.Table:
    """The responses that count, one row a request, as an Arrow table."""
    tables = [table.replace_schema_metadata() for table, _ in stored_tables(folder)]
    table = pa.concat_tables(tables) if tables else responsetable.SCHEMA.empty_table()
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
        return next(responsetable.from_batch(self._table.slice(row, 1).combine_chunks().to_batches()[0]))


def torn_lines(folder: Path) -> int:
    """How many lines were lost to kills: each was a response that nobody had been told of yet."""
    return sum(torn for _, torn in stored_tables(folder))
