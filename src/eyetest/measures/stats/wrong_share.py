"""The share of wrong keys in a benchmark, estimated from scores against keys, and each item's
probability.

Estimated is π, the share of given keys that are wrong. Scores of right keys have the density f₀,
scores of wrong keys f₁, so the given keys' scores have g = (1 − π) f₀ + π f₁. Keys moved to each
other option in the benchmark's own votes have h = (1 − ε) f₁ + ε f₀, where ε = π / (options − 1) is
the share of moves from a wrong key to the right one. With ρ = f₀ / f₁ the ratio of what is observed
is

    g / h = ((1 − π) ρ + π) / ((1 − ε) + ε ρ),

which falls to a floor near π where right keys have no scores (ρ → 0). log ρ is taken as linear in
log u, where u is the share of moved keys with a lower score (half of the ties): a power law, whose
form does not depend on the scale of the score. It is fitted above the smaller of the third
percentile of moved keys and the median of given ones, by maximum likelihood for each π of a grid.
This profile likelihood, with a flat prior on π from 0 to its bound, gives the mean of π; the values
within 1.92 of its maximum are the 95 % interval. The probability of an item is
π / ((1 − π) ρ + π), averaged over π.

Assumed: a wrong key is as likely to be any of the item's wrong options (where wrong keys fall on
the option that most models prefer among these, they are harder to see, and fewer are expected than
there are); an error that nearly all models share cannot be separated from a wrong key and counts as
one. Independent check: tests/measures/stats/test_consensus.py (counts of simulated wrong keys) and
tests/measures/test_planted_keys.py (keys moved in real answers).
"""

from typing import NamedTuple

import numpy as np
import scipy

from eyetest.measures.stats.intervals import Floats

LARGEST_SHARE = 0.5  # with more than half of the keys wrong, models cannot be weighed by their agreement with them
_GRID = 41
_SMALLEST_SHARE = 1e-5
_MOVED_QUANTILE, _GIVEN_QUANTILE = 0.03, 0.5
_BINS = 300  # scores are averaged within so many bins, which is exact enough and fast
_FALL = 1.92  # in log likelihood, half of the 95 % quantile of chi-squared with one degree of freedom
_LEVEL_SPREAD, _SLOPE_SPREAD = 20.0, 10.0  # of a prior that keeps both finite where scores are separable
_SMALLEST_SLOPE = 1e-3  # the ratio keeps the order of the scores
_TIE_BREAK = 1e-6
_NEGLIGIBLE = 1e-6


class KeyScores(NamedTuple):
    """Scores against keys as they are given, and as they are moved to each other option."""

    given: Floats
    moved: Floats
    weights: Floats  # of the moved keys, one in all for each item
    options: float  # mean number of options


class WrongShare(NamedTuple):
    """The share of wrong keys with its interval, and by item what the score says of the given key."""

    mean: float
    low: float
    high: float
    ratios: Floats  # log likelihood ratio, key wrong against key right: −log ρ
    probabilities: Floats  # of the key being wrong


class _Bins(NamedTuple):
    """Binned positions of given and moved keys, in the region where ρ is modelled."""

    positions: Floats
    given: Floats  # weight of given keys in each bin
    moved: Floats
    offset: float  # log ratio of all given to all moved keys
    options: float


def estimate_share(scores: KeyScores, bound: float) -> WrongShare:
    """Return the share of wrong keys, which is at most ``bound``, and each key's probability."""
    order = np.argsort(scores.moved, kind="stable")
    moved, shares_below = scores.moved[order], np.append(0.0, np.cumsum(scores.weights[order]))
    positions = _positions(scores.given, moved, shares_below)
    bins = _binned(positions, _positions(scores.moved, moved, shares_below), scores)
    grid = np.linspace(0, 1, _GRID) ** 2
    shares = np.maximum(min(bound, LARGEST_SHARE) * grid, _SMALLEST_SHARE)
    likelihoods, coefficients = _profile(bins, shares)
    weights = np.exp(likelihoods - likelihoods.max()) * np.gradient(grid)
    weights /= weights.sum()
    probabilities = np.zeros(len(positions))
    for share, weight, (level, slope) in zip(shares, weights, coefficients, strict=True):
        if weight > _NEGLIGIBLE:
            odds = scipy.special.logit(share) - (level - slope * positions)
            probabilities += weight * scipy.special.expit(odds)
    level, slope = weights @ coefficients
    low, high = _interval(shares, likelihoods)
    return WrongShare(float(weights @ shares), low, high, slope * positions - level, probabilities)


def _positions(scores: Floats, moved: Floats, shares_below: Floats) -> Floats:
    """Log share of moved keys with a lower score, half of the ties counted.

    ``moved``: in ascending order; ``shares_below``: cumulated weights of these. A negligible part
    of the score itself keeps the order of scores between which no moved key has one.
    """
    below = shares_below[np.searchsorted(moved, scores, side="left")]
    up_to = shares_below[np.searchsorted(moved, scores, side="right")]
    shares = (below + up_to) / (2 * shares_below[-1])
    spread = max(float(np.ptp(scores)), 1e-9)
    order = _TIE_BREAK * (scores - scores.min()) / spread
    return np.asarray(np.log(np.maximum(shares, 0.5 / shares_below[-1])) + order)


def _binned(given: Floats, moved: Floats, scores: KeyScores) -> _Bins:
    """Mean positions and weights of both samples in bins of about equal numbers."""
    start = min(float(np.log(_MOVED_QUANTILE)), float(np.quantile(given, _GIVEN_QUANTILE)))
    in_given, in_moved = given >= start, moved >= start
    positions = np.concatenate([given[in_given], moved[in_moved]])
    of_given = np.concatenate([np.ones(in_given.sum()), np.zeros(in_moved.sum())])
    of_moved = np.concatenate([np.zeros(in_given.sum()), scores.weights[in_moved]])
    edges = np.unique(np.quantile(positions, np.linspace(0, 1, _BINS + 1)))
    number = np.searchsorted(edges[1:-1], positions, side="right")
    means = np.bincount(number, positions) / np.maximum(np.bincount(number), 1)
    offset = float(np.log(len(given) / scores.weights.sum()))
    given_weights = np.asarray(np.bincount(number, of_given), np.float64)
    moved_weights = np.asarray(np.bincount(number, of_moved), np.float64)
    return _Bins(means, given_weights, moved_weights, offset, scores.options)


def _profile(bins: _Bins, shares: Floats) -> tuple[Floats, Floats]:
    """By share of wrong keys the largest log likelihood, and level and slope of log ρ that reach it."""
    likelihoods, coefficients = np.zeros(len(shares)), np.zeros((len(shares), 2))
    start = np.array([-2.0, 1.0])
    for place, share in enumerate(shares):
        best = scipy.optimize.minimize(
            _loss,
            start,
            args=(share, bins),
            jac=True,
            method="L-BFGS-B",
            bounds=[(None, None), (_SMALLEST_SLOPE, None)],
        )
        start = best.x
        likelihoods[place] = -best.fun
        coefficients[place] = best.x
    return likelihoods, coefficients


def _loss(coefficients: Floats, share: float, bins: _Bins) -> tuple[float, Floats]:
    """Minus the log likelihood of which scores are of given and which of moved keys, and its derivatives."""
    level, slope = coefficients
    log_rho = level - slope * bins.positions
    moves_to_right = share / max(bins.options - 1, 1.0)
    given = np.logaddexp(np.log1p(-share) + log_rho, np.log(share))
    moved = np.logaddexp(np.log1p(-moves_to_right), np.log(moves_to_right) + log_rho)
    odds = given - moved + bins.offset
    loss = bins.given @ np.logaddexp(0, -odds) + bins.moved @ np.logaddexp(0, odds)
    by_rho = scipy.special.expit(log_rho - scipy.special.logit(share))
    by_rho -= scipy.special.expit(log_rho + scipy.special.logit(moves_to_right))
    likely = scipy.special.expit(odds)
    residual = (bins.given * (1 - likely) - bins.moved * likely) * by_rho
    loss += (level / _LEVEL_SPREAD) ** 2 / 2 + (slope / _SLOPE_SPREAD) ** 2 / 2
    slopes = np.array(
        [-residual.sum() + level / _LEVEL_SPREAD**2, residual @ bins.positions + slope / _SLOPE_SPREAD**2]
    )
    return float(loss), slopes


def _interval(shares: Floats, likelihoods: Floats) -> tuple[float, float]:
    """The smallest and the largest share whose log likelihood is near the maximum, between grid points by lines."""
    limit = likelihoods.max() - _FALL
    inside = np.flatnonzero(likelihoods >= limit)
    first, last = int(inside[0]), int(inside[-1])
    low = 0.0 if first == 0 else _crossing(shares, likelihoods, limit, first - 1)
    high = float(shares[-1]) if last == len(shares) - 1 else _crossing(shares, likelihoods, limit, last)
    return low, high


def _crossing(shares: Floats, likelihoods: Floats, limit: float, place: int) -> float:
    """Where the line from one grid point to the next has the limit."""
    left, right = likelihoods[place], likelihoods[place + 1]
    part = (limit - left) / (right - left)
    return float(shares[place] + part * (shares[place + 1] - shares[place]))
