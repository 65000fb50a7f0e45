"""Screens and their input; and the cut-off from which on an answer is right, chosen from the data."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

import msgspec
import numpy as np
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.measures.hits import HIT
from eyetest.measures.stats.intervals import Bools, Floats, Ints
from eyetest.records import MAX_CHOICES, AskModel, Cut, Item, Stage, StoppingRule, Verdict, VerdictKind, letter
from eyetest.records.recipe import KINDS

ANY = "any"  # what a recipe calls the metrics that it does not name
_LETTERS = {letter(position): position for position in range(MAX_CHOICES)}
_COLUMNS = ("item", "model", "order", "sample", "request", "outcome", "reading", "choice", "metric", "score")


class PanelAnswer(NamedTuple):
    """An answer, as far as verdicts need it."""

    request: str
    outcome: str
    reading: str | None
    choice: str | None
    metric: str
    score: float | None

    def is_right(self, right: Mapping[str, Cut]) -> bool | None:
        """Whether it counts as right; None for a failed call."""
        if self.score is None:
            return None
        return right.get(self.metric, right.get(ANY, HIT)).holds(self.score)

    @property
    def kind(self) -> str:
        """Its kind in counts: how it was read, or the outcome of the call."""
        if self.outcome in ("failed", "blocked"):
            return self.outcome
        return self.reading or self.outcome


Answers = Sequence[Sequence[PanelAnswer | None]]  # by seat and by test; None where not asked


class Evidence:
    """The answers of a panel, by item."""

    def __init__(self, scores: pl.DataFrame, seats: Sequence[str], tests: int) -> None:
        """``scores`` holds the panel's rows alone. ``tests``: how often each seat is asked about an item."""
        self.seats, self.tests = tuple(seats), tests
        seat_index = {seat: index for index, seat in enumerate(seats)}
        self._rows: dict[str, list[list[PanelAnswer | None]]] = {}
        for item, model, _, _, *said in scores.select(_COLUMNS).sort("item", "model", "order", "sample").iter_rows():
            answers = self._rows.setdefault(item, [[] for _ in self.seats])
            answers[seat_index[model]].append(PanelAnswer(*said))

    @classmethod
    def nothing(cls) -> "Evidence":
        """Evidence of a stage without a panel."""
        return cls(pl.DataFrame(schema=dict.fromkeys(_COLUMNS, pl.String)), (), 0)

    def only(self, seats: Sequence[str]) -> "Evidence":
        """The answers of some of the panel."""
        some = Evidence.nothing()
        some.seats, some.tests = tuple(seats), self.tests
        indices = [self.seats.index(seat) for seat in seats]
        some._rows = {item: [answers[index] for index in indices] for item, answers in self._rows.items()}
        return some

    def of(self, item: str) -> Answers:
        """The answers to an item; as many places as were to be asked."""
        answers = self._rows.get(item) or [[] for _ in self.seats]
        return [said + [None] * (self.tests - len(said)) for said in answers]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)


def kinds(answers: Iterable[PanelAnswer]) -> dict[str, int]:
    """How often answers were not plain answers, by kind."""
    counts = Counter(said.kind for said in answers)
    return {kind: counts[kind] for kind in sorted(counts) if kind not in ("chosen", "text", "answered")}


def summary(seats: Sequence[str], hits: Sequence[int], asked: Sequence[int], **more: Any) -> dict[str, Any]:
    """Summary of the panel for a verdict: hits of answers, by seat."""
    of_seats = {seat: [hit, n] for seat, hit, n in zip(seats, hits, asked, strict=True)}
    return {"seats": of_seats, **{key: value for key, value in more.items() if value}}


def different(answers: Answers) -> list[list[PanelAnswer]]:
    """Answers by seat; samples with the identical request are one."""
    return [list({said.request: said for said in row if said is not None}.values()) for row in answers]


def choice_counts(
    item: Item, answers: Sequence[Sequence[PanelAnswer]], right: Sequence[Sequence[bool | None]]
) -> Ints | None:
    """How often each seat chose each option (seats × options); None where a wrong answer's is unknown."""
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
class FilterInput:
    """A stage, the items that reached it, and the panel's answers to them."""

    stage: Stage
    items: Sequence[Item]
    evidence: Evidence
    seats: Sequence[Seat] = ()
    size: int = 0  # how many seats the recipe's thresholds are meant for
    judges: Sequence[str] = ()
    ask: AskModel | None = None  # none where all answers were recorded before
    seed: int = 0
    benchmark: Benchmark | None = None  # where the items come from, for screens that look at images
    notes: list[str] = field(default_factory=list)  # what has to be known of all items together

    def verdict(self, item: str, verdict: VerdictKind, reason: str, **more: Any) -> Verdict:
        """A verdict of this stage."""
        evidence = more.pop("evidence", None)
        told = msgspec.json.encode(evidence, order="sorted").decode() if evidence else ""
        return Verdict(
            item=item, stage=self.stage.title, verdict=verdict, reason=reason, evidence=told, seed=self.seed, **more
        )


class Filter(Protocol):
    """A way to separate good items from bad."""

    name: str
    summary: str
    uses: ClassVar[frozenset[str]]  # the fields of a stage that it understands, beside its name and its panel

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """When asking may stop: the rule holds for items that stay. None where every answer is needed."""
        ...

    def judge(self, case: FilterInput) -> Iterator[Verdict]:
        """Give one verdict for each item."""
        ...


def refuse_unused(stage: Stage, name: str, uses: Collection[str]) -> None:
    """Refuse a threshold that is never used. ``name``: what the stage carries out."""
    plain = Stage(filter=name)
    for setting in stage.__struct_fields__:
        if setting not in {*KINDS, "name", *uses} and getattr(stage, setting) != getattr(plain, setting):
            known = ", ".join(sorted(uses)) or "no settings"
            raise InputError(f"the stage {stage.title}: {name} has no use for {setting} (it knows {known})")


MOST_CUTS = 100  # of a metric with more different scores, so many are tried, evenly spread over them


def best_cut(scores: Floats) -> Cut:
    """The score that separates models best as a cut-off; the highest of equals, 1 where none is above 0."""
    known = ~np.isnan(scores)
    values = np.unique(scores[known & (scores > 0)])
    if not len(values):
        return HIT
    tried = values[np.unique(np.linspace(0, len(values) - 1, MOST_CUTS).round().astype(int))][::-1]
    apart = [_distinction((np.nan_to_num(scores) >= value).astype(float), known.astype(float)) for value in tried]
    return Cut(op=">=", value=float(tried[int(np.argmax(apart))]))


def _distinction(right: Floats, known: Floats) -> float:
    """McNemar's χ², summed over all pairs of models; 0 for a pair that never differs."""
    only = (right * known).T @ ((1 - right) * known)
    differing = only + only.T
    chi = np.divide((only - only.T) ** 2, differing, out=np.zeros_like(only), where=differing > 0)
    return float(chi.sum())


def panel_scores(items: Sequence[Item], evidence: Evidence, metric: str) -> Floats:
    """A panel's scores by one metric, averaged over tests: items × models."""
    table = np.full((len(items), len(evidence.seats)), np.nan)
    for row, item in enumerate(items):
        for column, said in enumerate(evidence.of(item.id)):
            scores = [one.score for one in said if one and one.metric == metric and one.score is not None]
            if scores:
                table[row, column] = np.mean(scores)
    return table
