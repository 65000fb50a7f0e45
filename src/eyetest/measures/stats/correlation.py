"""How closely two lists of scores go together, with intervals that are honest about few models."""

import math
from collections.abc import Callable, Mapping
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from eyetest.measures.stats.intervals import Floats
from eyetest.measures.stats.ranking import DECIMALS

_FEW_PAIRS = 7
"""Up to so many pairs, all orders that they could have are gone through."""


class CorrelationEstimate(NamedTuple):
    """A correlation, its interval, how many pairs it rests on, and how likely one as large is by luck (two-sided)."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    p: float | None


def pearson(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> CorrelationEstimate:
    """Pearson's r: Fisher's interval, with variance 1/(n − 3) of artanh r; Student's p. It needs three pairs."""
    a, b = _pairs(x, y)
    if not _defined(a, b):
        return CorrelationEstimate(None, None, None, len(a), None)
    r = _linear(a, b)
    return CorrelationEstimate(r, *_bounds(r, 1.0, len(a) - 3, level), len(a), _student(r, len(a)))


def spearman(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> CorrelationEstimate:
    """Spearman's ρ: Pearson's r of ranks, ties averaged; Bonett and Wright's interval, (1 + ρ²/2)/(n − 3).

    The p-value is exact for few pairs, else Student's.
    """
    a, b = _pairs(x, y)
    n = len(a)
    if not _defined(a, b):
        return CorrelationEstimate(None, None, None, n, None)
    a, b = stats.rankdata(a), stats.rankdata(b)
    rho = _linear(a, b)
    p = _share_of_orders(a, b) if n <= _FEW_PAIRS else max(_student(rho, n), 2 / math.factorial(n))
    one_swap = 1 - 12 / (n * (n**2 - 1))
    return CorrelationEstimate(rho, *_bounds(rho, 1 + rho**2 / 2, n - 3, level, one_swap), n, p)


def kendall(x: ArrayLike, y: ArrayLike, level: float = 0.95) -> CorrelationEstimate:
    """Kendall's τ-b: the interval of Fieller, Hartley and Pearson, .437/(n − 4), so from five pairs on.

    The p-value is exact for few pairs without ties, else the normal one.
    """
    a, b = _pairs(x, y)
    n = len(a)
    if not _defined(a, b):
        return CorrelationEstimate(None, None, None, n, None)
    test = stats.kendalltau(a, b)
    tau = float(np.round(test.statistic, DECIMALS))
    return CorrelationEstimate(tau, *_bounds(tau, 0.437, n - 4, level, 1 - 4 / (n * (n - 1))), n, float(test.pvalue))


METHODS: Mapping[str, Callable[[ArrayLike, ArrayLike, float], CorrelationEstimate]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
}


def _pairs(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """The pairs of which neither is missing."""
    a, b = np.asarray(x, float), np.asarray(y, float)
    there = ~np.isnan(a) & ~np.isnan(b)
    return np.round(a[there], DECIMALS), np.round(b[there], DECIMALS)


def _defined(a: Floats, b: Floats) -> bool:
    return len(a) > 2 and bool((a != a[0]).any()) and bool((b != b[0]).any())


def _linear(a: Floats, b: Floats) -> float:
    a, b = a - a.mean(), b - b.mean()
    return float(np.round((a / np.linalg.norm(a)) @ (b / np.linalg.norm(b)), DECIMALS))


def _student(r: float, n: int) -> float:
    if abs(r) == 1:
        return 0.0
    return float(2 * stats.t.sf(abs(r) * np.sqrt((n - 2) / (1 - r**2)), n - 2))


def _share_of_orders(a: Floats, b: Floats) -> float:
    """The share of all orders in which ranks go together at least as closely: three models agree in one of three."""
    a, b = a - a.mean(), b - b.mean()
    products = np.abs(b[np.array(list(permutations(range(len(b)))))] @ a)
    return float(np.mean(products >= abs(a @ b) - 10.0**-DECIMALS))


def _bounds(
    r: float, spread: float, freedom: int, level: float, perfect: float = 1.0
) -> tuple[float | None, float | None]:
    """The interval on the scale of artanh, where the variance is ``spread / freedom``.

    There a perfect correlation is infinite and its interval a point. Orders that agree by luck are common among few
    models, so the inner end is that of the next best order, ``perfect``: two neighbours swapped.
    """
    if freedom < 1:
        return None, None
    half = float(stats.norm.ppf((1 + level) / 2)) * np.sqrt(spread / freedom)
    with np.errstate(divide="ignore"):
        centre = np.arctanh(np.clip(r, -perfect, perfect))
    low, high = float(np.tanh(centre - half)), float(np.tanh(centre + half))
    return (-1.0 if r == -1 else low), (1.0 if r == 1 else high)
