"""Answers of a file become part of a run: each a row of the plan and a stored response.

The file is read and checked to its end before the run is changed. Importing it twice changes nothing.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl
import pyarrow as pa

from eyetest.errors import InputError, RowError, listed, param, short
from eyetest.records import WITH_MEDIUM, Answer, Asked, ModelEntry, Response, RunBenchmark, RunStep, columns
from eyetest.records.finishes import RECORDED
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
from eyetest.runs.folder import RunWriter
from eyetest.runs.inspect_logs import is_inspect_log
from eyetest.runs.journal import SCHEMA, to_table
from eyetest.runs.layouts import TOOL_COLUMNS, answer_files, as_rows, inspect_rows, is_numbered, unfold
from eyetest.runs.mapping import AnswerFile, FieldMap, MappingUse, like_conditions, parse_field_map
from eyetest.runs.stored import counting_responses, one_line_if_damaged, plan_frame, write_part
from eyetest.tabular.files import ExcelTable, known_table
from eyetest.tabular.record_files import from_columns, schema
from eyetest.tabular.table import Grid, Row, Values, named_columns

__all__ = [
    "LABEL_BY_DEFAULT",
    "AnswerFile",
    "Brought",
    "FieldMap",
    "Place",
    "RowItem",
    "answer_files",
    "claims_of",
    "import_answers",
    "parse_field_map",
    "refuse_unused",
]
Options = Mapping[str, Sequence[str]]  # the texts of each item's options, as written, by item
_KEY = columns(Asked)
_CONTENT = ("outcome", "text", "given")
_READ = ("request", *_CONTENT)
_WHERE = "where it stands"  # the column of an answer's location in its file
_ROWS_AT_ONCE = 20_000
LABEL_BY_DEFAULT = "image by default"  # of answers that do not say what was sent, about items without any medium
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


class RowItem(NamedTuple):
    """The item that a row names: by its id, or by a row number of the benchmark."""

    where: str
    item: str
    position: int | None = None


class Place(NamedTuple):
    """The item of a row, None where the benchmark has no such item; and the order in which it has the options."""

    item: str | None
    order: int = 0
    is_left_out: bool = False  # because the row is about another item


class KnownItems(NamedTuple):
    """The items of a benchmark, and the place of each row of a file among them."""

    options: Options
    places: Sequence[Place] | None = None  # None where rows say nothing but ids
    ways: Mapping[str, int] = {}  # what rows were matched by, with their numbers


class Brought(msgspec.Struct, kw_only=True):
    """The result of an import."""

    answers: int = 0  # answers in the file that the mapping selects
    there: int = 0  # those that the run held already, identically
    replaced: int = 0  # those that replaced another answer in the run
    given: int = 0  # answers scored elsewhere
    labelled: Counter[str] = msgspec.field(default_factory=Counter)  # answers named by the medium of their item
    undeclared: int = 0  # answers labelled by default, since neither they nor their item say what was sent
    verdicts: int = 0  # those of them without a known reply
    notices: Counter[str] = msgspec.field(default_factory=Counter)  # notices of failed calls, imported as such
    models: Counter[str] = msgspec.field(default_factory=Counter)
    outcomes: Counter[str] = msgspec.field(default_factory=Counter)
    left_out: int = 0  # rows that the mapping left out
    unknown: Counter[str] = msgspec.field(default_factory=Counter)  # items that the benchmark does not have
    matched: Counter[str] = msgspec.field(default_factory=Counter)  # by what rows were joined to items
    notes: list[str] = msgspec.field(default_factory=list)  # what differs between the file and the benchmark
    bad: list[str] = msgspec.field(default_factory=list)  # rows that were left out, and why

    def add(self, other: "Brought") -> None:
        """Add the counts of another file."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def import_answers(
    source: AnswerFile,
    to: Path,
    *,
    benchmark: RunBenchmark | None = None,
    known: Options | KnownItems | None = None,
    overwrite: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> Brought:
    """Import answers; ``known``: the benchmark's items, and where each row of the file belongs among them."""
    items = known if known is None or isinstance(known, KnownItems) else KnownItems(known)
    run = RunWriter(to)
    if benchmark:
        run.check_benchmark(benchmark)
    reading = _Reading(source, items)
    staged, brought = reading.staged(), reading.brought
    if not source.is_part:
        reading.use.refuse_unused()
        for line in reading.use.notes():
            tell(line)
    if items is not None:
        brought.matched.update(items.ways)
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
            options = {"file": source.name} | ({"matched": tally(brought.matched)} if brought.matched else {})
            if brought.undeclared and items is not None and not source.media:
                options["label"] = LABEL_BY_DEFAULT
            step = RunStep(what="import", options=options, planned=new, requests=new)
            models = (model for model in brought.models if model not in run.manifest.models)
            run.record(step, {m: ModelEntry(spec=f"replay:{source.name}#{m}") for m in models}, benchmark)
    _log.info(
        "%r: %d answers of %d models, %d of them new; left out: %d rows, %d of unknown items",
        *(source.name, brought.answers, len(brought.models), new, brought.left_out, brought.unknown.total()),
    )
    return brought


def refuse_unused(sources: Sequence[AnswerFile]) -> None:
    """Raise, before anything is written, where no row of any file has a value that the user's mapping names."""
    use = MappingUse(sources[0].fields)
    for source in sources:
        for _ in _Reading(source, None, use).claims():
            pass
    use.refuse_unused()


def tally(ways: Counter[str]) -> str:
    """What rows were matched by, with their numbers where there are several ways."""
    if len(ways) == 1:
        return next(iter(ways))
    return "; ".join(f"{way} ({number:,})" for way, number in ways.most_common())


def claims_of(source: AnswerFile) -> Iterator[tuple[RowItem, Values] | None]:
    """What each row of a file names and holds, in the order of `KnownItems.places`; None for an unwanted one."""
    yield from _Reading(source, None).claims()


class _Reading:
    """Reads a file once; what it leaves out is counted."""

    def __init__(self, source: AnswerFile, items: KnownItems | None, use: MappingUse | None = None) -> None:
        self._source, self._items = source, items
        self.use = use or MappingUse(source.fields)
        self._fields = source.fields
        self._sources: dict[tuple[str, ...], list[tuple[str, tuple[str, ...]]]] = {}  # by row layout: fields
        self._table = None if is_inspect_log(source.path) else known_table(source.path, skips_bad=source.skip_bad)
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
        brought.bad += [] if self._table is None else self._table.bad_rows.values()
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

    def claims(self) -> Iterator[tuple[RowItem, Values] | None]:
        """What each row names and holds; None for a row that is not wanted."""
        for row in self._complete_rows():
            values = self._values(row.values)
            if values is None:
                yield None
                continue
            position = row.values["doc_id"] if is_numbered(row.values) else None
            name = ""
            with suppress(InputError):  # it is raised again when the answer is read
                name = plain(values.get("item"))
            yield RowItem(row.where, name, position), self._free(row.values)

    def _free(self, row: Values) -> Values:
        """The columns of a row that the mapping does not use."""
        used = {*FIELDS, *named_columns(self._fields.columns)}
        return {name: value for name, value in row.items() if name not in used}

    def _complete_rows(self) -> Iterator[Row]:
        """The rows, the mapping completed by the first of them."""
        is_first, sheet = True, isinstance(self._table, Grid)
        for row in self._rows():
            if is_first:
                try:
                    self._complete(row.values)
                except InputError as error:
                    raise InputError(f"{row.where}: {error}") from None
            is_first = False
            yield row._replace(values=without_guards(row.values)) if sheet else row

    def _answers(self) -> Iterator[tuple[Any, ...]]:
        brought = self.brought
        sheet, excel = isinstance(self._table, Grid), isinstance(self._table, ExcelTable)
        for number, row in enumerate(self._complete_rows()):
            place = None if self._items is None or self._items.places is None else self._items.places[number]
            if place is not None and place.is_left_out:
                continue
            try:
                values = self._values(row.values)
                is_declared = values is not None and "modality" in values
                if values is not None:
                    values = self._typed(values, row.values, place)
                text = values and values.get("text")
                answer = None if values is None else assemble(values, sheet=sheet, excel=excel)
            except InputError as error:
                self._bad(RowError(f"{row.where}: {error}"))
                continue
            if answer is None:
                brought.left_out += 1
            elif self._is_unknown(answer.item, place):
                brought.unknown[answer.item] += 1
            else:
                if text and answer.text is None and answer.outcome == "failed":  # a notice in place of an answer
                    brought.notices[text.strip()] += 1
                if not is_declared:
                    self._count_label(answer.item)
                yield *_columns_of(answer), row.where

    def _count_label(self, item: str) -> None:
        """Count an answer that does not say what was sent, by the label that its item gives it."""
        modality = self._source.modalities.get(item)
        if modality:
            self.brought.labelled[modality] += 1
        else:
            self.brought.undeclared += 1

    def _is_unknown(self, item: str, place: Place | None) -> bool:
        """Whether the benchmark does not have the item of an answer."""
        if place is not None:
            return place.item is None
        return self._items is not None and item not in self._items.options

    def _bad(self, error: RowError) -> None:
        """Refuse a bad row, or note that it is left out."""
        if not self._source.skip_bad:
            raise error
        self.brought.bad.append(str(error))

    def _values(self, row: Values) -> dict[str, Any] | None:
        """The values of a row by field; None where it is not selected or a value was mapped to nothing."""
        fields = self._fields
        is_selected = not fields.where or self.use.wants(row)
        names = tuple(row)
        if names not in self._sources:
            found = ((field, fields.columns_of(field, row)) for field in FIELDS)
            self._sources[names] = [(field, its) for field, its in found if its]
        values: dict[str, Any] = dict(fields.constants)
        for field, its in self._sources[names]:
            if not is_selected and field not in fields.values:
                continue
            value = row[its[0]] if len(its) == 1 else " ".join(filter(None, (plain(row[n]) for n in its)))
            if field in fields.values:
                ours = self.use.renamed(field, "" if is_absent(value) else plain(value))
                if ours == "":
                    is_selected = False
                value = value if ours is None else ours
            values[field] = value
        if not is_selected:
            return None
        return values

    def _typed(self, values: dict[str, Any], row: Values, place: Place | None) -> dict[str, Any]:
        """The values in the types of an answer, with the item of its place, and its order where none is stated."""
        order = values.pop("order", None)
        typed_values = typed(values)
        if place is not None and place.item is not None:
            typed_values["item"] = place.item
        modality = self._source.modalities.get(typed_values.get("item", ""))
        if modality:
            typed_values.setdefault("modality", modality)
        self._refuse_other_medium(typed_values)
        if not is_absent(order):
            typed_values["order"] = self._order(order, typed_values.get("item", ""), row)
        elif place is not None and place.order:
            typed_values["order"] = place.order
        return typed_values

    def _refuse_other_medium(self, values: Mapping[str, Any]) -> None:
        """Refuse an answer that is labelled by a medium which its item, with another one, does not have."""
        modality, item = values.get("modality"), values.get("item", "")
        kinds = self._source.media.get(item, ())
        if modality in WITH_MEDIUM and kinds and modality not in kinds:
            raise InputError(f"modality {modality}: item {short(item)} has no {modality}, but {listed(list(kinds))}")

    def _order(self, value: Any, item: str, row: Values) -> int:
        """The shown order; in a table with all of our columns a number is a seed of ours."""
        is_named = "order" in self._fields.columns or "order" in self._fields.constants
        if not is_named and row.keys() >= {*FIELDS}:
            return own_order(value)
        options = None if self._items is None else self._items.options
        if options and item not in options:
            return 0  # it will be left out
        return read_shown(value, options.get(item) if options else None, are_texts=self._table is None)

    def _complete(self, first: Values) -> None:
        """Complete the mapping by a first row; what other tools call a field is found and noted."""
        whole = self._fields.completed(first)
        new = {field: name for field, name in whole.columns.items() if field not in self._fields.columns}
        if new:
            self.taken = ", ".join(f"{field} from {name}" for field, name in new.items())
            self._fields = whole
        self._fields.check(first)
        filtered = [condition.column for condition in self.use.begin(first)]
        used = {*FIELDS, *TOOL_COLUMNS, *filtered, *named_columns(self._fields.columns)}
        self.forgotten = like_conditions(name for name in first if name not in used)

    def _rows(self) -> Iterator[Row]:
        source = self._source
        if self._table is None:
            return inspect_rows(source.path)
        if source.matrix:
            return unfold(self._table, source)
        judged = "given" in source.fields.columns
        return as_rows(self._table, self._bad, judged=judged, has_items=self._items is not None)


def _nothing(source: AnswerFile, brought: Brought) -> str:
    if brought.unknown:
        names = ", ".join(short(name) for name in list(brought.unknown)[:3])
        return f"{source.path}: none of its items is in the benchmark; the first are {names}"
    if brought.left_out:
        return f"{source.path}: all {brought.left_out:,} rows were left out by {param('where')} or {param('values')}"
    return f"{source.path} holds no answers"
