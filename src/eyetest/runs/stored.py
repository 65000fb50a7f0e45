"""What a run has been answered so far, read at any time, also while it is being written."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from eyetest.errors import DamagedWarning, InputError, damaged
from eyetest.records import Response
from eyetest.runs.journal import read_segment
from eyetest.runs.parts import (
    SCHEMA,
    PartName,
    from_batch,
    part_names,
    read_sealed,
    sealed,
    segment,
    to_table,
    torn_in,
)
from eyetest.runs.plan import PLAN, plan_table, scan_table
from eyetest.store.files import has_checksum, inside
from eyetest.tabular.record_files import array, indices, numbers

_MOST_NAMED = 5
_RESPONSES_AT_ONCE = 1_000


class StoredPart(NamedTuple):
    """One part, open or sealed."""

    table: pa.Table | None
    """Its responses; None where it cannot be read, or went away empty."""
    torn: int = 0
    """Lines that were lost to a kill."""
    damage: str = ""
    """What is wrong with it, for people."""


def read_part(folder: Path, name: PartName, columns: Sequence[str] | None = None) -> StoredPart:
    """A part, or some columns of it, from wherever it is.

    It may be sealed between looking for it and opening it; then its Parquet file is there instead. A damaged one
    is a loss only where the journal does not hold it any more.
    """
    damage = ""
    for is_sealed in (True, False, True):
        try:
            return StoredPart(*read_sealed(folder, name, columns)) if is_sealed else _open_part(folder, name, columns)
        except FileNotFoundError:
            continue
        except InputError as error:
            damage = damage or str(error)
    return StoredPart(None, damage=damage)


def _open_part(folder: Path, name: PartName, columns: Sequence[str] | None) -> StoredPart:
    path = segment(folder, name)
    lines = read_segment(path)
    damage = f"{path} is damaged: {_lines(lines.damaged)} not what was written" if lines.damaged else ""
    table = to_table(lines.responses)
    return StoredPart(table.select(columns) if columns else table, lines.torn + len(lines.damaged), damage)


def _lines(numbers: list[int]) -> str:
    named = ", ".join(str(number) for number in numbers[:_MOST_NAMED])
    if len(numbers) == 1:
        return f"line {named} is"
    more = f" and {len(numbers) - _MOST_NAMED:,} more" if len(numbers) > _MOST_NAMED else ""
    return f"lines {named}{more} are"


def stored_tables(folder: Path, columns: Sequence[str] | None = None) -> Iterator[tuple[pa.Table, int]]:
    """Each part as a table, oldest first, with its number of torn lines. What is damaged is told and left out."""
    for name in part_names(folder):
        part = read_part(folder, name, columns)
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
        part = read_part(folder, name, ("request",))
        if part.table is not None:
            return
        damage = damage or part.damage
    if damage:
        raise InputError(damage)


class StoredHealth(NamedTuple):
    """What of a run's answers did not make it to where they are read from."""

    torn: int
    """Lines that were lost to kills: each was a response that nobody had been told of yet."""
    damaged: list[str]
    """What is damaged and left out, a line each."""


def stored_health(folder: Path) -> StoredHealth:
    """Look at all parts once. Of one whose checksum fits nothing has to be unpacked."""
    parts = [_sealed_part(folder, name) or read_part(folder, name, ("request",)) for name in part_names(folder)]
    return StoredHealth(
        sum(part.torn for part in parts if part.table is not None), [part.damage for part in parts if part.damage]
    )


def _sealed_part(folder: Path, name: PartName) -> StoredPart | None:
    """A part whose checksum fits, with none of its rows."""
    with suppress(InputError, FileNotFoundError):
        path = inside(sealed(folder, name), folder)
        if has_checksum(path) and (schema := pq.read_schema(path)).equals(SCHEMA):
            return StoredPart(to_table(()), torn_in(schema))
    return None


def read_responses(folder: Path) -> Iterator[Response]:
    """Every stored response, oldest first. A request that was asked again appears again; the last one counts."""
    for table, _ in stored_tables(folder):
        for batch in table.to_batches():
            yield from from_batch(batch)


class IdIndex:
    """Finds rows by their ids, which are kept as sorted bytes: a million of them take little more than their letters.

    Of rows with the same id the last one counts.
    """

    def __init__(self, ids: NDArray[np.bytes_]) -> None:
        self._order = np.argsort(ids, kind="stable")
        self._ids = ids[self._order]

    def __len__(self) -> int:
        return len(self._ids)

    def rows(self, ids: NDArray[np.bytes_]) -> NDArray[np.int64]:
        """The row of each id; -1 where there is none."""
        if not len(self._ids):
            return np.full(len(ids), -1)
        last = np.maximum(np.searchsorted(self._ids, ids, side="right") - 1, 0)
        return np.where(self._ids[last] == ids, self._order[last], -1)

    def row(self, id_: bytes) -> int | None:
        """The row of one id, if there is one."""
        last = int(np.searchsorted(self._ids, id_, side="right")) - 1
        is_there = last >= 0 and self._ids[last] == id_.rstrip(b"\0")  # NumPy leaves out zeros at the end
        return int(self._order[last]) if is_there else None


def key_bytes(keys: Iterable[bytes]) -> NDArray[np.bytes_]:
    """Keys of who was asked what, as an index takes them."""
    return np.fromiter(keys, "S16")


def responses_table(folder: Path, columns: Sequence[str] | None = None, among: IdIndex | None = None) -> pa.Table:
    """The responses that count, one row a request, as an Arrow table, or some of its columns, or of its requests."""
    tables = [_those(table, among).replace_schema_metadata() for table, _ in stored_tables(folder, columns)]
    empty = to_table(())
    table = pa.concat_tables([empty.select(columns) if columns else empty, *tables])
    codes, distinct = encode(table.column("request"))
    if len(distinct) == len(table):
        return table
    last = np.zeros(len(distinct), np.int64)
    last[codes] = np.arange(len(codes))
    return table.take(indices(last))


def _those(table: pa.Table, among: IdIndex | None) -> pa.Table:
    if among is None:
        return table
    return table.take(indices(np.flatnonzero(among.rows(sortable(table.column("request"))) >= 0)))


class StoredErrors(NamedTuple):
    """What came of each stored request: an error word where it failed, an empty one where it has an answer."""

    requests: pa.Array
    words: list[str]
    codes: NDArray[np.int64]
    """By request: which of the words."""

    @classmethod
    def of(cls, table: pa.Table) -> "StoredErrors":
        """Those of a table of responses."""
        outcomes, kinds = encode(table.column("outcome"))
        errors, words = encode(table.column("error"))
        failed = np.array([kind == "failed" for kind in kinds.to_pylist()], bool)[outcomes]
        codes = np.where(failed, errors + 1, 0)
        return cls(table.column("request").combine_chunks(), ["", *(w or "failed" for w in words.to_pylist())], codes)

    def by_request(self) -> dict[str, str]:
        """The word of each request, for few."""
        return dict(zip(self.requests.to_pylist(), (self.words[code] for code in self.codes), strict=True))

    def are(self, test: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Of which requests something holds, by their words."""
        return np.array([test(word) for word in self.words], bool)[self.codes]


def stored_errors(folder: Path) -> StoredErrors:
    """What came of everything that a run has asked."""
    return StoredErrors.of(responses_table(folder, ("request", "outcome", "error")))


class StoredResponses:
    """Stored responses by request id, kept as an Arrow table, so that many of them fit into memory."""

    def __init__(
        self, folder: Path, is_left_out: Callable[[str], bool] | None = None, among: IdIndex | None = None
    ) -> None:
        """``is_left_out``: by their error words, which responses are as good as none. ``among``: only these."""
        table = responses_table(folder, among=among)
        if is_left_out:
            table = table.take(indices(np.flatnonzero(~StoredErrors.of(table).are(is_left_out))))
        self._table, self._index = table, IdIndex(sortable(table.column("request")))

    def get(self, request: str) -> Response | None:
        """The response to a request, if there is one."""
        row = self._index.row(request.encode())
        if row is None:
            return None
        one = self._table.slice(row, 1).combine_chunks()
        return next(from_batch(one.to_batches()[0]))

    def each(self, requests: NDArray[np.bytes_]) -> Iterator[Response | None]:
        """The response to each of many requests, of which few are made at a time."""
        for start in range(0, len(requests), _RESPONSES_AT_ONCE):
            rows = self._index.rows(requests[start : start + _RESPONSES_AT_ONCE])
            table = self._table.take(indices(rows[rows >= 0]))
            responses = (response for batch in table.to_batches() for response in from_batch(batch))
            yield from (next(responses) if row >= 0 else None for row in rows)


def encode(texts: pa.ChunkedArray) -> tuple[NDArray[np.int64], pa.Array]:
    """Each text as the index of its like among the distinct ones, which stand in the order of their first use."""
    chunks = texts.dictionary_encode().chunks
    if not chunks:
        return np.zeros(0, np.int64), array((), texts.type)
    return np.concatenate([numbers(chunk.indices) for chunk in chunks]), chunks[-1].dictionary


def sortable(texts: pa.Array | pa.ChunkedArray) -> NDArray[np.bytes_]:
    """Texts as bytes of one length: request ids have one, so that no Python value is made of them."""
    plain = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    lengths = pc.unique(pc.binary_length(plain)).to_pylist()
    if len(lengths) == 1 and lengths[0] and not plain.offset:
        return np.frombuffer(plain.buffers()[2], f"S{lengths[0]}", len(plain))
    return np.array([text.encode() for text in plain.to_pylist()], np.bytes_)


_FEW = ("model", "sight", "ask", "shots", "marks", "method", "history")
"""Columns of few different values; as categories, ten million rows of them fit into memory."""
_SAID = ("request", "outcome", "text", "candidates", "given")


def answers_frame(folder: Path) -> pl.LazyFrame:
    """One row an answer, lazily: the plan's columns, then what was said. What was not asked yet is not there.

    Rows stand in the order of the plan, so that what is made of them is the same each time.
    """
    said = responses_frame(folder).with_columns(pl.col("outcome").cast(pl.Categorical))
    return plan_frame(folder).join(said, on="request", how="inner", maintain_order="left")


def plan_frame(folder: Path) -> pl.LazyFrame:
    """The plan, lazily."""
    path = folder / PLAN
    plan = scan_table(path) if path.exists() else _frame(plan_table(folder))
    return plan.with_columns(pl.col(_FEW).cast(pl.Categorical))


def responses_frame(folder: Path, columns: Sequence[str] = _SAID) -> pl.LazyFrame:
    """The responses that count, one row a request: of a request that was asked again, the last."""
    frame = every_response(folder).select(columns)
    with one_line_if_damaged(folder):
        counts = frame.select(pl.len(), pl.col("request").hash().n_unique().alias("requests")).collect()
    rows, requests = counts.row(0)
    return frame if rows == requests else frame.unique("request", keep="last")


def every_response(folder: Path) -> pl.LazyFrame:
    """Every stored response with all of its columns, oldest first, lazily; a request may be there again."""
    refuse_if_all_is_damaged(folder)
    parts = [frame for name in part_names(folder) if (frame := part_frame(folder, name)) is not None]
    return pl.concat(parts) if parts else _frame(to_table(()))


@contextmanager
def one_line_if_damaged(path: Path) -> Iterator[None]:
    """Make one line of any damage to the tables behind a lazy frame, which shows only when the frame is collected."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise damaged(path, error) from None


def part_frame(folder: Path, name: PartName) -> pl.LazyFrame | None:
    """One part: lazily where it is sealed and sure of itself, otherwise as it can be read."""
    with suppress(InputError, FileNotFoundError):
        path = inside(sealed(folder, name), folder)
        if has_checksum(path) and pq.read_schema(path).equals(SCHEMA):
            return pl.scan_parquet(path, glob=False)
    part = read_part(folder, name)
    tell_damage(part)
    return None if part.table is None else _frame(part.table)


def _frame(table: pa.Table) -> pl.LazyFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.lazy()
