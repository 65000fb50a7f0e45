"""Runs that end when something is known well enough: who of two models leads, for one.

Items are heard one after the other in an order of the goal's own; what is asked next may depend on what the earlier
ones said, never on when.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from eyetest.errors import InputError, heading, nearest, short
from eyetest.measures.stats.sequential import Lot, SequentialMean
from eyetest.records import Item
from eyetest.running.planning import Plan
from eyetest.wording import counted

Hits = Mapping[str, bool | None]
"""By model: whether its answer to an item is right; None where it has no score."""


class Goal(Protocol):
    """What a run is after. It is told of items in the order in which it gave them."""

    words: str
    """What is kept with the run: what it was asked for, and until when."""

    def items(self, plan: Plan) -> Iterator[Item]:
        """The items to ask about, each when it is needed."""

    def heard(self, hits: Hits) -> None:
        """What came of the next item."""

    @property
    def is_over(self) -> bool:
        """Whether another item could not change anything."""

    @property
    def told(self) -> str:
        """What is known, and how many items that took."""


class ScoreBounds(NamedTuple):
    """A model's score on the whole benchmark, and between what it lies at all looks together."""

    model: str
    score: float
    low: float
    high: float


class Race:
    """Items are put to two models in an order drawn by lot, until one leads on the whole benchmark for certain."""

    def __init__(self, words: str, models: Sequence[str]) -> None:
        """``words``: the two models, as ``A>B``."""
        self.words, self._names = words, _two(words, models)
        self._unknown = 0

    def draw(self, plan: Plan, seed: int, worth: Mapping[str, float]) -> None:
        """Bring the plan into the order of the lot. ``worth``, by item: how much likelier than others it comes."""
        positions, known = plan.positions, None
        if worth:
            ids = plan.benchmark.table(["id"]).column("id").to_pylist()
            usual = float(np.mean(list(worth.values())))
            known = [worth.get(ids[position], usual) for position in positions]
        lot = Lot(len(positions), seed, known)
        plan.positions = [positions[place] for place in lot.order.tolist()]
        self._lead, *self._scores = (SequentialMean(lot) for _ in range(3))

    def items(self, plan: Plan) -> Iterator[Item]:
        """The items as the lot has them."""
        return plan.items()

    def heard(self, hits: Hits) -> None:
        """What came of the next item. Where one of both has no score, they are level on it."""
        found = [hits.get(name) for name in self._names]
        is_known = None not in found
        self._unknown += not is_known
        self._lead.hear(float(bool(found[0])) - float(bool(found[1])) if is_known else 0.0)
        for score, hit in zip(self._scores, found, strict=True):
            score.hear(1.0 if hit else -1.0)

    @property
    def is_over(self) -> bool:
        """Whether the next item could not change anything."""
        return bool(self._lead.side) or self._lead.heard == self._lead.items

    @property
    def lead(self) -> tuple[float, float]:
        """Between what the score of the first model less that of the second lies."""
        return self._lead.bounds

    @property
    def leader(self) -> str:
        """Who leads for certain; nobody's name while that is open, or where they are level."""
        return {1: self._names[0], -1: self._names[1]}.get(self._lead.side, "")

    @property
    def heard_of(self) -> tuple[int, int]:
        """How many items it took so far, and how many there are."""
        return self._lead.heard, self._lead.items

    @property
    def scores(self) -> list[ScoreBounds]:
        """Between what the score of each model lies. Where it has none on an item, it counts as wrong."""
        values = [((end + 1) / 2 for end in (score.centre, *score.bounds)) for score in self._scores]
        return [ScoreBounds(name, *ends) for name, ends in zip(self._names, values, strict=True)]

    @property
    def told(self) -> str:
        """Who leads, by how much, and how many items that took."""
        lead, (first, second) = self._lead, self._names
        low, high = lead.bounds
        if lead.side < 0:
            first, second, low, high = second, first, -high, -low
        of_all = f"{lead.heard:,} of {counted(lead.items, 'item')}"
        between = f"between {_points(low)} and {_points(high)} points"
        told = f"after {of_all} nobody leads for certain: {first} is {between} ahead of {second}"
        if lead.side:
            told = f"{first} leads {second} on the whole benchmark, by {between}, which {of_all} made certain at 95 %"
        if lead.heard == lead.items:
            on_all = f"on all {counted(lead.items, 'item')}"
            told = f"{first} and {second} are level {on_all}"
            if lead.side:
                told = f"{first} leads {second} by {_points(low)} points {on_all}"
        return told + (
            f"; on {self._unknown:,} that one of both has no score on, they count as level" if self._unknown else ""
        )


def _two(words: str, models: Sequence[str]) -> tuple[str, str]:
    """The two models that some words name, of those that are asked."""
    names = [name.strip() for name in words.split(">")]
    if len(names) != 2 or names[0] == names[1]:
        raise InputError(f"{heading('until')}: found {short(words)}, expected two models, as A>B")
    for name in names:
        if name not in models:
            raise InputError(f"{heading('until')}: no model {short(name)} in this run; {nearest(name, models)}")
    if len(models) > 2:
        raise InputError(f"{heading('until')}: two models race, and {len(models)} are asked")
    return names[0], names[1]


def _points(share: float) -> str:
    return f"{100 * share:.1f}".replace("-", "−")
