"""Correlations of two lists of scores, with intervals that hold for few models."""

import math
from collections.abc import Callable, Mapping
from itertools import permutations
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from eyetest.measures.stats.intervals import Floats
from eyetest.measures.stats.ranking import DECIMALS

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
    a, b, n, defined = _pairs(x, y)
    if not defined:
        return CorrelationEstimate(None, None, None, n, None)
    r = _linear(a, b)
    return CorrelationEstimate(r, *_bounds(r, 1.0, n - 3, level), n, _student(r, n))


def spearman(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> CorrelationEstimate:
    """Spearman's ρ with Bonett and Wright's interval, (1 + ρ²/2)/(n − 3); exact p for few pairs, else Student's."""
    a, b, n, defined = _pairs(x, y)
    if not defined:
        return CorrelationEstimate(None, None, None, n, None)
    a, b = scipy.stats.rankdata(a), scipy.stats.rankdata(b)
    rho = _linear(a, b)
    if n <= _FEW_PAIRS:  # the share of all orders in which ranks go together at least as closely
        a, b = a - a.mean(), b - b.mean()
        products = np.abs(b[np.array(list(permutations(range(n))))] @ a)
        p = float(np.mean(products >= abs(a @ b) - 10.0**-DECIMALS))
    else:
        p = max(_student(rho, n), 2 / math.factorial(n))
    one_swap = 1 - 12 / (n * (n**2 - 1))
    return CorrelationEstimate(rho, *_bounds(rho, 1 + rho**2 / 2, n - 3, level, one_swap), n, p)


def kendall(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> CorrelationEstimate:
    """Kendall's τ-b with the interval of Fieller, Hartley and Pearson, .437/(n − 4); p is scipy's."""
    a, b, n, defined = _pairs(x, y)
    if not defined:
        return CorrelationEstimate(None, None, None, n, None)
    test = scipy.stats.kendalltau(a, b)
    tau = float(np.round(test.statistic, DECIMALS))
    return CorrelationEstimate(tau, *_bounds(tau, 0.437, n - 4, level, 1 - 4 / (n * (n - 1))), n, float(test.pvalue))


METHODS: Mapping[str, Callable[[ArrayLike, ArrayLike, float], CorrelationEstimate]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
}


def _pairs(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats, int, bool]:
    """The pairs without missing values, their number, and whether they are enough and both sides vary."""
    both = np.round(np.array([x, y], float), DECIMALS)
    a, b = both[:, ~np.isnan(both).any(axis=0)]
    return a, b, len(a), len(a) > 2 and bool(np.ptp(a)) and bool(np.ptp(b))


def _linear(a: Floats, b: Floats) -> float:
    a, b = a - a.mean(), b - b.mean()
    return float(np.round((a / np.linalg.norm(a)) @ (b / np.linalg.norm(b)), DECIMALS))


def _student(r: float, n: int) -> float:
    if abs(r) == 1:
        return 0.0
    return float(2 * scipy.stats.t.sf(abs(r) * np.sqrt((n - 2) / (1 - r**2)), n - 2))


def _bounds(
    r: float, spread: float, freedom: int, level: float, perfect: float = 1.0
) -> tuple[float | None, float | None]:
    """Interval on the artanh scale, variance ``spread / freedom``; ``perfect``: inner end where |r| = 1."""
    if freedom < 1:
        return None, None
    half = float(scipy.stats.norm.ppf((1 + level) / 2)) * np.sqrt(spread / freedom)
    with np.errstate(divide="ignore"):
        centre = np.arctanh(np.clip(r, -perfect, perfect))
    low, high = float(np.tanh(centre - half)), float(np.tanh(centre + half))
    return (-1.0 if r == -1 else low), (1.0 if r == 1 else high)
