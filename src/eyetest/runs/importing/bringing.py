"""Answers of a file become part of a run: each a row of the plan and a stored response.

In: a file of any known layout and a mapping. Out: a run folder that screens, scores and measures like any other.
Bringing the same file in twice changes nothing, because an answer's id is made of who was asked what and how.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import msgspec

from eyetest.errors import InputError, short
from eyetest.records import Answer, Asked, ModelEntry, Response, RunBenchmark, RunStep, columns
from eyetest.runs.folder import RunWriter
from eyetest.runs.importing.files import Row, read_rows
from eyetest.runs.importing.layouts import Name, as_rows, unfold
from eyetest.runs.importing.mapping import FieldMap

_KEY = columns(Asked)


class Brought(msgspec.Struct, kw_only=True):
    """What came in."""

    answers: int = 0
    given: int = 0
    """Answers that are only somebody's verdict."""
    models: Counter[str] = msgspec.field(default_factory=Counter)
    outcomes: Counter[str] = msgspec.field(default_factory=Counter)
    left_out: int = 0
    """Rows that the mapping left out."""
    unknown: Counter[str] = msgspec.field(default_factory=Counter)
    """Items that the benchmark does not have."""


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A file and how to read it."""

    path: Path
    fields: FieldMap = FieldMap()
    matrix: str = ""
    """What a row of a matrix of verdicts is, item or model; empty where there is one row an answer."""
    header: str | None = None
    number_trials: bool = False
    """Whether a repeated answer is another trial rather than a mistake."""


def import_answers(
    source: Source, to: Path, *, benchmark: RunBenchmark | None = None, known: list[str] | None = None
) -> Brought:
    """Bring answers in; ``known`` are the benchmark's item ids in order, where there is one."""
    brought = Brought()
    entries: dict[str, ModelEntry] = {}
    answers = _answers(source, brought, known)
    first = next(answers, None)
    if first is None:
        raise InputError(_nothing(source, brought))
    with RunWriter(to) as run:
        if benchmark:
            run.check_benchmark(benchmark)
        with run.planning() as plan:
            for answer in chain([first], answers):
                request = _id(answer)
                plan.add(answer, request)
                run.journal.append(
                    Response(
                        request=request,
                        outcome=answer.outcome,
                        text=answer.text,
                        given=answer.given,
                        error="recorded" if answer.outcome == "failed" else "",
                        finish="recorded",
                    )
                )
                if answer.model not in entries and answer.model not in run.manifest.models:
                    entries[answer.model] = ModelEntry(spec=f"replay:{source.path.name}#{answer.model}")
        step = RunStep(
            what="import-answers",
            options={"file": source.path.name},
            planned=brought.answers,
            requests=brought.answers,
        )
        run.record(step, entries, benchmark)
    return brought


def _answers(source: Source, brought: Brought, known: list[str] | None) -> Iterator[Answer]:
    seen: dict[bytes, int] = {}
    ids = set(known) if known is not None else None
    for number, row in enumerate(_rows(source, known), 1):
        where = f"{source.path.name} row {number}"
        if number == 1:
            source.fields.check(row, source.path.name)
        answer = source.fields.answer(row, where) if source.fields.wants(row) else None
        if answer is None:
            brought.left_out += 1
            continue
        if ids is not None and answer.item not in ids:
            brought.unknown[answer.item] += 1
            continue
        key = bytes.fromhex(_id(answer))
        if key in seen:
            answer = _again(source, answer, seen, key, where)
        seen.setdefault(bytes.fromhex(_id(answer)), number)
        brought.answers += 1
        brought.given += answer.text is None and answer.given is not None
        brought.models[answer.model] += 1
        brought.outcomes[answer.outcome] += 1
        yield answer


def _again(source: Source, answer: Answer, seen: dict[bytes, int], key: bytes, where: str) -> Answer:
    """A second answer under the same key: another trial if the user says so, and a mistake otherwise."""
    if not source.number_trials:
        raise InputError(
            f"{where}: item {short(answer.item)} was answered by {short(answer.model)} under the same condition in "
            f"row {seen[key]} already; map what tells them apart, or add --number-trials"
        )
    while bytes.fromhex(_id(answer)) in seen:
        answer = msgspec.structs.replace(answer, trial=answer.trial + 1)
    return answer


def _rows(source: Source, known: list[str] | None) -> Iterator[Row]:
    rows = read_rows(source.path)
    if source.matrix:
        return unfold(rows, source.matrix, source.header)
    return as_rows(rows, excel=source.path.suffix.lower() == ".xlsx", item_at=_item_at(known))


def _item_at(known: list[str] | None) -> Name | None:
    if known is None:
        return None

    def item_at(position: int) -> str:
        with suppress(IndexError):
            return known[position]
        raise InputError(f"doc_id {position} is past the end of the benchmark ({len(known):,} items)")

    return item_at


def _nothing(source: Source, brought: Brought) -> str:
    if brought.unknown:
        names = ", ".join(short(name) for name in list(brought.unknown)[:3])
        return f"{source.path}: none of its items is in the benchmark; the first are {names}"
    if brought.left_out:
        return f"{source.path}: all {brought.left_out:,} rows were left out by --where or --map-values"
    return f"{source.path} holds no answers"


def _id(answer: Answer) -> str:
    key = "\x1f".join(str(getattr(answer, name)) for name in _KEY)
    return blake2b(b"eyetest answer 1\n" + key.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
