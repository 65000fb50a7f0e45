"""Runs that end when a question is decided, such as which of two models leads.

Items are counted one after the other in the goal's order; what is asked next may depend on earlier results, never on
their timing.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from eyetest.errors import InputError, heading, nearest, short
from eyetest.measures.stats.sequential import Lot, SequentialMean
from eyetest.records import Item
from eyetest.running.planning import Plan
from eyetest.wording import counted

Hits = Mapping[str, bool | None]  # by model: whether its answer to an item is right; None without a score


class Goal(Protocol):
    """The goal of a run. It receives results in the order in which it gave the items."""

    words: str  # stored with the run: the goal and its end

    def items(self, plan: Plan) -> Iterator[Item]:
        """The items to ask about, each when it is needed."""

    def observed(self, hits: Hits) -> None:
        """Record the result of the next item."""

    @property
    def is_over(self) -> bool:
        """Whether another item could not change anything."""

    @property
    def told(self) -> str:
        """The finding, and how many items it took."""


class ScoreBounds(NamedTuple):
    """A model's score on the whole benchmark, with bounds that hold at all looks together."""

    model: str
    score: float
    low: float
    high: float


class Race:
    """Puts items to two models in random order, until one leads on the whole benchmark with certainty."""

    def __init__(self, words: str, models: Sequence[str]) -> None:
        """``words``: the two models, as ``A>B``."""
        self.words, self._names = words, _two(words, models)
        self._unknown = 0

    def draw(self, plan: Plan, seed: int, worth: Mapping[str, float]) -> None:
        """Put the plan into random order. ``worth``, by item: its weight."""
        positions, known = plan.positions, None
        if worth:
            ids = plan.benchmark.table(["id"]).column("id").to_pylist()
            usual = float(np.mean(list(worth.values())))
            known = [worth.get(ids[position], usual) for position in positions]
        lot = Lot(len(positions), seed, known)
        plan.positions = [positions[place] for place in lot.order.tolist()]
        self._lead, *self._scores = (SequentialMean(lot) for _ in range(3))

    def items(self, plan: Plan) -> Iterator[Item]:
        """The items in the random order."""
        return plan.items()

    def observed(self, hits: Hits) -> None:
        """Record the result of the next item. Where either model has no score, they tie."""
        found = [hits.get(name) for name in self._names]
        is_known = None not in found
        self._unknown += not is_known
        self._lead.observe(float(bool(found[0])) - float(bool(found[1])) if is_known else 0.0)
        for score, hit in zip(self._scores, found, strict=True):
            score.observe(1.0 if hit else -1.0)

    @property
    def is_over(self) -> bool:
        """Whether the next item could not change anything."""
        return bool(self._lead.side) or self._lead.observed == self._lead.items

    @property
    def lead(self) -> tuple[float, float]:
        """Bounds of the first model's score minus the second's."""
        return self._lead.bounds

    @property
    def leader(self) -> str:
        """The certain leader; empty while open or where they tie."""
        return {1: self._names[0], -1: self._names[1]}.get(self._lead.side, "")

    @property
    def observed_of(self) -> tuple[int, int]:
        """The number of items so far, and of all."""
        return self._lead.observed, self._lead.items

    @property
    def scores(self) -> list[ScoreBounds]:
        """Bounds of each model's score; an item without one counts as wrong."""
        values = [((end + 1) / 2 for end in (score.centre, *score.bounds)) for score in self._scores]
        return [ScoreBounds(name, *ends) for name, ends in zip(self._names, values, strict=True)]

    @property
    def told(self) -> str:
        """The leader, the lead, and how many items it took."""
        lead, (first, second) = self._lead, self._names
        low, high = lead.bounds
        if lead.side < 0:
            first, second, low, high = second, first, -high, -low
        items = counted(lead.items, "item")
        between = f"between {_points(low)} and {_points(high)} points"
        if lead.observed == lead.items and lead.side:
            text = f"{first} leads {second} by {_points(low)} points on all {items}"
        elif lead.observed == lead.items:
            text = f"{first} and {second} are level on all {items}"
        elif lead.side:
            after = f"which {lead.observed:,} of {items} made certain at 95 %"
            text = f"{first} leads {second} on the whole benchmark, by {between}, {after}"
        else:
            text = (
                f"after {lead.observed:,} of {items} none leads for certain: {first} is {between} ahead of {second}"
            )
        unknown = f"; on {self._unknown:,} that one of both has no score on, they count as level"
        return text + unknown if self._unknown else text


def _two(words: str, models: Sequence[str]) -> tuple[str, str]:
    """The two models named by a text, of those that are asked."""
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
