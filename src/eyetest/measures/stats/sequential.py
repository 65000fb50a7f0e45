"""A benchmark mean from items drawn at random one by one, valid at any stopping time (Waudby-Smith and Ramdas). A
mean m is tested by a bet: with r the mean of the rest under m, an item multiplies the stake by 1 + λ(d − r), which
grows c-fold with probability 1/c at most (Ville); means not rejected are the interval. Where items have predictions,
d is the mean prediction of the rest plus the item's deviation from its own: unbiased whatever is predicted, so a
poor prediction costs items and never validity. Where some items are likelier to be drawn, that deviation is divided
by the item's relative probability.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from eyetest.measures.stats.intervals import Bools, Floats

_MEANS = np.linspace(-1, 1, 401)  # the means that are doubted; 0 stands in the middle
_LEVEL = len(_MEANS) // 2
_SIDES = np.array([[1], [-1]])
# Bets assume a mean so far from the doubted one: from 1.5/√items, just detectable on the whole benchmark, doubling up
# to a quarter, with equal parts of the stake
_SMALLEST_LEAD, _LARGEST_LEAD = 1.5, 0.25
_BEFOREHAND, _SPREAD = 10, 0.35  # the variance counts as known to be .35 from ten items beforehand
_RISKED = 0.9  # the most of a stake that one item may take
_MOST = 1e30  # no stake need be larger to refute a mean, which stays refuted
_ROUNDING = 1e-9
LEAST_CHANCE = 0.5  # no item is less than half as likely as the mean one, as values are divided by it


class Lot:
    """The order of items, and their weights: those likelier than the others count less."""

    def __init__(self, items: int, seed: int, worth: ArrayLike | None = None) -> None:
        """``worth``: how much likelier than the others each item is to come next; equal without it."""
        rng, self.items = np.random.default_rng(seed), items
        if worth is None:
            self.order, chances = rng.permutation(items), np.ones(items)
        else:
            given = np.asarray(worth, float)
            likely = np.maximum(given / given.mean(), LEAST_CHANCE)
            self.order = np.argsort(rng.exponential(size=items) / likely, kind="stable")
            chances = likely[self.order]
        mean = np.cumsum(chances[::-1])[::-1] / np.arange(items, 0, -1)
        self.weights: Floats = mean / chances
        """By place in the order: how much likelier a mean item of the rest was than the drawn one."""
        self.heaviest: Floats = mean / np.minimum.accumulate(chances[::-1])[::-1]
        """By place: the largest weight possible."""


def likely_to_differ(scores: ArrayLike) -> Floats:
    """How far two models may differ on each item: √(p(1 − p)) of its share right (items × models)."""
    table = np.asarray(scores, float)
    right = (np.nansum(table, axis=1) + 0.5) / ((~np.isnan(table)).sum(axis=1) + 1.0)
    return np.asarray(np.sqrt(right * (1 - right)), float)


class SequentialMean:
    """The mean of values between −1 and 1 over all items (a difference, or ±1), from those seen so far."""

    def __init__(
        self, items: int, level: float = 0.95, leads: Sequence[float] | None = None, lot: Lot | None = None
    ) -> None:
        """``leads``: the distances from the mean at which others are best rejected, if they are known."""
        self.items, self.observed, self.total = items, 0, 0.0
        self._weights, self._heaviest = (lot.weights, lot.heaviest) if lot else (np.ones(items), np.ones(items))
        self._squares, self._enough = _BEFOREHAND * _SPREAD, 2 / (1 - level)
        doublings = max(0, int(np.log2(_LARGEST_LEAD * np.sqrt(self.items) / _SMALLEST_LEAD + _ROUNDING)))
        usual_leads = _SMALLEST_LEAD / np.sqrt(self.items) * 2.0 ** np.arange(doublings + 1)
        self._leads = usual_leads if leads is None else np.asarray(leads, float)
        self._weighed = 0.0
        self._stakes = np.full((2, len(_MEANS), len(self._leads)), 1 / len(self._leads))
        self._refuted: Bools = np.zeros((2, len(_MEANS)), bool)  # by side: the mean is so small, or so large

    def observe(self, value: float, predicted: Floats | None = None) -> None:
        """Take the value of the next item drawn. ``predicted``: of the items left, this one first."""
        left, known = self.items - self.observed, self.observed + _BEFOREHAND
        usual = np.full(1, self.total / known) if predicted is None else predicted
        weight, heaviest = self._weights[self.observed], self._heaviest[self.observed]
        moved, expected = weight * (value - usual[0]), usual.mean()
        rest = (self.items * _MEANS - self.total) / left * _SIDES
        ends = heaviest * (1 + usual.max()) - expected, heaviest * (1 - usual.min()) + expected
        worst = rest + np.array(ends)[:, None]
        bold = self._leads * (self.items / left / (self._squares / known))
        shares = np.minimum(bold, (_RISKED / np.maximum(worst, _ROUNDING))[..., None])
        self._stakes *= 1 + shares * ((expected + moved) * _SIDES - rest)[..., None]
        np.minimum(self._stakes, _MOST, out=self._stakes)
        self.observed += 1
        self.total += value
        self._weighed += weight * value
        self._squares += moved**2
        impossible = (self.items * _MEANS - self.total) * _SIDES < self.observed - self.items - _ROUNDING
        self._refuted |= (self._stakes.sum(axis=2) >= self._enough) | impossible

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the mean, at this look and all others together."""
        if self.observed == self.items:
            return self.total / self.items, self.total / self.items
        above, below = (np.flatnonzero(side) for side in self._refuted)
        return float(_MEANS[above[-1]]) if len(above) else -1.0, float(_MEANS[below[0]]) if len(below) else 1.0

    @property
    def centre(self) -> float:
        """Estimate of the mean: the observed values by their weights."""
        low, high = self.bounds
        return min(max(self._weighed / self._weights[: self.observed].sum() if self.observed else 0.0, low), high)

    @property
    def side(self) -> int:
        """1 where the mean is certainly above 0, −1 where it is below, else 0."""
        if self.observed == self.items:
            return int(np.sign(self.total))
        return int(self._refuted[0, _LEVEL]) - int(self._refuted[1, _LEVEL])
