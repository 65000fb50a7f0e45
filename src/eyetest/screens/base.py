"""What a screen is given, and what it is."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import msgspec
import numpy as np
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.measures.hits import HIT
from eyetest.measures.stats.intervals import Bools, Ints
from eyetest.records import (
    MAX_CHOICES,
    AskModel,
    Cut,
    Item,
    Stage,
    StoppingRule,
    Verdict,
    VerdictKind,
    letter,
)
from eyetest.records.recipe import KINDS

ANY = "any"
"""What a recipe calls the metrics that it does not name."""
USUAL_RATE = 0.05
"""Of good items among those that a test throws out, where a stage says none."""
TOO_FEW = "too few items are like it to rule out a shared belief"
_LETTERS = {letter(position): position for position in range(MAX_CHOICES)}
_COLUMNS = ("item", "model", "order", "trial", "request", "outcome", "reading", "choice", "metric", "score")


class PanelAnswer(NamedTuple):
    """One answer, as far as verdicts care."""

    request: str
    outcome: str
    reading: str | None
    choice: str | None
    metric: str
    score: float | None

    def is_right(self, right: Mapping[str, Cut]) -> bool | None:
        """Whether it counts as right; None where there is nothing to judge, because the call failed."""
        if self.score is None:
            return None
        return right.get(self.metric, right.get(ANY, HIT)).holds(self.score)

    @property
    def kind(self) -> str:
        """What it is counted as: how it was read, or what became of the call."""
        if self.outcome in ("failed", "blocked"):
            return self.outcome
        return self.reading or self.outcome


Answers = Sequence[Sequence[PanelAnswer | None]]
"""By seat and by test; None where nobody asked."""


class Evidence:
    """The answers of a panel, by item."""

    def __init__(self, scores: pl.DataFrame, seats: Sequence[str], tests: int) -> None:
        """``scores`` holds the panel's rows alone. ``tests``: how often each seat is asked about an item."""
        self.seats, self.tests = tuple(seats), tests
        seat_index = {seat: index for index, seat in enumerate(seats)}
        self._rows: dict[str, list[list[PanelAnswer | None]]] = {}
        for item, model, _, _, *said in scores.select(_COLUMNS).sort("item", "model", "order", "trial").iter_rows():
            answers = self._rows.setdefault(item, [[] for _ in self.seats])
            answers[seat_index[model]].append(PanelAnswer(*said))

    @classmethod
    def nothing(cls) -> "Evidence":
        """That of a stage without a panel."""
        return cls(pl.DataFrame(schema=dict.fromkeys(_COLUMNS, pl.String)), (), 0)

    def only(self, seats: Sequence[str]) -> "Evidence":
        """What some of the panel said."""
        some = Evidence.nothing()
        some.seats, some.tests = tuple(seats), self.tests
        indices = [self.seats.index(seat) for seat in seats]
        some._rows = {item: [answers[index] for index in indices] for item, answers in self._rows.items()}
        return some

    def of(self, item: str) -> Answers:
        """What was said about an item; as many places as were to be asked."""
        answers = self._rows.get(item) or [[] for _ in self.seats]
        return [said + [None] * (self.tests - len(said)) for said in answers]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)


def kinds(answers: Iterable[PanelAnswer]) -> dict[str, int]:
    """How often answers were no plain answers, by kind: what has to be known beside a count of hits."""
    counts = Counter(said.kind for said in answers)
    return {kind: counts[kind] for kind in sorted(counts) if kind not in ("chosen", "text", "answered")}


def summary(seats: Sequence[str], hits: Sequence[int], asked: Sequence[int], **more: Any) -> dict[str, Any]:
    """What a verdict tells of its panel: hits of answers, by seat."""
    of_seats = {seat: [hit, n] for seat, hit, n in zip(seats, hits, asked, strict=True)}
    return {"seats": of_seats, **{key: value for key, value in more.items() if value}}


def different(answers: Answers) -> list[list[PanelAnswer]]:
    """By seat, what was said; trials that sent the very same request are one."""
    return [list({said.request: said for said in row if said is not None}.values()) for row in answers]


def choice_counts(
    item: Item, answers: Sequence[Sequence[PanelAnswer]], right: Sequence[Sequence[bool | None]]
) -> Ints | None:
    """How often each seat chose each option: seats × options.

    Scores that others gave may come without the option: a right one is the gold, a wrong one is known only if there
    is one other option. None where one is not known.
    """
    counts = np.zeros((len(answers), len(item.choices)), np.int64)
    wrong = [option for option in range(len(item.choices)) if option not in item.gold]
    for seat, (row, hits) in enumerate(zip(answers, right, strict=True)):
        for said, hit in zip(row, hits, strict=True):
            if hit is None or said.kind not in ("chosen", "text", "answered"):
                continue
            option = _LETTERS.get(said.choice or "")
            if option is None and hit:
                option = item.gold[0]
            elif option is None and len(wrong) == 1:
                option = wrong[0]
            if option is None or option >= len(item.choices):
                return None
            counts[seat, option] += 1
    return counts


def stacked(counted: Sequence[tuple[Item, Ints]]) -> tuple[Ints, Bools, Ints]:
    """Choices (items × seats × options), golds (items × options), and how many options each item has."""
    options = np.array([len(item.choices) for item, _ in counted], np.int64)
    counts = np.zeros((len(counted), len(counted[0][1]), options.max()), np.int64)
    golds = np.zeros((len(counted), options.max()), bool)
    for row, (item, choices) in enumerate(counted):
        counts[row, :, : options[row]] = choices
        golds[row, list(item.gold)] = True
    return counts, golds, options


class Seat(NamedTuple):
    """A model on a panel, and the language model it was built on, if that is known."""

    model: str
    base: str | None = None


@dataclass(frozen=True)
class ScreenInput:
    """A stage, the items that reached it, and what the panel said about them."""

    stage: Stage
    items: Sequence[Item]
    evidence: Evidence
    seats: Sequence[Seat] = ()
    size: int = 0
    """How many seats the recipe's thresholds are meant for."""
    judges: Sequence[str] = ()
    ask: AskModel | None = None
    """None where nobody can be asked, because all answers were recorded before."""
    seed: int = 0
    benchmark: Benchmark | None = None
    """Where the items come from, for screens that look at pictures."""

    def verdict(self, item: str, verdict: VerdictKind, reason: str, **more: Any) -> Verdict:
        """A verdict of this stage."""
        evidence = more.pop("evidence", None)
        told = msgspec.json.encode(evidence, order="sorted").decode() if evidence else ""
        return Verdict(
            item=item, stage=self.stage.title, verdict=verdict, reason=reason, evidence=told, seed=self.seed, **more
        )


class Screen(Protocol):
    """One way to tell good items from bad."""

    name: str
    summary: str
    uses: ClassVar[frozenset[str]]
    """The fields of a stage that it understands, beside its name and its panel."""

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """When asking may stop: the rule holds for items that stay. None where every answer is needed."""
        ...

    def judge(self, case: ScreenInput) -> Iterator[Verdict]:
        """One verdict for each item."""
        ...


def refuse_unused(stage: Stage, name: str, uses: Collection[str]) -> None:
    """A threshold that nobody looks at is a mistake, and said to be one. ``name``: what the stage carries out."""
    plain = Stage(screen=name)
    for field in stage.__struct_fields__:
        if field not in {*KINDS, "name", *uses} and getattr(stage, field) != getattr(plain, field):
            known = ", ".join(sorted(uses)) or "no settings"
            raise InputError(f"the stage {stage.title}: {name} has no use for {field} (it knows {known})")
