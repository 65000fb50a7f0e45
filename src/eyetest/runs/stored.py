"""The stored answers of a run, readable at any time, also while it is written."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import NamedTuple, TypeVar

import msgspec
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from eyetest.errors import DamagedWarning, InputError, counted, damaged, listed, short
from eyetest.records import Asked, ModelEntry, OutcomeKind, Planned, Response, RunManifest, columns
from eyetest.records.finishes import RECORDED, stored_outcome
from eyetest.records.item import SERVED
from eyetest.runs.journal import (
    SCHEMA,
    PartName,
    from_batch,
    next_part,
    part_names,
    read_segment,
    sealed,
    segment,
    sound_part,
    to_table,
)
from eyetest.store import read_json, replacing_file
from eyetest.store.files import add_checksum
from eyetest.tabular.record_files import from_columns, schema, sound_file, write_parquet

MANIFEST = "run.json"
PLAN = "plan.parquet"
_SCHEMA = schema(Planned)
_KEY = list(columns(Asked))
_ROWS_AT_ONCE = 20_000
_PAUSES = (0.05, 0.5, 2.0)  # seconds; a writer replaces a table rarely
Content = TypeVar("Content")


class PlanWriter:
    """Rows of a plan that is being written."""

    def __init__(self, parquet: pq.ParquetWriter) -> None:
        self._parquet = parquet
        self._rows: list[tuple[object, ...]] = []

    def add(self, asked: Asked, request: str) -> None:
        """Append a row."""
        self._rows.append((*msgspec.structs.astuple(asked), request))
        if len(self._rows) >= _ROWS_AT_ONCE:
            self.flush()

    def add_table(self, table: pa.Table) -> None:
        """Append rows."""
        self.flush()
        self._parquet.write_table(table.select(_SCHEMA.names).cast(_SCHEMA), _ROWS_AT_ONCE)

    def flush(self) -> None:
        """Write the rows that are still in memory."""
        if self._rows:
            self._parquet.write_table(from_columns([*zip(*self._rows, strict=True)], _SCHEMA))
            self._rows.clear()


@contextmanager
def planning(folder: Path) -> Iterator[PlanWriter]:
    """Write a plan over an existing one: newly planned rows replace theirs, the rest stays before them."""
    path = folder / PLAN
    with replacing_file(path) as new:
        with pq.ParquetWriter(new, _SCHEMA, compression="zstd") as parquet:
            writer = PlanWriter(parquet)
            yield writer
            writer.flush()
        if path.exists():
            whole, planned = new.with_name("whole"), pl.scan_parquet(new, glob=False)
            kept = scan_plan(folder).join(planned, on=_KEY, how="anti", maintain_order="left")
            pl.concat([kept, planned]).sink_parquet(whole, compression="zstd")
            whole.replace(new)
        add_checksum(new)


def write_part(folder: Path, responses: pl.DataFrame) -> None:
    """Store responses as a new sealed part, in one step."""
    with replacing_file(sealed(folder, next_part(folder))) as temporary:
        write_parquet(responses.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(SCHEMA), temporary)


def scan_plan(folder: Path) -> pl.LazyFrame:
    """The plan as it is stored, lazily."""
    path = folder / PLAN
    if not path.exists():
        return _frame(from_columns([()] * len(_SCHEMA), _SCHEMA))
    try:
        return scan_table(path)
    except InputError as error:
        hint = "put it aside and run or import again: answers are kept"
        raise InputError(f"{error}; {hint}") from None


def plan_table(folder: Path) -> pa.Table:
    """The whole plan."""
    with one_line_if_damaged(folder / PLAN):
        return scan_plan(folder).collect().to_arrow(compat_level=pl.CompatLevel.oldest()).cast(_SCHEMA)


def scan_table(path: Path, repair: str = "") -> pl.LazyFrame:
    """A table of eyetest, lazily, once its checksum is verified; damage is one line that ends with ``repair``."""
    return pl.scan_parquet(sound_file(path, path.parent, repair=repair), glob=False)


_MOST_NAMED = 5
_RESPONSES_AT_ONCE = 1_000


class StoredPart(NamedTuple):
    """A part, open or sealed."""

    frame: pl.LazyFrame | None  # its responses, lazily if sealed; None where unreadable, or removed as empty
    torn: int = 0  # lines lost to a kill
    damage: str = ""  # what is wrong with it, as text


def read_part(folder: Path, name: PartName) -> StoredPart:
    """A part, sealed or open; it may be sealed between listing and opening."""
    damage = ""
    for read in (_sealed_part, _open_part, _sealed_part):
        try:
            return read(folder, name)
        except FileNotFoundError:
            continue
        except InputError as error:
            damage = damage or str(error)
    return StoredPart(None, damage=damage)


def _sealed_part(folder: Path, name: PartName) -> StoredPart:
    path = sound_part(folder, name)
    return StoredPart(
        pl.scan_parquet(path, glob=False), int((pq.read_schema(path).metadata or {}).get(b"torn", b"0"))
    )


def _open_part(folder: Path, name: PartName) -> StoredPart:
    path = segment(folder, name)
    responses, torn, wrong = read_segment(path)
    lines = f"line {wrong[0]} is" if len(wrong) == 1 else f"lines {listed(map(str, wrong), _MOST_NAMED)} are"
    damage = f"{path} is damaged: {lines} not what was written" if wrong else ""
    return StoredPart(_frame(to_table(responses)), torn + len(wrong), damage)


def part_frame(folder: Path, name: PartName) -> pl.LazyFrame | None:
    """The responses of a part, as far as readable; what is left out is reported once."""
    return _reported(read_part(folder, name)).frame


def _reported(part: StoredPart) -> StoredPart:
    if part.damage:
        text = f"{part.damage}; what is damaged is left out, and the next run asks it again"
        warnings.warn(text, DamagedWarning, stacklevel=1)  # shown once per process, by its text and this line
    return part


class StoredHealth(NamedTuple):
    """The answers of a run that cannot be read."""

    torn: int  # lines lost to kills, each an unacknowledged response
    damaged: list[str]  # what is damaged and left out, a line each


def stored_health(folder: Path) -> StoredHealth:
    """Check all parts."""
    parts = [read_part(folder, name) for name in part_names(folder)]
    return StoredHealth(sum(part.torn for part in parts), [part.damage for part in parts if part.damage])


def read_responses(folder: Path) -> Iterator[Response]:
    """Every stored response, oldest first. A repeated request appears again; the last one counts."""
    for name in part_names(folder):
        yield from part_responses(folder, name)


def part_responses(folder: Path, name: PartName) -> Iterator[Response]:
    """The responses of a part."""
    frame = part_frame(folder, name)
    return iter(()) if frame is None else _responses(frame.collect())


def _responses(frame: pl.DataFrame) -> Iterator[Response]:
    for batch in frame.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches():
        yield from from_batch(batch)


def responses_table(folder: Path) -> pa.Table:
    """The responses that count, one row per request, as an Arrow table."""
    return counting_responses(folder).collect().to_arrow(compat_level=pl.CompatLevel.oldest()).cast(SCHEMA)


NOT_THE_QUESTION = ("auth", "not-found", "unreachable", "proxy", "quota", "outage")  # errors that are asked again
_ERROR = (
    pl.when(pl.col("outcome") != "failed")
    .then(pl.lit(""))
    .otherwise(pl.when(pl.col("error") == "").then(pl.lit("failed")).otherwise("error"))
    .fill_null("failed")
    .alias("error")
)


def is_asked_again(error: pl.Expr, *, retry_failed: bool) -> pl.Expr:
    """Whether a request with this error is asked again when the run goes on; no error is a success."""
    return error.is_in(NOT_THE_QUESTION) | (pl.lit(retry_failed) & (error != ""))


def stored_errors(folder: Path) -> pl.DataFrame:
    """The outcome of every request of a run: its error word, empty for an answer."""
    return counting_responses(folder, ("request", "outcome", "error")).select("request", _ERROR).collect()


class StoredResponses:
    """Stored responses by request id, kept as a table to save memory."""

    def __init__(self, folder: Path, *, retry_failed: bool | None = None, among: pl.Series | None = None) -> None:
        """``retry_failed``: leaves out what is asked again, with or without all failures. ``among``: only these."""
        frame = counting_responses(folder, to_read=retry_failed is None)
        if among is not None:
            frame = frame.filter(is_in("request", among))
        if retry_failed is not None:
            frame = frame.filter(~is_asked_again(_ERROR, retry_failed=retry_failed))
        self._frame = frame.collect()
        self._rows = {request: row for row, request in enumerate(self._frame["request"])}

    def get(self, request: str) -> Response | None:
        """The response to a request, if there is one."""
        row = self._rows.get(request)
        return None if row is None else next(_responses(self._frame.slice(row, 1)))

    def each(self, requests: pl.Series) -> Iterator[Response | None]:
        """The response to each of many requests, few in memory at a time."""
        for some in requests.to_frame().iter_slices(_RESPONSES_AT_ONCE):
            rows = [self._rows.get(request) for request in some["request"]]
            responses = _responses(self._frame[[row for row in rows if row is not None]])
            yield from (None if row is None else next(responses) for row in rows)


# Columns of few values, kept as categories, so that ten million rows fit into memory
_FEW = ("model", "modality", "ask", "shots", "letters", "method", "history", "prompts")


def served_notes(folder: Path, models: Mapping[str, ModelEntry]) -> list[str]:
    """Models whose server named another model, or several models or versions."""
    served = responses_frame(folder, ("request", "detail")).filter(pl.col("detail").str.starts_with(SERVED))
    calls = plan_frame(folder).select(pl.col("model").cast(pl.String), "request").unique().join(served, on="request")
    counts = calls.group_by("model", "detail").len().sort("model", "len", "detail", descending=(False, True, False))
    notes = []
    for (model,), rows in counts.collect(engine="streaming").group_by("model", maintain_order=True):
        named = {detail.removeprefix(SERVED): number for detail, number in rows.select("detail", "len").iter_rows()}
        entry = models.get(str(model))
        asked = re.split("@https?://", entry.spec.partition(":")[2])[0] if entry else ""
        others = [name for name in named if asked and name.partition(" (")[0] not in (asked, "")]
        if len(named) > 1 or others:
            names = listed([f"{short(name)} in {counted(number, 'answer')}" for name, number in named.items()])
            notes.append(f"{short(model)} was asked as {short(asked)}, and the server answered as {names}")
    return notes


ANSWER = ("request", "outcome", "text", "candidates", "given")
SPENT = ("seconds", "tokens_in", "tokens_out")


def answers_frame(folder: Path) -> pl.LazyFrame:
    """One row per answer, lazily, in the order of the plan: the plan's columns, then the answer's."""
    responses = responses_frame(folder).with_columns(pl.col("outcome").cast(pl.Categorical))
    return plan_frame(folder).join(responses, on="request", how="inner", maintain_order="left")


def plan_frame(folder: Path) -> pl.LazyFrame:
    """The plan, lazily, columns of few values as categories."""
    return scan_plan(folder).with_columns(pl.col(_FEW).cast(pl.Categorical))


def responses_frame(folder: Path, columns: Sequence[str] = ANSWER) -> pl.LazyFrame:
    """The responses that count, one row per request: the last of a repeated one."""
    return counting_responses(folder, columns, to_read=True)


def counting_responses(folder: Path, columns: Sequence[str] = SCHEMA.names, *, to_read: bool = False) -> pl.LazyFrame:
    """The same, where all parts may be damaged unless they are ``to_read``: what is lost is asked again."""
    frame = every_response(folder, to_read=to_read)
    with one_line_if_damaged(folder):
        if "outcome" in columns:
            frame = frame.with_columns(_present_outcome(folder, frame, has_text="text" in columns))
        frame = frame.select(columns)
        counts = frame.select(pl.len(), pl.col("request").hash().n_unique().alias("requests")).collect()
    rows, requests = counts.row(0)
    return frame if rows == requests else frame.unique("request", keep="last", maintain_order=True)


# A character with a shape, as far as a table's engine knows them
_VISIBLE = r"[^\s\p{C}\p{Z}\u{34F}\u{115F}\u{1160}\u{2800}\u{3164}\u{FE00}-\u{FE0F}\u{FFA0}]"


def named_finishes(folder: Path) -> dict[str, OutcomeKind]:
    """What the models of a run say that finish reasons of their servers mean."""
    try:
        models = read_json(folder / MANIFEST, RunManifest).models
    except FileNotFoundError:
        return {}
    return {word: outcome for entry in models.values() for word, outcome in entry.finishes.items()}


def _present_outcome(folder: Path, frame: pl.LazyFrame, *, has_text: bool) -> pl.Expr:
    """The outcome of each response by the present table of finish reasons, which may know more than when it came."""
    columns = ("outcome", "finish", "error")
    kinds = frame.select(pl.col(columns).cast(pl.String).fill_null("")).unique().collect()
    named = named_finishes(folder)
    outcome = pl.col("outcome")
    for stored, finish, error in kinds.rows():
        present = stored_outcome(stored, finish, error, named)
        if present == stored:
            continue
        is_such = (pl.col("outcome") == stored) & (pl.col("finish") == finish)
        is_such &= pl.col("error").fill_null("") == error
        outcome = pl.when(is_such).then(pl.lit(present)).otherwise(outcome)
    if not has_text:
        return outcome.alias("outcome")
    is_reply = (pl.col("outcome") == "answered") & (pl.col("finish") != RECORDED)
    is_reply &= pl.col("given").is_null() & pl.col("candidates").is_null()
    is_blank = ~pl.col("text").str.contains(
        r"[^\s\p{C}\p{Z}\u{115F}\u{1160}\u{2800}\u{3164}\u{FE00}-\u{FE0F}\u{FFA0}]"
    )
    return pl.when(is_reply & is_blank).then(pl.lit("failed")).otherwise(outcome).alias("outcome")


def every_response(folder: Path, *, to_read: bool = True) -> pl.LazyFrame:
    """Every stored response with all columns, oldest first, lazily; requests may repeat. Damage is left out.

    If nothing else is left to read, it is an error: an empty table would look as if nothing had been asked.
    """
    parts = [read_part(folder, name) for name in part_names(folder)]
    frames = [part.frame for part in parts if part.frame is not None]
    if to_read and not frames and (damage := next((part.damage for part in parts if part.damage), "")):
        raise InputError(damage)
    for part in parts:
        _reported(part)
    return pl.concat([_frame(to_table(())), *frames])


def is_in(column: str, values: Sequence[str] | pl.Series) -> pl.Expr:
    """Whether a column has one of some values."""
    return pl.col(column).is_in(pl.Series(values, dtype=pl.String).implode())


@contextmanager
def one_line_if_damaged(path: Path) -> Iterator[None]:
    """Report damage to the tables behind a lazy frame, which shows only when it is collected, in one line."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise damaged(path, error) from None


def read_beside_writers(read: Callable[[], Content]) -> Content:
    """What a function reads of a run that another process may be writing; what looks damaged is read again.

    A table that is replaced between the reading of its footer and of its pages looks damaged, and is not.
    """
    for pause in _PAUSES:
        try:
            return read()
        except InputError:
            sleep(pause)
    return read()


def _frame(table: pa.Table) -> pl.LazyFrame:
    return pl.DataFrame(table).lazy()
