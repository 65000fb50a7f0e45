"""Sets of candidates as they could have been drawn around any of their members.

Numbers that reach as far above the gold as below it point at it, however many come from each side: with one below
and eight above, the lone one is far away; and what is a tenth of the largest cannot be the gold. So numbers are drawn
from a stretch of the number line in which the gold lies anywhere, and keep the distance from each other that guards
make them keep from the gold.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from eyetest.harden.options.writers.numbers import FURTHEST, SMALL
from eyetest.reform.distractors.quantities import TOO_NEAR

Floats = NDArray[np.float64]
SETS = 48
"""Sets of candidates that are drawn for each item at a time."""
_NARROWEST = 0.5
"""The shortest stretch as a share of the longest, which spans as much as a candidate may be off."""
_LOYALTY = 0.7
"""How far ahead of others those are who were given before, in lots from 0 to 1."""
_FRESH = 0.25
"""The share of sets that are drawn as if none had been given before."""


class SetDrawer:
    """Draws sets of an item's candidates, which follow the gold and the other fixed options in ``values``."""

    def __init__(self, need: int, candidates: int, values: Floats | None, unit: float) -> None:
        self._need = need
        self._count = candidates
        self._logs: Floats | None = None
        self._close = [0] * candidates
        if values is not None and candidates:
            self._logs = np.copysign(np.log(np.abs(values) / unit / SMALL + 1), values)
            self._close = _close_ones(values, candidates)

    def draw(self, given: Sequence[int], luck: np.random.Generator) -> list[list[int]]:
        """Different sets; what was given before comes first and is in most of them to a large part."""
        lots = luck.random((SETS, self._count))
        loyal = luck.random(SETS) >= _FRESH
        lots[:, given] -= _LOYALTY * loyal[:, None]
        if self._logs is not None:
            outside = self._outside(self._logs, luck)
            lots = np.where(outside > 0, 1 + outside, lots)
        sets = {tuple(sorted(given)): list(given)} if given else {}
        for order in np.argsort(lots, axis=1, kind="stable").tolist():
            taken = self._apart(order)
            sets.setdefault(tuple(sorted(taken)), taken)
        return list(sets.values())

    def _outside(self, logs: Floats, luck: np.random.Generator) -> Floats:
        """Sets × candidates: how far each is from the stretch of each set, which holds all that is fixed."""
        fixed, drawn = logs[: -self._count], logs[-self._count :]
        low, high = float(fixed.min()), float(fixed.max())
        widths = luck.uniform(_NARROWEST, 1, SETS) * np.log(float(FURTHEST))
        room = np.maximum(widths - (high - low), 0)
        starts = low - luck.random(SETS) * room
        ends = starts + (high - low) + room
        return np.asarray(np.maximum(starts[:, None] - drawn, drawn - ends[:, None]))

    def _apart(self, order: Sequence[int]) -> list[int]:
        """The first that are not close to each other; where these are too few, the first of the others."""
        taken: list[int] = []
        passed: list[int] = []
        chosen = 0
        for one in order:
            if len(taken) == self._need:
                break
            if chosen & self._close[one]:
                passed.append(one)
            else:
                taken.append(one)
                chosen |= 1 << one
        return taken + passed[: self._need - len(taken)]


def _close_ones(values: Floats, candidates: int) -> list[int]:
    """For each candidate, as bits, those that are closer to it than any is to the gold and than guards allow."""
    sizes = np.maximum(np.abs(values[:, None]), np.abs(values))
    apart = np.abs(values[:, None] - values) / np.maximum(sizes, 1e-12)
    least = min(float(TOO_NEAR), float(apart[0, -candidates:].min()))
    close = apart[-candidates:, -candidates:] < least - 1e-9
    return [sum(1 << other for other in np.flatnonzero(row).tolist()) for row in close]
