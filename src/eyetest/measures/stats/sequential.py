"""A benchmark mean from items drawn at random one by one, valid at any stopping time (Waudby-Smith and Ramdas). A
mean m is tested by a bet: with r the mean of the rest under m, an item of value d multiplies the stake by
1 + λ(d − r), which grows c-fold with probability 1/c at most (Ville); means not rejected are the interval.
"""

import numpy as np

from eyetest.measures.stats.intervals import Bools

_MEANS = np.linspace(-1, 1, 401)  # the means that are doubted; 0 stands in the middle
_LEVEL = len(_MEANS) // 2
_SIDES = np.array([[1], [-1]])
# Bets assume a mean so far from the doubted one: from 1.5/√items, just detectable on the whole benchmark, doubling up
# to a quarter, with equal parts of the stake
_SMALLEST_LEAD, _LARGEST_LEAD = 1.5, 0.25
_BEFOREHAND, _SPREAD = 10, 0.35  # the variance counts as known to be .35 from ten items beforehand
_RISKED = 0.9  # the most of a stake that one item may take
_ENOUGH = 2 / 0.05  # the stake that refutes a mean, on either side, at a level of .95
_MOST = 1e30  # no stake need be larger to refute a mean, which stays refuted
_ROUNDING = 1e-9


class SequentialMean:
    """The mean of values between −1 and 1 over all items (a difference, or ±1), from those seen so far."""

    def __init__(self, items: int) -> None:
        self.items, self.observed, self.total = items, 0, 0.0
        self._squares = _BEFOREHAND * _SPREAD
        doublings = max(0, int(np.log2(_LARGEST_LEAD * np.sqrt(items) / _SMALLEST_LEAD + _ROUNDING)))
        self._leads = _SMALLEST_LEAD / np.sqrt(items) * 2.0 ** np.arange(doublings + 1)
        self._stakes = np.full((2, len(_MEANS), len(self._leads)), 1 / len(self._leads))
        self._refuted: Bools = np.zeros((2, len(_MEANS)), bool)  # by side: the mean is so small, or so large

    def observe(self, value: float) -> None:
        """Take the value of the next item drawn."""
        left, known = self.items - self.observed, self.observed + _BEFOREHAND
        rest = (self.items * _MEANS - self.total) / left * _SIDES
        bold = self._leads * (self.items / left / (self._squares / known))
        shares = np.minimum(bold, (_RISKED / np.maximum(rest + 1, _ROUNDING))[..., None])
        self._stakes *= 1 + shares * (value * _SIDES - rest)[..., None]
        np.minimum(self._stakes, _MOST, out=self._stakes)
        self._squares += (value - self.total / known) ** 2
        self.observed += 1
        self.total += value
        impossible = (self.items * _MEANS - self.total) * _SIDES < self.observed - self.items - _ROUNDING
        self._refuted |= (self._stakes.sum(axis=2) >= _ENOUGH) | impossible

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the mean, at this look and all others together."""
        if self.observed == self.items:
            return self.total / self.items, self.total / self.items
        above, below = (np.flatnonzero(side) for side in self._refuted)
        return float(_MEANS[above[-1]]) if len(above) else -1.0, float(_MEANS[below[0]]) if len(below) else 1.0

    @property
    def centre(self) -> float:
        """Estimate of the mean: that of the observed values."""
        low, high = self.bounds
        return min(max(self.total / max(self.observed, 1), low), high)

    @property
    def side(self) -> int:
        """1 where the mean is certainly above 0, −1 where it is below, else 0."""
        if self.observed == self.items:
            return int(np.sign(self.total))
        return int(self._refuted[0, _LEVEL]) - int(self._refuted[1, _LEVEL])
