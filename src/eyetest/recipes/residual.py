"""What is still answered blind, by the panel that screened and by models that had no say.

A screened benchmark looks cleaner to its own panel than to anybody else: what the panel happened to hit is gone, what
others would hit is not. The held-out figure is the honest one. A panel that stopped early was asked on where it was
wrong and spared where it was right, or the other way round, so the mean of what it said is not its accuracy: only the
answers that every item got, whatever was said, are counted.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from eyetest.measures.stats.intervals import Estimate, mean
from eyetest.records import Cut, Item
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
        if not self.answers:
            return f"none of {self.asked} answers an item"
        return f"the first {self.answers} of {self.asked} answers an item" if self.answers < self.asked else ""


def asked_of_all(evidence: Evidence, seats: Sequence[Seat], items: Sequence[Item]) -> dict[int, int]:
    """By the place of each seat, how many of its tests every item got. Where no item lacks any, that is all."""
    wanted = {seat.model for seat in seats}
    places = [place for place, model in enumerate(evidence.seats) if model in wanted]
    heard = [[sum(said is not None for said in evidence.of(item.id)[place]) for place in places] for item in items]
    return dict(zip(places, np.array(heard).min(axis=0).tolist(), strict=True)) if heard else dict.fromkeys(places, 0)


def residual(
    told: tuple[str, str, str], evidence: Evidence, tests: Mapping[int, int], items: Sequence[Item]
) -> Residual:
    """Over items and models; items are what varies, so each item's models are averaged first.

    ``told``: the panel, who of it, and when. ``tests``: how many tests of each seat count (`asked_of_all`).
    """
    scores = []
    for item in items:
        answers = evidence.of(item.id)
        known = [
            float(right)
            for place, count in tests.items()
            for said in answers[place][:count]
            if said is not None and (right := said.is_right({"any": Cut(op=">=", value=1)})) is not None
        ]
        if known:
            scores.append(float(np.mean(known)))
    models = sum(count > 0 for count in tests.values())
    return Residual(*told, mean(scores), models, sum(tests.values()), len(tests) * evidence.tests)
