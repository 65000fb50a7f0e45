"""The tables that rooms hand each other, one record a row.

The order of fields is the order of columns. A column changes here and nowhere else, together with the
table's version and a migration of what older versions wrote.
"""

from hashlib import blake2b
from typing import Any, ClassVar, Literal

import msgspec

from eyetest.records.condition import Ask, Condition, Marks, Method, Shots, Sight

OutcomeKind = Literal["answered", "truncated", "blocked", "failed"]
ReadingKind = Literal["chosen", "text", "refused", "ambiguous", "unparsed"]
GIVEN = "given"
"""The metric and the rule of a score that somebody else decided."""
VerdictKind = Literal["keep", "drop", "fix", "review"]


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who was asked what, and how: the key that answers, plans and scores share."""

    table_version: ClassVar[int] = 1

    item: str
    model: str
    sight: Sight = "image"
    ask: Ask = "direct"
    shots: Shots = "none"
    template: int = 0
    order: int = 0
    marks: Marks = "upper"
    method: Method = "generate"
    trial: int = 0

    @property
    def key(self) -> bytes:
        """Who was asked what and how, in sixteen bytes."""
        values = [getattr(self, name) for name in Asked.__struct_fields__]
        return blake2b(msgspec.json.encode(values), digest_size=16).digest()

    @property
    def condition(self) -> Condition:
        """The condition alone."""
        return Condition(**{name: getattr(self, name) for name in Condition.__struct_fields__})


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

    table_version: ClassVar[int] = 2

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
    """What a person decided about an item. Decisions are only ever appended."""

    table_version: ClassVar[int] = 1

    item: str
    round: int
    reviewer: str
    time: str
    decision: VerdictKind
    reason: str = ""
    edits: dict[str, Any] = {}
    comment: str = ""


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
