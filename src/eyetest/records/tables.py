"""The tables that rooms hand each other, one record a row.

The order of fields is the order of columns. A column changes here and nowhere else, together with the
table's version and a migration of what older versions wrote.
"""

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec

from eyetest.errors import as_said
from eyetest.records.item import Manifest
from eyetest.records.settings import ModelEntry

Sight = Literal["image", "blind", "blind-guess", "no-question", "nothing", "grey", "caption", "screenshot"]
Ask = Literal["direct", "cot", "ocr"]
Shots = Literal["none", "format", "two"]
Marks = Literal["upper", "lower", "digit"]
Method = Literal["generate", "likelihood", "first-token"]
History = Literal["gold", "own"]

BLIND_SIGHTS: tuple[Sight, ...] = ("blind", "blind-guess", "grey")
"""The question without its picture: three ways to ask the same thing."""


class Condition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One point on every axis along which a question can be put differently.

    ``blind`` leaves the picture out silently, ``blind-guess`` says that it is missing and asks for a guess.
    ``template`` is an index into the task's list of equivalent instructions. ``order`` is the seed of the
    option order, 0 being the order as written; a number that is no seed says itself what was shown
    (see ``eyetest.records.order``). Under ``likelihood`` no options are shown and the text of each is weighed; under
    ``first-token`` they are shown, and it is their marks that are weighed. ``history`` says whose answers to the
    earlier turns of a dialogue are told.
    """

    sight: Sight = "image"
    ask: Ask = "direct"
    shots: Shots = "none"
    template: int = 0
    order: int = 0
    marks: Marks = "upper"
    method: Method = "generate"
    history: History = "gold"


OutcomeKind = Literal["answered", "truncated", "blocked", "failed"]
ReadingKind = Literal["chosen", "text", "refused", "ambiguous", "unparsed"]
GIVEN = "given"
"""The metric and the rule of a score that somebody else decided."""
VerdictKind = Literal["keep", "drop", "fix", "review"]
DecisionKind = Literal["keep", "drop", "fix", "unsure", "undo"]
"""``unsure``: I cannot tell. ``undo`` withdraws the reviewer's own last decision on that item and round."""


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who was asked what, and how: the key that answers, plans and scores share."""

    table_version: ClassVar[int] = 2

    item: str
    model: str
    sight: Sight = "image"
    ask: Ask = "direct"
    shots: Shots = "none"
    template: int = 0
    order: int = 0
    marks: Marks = "upper"
    method: Method = "generate"
    history: History = "gold"
    trial: int = 0

    @property
    def key(self) -> bytes:
        """Who was asked what and how, in sixteen bytes."""
        values = key_values([getattr(self, name) for name in Asked.__struct_fields__])
        return blake2b(msgspec.json.encode(values), digest_size=16).digest()

    @property
    def condition(self) -> Condition:
        """The condition alone."""
        return Condition(**{name: getattr(self, name) for name in Condition.__struct_fields__})


COLUMNS_SINCE: dict[str, str] = {"history": "gold"}
"""Columns that tables of older versions lack, and what holds of their rows."""
_HISTORY = Asked.__struct_fields__.index("history")


def key_values(values: Sequence[object]) -> Sequence[object]:
    """The fields of `Asked`, in order, as they count in hashes: gold history, once the only one, leaves no trace."""
    return values if values[_HISTORY] != "gold" else [*values[:_HISTORY], *values[_HISTORY + 1 :]]


class Answer(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model said. ``given`` is a score that somebody else decided, used as it is and marked so."""

    text: str | None = None
    outcome: OutcomeKind = "answered"
    given: float | None = None


class Planned(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call of a plan. Items that lead to the same request share its id."""

    request: str


class Score(Asked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How an answer was read and what it was worth. ``choice`` says which choice it was, never only 0/1.

    ``marked`` says whether its mark was there to read it by. Version 1 had no such column.
    """

    table_version: ClassVar[int] = 3

    request: str
    outcome: OutcomeKind
    reading: ReadingKind | None = None
    choice: str | None = None
    rule: str | None = None
    metric: str
    score: float | None = None
    marked: bool | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one stage decided about one item, and what it rests on."""

    table_version: ClassVar[int] = 1

    item: str
    stage: str
    verdict: VerdictKind
    reason: str = ""
    n: int | None = None
    hits: int | None = None
    p: float | None = None
    responses: tuple[str, ...] = ()
    evidence: str = ""
    seed: int | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person decided about an item. Decisions are only ever appended; version 1 ended with ``comment``."""

    table_version: ClassVar[int] = 2

    item: str
    round: int
    reviewer: str
    time: str
    decision: DecisionKind
    reason: str = ""
    edits: dict[str, Any] = {}
    comment: str = ""
    labels: dict[str, Any] = {}
    """Answers to what the form asks, by the name of its fields."""
    solved: str = ""
    """What the reviewer answered before the gold was shown."""
    seconds: float | None = None
    """How long the item was open."""
    adjudicates: bool = False
    """Said knowing what others decided, to settle it."""


TABLES: dict[str, type[msgspec.Struct]] = {
    "answers": Answer,
    "plan": Planned,
    "scores": Score,
    "verdicts": Verdict,
    "decisions": Decision,
}


def columns(record: type[msgspec.Struct]) -> tuple[str, ...]:
    """The columns of a record's table, in order."""
    return record.__struct_fields__


Severity = Literal["bad", "suspect", "untested", "note", "sound"]
"""``bad`` breaks items, ``suspect`` deserves a look, ``untested`` could not be tested, ``note`` is worth knowing,
``sound`` was tested and held. From the gravest to the least."""
NO_PICTURES = "no-pictures"
"""The kind of every finding that says: no picture is here, so what needs pictures was not tested."""


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that a probe has to say, with the items it rests on.

    A finding with a ``p`` is a test: how likely a sound benchmark would look at least this odd. Its severity is what
    it would be if it held; whether it holds is decided for all tests of an audit together.
    """

    probe: str
    kind: str
    """A short name that stays the same between versions: ``equal-options``."""
    severity: Severity
    title: str
    """One line that a tired person understands, with the number that matters."""
    detail: str = ""
    """How it was measured, and what to do about it."""
    items: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    """Items that belong together, where the finding is about pairs or groups."""
    evidence: dict[str, str] = {}
    """What exactly was seen, by item."""
    verdict: VerdictKind = "review"
    """What the finding suggests for its items."""
    p: float | None = None
    adjusted_p: float | None = None
    """``p`` after Holm's correction over all tests of the audit."""
    numbers: dict[str, Any] = {}
    """The figures behind the title, for another program."""

    @property
    def is_test(self) -> bool:
        """Whether it is a test rather than a fact."""
        return self.p is not None


RUN_VERSION = 2
"""2: parts of answers are named by their writer."""


class RunBenchmark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which benchmark a run's answers are about."""

    name: str
    path: str = ""
    fingerprint: str = ""
    items: int = 0

    @classmethod
    def of(cls, manifest: Manifest, path: Path) -> "RunBenchmark":
        """The benchmark that lies in a folder."""
        resolved = as_said(str(path.resolve()))
        return cls(name=manifest.name, path=resolved, fingerprint=manifest.fingerprint, items=manifest.counts.items)


class RunStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that was done to a run: calls that were planned, or answers that were brought in."""

    what: str
    time: str = ""
    eyetest: str = ""
    """The version that did it."""
    seed: int = 0
    options: dict[str, str] = {}
    planned: int = 0
    requests: int = 0
    """Distinct requests among what was planned."""
    saved: int = 0
    """Calls that a stopping rule made needless."""
    not_applicable: dict[str, int] = {}
    """Why a condition could not be put to an item, and how often."""
    ways: dict[str, str] = {}
    """By model: how it computed likelihoods, where it was asked for any."""


class RunManifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``run.json``."""

    benchmark: RunBenchmark | None = None
    models: dict[str, ModelEntry] = {}
    steps: tuple[RunStep, ...] = ()
    parts: dict[str, int] = {}
    """The parts in which answers lay when the last writer left, and how many each held; those that go are missed."""
    run_version: int = RUN_VERSION
