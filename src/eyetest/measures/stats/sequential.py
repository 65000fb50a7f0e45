"""Who leads on a whole benchmark, from items drawn by lot one after the other: valid however often one looks.

The differences of all items are a fixed population of which some have been seen, so nothing is assumed about models,
pictures that items share, or how rare a difference is; chance lies in the lot alone. Whoever doubts a mean m can bet
against it: with r the mean that the rest would have under m, and a share f of the stake, one item multiplies the
stake by 1 − f + f(1 + d)/(1 + r). Were the mean m or less, the stake would grow c-fold at any time with a chance of
1/c at most (Ville), which is the test; the means that are not yet refuted are the interval (Waudby-Smith and Ramdas).
"""

import numpy as np

from eyetest.measures.stats.intervals import Bools

_SHARES = np.array([0.05, 0.1, 0.2, 0.35, 0.55, 0.8])
"""Of the stake: small ones find small leads late, large ones large leads early. Each has an equal part of it."""
_MEANS = np.linspace(-1, 1, 401)
"""The means that are doubted; 0 stands in the middle."""
_LEVEL = len(_MEANS) // 2
_MOST = 1e30
"""No stake need be larger to refute a mean, which stays refuted."""
_ROUNDING = 1e-9


class SequentialLead:
    """The lead of A over B on all items, as far as the differences heard so far tell it."""

    def __init__(self, items: int, level: float = 0.95) -> None:
        """``items``: how many there are in all, of which those heard of are drawn by lot without replacement."""
        self.items, self.heard, self.total = items, 0, 0.0
        self._enough = 2 / (1 - level)
        self._stakes = {side: np.full((len(_MEANS), len(_SHARES)), 1 / len(_SHARES)) for side in (1, -1)}
        self._refuted: dict[int, Bools] = {side: np.zeros(len(_MEANS), bool) for side in (1, -1)}

    def hear(self, difference: float) -> None:
        """The score of A less that of B on the next item of the lot, between −1 and 1."""
        rest = (self.items * _MEANS - self.total) / (self.items - self.heard)
        self.heard += 1
        self.total += difference
        left = self.items - self.heard
        for side in self._stakes:
            grown = (1 + side * difference) / np.maximum(1 + side * rest, _ROUNDING)
            stakes = self._stakes[side] * (1 - _SHARES + _SHARES * grown[:, None])
            self._stakes[side] = np.minimum(stakes, _MOST)
            impossible = side * (self.items * _MEANS - self.total) < -left - _ROUNDING
            self._refuted[side] |= (stakes.sum(axis=1) >= self._enough) | impossible

    @property
    def bounds(self) -> tuple[float, float]:
        """Between what the lead lies, at this look and all others together."""
        if self.heard == self.items:
            return self.total / self.items, self.total / self.items
        above, below = np.flatnonzero(self._refuted[1]), np.flatnonzero(self._refuted[-1])
        return float(_MEANS[above[-1]]) if len(above) else -1.0, float(_MEANS[below[0]]) if len(below) else 1.0

    @property
    def leader(self) -> int:
        """1 where A leads for certain, −1 where B does, else 0."""
        if self.heard == self.items:
            return int(np.sign(self.total))
        return int(self._refuted[1][_LEVEL]) - int(self._refuted[-1][_LEVEL])
