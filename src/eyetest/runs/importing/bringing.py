"""Answers of a file become part of a run: each a row of the plan and a stored response.

The file is read and checked to its end before the run is changed; until then its answers are in an unnamed file.
Importing a file twice changes nothing, because an answer's id is made of model, item and condition. An answer that
differs from one in the run is refused unless it is to be replaced; a failure is replaced by an answer.
"""

import logging
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from eyetest.errors import InputError, name_file, param, short, system_words
from eyetest.records import Answer, Asked, ModelEntry, Response, RunBenchmark, RunStep, columns
from eyetest.records.tables import key_values
from eyetest.runs.folder import RECORDED, RunWriter
from eyetest.runs.importing.layouts import TOOL_COLUMNS, ItemAt, Located, Location, as_rows, at, inspect_rows, unfold
from eyetest.runs.importing.mapping import AnswerFile, AnswerReader, Options, Unmapped, suggestion, told
from eyetest.runs.importing.values import FIELDS
from eyetest.runs.journal import SCHEMA, next_part, sealed, to_table
from eyetest.runs.plan import PlanWriter
from eyetest.runs.stored import one_line_if_damaged, plan_frame, stored_tables
from eyetest.store import replacing_file
from eyetest.store.files import add_checksum
from eyetest.tabular.files import is_excel, is_sheet, read_rows
from eyetest.tabular.inspect_log import is_inspect_log
from eyetest.tabular.record_files import from_columns, indices, schema
from eyetest.tabular.table import Values
from eyetest.wording import listed

_KEY = columns(Asked)
_SAID = ("outcome", "text", "given")
_READ = ("request", *_SAID)
_ROWS_AT_ONCE = 20_000
_encode = msgspec.msgpack.Encoder().encode
Mask = npt.NDArray[np.bool_]
_values: Callable[[Answer], tuple[Any, ...]] = attrgetter(*columns(Answer))
STAGED = schema(Answer).append(pa.field("request", pa.string()))
_CHARACTERS_AT_ONCE = 32 * 2**20


class Staging:
    """Takes answers one by one and returns them as batches of rows."""

    def __init__(self, to: Path) -> None:
        self._to = to
        near = next((folder for folder in (to, *to.absolute().parents) if folder.is_dir()), Path.cwd())
        try:
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=near, prefix=".answers.partial-")  # noqa: SIM115
        except OSError as error:
            raise InputError(f"cannot write {to}: {system_words(error)}") from None
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._writer = pa.ipc.new_stream(self._file, STAGED, options=options)
        self._answers: list[Answer] = []
        self._requests: list[str] = []
        self._characters = 0

    def __enter__(self) -> "Staging":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        name_file(error, self._to)
        with suppress(OSError):  # a full disk is reported by then
            self._file.close()

    def add(self, answer: Answer, request: str) -> None:
        """Append an answer and its id."""
        self._answers.append(answer)
        self._requests.append(request)
        self._characters += len(answer.text or "")
        if len(self._requests) >= _ROWS_AT_ONCE or self._characters >= _CHARACTERS_AT_ONCE:
            self._flush()

    def done(self) -> None:
        """End adding."""
        self._flush()
        self._writer.close()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, as often as needed."""
        self._file.seek(0)
        yield from pa.ipc.open_stream(self._file)

    def _flush(self) -> None:
        if self._requests:
            columns_ = [*zip(*map(_values, self._answers), strict=True), self._requests]
            self._writer.write_table(from_columns(columns_, STAGED))
        self._answers, self._requests, self._characters = [], [], 0


class Merge(NamedTuple):
    """Which of the staged rows are written, batch by batch, and the counts of the others."""

    masks: list[Mask]
    there: int
    replaced: int
    first_replaced: str  # the id of the first row that differs from the run's

    @property
    def new(self) -> int:
        """How many rows are written."""
        return sum(int(mask.sum()) for mask in self.masks)


def answer_id(key: Sequence[object]) -> str:
    """An id made of the fields of ``Asked`` in order."""
    return blake2b(b"eyetest answer 2\n" + _encode(key_values(key)), digest_size=16).hexdigest()


def compare(folder: Path, staging: Staging, models: Collection[str]) -> Merge:
    """Compare the staged rows with the run's rows of these models."""
    content = pl.struct(_SAID).hash()
    about = ("request", (pl.col("outcome") == "failed").alias("failed"), content.alias("content"))
    with one_line_if_damaged(folder):
        planned = plan_frame(folder).with_columns(pl.col(pl.Categorical).cast(pl.String))
        plan = planned.filter(pl.col("model").is_in(list(models))).collect(engine="streaming")
    empty = pl.DataFrame(pl.from_arrow(to_table(()))).select(about)
    said = [pl.DataFrame(pl.from_arrow(table)).select(about) for table, _ in stored_tables(folder, _READ)]
    held = plan.join(pl.concat([empty, *said]).unique("request", keep="last"), on="request").drop("request")
    masks: list[Mask] = []
    there = replaced = 0
    first = ""
    for batch in staging.batches():
        rows = pl.DataFrame(pl.from_arrow(batch)).join(held, on=_KEY, how="left", maintain_order="left")
        same = (pl.col("content") == content).fill_null(value=False)
        differs = pl.col("content").is_not_null() & ~same & ~pl.col("failed")
        masks.append(rows.select(~same).to_series().to_numpy())
        there += int(rows.select(same.sum()).item())
        others = rows.filter(differs).get_column("request")
        replaced += len(others)
        first = first or next(iter(others), "")
    return Merge(masks, there, replaced, first)


def write(folder: Path, staging: Staging, merge: Merge) -> None:
    """Store the rows: all responses in one step, then the plan in one step. The run is locked."""
    with replacing_file(sealed(folder, next_part(folder))) as temporary:
        with pq.ParquetWriter(temporary, SCHEMA, compression="zstd") as file:
            for batch in _chosen(staging, merge):
                file.write_batch(_responses(batch))
        add_checksum(temporary)
    with PlanWriter(folder) as plan:
        for batch in _chosen(staging, merge):
            plan.add_batch(batch)


def _chosen(staging: Staging, merge: Merge) -> Iterator[pa.RecordBatch]:
    for batch, mask in zip(staging.batches(), merge.masks, strict=True):
        if mask.any():
            yield batch if mask.all() else batch.take(indices(np.flatnonzero(mask)))


def _responses(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of ``responses/``, unknown fields with their defaults."""
    plain = to_table([Response(request="", outcome="answered", finish=RECORDED)])
    failed = pc.equal(batch.column("outcome"), "failed")
    known = {name: batch.column(name) for name in _READ} | {"error": pc.if_else(failed, "recorded", "")}
    arrays = [known[name] if name in known else pa.repeat(plain.column(name)[0], len(batch)) for name in SCHEMA.names]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


_log = logging.getLogger(__name__)
_key: Callable[[Answer], tuple[object, ...]] = attrgetter(*columns(Asked))


class Brought(msgspec.Struct, kw_only=True):
    """The result of an import."""

    answers: int = 0  # answers in the file that the mapping selects
    there: int = 0  # those that the run held already, identically
    replaced: int = 0  # those that replaced another answer in the run
    given: int = 0  # answers scored elsewhere
    verdicts: int = 0  # those of them without a known reply
    notices: Counter[str] = msgspec.field(default_factory=Counter)  # notices of failed calls, imported as such
    models: Counter[str] = msgspec.field(default_factory=Counter)
    outcomes: Counter[str] = msgspec.field(default_factory=Counter)
    left_out: int = 0  # rows that the mapping left out
    unknown: Counter[str] = msgspec.field(default_factory=Counter)  # items that the benchmark does not have

    def add(self, other: "Brought") -> None:
        """Add the counts of another file."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def import_answers(
    source: AnswerFile,
    to: Path,
    *,
    benchmark: RunBenchmark | None = None,
    known: Options | None = None,
    overwrite: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> Brought:
    """Import answers; ``known`` are the benchmark's items in order, with the texts of their options.

    ``tell`` is called, before anything is written, with columns that look like unmapped conditions.
    """
    run = RunWriter(to)
    if benchmark:
        run.check_benchmark(benchmark)
    with Staging(to) as staging:
        reading = _Reading(source, known)
        for answer in reading:
            staging.add(answer, reading.id_)
        staging.done()
        brought = reading.brought
        if not brought.answers:
            raise InputError(_nothing(source, brought))
        if reading.taken:
            tell(f"columns: {reading.taken}")
        if forgotten := reading.forgotten():
            tell(forgotten)
        with run:
            if benchmark:
                run.check_benchmark(benchmark)
            merge = compare(to, staging, brought.models.keys())
            if merge.replaced and not overwrite:
                location = at(reading.seen[bytes.fromhex(merge.first_replaced)])
                others = f" ({merge.replaced:,} such rows)" if merge.replaced > 1 else ""
                raise InputError(
                    f"{source.name} {location}: {to} holds another answer to this already{others}; "
                    f"add {param('overwrite', True)} to replace what it holds, or choose another run"
                )
            brought.there, brought.replaced = merge.there, merge.replaced
            if merge.new:
                write(to, staging, merge)
            if merge.new or (benchmark and not run.manifest.benchmark):
                _record(run, source, merge.new, brought, benchmark)
    _log.info(
        "%r: %d answers of %d models, %d of them new; left out: %d rows, %d of unknown items",
        *(source.name, brought.answers, len(brought.models), merge.new, brought.left_out, brought.unknown.total()),
    )
    return brought


def _record(run: RunWriter, source: AnswerFile, new: int, brought: Brought, benchmark: RunBenchmark | None) -> None:
    step = RunStep(what="import", options={"file": source.name}, planned=new, requests=new)
    models = brought.models.keys() - run.manifest.models
    entries = {model: ModelEntry(spec=f"replay:{source.name}#{model}") for model in brought.models if model in models}
    run.record(step, entries, benchmark)


class _Reading:
    """Reads a file once and keeps what was seen."""

    def __init__(self, source: AnswerFile, known: Options | None) -> None:
        self._source, self._known = source, known
        self._fields = source.cell_fields if source.matrix else source.fields
        self._unmapped = self._new_unmapped()
        self._next_sample: dict[bytes, int] = {}
        self.brought = Brought()
        self.seen: dict[bytes, Location] = {}
        self.id_ = ""  # of the last answer
        self.taken = ""  # the columns that were found by other tools' names
        self._location: Location = 0

    def __iter__(self) -> Iterator[Answer]:
        source, brought, known = self._source, self.brought, self._known
        reader: AnswerReader | None = None
        for location, row in self._rows():
            self._location = location
            try:
                if reader is None:
                    reader = self._reader(row)
                answer = reader.answer(row)
                if answer is None:
                    brought.left_out += 1
                    continue
                if known is not None and answer.item not in known:
                    brought.unknown[answer.item] += 1
                    continue
                answer = self._counted(answer, location)
            except InputError as error:
                raise InputError(f"{source.name} {at(location)}: {error}") from None
            self._unmapped.see(row)
            if reader.notice:
                brought.notices[reader.notice] += 1
            yield answer

    def _reader(self, first: Values) -> AnswerReader:
        """The reader of rows like the first one; what other tools call a field is found and noted."""
        whole = self._fields.completed(first)
        new = {field: names[0] for field, names in whole.columns.items() if field not in self._fields.columns}
        if new:
            self.taken = ", ".join(f"{field} from {name}" for field, name in new.items())
            self._fields = whole
            self._unmapped = self._new_unmapped()
        self._fields.check(first)
        path = self._source.path
        return AnswerReader(self._fields, self._known, sheet=is_sheet(path), excel=is_excel(path))

    def _counted(self, answer: Answer, location: Location) -> Answer:
        brought = self.brought
        self.id_ = answer_id(_key(answer))
        key = bytes.fromhex(self.id_)
        if key in self.seen:
            answer, key = self._again(answer, key)
        self.seen[key] = location
        brought.answers += 1
        brought.given += answer.given is not None
        brought.verdicts += answer.text is None and answer.given is not None
        brought.models[answer.model] += 1
        brought.outcomes[answer.outcome] += 1
        return answer

    def _again(self, answer: Answer, first: bytes) -> tuple[Answer, bytes]:
        """A second answer under the same key: another sample if the user says so, otherwise an error."""
        if not self._source.number_samples:
            raise InputError(
                f"item {short(answer.item, 40)} was answered by {short(answer.model, 40)} under the same condition "
                f"in {at(self.seen[first])} already; {self._told_apart(self.seen[first])}"
            )
        key = first
        while key in self.seen:
            sample = self._next_sample.get(first, answer.sample + 1)
            self._next_sample[first] = sample + 1
            answer = msgspec.structs.replace(answer, sample=sample)
            self.id_ = answer_id(_key(answer))
            key = bytes.fromhex(self.id_)
        return answer, key

    def forgotten(self) -> str:
        """Unmapped columns that look like conditions, as text; empty where there is none."""
        if not (unmapped := self._unmapped.conditions()):
            return ""
        fixes = [suggestion(name, values, self._models_column) for name, values in unmapped.items()]
        looks = "columns look like conditions and are" if len(fixes) > 1 else "column looks like a condition and is"
        return (
            f"{len(fixes)} {looks} not mapped: {told(unmapped)}. What differs only there came in as one condition; "
            f"map it, such as {listed(fixes)}, or keep to some rows with {param('where')}"
        )

    def _told_apart(self, first: Location) -> str:
        """What to do about two answers to the same question; the file is read again to find what differs."""
        unmapped, rows = self._new_unmapped(), {}
        for location, row in self._rows():
            if self._fields.only and not self._fields.wants(row):
                continue
            unmapped.see(row)
            if location in (first, self._location):
                rows[location] = row
        differing = unmapped.telling_apart(rows[first], rows[self._location])
        if not differing:
            return f"map what tells them apart, or add {param('number_samples', True)}"
        fix = suggestion(*next(iter(differing.items())), self._models_column)
        some = told(dict(islice(differing.items(), 3)))
        return f"they differ in {some}: say {fix}, or add {param('number_samples', True)}"

    @property
    def _models_column(self) -> str | None:
        named = self._fields.columns.get("model", () if "model" in self._fields.constants else ("model",))
        return "+".join(named) or None

    def _new_unmapped(self) -> Unmapped:
        mapped = (name for names in self._fields.columns.values() for name in names)
        return Unmapped({*FIELDS, *TOOL_COLUMNS, *self._fields.only, *mapped})

    def _rows(self) -> Iterator[Located]:
        source = self._source
        if is_inspect_log(source.path):
            return inspect_rows(source.path)
        rows = read_rows(source.path)
        if source.matrix:
            return unfold(rows, source)
        return as_rows(rows, source, items_by_position(self._known))


def items_by_position(known: Options | None) -> ItemAt | None:
    """A function that finds the item at a position of the benchmark; None where positions are unknown."""
    if known is None:
        return None
    ids = list(known)

    def item_at(position: int) -> str:
        if position < len(ids):
            return ids[position]
        raise InputError(f"doc_id {position} is past the end of the benchmark ({len(ids):,} items)")

    return item_at


def _nothing(source: AnswerFile, brought: Brought) -> str:
    if brought.unknown:
        names = ", ".join(short(name) for name in list(brought.unknown)[:3])
        return f"{source.path}: none of its items is in the benchmark; the first are {names}"
    if brought.left_out:
        return f"{source.path}: all {brought.left_out:,} rows were left out by {param('where')} or {param('values')}"
    return f"{source.path} holds no answers"
