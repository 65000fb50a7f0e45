"""Filters: verdicts on items from a panel's answers. A module here that defines ``FILTERS`` adds its own."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.measures.hits import ANY, HIT
from eyetest.prompts.sets import Prompts, load_prompts
from eyetest.records import AskModel, Cut, Item, Stage, StoppingRule, Verdict, VerdictKind
from eyetest.registry import Registry

PLAIN = ("chosen", "text", "answered")  # kinds of answers that commit to something
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
        return self.outcome if self.outcome in ("failed", "blocked") else self.reading or self.outcome


Answers = Sequence[Sequence[PanelAnswer | None]]  # by seat and by test; None where not asked


class Evidence:
    """The answers of a panel, by item."""

    def __init__(self, scores: pl.DataFrame | None = None, seats: Sequence[str] = (), tests: int = 0) -> None:
        """``scores`` holds the panel's rows alone. ``tests``: how often each seat is asked about an item."""
        self.seats, self.tests = tuple(seats), tests
        self._rows: dict[str, list[list[PanelAnswer | None]]] = {}
        column = {seat: index for index, seat in enumerate(seats)}
        rows = () if scores is None else scores.select(_COLUMNS).sort("item", "model", "order", "sample").iter_rows()
        for item, model, _, _, *answer in rows:
            by_seat = self._rows.setdefault(item, [[] for _ in column])
            by_seat[column[model]].append(PanelAnswer(*answer))

    def of(self, item: str) -> Answers:
        """The answers to an item; as many positions as were to be asked."""
        by_seat = self._rows.get(item) or [[] for _ in self.seats]
        return [answers + [None] * (self.tests - len(answers)) for answers in by_seat]


def summary(
    seats: Sequence[str], hits: Sequence[int], asked: Sequence[int], answers: Iterable[PanelAnswer]
) -> dict[str, Any]:
    """Summary of the panel for a verdict: hits of answers by seat, and answers that commit to nothing by kind."""
    counts = Counter(answer.kind for answer in answers if answer.kind not in PLAIN)
    by_seat = {seat: [hit, n] for seat, hit, n in zip(seats, hits, asked, strict=True)}
    return {"seats": by_seat, **({"not_plain": dict(sorted(counts.items()))} if counts else {})}


class Seat(NamedTuple):
    """A model on a panel, and the language model it was built on, if that is known."""

    model: str
    base: str | None = None


@dataclass(frozen=True)
class FilterInput:
    """A stage, the items that it judges, and the panel's answers to them.

    These are the items that reached the stage. A filter that ``learns`` also gets those that earlier stages removed.
    """

    stage: Stage
    items: Sequence[Item]
    evidence: Evidence
    seats: Sequence[Seat] = ()
    size: int = 0  # how many seats the recipe's thresholds are meant for
    judges: Sequence[str] = ()
    ask: AskModel | None = None  # none where all answers were recorded before
    prompts: Prompts = field(default_factory=load_prompts)  # what judges are asked
    seed: int = 0
    benchmark: Benchmark | None = None  # where the items come from, for filters that use images
    notes: list[str] = field(default_factory=list)  # on all items together

    def verdict(self, item: str, verdict: VerdictKind, reason: str, **more: Any) -> Verdict:
        """A verdict of this stage."""
        evidence = more.pop("evidence", None)
        more["evidence"] = msgspec.json.encode(evidence, order="sorted").decode() if evidence else ""
        return Verdict(item=item, stage=self.stage.title, verdict=verdict, reason=reason, seed=self.seed, **more)


@dataclass(frozen=True)
class Filter:
    """A way to separate good items from bad."""

    name: str
    summary: str
    uses: frozenset[str]  # the fields of a stage that it understands, beside its name and its panel
    judge: Callable[[FilterInput], Iterator[Verdict]]  # gives one verdict for each item, in their order
    rule: Callable[[Stage, int, int, int], StoppingRule | None] = lambda stage, seats, size, tests: None
    """When asking may stop (by stage, seats, the recipe's size of the panel, tests); it holds for items that stay.
    None where every answer is needed. It refuses a stage that cannot work."""
    learns: bool = False
    """Whether its verdict on an item rests on the answers to others, because it fits a model to all of them. Such a
    filter is also given the items that earlier stages removed, so that it finds in a combination what it finds alone;
    its verdicts on them are ignored."""


FILTERS: Registry[Filter] = Registry("filter", __name__, "FILTERS", "filter")
