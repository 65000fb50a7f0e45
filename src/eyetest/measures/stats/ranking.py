"""Ranks of models with intervals, significant differences of pairs, the spread of values, and correlations."""

import math
from collections.abc import Callable
from itertools import permutations
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from eyetest.measures.stats.intervals import DECIMALS, Bools, Floats, IntervalEstimate, column_means, plain
from eyetest.measures.stats.paired import every_pair, holm


class Standing(NamedTuple):
    """A model among others: its rank by mean score, 1 + the number of significantly better models, its mean score."""

    rank: IntervalEstimate
    tie: int | None
    score: float | None


def standings(scores: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> list[Standing]:
    """Rank models (columns) by mean score over items (rows; nan where missing). A rank's interval and ``tie`` are the
    places that significantly better and worse models leave. One family of tests decides all, so that all intervals
    hold at once with the probability ``level``. One cluster leaves ranks without an interval.
    """
    table = np.asarray(scores, float)
    means = column_means(table)
    known = int(np.count_nonzero(~np.isnan(means)))
    ahead = significantly_ahead(table, clusters, level) & (means[:, None] > means)
    better, worse = ahead.sum(axis=0).tolist(), ahead.sum(axis=1).tolist()
    bounded = len(np.unique(np.asarray(clusters))) > 1
    places = []
    for model, (rank, mean) in enumerate(zip(plain(ranks(means)), plain(means), strict=True)):
        low, high = 1 + better[model], known - worse[model]
        interval = (low, high) if bounded and rank is not None else (None, None)
        places.append(Standing(IntervalEstimate(rank, *interval), None if rank is None else low, mean))
    return places


def ranks(scores: ArrayLike, ties: Literal["average", "min"] = "average") -> Floats:
    """Ranks along the last axis, 1 the highest, nan for nan. Ties share the mean place, or with "min" the best."""
    values = np.asarray(scores, float)
    missing = np.isnan(values)
    falling = np.where(missing, np.inf, -np.round(values, DECIMALS))
    return np.where(missing, np.nan, scipy.stats.rankdata(falling, method=ties, axis=-1))


def mean_ranks(scores: Floats) -> tuple[Floats, Floats]:
    """The mean rank and the rank by it from scores of … × columns × models; nan where a column is missing."""
    whole = scores + 0 * scores.sum(axis=-2, keepdims=True)
    mean = ranks(whole).mean(axis=-2)
    return mean, ranks(-mean, "min")


def significantly_ahead(scores: Floats, clusters: ArrayLike, level: float) -> Bools:
    """Whether the row's model is ahead of the column's: Holm-adjusted paired tests of all pairs on shared items."""
    pairs = every_pair(scores, clusters, level)
    ahead = np.zeros((scores.shape[1],) * 2, np.bool_)
    for (first, second, pair), adjusted in zip(pairs, holm([pair.p for *_, pair in pairs]), strict=True):
        if adjusted is not None and adjusted < 1 - level:
            ahead[(first, second) if (pair.difference or 0.0) > 0 else (second, first)] = True
    return ahead


def gini(values: ArrayLike) -> float | None:
    """The population's Gini: mean absolute difference of all pairs over twice the mean. It rises when scores fall."""
    array = np.asarray(values, float)
    known = np.sort(array[~np.isnan(array)])
    signs = 2.0 * np.arange(1, len(known) + 1) - len(known) - 1
    return float(known @ signs / (len(known) * known.sum())) if known.sum() > 0 else None


def separable_pairs(scores: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> IntervalEstimate:
    """The share of pairs of models (columns) that Holm-adjusted paired tests separate."""
    pairs = [pair for *_, pair in every_pair(np.asarray(scores, float), clusters, level)]
    testable = sum(pair.clusters > 1 for pair in pairs)
    apart = sum(p is not None and p < 1 - level for p in holm([pair.p for pair in pairs]))
    return IntervalEstimate(apart / testable if testable else None, None, None, testable)


_FEW_PAIRS = 7  # up to so many pairs, all orders that they could have are gone through


class CorrelationEstimate(NamedTuple):
    """A correlation, its interval, number of pairs, and probability of one as large by chance (two-sided)."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    p: float | None


def pearson(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> CorrelationEstimate:
    """Pearson's r: Fisher's interval, with variance 1/(n − 3) of artanh r; Student's p. It needs three pairs."""
    return _correlation(_pairs(x, y), level, scipy.stats.pearsonr, lambda r, n: (1.0, n - 3, 1.0))


def spearman(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> CorrelationEstimate:
    """Spearman's ρ with Bonett and Wright's interval, (1 + ρ²/2)/(n − 3); exact p for few pairs, else Student's."""
    pairs = _pairs(x, y)
    found = _correlation(
        pairs, level, scipy.stats.spearmanr, lambda rho, n: (1 + rho**2 / 2, n - 3, 1 - 12 / (n * (n**2 - 1)))
    )
    if found.p is None:
        return found
    if found.n > _FEW_PAIRS:
        return found._replace(p=max(found.p, 2 / math.factorial(found.n)))
    a, b = scipy.stats.rankdata(pairs, axis=1) - (found.n + 1) / 2
    products = np.abs(b[np.array(list(permutations(range(found.n))))] @ a)
    return found._replace(p=float(np.mean(products >= abs(a @ b) - 10.0**-DECIMALS)))


def kendall(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> CorrelationEstimate:
    """Kendall's τ-b with the interval of Fieller, Hartley and Pearson, .437/(n − 4); p is scipy's."""
    pairs = _pairs(x, y)
    return _correlation(pairs, level, scipy.stats.kendalltau, lambda tau, n: (0.437, n - 4, 1 - 4 / (n * (n - 1))))


METHODS = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


def _pairs(x: ArrayLike, y: ArrayLike) -> Floats:
    """The pairs without missing values, as two rows."""
    both = np.round(np.array([x, y], float), DECIMALS)
    return np.asarray(both[:, ~np.isnan(both).any(axis=0)])


def _correlation(
    pairs: Floats, level: float, test: Callable[..., Any], about: Callable[[float, int], tuple[float, int, float]]
) -> CorrelationEstimate:
    """The correlation of scipy's test with an interval on the artanh scale. ``about``: its variance as a
    quotient, and its inner end where |r| = 1.
    """
    n = pairs.shape[1]
    if n < 3 or not np.ptp(pairs, axis=1).all():
        return CorrelationEstimate(None, None, None, n, None)
    found = test(*pairs)
    r = float(np.round(found.statistic, DECIMALS))
    spread, freedom, perfect = about(r, n)
    if freedom < 1:
        return CorrelationEstimate(r, None, None, n, float(found.pvalue))
    half = float(scipy.stats.norm.ppf((1 + level) / 2)) * np.sqrt(spread / freedom)
    with np.errstate(divide="ignore"):
        centre = np.arctanh(np.clip(r, -perfect, perfect))
    low, high = float(np.tanh(centre - half)), float(np.tanh(centre + half))
    return CorrelationEstimate(r, -1.0 if r == -1 else low, 1.0 if r == 1 else high, n, float(found.pvalue))
