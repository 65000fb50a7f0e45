"""A mean over a whole benchmark, from items drawn by lot one after the other: valid however often one looks.

The values of all items are a fixed population of which some have been seen, so nothing is assumed about models,
pictures that items share, or how rare a difference is; chance lies in the lot alone. Whoever doubts a mean m can bet
against it: with r the mean that the rest would have under m, one item multiplies the stake by 1 + λ(d − r). Were the
mean m or less, the stake would grow c-fold at any time with a chance of 1/c at most (Ville), which is the test; the
means that are not yet refuted are the interval (Waudby-Smith and Ramdas).

A lot need not be even. Where some items are likelier to come next, what they say is divided by how much likelier, and
in the mean the rest says r as before; so the bets stay fair, whatever the chances were learnt from.
"""

import numpy as np
from numpy.typing import ArrayLike

from eyetest.measures.stats.intervals import Bools, Floats

_MEANS = np.linspace(-1, 1, 401)
"""The means that are doubted; 0 stands in the middle."""
_LEVEL = len(_MEANS) // 2
_SIDES = np.array([[1], [-1]])
_SMALLEST_LEAD, _LARGEST_LEAD = 1.5, 0.25
"""Bets are made as if the mean lay so far from the one that is doubted: from 1.5/√items, which the whole benchmark
could just tell, doubling up to a quarter. Each has an equal part of the stake."""
_BEFOREHAND, _SPREAD = 10, 0.35
"""The variance of values counts as known to be .35 from ten items, before any is heard."""
_RISKED = 0.9
"""The most of a stake that one item may take."""
_MOST = 1e30
"""No stake need be larger to refute a mean, which stays refuted."""
_ROUNDING = 1e-9
_LEAST_CHANCE = 0.5
"""No item is less than half as likely as the mean one: what is divided by a small chance would drown the rest."""


class Lot:
    """The order in which items come, and how much each then counts: those likelier than the others count less."""

    def __init__(self, items: int, seed: int, worth: ArrayLike | None = None) -> None:
        """``worth``: how much likelier than the others each item is to come next; all alike without it."""
        rng = np.random.default_rng(seed)
        if worth is None:
            self.order, chances = rng.permutation(items), np.ones(items)
        else:
            given = np.asarray(worth, float)
            likely = np.maximum(given / given.mean(), _LEAST_CHANCE)
            self.order = np.argsort(rng.exponential(size=items) / likely, kind="stable")
            chances = likely[self.order]
        mean = np.cumsum(chances[::-1])[::-1] / np.arange(items, 0, -1)
        self.weights: Floats = mean / chances
        """By place in the order: how much likelier a mean item of the rest was than the one that came."""
        self.heaviest: Floats = mean / np.minimum.accumulate(chances[::-1])[::-1]
        """By place: the largest weight that could have come."""


def likely_to_differ(scores: ArrayLike) -> Floats:
    """How far two models such as a panel's may be expected to differ on each item: √(p(1 − p)) of its share right.

    ``scores`` has a row an item and a column a model, from 0 to 1, nan where a model was not asked.
    """
    table = np.asarray(scores, float)
    right = (np.nansum(table, axis=1) + 0.5) / ((~np.isnan(table)).sum(axis=1) + 1.0)
    return np.asarray(np.sqrt(right * (1 - right)), float)


class SequentialMean:
    """The mean of values between −1 and 1 over all items, as far as those heard so far tell it.

    For the lead of A over B these are their differences; for a score they are 1 where it is right and −1 where not.
    """

    def __init__(self, lot: Lot, level: float = 0.95) -> None:
        """``lot``: in which order the items are heard."""
        self._lot, self.items, self.heard, self.total = lot, len(lot.order), 0, 0.0
        self._squares, self._enough = _BEFOREHAND * _SPREAD, 2 / (1 - level)
        self._weighed, self._weight = 0.0, 0.0
        doublings = max(0, int(np.log2(_LARGEST_LEAD * np.sqrt(self.items) / _SMALLEST_LEAD + _ROUNDING)))
        self._leads = _SMALLEST_LEAD / np.sqrt(self.items) * 2.0 ** np.arange(doublings + 1)
        self._stakes = np.full((2, len(_MEANS), doublings + 1), 1 / (doublings + 1))
        self._refuted: Bools = np.zeros((2, len(_MEANS)), bool)
        """By side: that the mean is so small, and that it is so large."""

    def hear(self, value: float) -> None:
        """The value of the next item of the lot."""
        weight, heaviest = self._lot.weights[self.heard], self._lot.heaviest[self.heard]
        left, known = self.items - self.heard, self.heard + _BEFOREHAND
        usual = self.total / known
        said = usual + weight * (value - usual)
        rest = (self.items * _MEANS - self.total) / left * _SIDES
        worst = rest + heaviest * (1 + usual * _SIDES) - usual * _SIDES
        bold = self._leads * (self.items / left / (self._squares / known))
        shares = np.minimum(bold, (_RISKED / np.maximum(worst, _ROUNDING))[..., None])
        self._stakes *= 1 + shares * (said * _SIDES - rest)[..., None]
        np.minimum(self._stakes, _MOST, out=self._stakes)
        self.heard += 1
        self.total += value
        self._weighed += weight * value
        self._weight += weight
        self._squares += (said - usual) ** 2
        impossible = (self.items * _MEANS - self.total) * _SIDES < self.heard - self.items - _ROUNDING
        self._refuted |= (self._stakes.sum(axis=2) >= self._enough) | impossible

    @property
    def bounds(self) -> tuple[float, float]:
        """Between what the mean lies, at this look and all others together."""
        if self.heard == self.items:
            return self.total / self.items, self.total / self.items
        above, below = (np.flatnonzero(side) for side in self._refuted)
        return float(_MEANS[above[-1]]) if len(above) else -1.0, float(_MEANS[below[0]]) if len(below) else 1.0

    @property
    def centre(self) -> float:
        """Where the mean seems to lie: what was heard, each as much as it counts."""
        low, high = self.bounds
        return min(max(self._weighed / self._weight if self.heard else 0.0, low), high)

    @property
    def side(self) -> int:
        """1 where the mean is above 0 for certain, −1 where it is below, else 0."""
        if self.heard == self.items:
            return int(np.sign(self.total))
        return int(self._refuted[0, _LEVEL]) - int(self._refuted[1, _LEVEL])
