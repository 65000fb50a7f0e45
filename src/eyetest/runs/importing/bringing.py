"""Answers of a file become part of a run: each a row of the plan and a stored response.

In: a file of any known layout and a mapping. Out: a run folder that screens, scores and measures like any other.
The file is read and checked to its end before the run is touched. Bringing the same file in twice changes nothing,
because an answer's id is made of who was asked what and how.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from operator import attrgetter
from pathlib import Path

import msgspec

from eyetest.errors import InputError, param, short
from eyetest.records import Answer, Asked, ModelEntry, RunBenchmark, RunStep, columns
from eyetest.runs.folder import RunWriter
from eyetest.runs.importing.conditions import Unmapped, suggestion, told
from eyetest.runs.importing.inspect_rows import inspect_rows
from eyetest.runs.importing.layouts import TOOL_COLUMNS, ItemAt, Located, Location, as_rows, at, unfold
from eyetest.runs.importing.mapping import AnswerFile, AnswerReader, Options
from eyetest.runs.importing.merging import Merge, Staging, answer_id, compare, write
from eyetest.runs.importing.values import FIELDS
from eyetest.tabular.files import is_excel, is_sheet, read_rows
from eyetest.tabular.inspect_log import is_inspect_log
from eyetest.wording import listed

_log = logging.getLogger(__name__)
_key: Callable[[Answer], tuple[object, ...]] = attrgetter(*columns(Asked))


class Brought(msgspec.Struct, kw_only=True):
    """What came in."""

    answers: int = 0
    """Answers that the file holds and the mapping wants."""
    there: int = 0
    """Those of them that the run held already, word for word."""
    replaced: int = 0
    """Those that took the place of another answer in the run."""
    given: int = 0
    """Answers that somebody else scored."""
    verdicts: int = 0
    """Those of them of which nobody knows what was said."""
    notices: Counter[str] = msgspec.field(default_factory=Counter)
    """Texts that only say that a call had failed, which came in as failed calls."""
    models: Counter[str] = msgspec.field(default_factory=Counter)
    outcomes: Counter[str] = msgspec.field(default_factory=Counter)
    left_out: int = 0
    """Rows that the mapping left out."""
    unknown: Counter[str] = msgspec.field(default_factory=Counter)
    """Items that the benchmark does not have."""

    def add(self, other: "Brought") -> None:
        """Count what came from another file as well."""
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
    """Bring answers in; ``known`` are the benchmark's items in order, with the texts of their options.

    An answer that differs from one that the run holds is refused, unless it is to ``overwrite`` it. ``tell`` hears
    before anything is written what looks as if it had been forgotten.
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
        if forgotten := reading.forgotten():
            tell(forgotten)
        with run:
            if benchmark:
                run.check_benchmark(benchmark)
            merge = compare(to, staging, reading.seen.keys(), brought.models.keys())
            if merge.replaced and not overwrite:
                raise InputError(_differs(source, to, merge, reading.location(merge.first_replaced)))
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
    step = RunStep(what="import-answers", options={"file": source.name}, planned=new, requests=new)
    entries = {
        model: ModelEntry(spec=f"replay:{source.name}#{model}")
        for model in brought.models
        if model not in run.manifest.models
    }
    run.record(step, entries, benchmark)


class _Reading:
    """Goes through a file once and remembers what was seen."""

    def __init__(self, source: AnswerFile, known: Options | None) -> None:
        self._source, self._known = source, known
        self._fields = source.cell_fields if source.matrix else source.fields
        self._unmapped = self._new_unmapped()
        self._next_trial: dict[bytes, int] = {}
        self.brought = Brought()
        self.seen: dict[bytes, Location] = {}
        self.id_ = ""
        """Of the answer that was given last."""
        self._location: Location = 0

    def __iter__(self) -> Iterator[Answer]:
        source, brought, known = self._source, self.brought, self._known
        reader = AnswerReader(self._fields, known, sheet=is_sheet(source.path), excel=is_excel(source.path))
        checked = False
        for location, row in self._rows():
            self._location = location
            try:
                if not checked:
                    self._fields.check(row)
                    checked = True
                answer = reader.answer(row)
                if answer is not None and (known is None or answer.item in known):
                    answer = self._counted(answer, location)
                    self._unmapped.see(row)
                    if reader.notice:
                        brought.notices[reader.notice] += 1
                elif answer is not None:
                    brought.unknown[answer.item] += 1
                    continue
            except InputError as error:
                raise InputError(f"{source.name} {at(location)}: {error}") from None
            if answer is None:
                brought.left_out += 1
            else:
                yield answer

    def location(self, id_: str) -> Location:
        """Where an answer stands in the file."""
        return self.seen[bytes.fromhex(id_)]

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
        """A second answer under the same key: another trial if the user says so, and a mistake otherwise."""
        if not self._source.number_trials:
            raise InputError(
                f"item {short(answer.item, 40)} was answered by {short(answer.model, 40)} under the same condition "
                f"in {at(self.seen[first])} already; {self._told_apart(self.seen[first])}"
            )
        key = first
        while key in self.seen:
            trial = self._next_trial.get(first, answer.trial + 1)
            self._next_trial[first] = trial + 1
            answer = msgspec.structs.replace(answer, trial=trial)
            self.id_ = answer_id(_key(answer))
            key = bytes.fromhex(self.id_)
        return answer, key

    def forgotten(self) -> str:
        """The columns that look like conditions and are not mapped, in words; empty where there is none."""
        unmapped = self._unmapped.conditions()
        if not unmapped:
            return ""
        mends = [suggestion(name, values, self._models_column) for name, values in unmapped.items()]
        number = len(unmapped)
        looks = "columns look like conditions and are" if number > 1 else "column looks like a condition and is"
        return (
            f"{number} {looks} not mapped: {told(unmapped)}. What differs only there came in as one condition; "
            f"map it, such as {listed(mends)}, or keep to some rows with {param('where')}"
        )

    def _told_apart(self, first: Location) -> str:
        """What a user may do about two answers to the same question; the file is read again to see what differs."""
        unmapped, rows = self._new_unmapped(), {}
        for location, row in self._rows():
            if self._fields.only and not self._fields.wants(row):
                continue
            unmapped.see(row)
            if location in (first, self._location):
                rows[location] = row
        differing = unmapped.telling_apart(rows[first], rows[self._location])
        if not differing:
            return f"map what tells them apart, or add {param('number_trials', True)}"
        mends = [suggestion(name, values, self._models_column) for name, values in differing.items()]
        mend = f"say {mends[0]}, or add {param('number_trials', True)}"
        return f"they differ in {told(dict(islice(differing.items(), 3)))}: {mend}"

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
    """What finds the item at a position of the benchmark; None where that is not known."""
    if known is None:
        return None
    ids = list(known)

    def item_at(position: int) -> str:
        if position < len(ids):
            return ids[position]
        raise InputError(f"doc_id {position} is past the end of the benchmark ({len(ids):,} items)")

    return item_at


def _differs(source: AnswerFile, to: Path, merge: Merge, location: Location) -> str:
    others = f" ({merge.replaced:,} such rows)" if merge.replaced > 1 else ""
    return (
        f"{source.name} {at(location)}: {to} holds another answer to this already{others}; "
        f"add {param('overwrite', True)} to replace what it holds, or choose another run"
    )


def _nothing(source: AnswerFile, brought: Brought) -> str:
    if brought.unknown:
        names = ", ".join(short(name) for name in list(brought.unknown)[:3])
        return f"{source.path}: none of its items is in the benchmark; the first are {names}"
    if brought.left_out:
        return f"{source.path}: all {brought.left_out:,} rows were left out by {param('where')} or {param('values')}"
    return f"{source.path} holds no answers"
