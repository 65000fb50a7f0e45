"""The stored answers of a run, readable at any time, also while it is written."""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from eyetest.errors import DamagedWarning, InputError, damaged, short
from eyetest.records import ModelEntry, Response
from eyetest.records.request import SERVED
from eyetest.runs.journal import (
    SCHEMA,
    PartName,
    from_batch,
    part_names,
    read_sealed,
    read_segment,
    sealed,
    segment,
    to_table,
    torn_in,
)
from eyetest.runs.plan import PLAN, plan_table, scan_table
from eyetest.store.files import has_checksum, inside
from eyetest.tabular.record_files import array, indices, numbers
from eyetest.wording import counted, listed

_MOST_NAMED = 5
_RESPONSES_AT_ONCE = 1_000


class StoredPart(NamedTuple):
    """A part, open or sealed."""

    table: pa.Table | None  # its responses; None where unreadable, or removed as empty
    torn: int = 0  # lines lost to a kill
    damage: str = ""  # what is wrong with it, as text


def read_part(folder: Path, name: PartName, columns: Sequence[str] | None = None) -> StoredPart:
    """A part, or some columns of it, sealed or open; it may be sealed between listing and opening."""
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
    named = listed([str(number) for number in numbers], _MOST_NAMED)
    return f"line {named} is" if len(numbers) == 1 else f"lines {named} are"


def stored_tables(folder: Path, columns: Sequence[str] | None = None) -> Iterator[tuple[pa.Table, int]]:
    """Each part as a table, oldest first, with its number of torn lines. Damage is reported and left out."""
    for name in part_names(folder):
        part = read_part(folder, name, columns)
        tell_damage(part)
        if part.table is not None:
            yield part.table, part.torn


def tell_damage(part: StoredPart) -> None:
    """Warn once about what is left out."""
    if part.damage:
        text = f"{part.damage}; what is damaged is left out, and the next run asks it again"
        warnings.warn(text, DamagedWarning, stacklevel=1)  # shown once per process, by its text and this line


def refuse_if_all_is_damaged(folder: Path) -> None:
    """Refuse to make an empty table of damaged parts: it would look as if nothing had been asked."""
    damage = ""
    for name in part_names(folder):
        part = read_part(folder, name, ("request",))
        if part.table is not None:
            return
        damage = damage or part.damage
    if damage:
        raise InputError(damage)


class StoredHealth(NamedTuple):
    """The answers of a run that cannot be read."""

    torn: int  # lines lost to kills, each an unacknowledged response
    damaged: list[str]  # what is damaged and left out, a line each


def stored_health(folder: Path) -> StoredHealth:
    """Check all parts. One with a valid checksum is not unpacked."""
    parts = []
    for name in part_names(folder):
        if path := _proven(folder, name):
            parts.append(StoredPart(to_table(()), torn_in(pq.read_schema(path))))
        else:
            parts.append(read_part(folder, name, ("request",)))
    return StoredHealth(
        sum(part.torn for part in parts if part.table is not None), [part.damage for part in parts if part.damage]
    )


def _proven(folder: Path, name: PartName) -> Path | None:
    """The file of a sealed part, if its checksum and its columns are valid."""
    with suppress(InputError, FileNotFoundError):
        path = inside(sealed(folder, name), folder)
        return path if has_checksum(path) and pq.read_schema(path).equals(SCHEMA) else None
    return None


def read_responses(folder: Path) -> Iterator[Response]:
    """Every stored response, oldest first. A repeated request appears again; the last one counts."""
    for table, _ in stored_tables(folder):
        for batch in table.to_batches():
            yield from from_batch(batch)


class IdIndex:
    """Finds rows by ids, kept as sorted bytes; of rows with the same id the last one counts."""

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
        is_there = last >= 0 and self._ids[last] == id_.rstrip(b"\0")  # NumPy strips trailing zeros
        return int(self._order[last]) if is_there else None


def key_bytes(keys: Iterable[bytes]) -> NDArray[np.bytes_]:
    """Keys of `Asked` as an index takes them."""
    return np.fromiter(keys, "S16")


def responses_table(folder: Path, columns: Sequence[str] | None = None, among: IdIndex | None = None) -> pa.Table:
    """The responses that count, one row per request, as an Arrow table; optionally some columns or requests."""
    empty = to_table(())
    tables = [empty.select(columns) if columns else empty]
    for part, _ in stored_tables(folder, columns):
        rows = slice(None) if among is None else among.rows(sortable(part.column("request"))) >= 0
        tables.append(part.take(indices(np.arange(len(part))[rows])).replace_schema_metadata())
    table = pa.concat_tables(tables)
    codes, distinct = encode(table.column("request"))
    if len(distinct) == len(table):
        return table
    last = np.zeros(len(distinct), np.int64)
    last[codes] = np.arange(len(codes))
    return table.take(indices(last))


class StoredErrors(NamedTuple):
    """The outcome of each stored request: its error word, empty for an answer."""

    requests: pa.Array
    words: list[str]
    codes: NDArray[np.int64]  # by request: the index of its word

    @classmethod
    def of(cls, table: pa.Table) -> "StoredErrors":
        """The outcomes in a table of responses."""
        outcomes, kinds = encode(table.column("outcome"))
        errors, words = encode(table.column("error"))
        failed = np.array([kind == "failed" for kind in kinds.to_pylist()], bool)[outcomes]
        codes = np.where(failed, errors + 1, 0)
        return cls(table.column("request").combine_chunks(), ["", *(w or "failed" for w in words.to_pylist())], codes)

    def by_request(self) -> dict[str, str]:
        """The word of each request, for few."""
        return dict(zip(self.requests.to_pylist(), (self.words[code] for code in self.codes), strict=True))

    def are(self, test: Callable[[str], bool]) -> NDArray[np.bool_]:
        """Which requests' words pass a test."""
        return np.array([test(word) for word in self.words], bool)[self.codes]


def stored_errors(folder: Path) -> StoredErrors:
    """The outcome of every request of a run."""
    return StoredErrors.of(responses_table(folder, ("request", "outcome", "error")))


class StoredResponses:
    """Stored responses by request id, kept as an Arrow table to save memory."""

    def __init__(
        self, folder: Path, is_left_out: Callable[[str], bool] | None = None, among: IdIndex | None = None
    ) -> None:
        """``is_left_out``: selects responses to ignore by their error words. ``among``: only these."""
        table = responses_table(folder, among=among)
        if is_left_out:
            table = table.take(indices(np.flatnonzero(~StoredErrors.of(table).are(is_left_out))))
        self._table, self._index = table, IdIndex(sortable(table.column("request")))

    def get(self, request: str) -> Response | None:
        """The response to a request, if there is one."""
        row = self._index.row(request.encode())
        if row is None:
            return None
        return next(from_batch(self._table.slice(row, 1).combine_chunks().to_batches()[0]))

    def each(self, requests: NDArray[np.bytes_]) -> Iterator[Response | None]:
        """The response to each of many requests, few in memory at a time."""
        for start in range(0, len(requests), _RESPONSES_AT_ONCE):
            rows = self._index.rows(requests[start : start + _RESPONSES_AT_ONCE])
            table = self._table.take(indices(rows[rows >= 0]))
            responses = (response for batch in table.to_batches() for response in from_batch(batch))
            yield from (next(responses) if row >= 0 else None for row in rows)


def encode(texts: pa.ChunkedArray) -> tuple[NDArray[np.int64], pa.Array]:
    """Each text as its index among the distinct ones, in the order of first use."""
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


# Columns of few values, kept as categories, so that ten million rows fit into memory
_FEW = ("model", "modality", "ask", "shots", "letters", "method", "history")


def served_notes(folder: Path, models: Mapping[str, ModelEntry]) -> list[str]:
    """Models whose server named another model, or several models or versions."""
    said = responses_frame(folder, ("request", "detail")).filter(pl.col("detail").str.starts_with(SERVED))
    calls = plan_frame(folder).select(pl.col("model").cast(pl.String), "request").unique().join(said, on="request")
    counts = calls.group_by("model", "detail").len().sort("model", "len", "detail", descending=(False, True, False))
    notes = []
    for (model,), rows in counts.collect(engine="streaming").group_by("model", maintain_order=True):
        named = {detail.removeprefix(SERVED): number for detail, number in rows.select("detail", "len").iter_rows()}
        entry = models.get(str(model))
        asked = re.split("@https?://", entry.spec.partition(":")[2])[0] if entry else ""
        others = [name for name in named if asked and name.partition(" (")[0] not in (asked, "")]
        if len(named) > 1 or others:
            told = listed([f"{short(name)} in {counted(number, 'answer')}" for name, number in named.items()])
            notes.append(f"{short(model)} was asked as {short(asked)}, and the server answered as {told}")
    return notes


_SAID = ("request", "outcome", "text", "candidates", "given")


def answers_frame(folder: Path) -> pl.LazyFrame:
    """One row per answer, lazily, in the order of the plan: the plan's columns, then the answer's."""
    said = responses_frame(folder).with_columns(pl.col("outcome").cast(pl.Categorical))
    return plan_frame(folder).join(said, on="request", how="inner", maintain_order="left")


def plan_frame(folder: Path) -> pl.LazyFrame:
    """The plan, lazily."""
    path = folder / PLAN
    plan = scan_table(path) if path.exists() else _frame(plan_table(folder))
    return plan.with_columns(pl.col(_FEW).cast(pl.Categorical))


def responses_frame(folder: Path, columns: Sequence[str] = _SAID) -> pl.LazyFrame:
    """The responses that count, one row per request: the last of a repeated one."""
    frame = every_response(folder).select(columns)
    with one_line_if_damaged(folder):
        counts = frame.select(pl.len(), pl.col("request").hash().n_unique().alias("requests")).collect()
    rows, requests = counts.row(0)
    return frame if rows == requests else frame.unique("request", keep="last")


def every_response(folder: Path) -> pl.LazyFrame:
    """Every stored response with all columns, oldest first, lazily; requests may repeat."""
    refuse_if_all_is_damaged(folder)
    parts = [frame for name in part_names(folder) if (frame := part_frame(folder, name)) is not None]
    return pl.concat(parts) if parts else _frame(to_table(()))


@contextmanager
def one_line_if_damaged(path: Path) -> Iterator[None]:
    """Report damage to the tables behind a lazy frame, which shows only when it is collected, in one line."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise damaged(path, error) from None


def part_frame(folder: Path, name: PartName) -> pl.LazyFrame | None:
    """A part: lazily where it is sealed and valid, otherwise as far as readable."""
    if path := _proven(folder, name):
        return pl.scan_parquet(path, glob=False)
    part = read_part(folder, name)
    tell_damage(part)
    return None if part.table is None else _frame(part.table)


def _frame(table: pa.Table) -> pl.LazyFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.lazy()
