"""Intervals of means: Wilson's, the clustered one, and resampling of whole clusters."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_ROUNDING = 1e-12
_MOST_CELLS = 20_000_000  # weights in memory at once
DECIMALS = 12  # sums in another order differ in their last bits: scores that agree so far are equal


class IntervalEstimate(NamedTuple):
    """A value, its interval, and the number of scores. None where undefined."""

    value: float | None
    low: float | None
    high: float | None
    n: int = 0

    def named(self, name: str) -> dict[str, Any]:
        """As columns of a table."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


NOTHING = IntervalEstimate(None, None, None, 0)


class ClusteredMeans(NamedTuple):
    """Inputs of the intervals of many means, each an array over the means."""

    total: Floats
    n: Floats
    clusters: Floats
    variance: Floats  # of the mean, by leaving out one cluster after the other (see `jackknife`)
    effective: Floats  # the effective number of clusters
    independent: Bools  # whether no two scores share a cluster, and all are 1 or 0
    binary: Bools  # whether all scores are right and wrong answers, 1 and 0, or shares of right ones

    @classmethod
    def of(cls, sums: Floats, sizes: Floats, binary: ArrayLike) -> "ClusteredMeans":
        """From the sum and the number of scores in each cluster: a row per mean (sizes may have one row for all)."""
        total = sums.sum(axis=1)
        variance, effective = jackknife(sums, sizes)
        of_sizes = sizes.sum(axis=1), np.count_nonzero(sizes, axis=1).astype(float), effective
        n, clusters, effective = (np.broadcast_to(part, total.shape) for part in of_sizes)
        independent = (clusters == n) & (np.einsum("ij,ij->i", sums, sums) == total)
        return cls(total, n, clusters, variance, effective, independent, np.asarray(binary))


def mean(scores: ArrayLike, clusters: ArrayLike | None = None, level: float = 0.95) -> IntervalEstimate:
    """The mean of scores and its interval. Scores that share a cluster may be dependent."""
    values = np.asarray(scores, float)
    if not len(values):
        return NOTHING
    codes = np.arange(len(values)) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums, sizes = np.asarray(np.bincount(codes, values), float), np.bincount(codes).astype(float)
    binary = bool(np.isin(values, (0.0, 1.0)).all())
    low, high = plain(np.ravel(bounds(ClusteredMeans.of(sums[None], sizes[None], [binary]), level)))
    return IntervalEstimate(float(values.mean()), low, high, len(values))


def jackknife(sums: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Variance of each mean (a row; a column a cluster) by leaving clusters out (CR3), which unlike the sandwich
    holds for large clusters, and their effective number. ``sizes`` may be one row for all.
    """
    n, clusters = sizes.sum(axis=1, keepdims=True), np.count_nonzero(sizes, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        means, others = sums.sum(axis=1, keepdims=True) / n, 1 / (n - sizes)
        moved = (sums - means * sizes) * others
        variance: Floats = np.einsum("ij,ij->i", moved, moved) * (clusters - 1) / clusters
    return variance, effective_clusters(sizes)


def effective_clusters(sizes: Floats | Ints) -> Floats:
    """Effective clusters of each row: 1 + Satterthwaite's degrees of freedom of the jackknife's variance, with odds r
    = m / (n − m) of each cluster (Σr)² / (Σr² + (Σr²)² − Σr⁴).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = sizes / (sizes.sum(axis=-1, keepdims=True) - sizes)
        each = odds * odds
        squares = each.sum(axis=-1)
        freedom = odds.sum(axis=-1) ** 2 / (squares + squares**2 - np.einsum("...i,...i->...", each, each))
    return np.where(np.isfinite(freedom), 1 + freedom, 1.0)


def bounds(of: ClusteredMeans, level: float = 0.95) -> tuple[Floats, Floats]:
    """Intervals of means: of verdicts and their shares Wilson's for the effective number of answers (Korn and
    Graubard), of other scores Student's. One cluster has no interval: everything, or nan.
    """
    total, n, clusters, variance, effective, independent, binary = of
    with np.errstate(divide="ignore", invalid="ignore"):
        p = total / n
        varied = np.sqrt(variance) > _ROUNDING * np.abs(p)
        student = scipy.special.stdtrit(effective - 1, (1 + level) / 2)
        worth = np.where(varied, np.clip(p * (1 - p) / variance, 1e-9, None), clusters)
        t = np.where(independent, scipy.special.ndtri((1 + level) / 2), student)
        wilson_low, wilson_high = _wilson(p, np.where(independent, n, worth), t)
        half = np.where(varied, student * np.sqrt(variance), np.nan)
    low, high = np.where(binary, wilson_low, p - half), np.where(binary, wilson_high, p + half)
    alone = (clusters < 2) & ~(binary & independent)
    low = np.where(alone, np.where(binary, 0.0, np.nan), low)
    high = np.where(alone, np.where(binary, 1.0, np.nan), high)
    return low, high


def wilson(hits: int, n: int) -> IntervalEstimate:
    """A share and Wilson's score interval."""
    return mean(np.arange(n) < hits)


def _wilson(p: Floats, n: Floats, z: Floats | float) -> tuple[Floats, Floats]:
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def weights(clusters: int, resamples: int, seed: int | Sequence[int]) -> Iterator[Floats]:
    """How often each cluster is drawn in each resample, some resamples at a time."""
    rng = np.random.default_rng(seed)
    block = max(1, min(resamples, _MOST_CELLS // max(clusters, 1)))
    for start in range(0, resamples, block):
        count = min(block, resamples - start)
        drawn = np.zeros((count, clusters), np.float64)
        for row in range(count):
            drawn[row] = np.bincount(rng.integers(0, clusters, clusters), minlength=clusters)
        yield drawn


def cluster_sums(values: Floats, clusters: ArrayLike) -> Floats:
    """The sum of each column over the rows of each cluster, clusters in sorted order."""
    if not len(values):
        return values
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.add.reduceat(values[order], starts, axis=0)


@dataclass(frozen=True)
class Resampling:
    """How items are resampled: whole clusters; without clusters each item is its own."""

    clusters: ArrayLike | None = None
    level: float = 0.95
    resamples: int = 2_000
    seed: int = 0


def resampled(
    parts: Floats, value: Callable[[Floats], Floats], how: Resampling, n: Sequence[int] = ()
) -> list[IntervalEstimate]:
    """Values of the column sums of ``parts`` (a row an item), with intervals where resamples vary. ``value`` gives
    a row of values for each row of sums; ``n``: what each value rests on, if not on all items.
    """
    clusters = np.arange(len(parts)) if how.clusters is None else np.asarray(how.clusters)
    sums = cluster_sums(parts, clusters)
    with np.errstate(divide="ignore", invalid="ignore"):
        (points,) = value(parts.sum(axis=0, keepdims=True)).tolist()
        drawn = np.concatenate([value(times @ sums) for times in weights(len(sums), how.resamples, how.seed)])
    effective = float(effective_clusters(np.unique(clusters, return_counts=True)[1]))
    found = []
    for point, replicates, number in zip(points, drawn.T, n or [len(parts)] * len(points), strict=True):
        known = replicates[~np.isnan(replicates)]
        varied = not np.isnan(point) and len(known) and np.ptp(known) > 0
        low, high = percentiles(known, how.level, effective) if varied else (None, None)
        found.append(IntervalEstimate(None if np.isnan(point) else point, low, high, number))
    return found


def column_means(table: Floats) -> Floats:
    """The mean of each column, nan where missing left out."""
    there = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(there, table, 0.0).sum(axis=0) / there.sum(axis=0))


def plain(values: Iterable[float]) -> list[float | None]:
    """Values for a table, None for nan."""
    return [None if np.isnan(value) else float(value) for value in values]


def percentiles(
    replicates: Floats, level: float = 0.95, clusters: float | None = None
) -> tuple[float | None, float | None]:
    """The middle share of replicates, widened as Student's t is (Hesterberg) for so many ``clusters``."""
    known = replicates[~np.isnan(replicates)]
    if not len(known) or (clusters is not None and clusters < 2):
        return None, None
    tail = (1 - level) / 2
    if clusters is not None:
        tail = float(
            scipy.special.ndtr(scipy.special.stdtrit(clusters - 1, tail) * np.sqrt(clusters / (clusters - 1)))
        )
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(high)


def one_thread() -> AbstractContextManager[object]:
    """Limit to one thread: more spin on a busy machine, up to forty times slower, and change last digits."""
    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits
