"""What is still answered blind, by the panel that screened and by models that had no say.

A screened benchmark looks cleaner to its own panel than to anybody else: what the panel happened to hit is gone, what
others would hit is not. The held-out figure is the honest one. A panel that stopped early was asked on where it was
wrong and spared where it was right, or the other way round, so the mean of what it said is not its accuracy: only the
answers that every item got, whatever was said, are counted.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eyetest.measures.stats.intervals import Estimate, mean
from eyetest.records import Cut, Item, StoppingRule
from eyetest.running.stopping import Waves
from eyetest.screens import Evidence, Seat


class Residual(NamedTuple):
    """Mean blind accuracy of some models on some items."""

    panel: str
    who: str
    when: str
    accuracy: Estimate
    models: int
    answers: int
    """How many answers an item it rests on."""
    asked: int
    """How many there would be if nothing stopped early."""

    @property
    def part(self) -> str:
        """Which of the panel's answers these are, where they are not all."""
        return f"the first {self.answers} of {self.asked} answers an item" if self.answers < self.asked else ""


def residual(
    told: tuple[str, str, str],
    evidence: Evidence,
    seats: Sequence[Seat],
    items: Sequence[Item],
    stopped: StoppingRule | None = None,
) -> Residual:
    """Over items and models; items are what varies, so each item's models are averaged first.

    ``told``: the panel, who of it, and when. ``stopped``: the rule by which asking may have ended early; only what
    was asked before it could is counted.
    """
    wanted = {seat.model for seat in seats}
    places = [place for place, model in enumerate(evidence.seats) if model in wanted]
    tests = {place: _unconditional(stopped, rank, len(places), evidence.tests) for rank, place in enumerate(places)}
    scores = []
    for item in items:
        answers = evidence.of(item.id)
        known = [
            float(right)
            for place in places
            for said in answers[place][: tests[place]]
            if said is not None and (right := said.is_right({"any": Cut(op=">=", value=1)})) is not None
        ]
        if known:
            scores.append(float(np.mean(known)))
    models = sum(count > 0 for count in tests.values())
    return Residual(*told, mean(scores), models, sum(tests.values()), len(places) * evidence.tests)


def _unconditional(rule: StoppingRule | None, rank: int, seats: int, tests: int) -> int:
    """How many tests of a seat are asked of every item: all, or those of the first wave under a stopping rule."""
    if rule is None:
        return tests
    return sum(seat == rank for seat, _ in Waves(rule, [tests] * seats).wave())
