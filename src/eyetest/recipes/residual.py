"""What is still answered blind, by the panel that screened and by models that had no say.

A screened benchmark looks cleaner to its own panel than to anybody else: what the panel happened to hit is gone, what
others would hit is not. The held-out figure is the honest one.
"""

from collections.abc import Sequence
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


def residual(
    panel: str, who: str, when: str, evidence: Evidence, seats: Sequence[Seat], items: Sequence[Item]
) -> Residual:
    """Over items and models; items are what varies, so each item's models are averaged first."""
    wanted = {seat.model for seat in seats}
    places = [place for place, model in enumerate(evidence.seats) if model in wanted]
    scores = []
    for item in items:
        answers = evidence.of(item.id)
        known = [
            float(right)
            for place in places
            for said in answers[place]
            if said is not None and (right := said.is_right({"any": Cut(op=">=", value=1)})) is not None
        ]
        if known:
            scores.append(float(np.mean(known)))
    return Residual(panel, who, when, mean(scores), len(places))
