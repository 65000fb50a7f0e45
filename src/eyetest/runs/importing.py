"""Answers of a file become part of a run: each a row of the plan and a stored response.

The file is read and checked to its end before the run is changed. Importing it twice changes nothing.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pyarrow as pa

from eyetest.errors import InputError, listed, param, short
from eyetest.records import Answer, Asked, ModelEntry, Response, RunBenchmark, RunStep, columns
from eyetest.runs.answer_values import (
    FIELDS,
    assemble,
    is_absent,
    own_order,
    plain,
    read_shown,
    typed,
    without_guards,
)
from eyetest.runs.folder import RECORDED, RunWriter
from eyetest.runs.inspect_logs import is_inspect_log
from eyetest.runs.journal import SCHEMA, to_table
from eyetest.runs.layouts import TOOL_COLUMNS, answer_files, as_rows, inspect_rows, unfold
from eyetest.runs.mapping import AnswerFile, FieldMap, like_conditions, parse_field_map
from eyetest.runs.stored import counting_responses, one_line_if_damaged, plan_frame, write_part
from eyetest.tabular.files import ExcelTable, known_table
from eyetest.tabular.record_files import from_columns, schema
from eyetest.tabular.table import Grid, Row, Values, named_columns

__all__ = ["AnswerFile", "Brought", "FieldMap", "answer_files", "import_answers", "parse_field_map"]
Options = Mapping[str, Sequence[str]]  # the texts of each item's options, as written
_KEY = columns(Asked)
_CONTENT = ("outcome", "text", "given")
_READ = ("request", *_CONTENT)
_WHERE = "where it stands"  # the column of an answer's location in its file
_ROWS_AT_ONCE = 20_000
_log = logging.getLogger(__name__)
_encode = msgspec.msgpack.Encoder().encode
_columns_of: Callable[[Answer], tuple[Any, ...]] = attrgetter(*columns(Answer))
_STAGED = pa.schema([*schema(Answer), pa.field(_WHERE, pa.string())])


def _compared(folder: Path, staged: pl.DataFrame) -> pl.DataFrame:
    """The staged rows, and whether the run holds the ``same`` answer to each, or one that ``differs``."""
    content = pl.struct(_CONTENT).hash()
    about = ("request", (pl.col("outcome") == "failed").alias("failed"), content.alias("content"))
    with one_line_if_damaged(folder):
        planned = plan_frame(folder).with_columns(pl.col(pl.Categorical).cast(pl.String))
        plan = planned.filter(pl.col("model").is_in(staged["model"].unique().implode())).collect(engine="streaming")
        stored = counting_responses(folder, _READ).select(about).collect()
    held = plan.join(stored, on="request").drop("request")
    rows = staged.join(held, on=_KEY, how="left", maintain_order="left")
    same = (pl.col("content") == content).fill_null(value=False)
    differs = pl.col("content").is_not_null() & ~same & ~pl.col("failed")
    return rows.with_columns(same.alias("same"), differs.alias("differs"))


def _responses(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of ``responses/``, unknown fields with their defaults."""
    usual = pl.DataFrame(pl.from_arrow(to_table([Response(request="", outcome="answered", finish=RECORDED)])))
    failed = pl.when(pl.col("outcome") == "failed").then(pl.lit("recorded")).otherwise(pl.lit("")).alias("error")
    unknown = [name for name in usual.columns if name not in (*_READ, "error")]
    return rows.select(*_READ, failed).join(usual.select(unknown), how="cross").select(SCHEMA.names)


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
    """Import answers; ``known``: the benchmark's items in order, with the texts of their options."""
    run = RunWriter(to)
    if benchmark:
        run.check_benchmark(benchmark)
    reading = _Reading(source, known)
    staged, brought = reading.staged(), reading.brought
    if not brought.answers:
        raise InputError(_nothing(source, brought))
    if reading.taken:
        tell(f"columns: {reading.taken}")
    if reading.forgotten:
        either = f"{param('columns')} or {param('values')}, or keep to some rows with {param('where')}"
        tell(f"columns that look like conditions are not mapped: {listed(reading.forgotten)}; map them with {either}")
    with run:
        if benchmark:
            run.check_benchmark(benchmark)
        found = _compared(to, staged)
        brought.there, brought.replaced = int(found["same"].sum()), int(found["differs"].sum())
        if brought.replaced and not overwrite:
            where = found.filter("differs")[_WHERE][0]
            others = f" ({brought.replaced:,} such rows)" if brought.replaced > 1 else ""
            raise InputError(
                f"{where}: {to} holds another answer to this already{others}; "
                f"add {param('overwrite', True)} to replace what it holds, or choose another run"
            )
        new = brought.answers - brought.there
        if new:  # all responses are stored in one step, then the plan in one step
            rows = found.filter(~pl.col("same"))
            write_part(to, _responses(rows))
            with run.planning() as plan:
                plan.add_table(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))
        if new or (benchmark and not run.manifest.benchmark):
            step = RunStep(what="import", options={"file": source.name}, planned=new, requests=new)
            models = (model for model in brought.models if model not in run.manifest.models)
            run.record(step, {m: ModelEntry(spec=f"replay:{source.name}#{m}") for m in models}, benchmark)
    _log.info(
        "%r: %d answers of %d models, %d of them new; left out: %d rows, %d of unknown items",
        *(source.name, brought.answers, len(brought.models), new, brought.left_out, brought.unknown.total()),
    )
    return brought


class _Reading:
    """Reads a file once; what it leaves out is counted."""

    def __init__(self, source: AnswerFile, known: Options | None) -> None:
        self._source, self._known = source, known
        self._fields = source.fields
        self._sources: dict[tuple[str, ...], list[tuple[str, tuple[str, ...]]]] = {}  # by row layout: fields
        self._table = None if is_inspect_log(source.path) else known_table(source.path)
        self.brought = Brought()
        self.taken = ""  # the columns that were found by other tools' names
        self.forgotten: list[str] = []  # unmapped columns that may hold conditions

    def staged(self) -> pl.DataFrame:
        """All answers of the file with their ids and locations."""
        chunks, answers = [from_columns([()] * len(_STAGED), _STAGED)], self._answers()
        while rows := list(islice(answers, _ROWS_AT_ONCE)):
            chunks.append(from_columns([*zip(*rows, strict=True)], _STAGED))
        frame = pl.DataFrame(pl.from_arrow(pa.concat_tables(chunks)))
        self._refuse_repeated(frame)
        brought, given = self.brought, pl.col("given").is_not_null()
        counts = frame.select(
            pl.len(), given.sum().alias("given"), (given & pl.col("text").is_null()).sum().alias("v")
        )
        brought.answers, brought.given, brought.verdicts = counts.row(0)
        for name, counter in (("model", brought.models), ("outcome", brought.outcomes)):
            counter.update(dict(frame.group_by(name, maintain_order=True).len().iter_rows()))
        keys = (b"eyetest answer 2\n" + _encode(key) for key in frame.select(_KEY).iter_rows())
        ids = [blake2b(key, digest_size=16).hexdigest() for key in keys]
        return frame.with_columns(pl.Series("request", ids, pl.String))

    def _refuse_repeated(self, frame: pl.DataFrame) -> None:
        """Refuse two answers under one key."""
        repeated = frame.filter(pl.struct(_KEY).is_duplicated())
        if repeated.is_empty():
            return
        second = repeated.filter(~pl.struct(_KEY).is_first_distinct()).head(1)
        first = repeated.join(second, on=_KEY, how="semi", maintain_order="left")
        item, model = (short(second[name][0], 40) for name in ("item", "model"))
        raise InputError(
            f"{second[_WHERE][0]}: item {item} was answered by {model} under the same condition "
            f"in {first[_WHERE][0]} already; map the column that tells them apart with {param('columns')}"
        )

    def _answers(self) -> Iterator[tuple[Any, ...]]:
        brought, known = self.brought, self._known
        sheet, excel = isinstance(self._table, Grid), isinstance(self._table, ExcelTable)
        is_first = True
        for row in self._rows():
            try:
                if is_first:
                    self._complete(row.values)
                is_first = False
                values = self._values(without_guards(row.values) if sheet else row.values)
                text = values and values.get("text")
                answer = None if values is None else assemble(values, sheet=sheet, excel=excel)
            except InputError as error:
                raise InputError(f"{row.where}: {error}") from None
            if answer is None:
                brought.left_out += 1
            elif known is not None and answer.item not in known:
                brought.unknown[answer.item] += 1
            else:
                if text and answer.text is None and answer.outcome == "failed":  # a notice in place of an answer
                    brought.notices[text.strip()] += 1
                yield *_columns_of(answer), row.where

    def _values(self, row: Values) -> dict[str, Any] | None:
        """The typed values of a row; None where it is not selected or a value was mapped to nothing."""
        fields = self._fields
        if fields.only and not fields.wants(row):
            return None
        names = tuple(row)
        if names not in self._sources:
            found = ((field, fields.columns_of(field, row)) for field in FIELDS)
            self._sources[names] = [(field, its) for field, its in found if its]
        values: dict[str, Any] = dict(fields.constants)
        for field, its in self._sources[names]:
            value = row[its[0]] if len(its) == 1 else " ".join(filter(None, (plain(row[n]) for n in its)))
            if renames := fields.values.get(field):
                ours = renames.get("" if is_absent(value) else plain(value))
                if ours == "":
                    return None
                value = value if ours is None else ours
            values[field] = value
        order = values.pop("order", None)
        values = typed(values)
        if not is_absent(order):
            values["order"] = self._order(order, values.get("item", ""), row)
        return values

    def _order(self, value: Any, item: str, row: Values) -> int:
        """The shown order; in a table with all of our columns a number is a seed of ours."""
        is_named = "order" in self._fields.columns or "order" in self._fields.constants
        if not is_named and row.keys() >= {*FIELDS}:
            return own_order(value)
        if self._known and item not in self._known:
            return 0  # it will be left out
        return read_shown(value, self._known.get(item) if self._known else None)

    def _complete(self, first: Values) -> None:
        """Complete the mapping by a first row; what other tools call a field is found and noted."""
        whole = self._fields.completed(first)
        new = {field: name for field, name in whole.columns.items() if field not in self._fields.columns}
        if new:
            self.taken = ", ".join(f"{field} from {name}" for field, name in new.items())
            self._fields = whole
        self._fields.check(first)
        used = {*FIELDS, *TOOL_COLUMNS, *self._fields.only, *named_columns(self._fields.columns)}
        self.forgotten = like_conditions(name for name in first if name not in used)

    def _rows(self) -> Iterator[Row]:
        source = self._source
        if self._table is None:
            return inspect_rows(source.path)
        if source.matrix:
            return unfold(self._table, source)
        items = None if self._known is None else list(self._known)
        return as_rows(self._table, items, judged="given" in source.fields.columns)


def _nothing(source: AnswerFile, brought: Brought) -> str:
    if brought.unknown:
        names = ", ".join(short(name) for name in list(brought.unknown)[:3])
        return f"{source.path}: none of its items is in the benchmark; the first are {names}"
    if brought.left_out:
        return f"{source.path}: all {brought.left_out:,} rows were left out by {param('where')} or {param('values')}"
    return f"{source.path} holds no answers"
