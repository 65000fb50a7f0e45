"""How far a mean can be trusted: Wilson's interval, and the clustered one for scores that depend on each other."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

Floats = NDArray[np.float64]
_ROUNDING = 1e-12


class Estimate(NamedTuple):
    """A value, its interval, and how many scores it rests on. None where it is undefined."""

    value: float | None
    low: float | None
    high: float | None
    n: int


NOTHING = Estimate(None, None, None, 0)


class Tally(NamedTuple):
    """What the intervals of many means need to know, each an array over the means.

    Sums over clusters with m scores that sum to s: ``squares`` is Σs², ``cross`` Σsm, ``sizes`` Σm².
    """

    total: Floats
    n: Floats
    clusters: Floats
    squares: Floats
    cross: Floats
    sizes: Floats
    binary: NDArray[np.bool_]
    """Whether all scores are right and wrong answers, 1 and 0, or shares of right ones."""


def mean(scores: ArrayLike, clusters: ArrayLike | None = None, level: float = 0.95) -> Estimate:
    """The mean of scores and its interval. Scores that share a cluster are taken to depend on each other."""
    values = np.asarray(scores, float)
    if not len(values):
        return NOTHING
    codes = np.arange(len(values)) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums, counts = np.bincount(codes, values), np.bincount(codes).astype(float)
    moments = ((sums**2).sum(), (sums * counts).sum(), (counts**2).sum())
    binary = bool(np.isin(values, (0.0, 1.0)).all())
    parts = (values.sum(), len(values), len(counts), *moments, binary)
    low, high = bounds(Tally(*(np.array([part]) for part in parts)), level)
    if np.isnan(low[0]):
        return Estimate(float(values.mean()), None, None, len(values))
    return Estimate(float(values.mean()), float(low[0]), float(high[0]), len(values))


def bounds(tally: Tally, level: float = 0.95) -> tuple[Floats, Floats]:
    """Intervals of many means at once.

    The variance is the sandwich with the usual factor g/(g−1). Of right and wrong answers, and shares of right ones,
    the interval is Wilson's for as many independent answers as these are worth (Korn and Graubard's device), so it
    stays within 0 and 1 and holds near them; of other scores it is Student's. Clusters that are single answers are
    worth as many as there are; Σs² = Σs tells them from shares. One cluster says nothing about its own spread: its
    interval is everything, or nan where there is no everything.
    """
    total, n, clusters, squares, cross, sizes, binary = tally
    with np.errstate(divide="ignore", invalid="ignore"):
        p = total / n
    spread = squares - 2 * p * cross + p**2 * sizes
    spread = np.where(spread > _ROUNDING * squares, spread, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = spread / n**2 * clusters / (clusters - 1)
        independent = (clusters == n) & (squares == total)
        t = np.where(independent, stats.norm.ppf((1 + level) / 2), stats.t.ppf((1 + level) / 2, clusters - 1))
        worth = np.where(independent, n, np.clip(p * (1 - p) / variance, 1e-9, None))
        worth = np.where(independent | (spread > 0), worth, clusters)
        wilson_low, wilson_high = _wilson(p, worth, t)
        student = np.where(spread > 0, stats.t.ppf((1 + level) / 2, clusters - 1) * np.sqrt(variance), np.nan)
    low = np.where(binary, wilson_low, p - student)
    high = np.where(binary, wilson_high, p + student)
    alone = (clusters < 2) & ~(binary & independent)
    low = np.where(alone, np.where(binary, 0.0, np.nan), low)
    high = np.where(alone, np.where(binary, 1.0, np.nan), high)
    return low, high


def wilson(hits: float, n: int, level: float = 0.95) -> Estimate:
    """A share and Wilson's score interval."""
    if n <= 0:
        return NOTHING
    low, high = _wilson(np.array([hits / n]), np.array([float(n)]), stats.norm.ppf((1 + level) / 2))
    return Estimate(hits / n, float(low[0]), float(high[0]), n)


def _wilson(p: Floats, n: Floats, z: Floats | float) -> tuple[Floats, Floats]:
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
