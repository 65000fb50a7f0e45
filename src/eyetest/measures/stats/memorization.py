"""Memory of a test: which of a family's items is the original, by how strongly a model holds the gold of each one.

``held``: families × members, the original first, nan where there is no member.
"""

from typing import NamedTuple

import numpy as np
import scipy

from eyetest.measures.stats.intervals import Floats, IntervalEstimate
from eyetest.measures.stats.paired import paired, with_imaginary_items

ALPHA, POWER = 0.01, 0.8  # of the smallest detectable dose
REMEMBERED, HALF = 0.9, 0.5  # probability of a gold that was seen thirty times, and ten times
_FLOOR = -30.0  # log-likelihood of an impossible option
_CELLS_AT_ONCE = 2**20
_ROUNDING = 1e-9
_DOSES = np.concatenate([[0.0], np.geomspace(0.0005, 1.0, 100)])
_RISES = np.array((0.13, 0.25, 0.5, 0.7, 1.1, 1.5, 2.0, 2.5, 3.3, 4.0, 5.7))
"""Bins of how far the log-odds of a gold are above chance."""
_FIRM = np.linspace(0.7, 7.0, 16)  # mean rise of the golds that are remembered: their odds double at least
_SPREADS = (0.4, 0.8, 1.6, 2.4)
_ROUNDS, _NEVER = 12, 1e-300
_AT_LEAST_REMEMBERED = 0.5  # of the items that were seen; the upper bound of a dose allows for it


def without_letters(logs: Floats) -> Floats:
    """Probability of each option (columns; nan: none) after the mean log-likelihood of each letter is subtracted."""
    there = ~np.isnan(logs)
    known = np.where(there, np.maximum(np.nan_to_num(logs), _FLOOR), -np.inf)
    known -= scipy.special.logsumexp(known, axis=1, keepdims=True)
    means = np.where(there, known, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.asarray(scipy.special.softmax(np.where(there, known - means, -np.inf), axis=1))


class Redrawn(NamedTuple):
    """The sum over originals, and the sums if the original of each family is drawn anew."""

    observed: float
    sums: Floats
    drawn: bool  # whether sums are draws, or else all there are

    @property
    def p(self) -> float:
        """Probability of a sum as large, exact for any number of draws."""
        return float(self.drawn + (self.sums > self.observed - _ROUNDING).sum()) / (self.drawn + len(self.sums))


def redrawn(held: Floats, draws: int, seed: int) -> Redrawn:
    """The randomisation test: if the model does not know it, each member of a family may be its original.

    Exact where the answer key of the original was drawn evenly among the editions; nothing is assumed of the model.
    """
    values, sizes = np.nan_to_num(held), (~np.isnan(held)).sum(axis=1)
    varied = (np.nanmax(held, axis=1) - np.nanmin(held, axis=1)) > _ROUNDING
    rows, counts, constant = values[varied], sizes[varied], float(values[~varied, 0].sum())
    observed = float(values[:, 0].sum())
    if np.log2(counts).sum() <= np.log2(draws):
        every = np.array([constant])
        for own, count in zip(rows, counts, strict=True):
            every = np.add.outer(every, own[:count]).ravel()
        return Redrawn(observed, every, drawn=False)
    rng, sums = np.random.default_rng(seed), []
    at_once = max(1, _CELLS_AT_ONCE // len(rows))
    for start in range(0, draws, at_once):
        drawn = (rng.random((min(at_once, draws - start), len(rows))) * counts).astype(int)
        sums.append(rows[np.arange(len(rows)), drawn].sum(axis=1) + constant)
    return Redrawn(observed, np.concatenate(sums), drawn=True)


def dose(held: Floats, chances: Floats, level: float, p: float) -> IntervalEstimate:
    """Share of originals that were seen. The lower end is 0 unless the test finds memory, and the upper one allows
    that only half of what was seen is remembered. ``chances``: by family.
    """
    share = _mixed if ((held > 0) & (held < 1)).sum() * 2 > (~np.isnan(held)).sum() else _chosen
    value, low, high, n = share(held, chances, level)
    high = min(1.0, high / _AT_LEAST_REMEMBERED) if high is not None else 1.0
    return IntervalEstimate(value, low if p < (1 - level) / 2 else 0.0, high, n)


def _chosen(held: Floats, _: Floats, level: float) -> IntervalEstimate:
    """From choices: golds of originals are chosen more often than those of twins by the share that is remembered."""
    pair = with_imaginary_items(paired(held[:, 0], np.nanmean(held[:, 1:], axis=1), level=level), level)
    value, low = max(0.0, pair.difference or 0.0), max(0.0, pair.low or 0.0)
    return IntervalEstimate(value, low, None if pair.high is None else max(value, pair.high), pair.n)


def _mixed(held: Floats, chances: Floats, level: float) -> IntervalEstimate:
    """From probabilities: golds of unseen originals are held as those of twins, whatever that is, and remembered ones
    more firmly; the interval is that of the profile likelihood.
    """
    rises = scipy.special.logit(held) - scipy.special.logit(chances)[:, None]
    bins, count = np.searchsorted(_RISES, rises), len(_RISES) + 1
    edges = np.array([(_RISES - rise) / spread for rise in _FIRM for spread in _SPREADS])
    seen = np.diff(scipy.special.ndtr(edges), prepend=0.0, append=1.0)
    golds = np.bincount(bins[:, 0], minlength=count).astype(float)
    twins = np.bincount(bins[:, 1:][~np.isnan(held[:, 1:])], minlength=count).astype(float)
    share, unseen = _DOSES[:, None, None], np.broadcast_to(golds + twins, (len(_DOSES), *seen.shape))
    unseen = unseen / unseen.sum(axis=-1, keepdims=True)
    for _ in range(_ROUNDS):  # EM: how unseen golds are held
        own = (1 - share) * unseen
        unseen = twins + golds * own / np.maximum(own + share * seen, _NEVER)
        unseen /= unseen.sum(axis=-1, keepdims=True)
    mixed = np.maximum((1 - share) * unseen + share * seen, _NEVER)
    fits = (twins * np.log(np.maximum(unseen, _NEVER)) + golds * np.log(mixed)).sum(axis=-1).max(axis=1)
    inside = _DOSES[fits >= fits.max() - float(scipy.special.chdtri(1, 1 - level)) / 2]
    return IntervalEstimate(float(_DOSES[fits.argmax()]), float(inside.min()), float(inside.max()), len(held))


def detectable(null: Redrawn, sizes: Floats, gain: float) -> float | None:
    """The smallest share of families that is found with `POWER` at `ALPHA` if each adds ``gain`` to the sum."""
    n, rng = len(sizes), np.random.default_rng(0)
    twice = rng.permutation(null.sums)

    def found(count: int) -> bool:
        drawn = null.sums + gain * rng.binomial(count, float((1 / sizes).mean()), len(null.sums))
        return bool((twice + gain * count > np.quantile(drawn, 1 - ALPHA)).mean() >= POWER)

    low, high = 0, n
    if not found(n):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high / n
