"""Drawing items again: whole clusters at a time, and the same ones for everything that is compared."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Floats = NDArray[np.float64]
_MOST_CELLS = 20_000_000
"""Weights in memory at once."""


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


def resampled_means(
    scores: ArrayLike, clusters: ArrayLike, resamples: int = 2_000, seed: int | Sequence[int] = 0
) -> Floats:
    """The mean of each column of ``scores`` (a row an item; nan where missing) in each resample: resamples × columns.

    Columns keep their items together, so differences of columns are paired. One cluster alone says nothing about its
    spread: all is nan.
    """
    table = np.asarray(scores, float)
    table = table[:, None] if table.ndim == 1 else table
    there = ~np.isnan(table)
    sums = cluster_sums(np.where(there, table, 0.0), clusters)
    if len(sums) == 1:
        return np.full((resamples, table.shape[1]), np.nan)
    sizes = cluster_sums((there[:, :1] if there.all() else there).astype(float), clusters)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [(drawn @ sums) / (drawn @ sizes) for drawn in weights(len(sums), resamples, seed)]
    return np.concatenate(parts) if parts else np.empty((0, table.shape[1]))


def percentiles(
    replicates: Floats, level: float = 0.95, clusters: int | None = None
) -> tuple[float | None, float | None]:
    """The interval that holds the middle share of what resamples gave.

    Few clusters drawn again vary too little, as if their spread were known: told how many there were, the interval
    reaches as much further as Student's t does (Hesterberg). One cluster says nothing about its spread.
    """
    known = replicates[~np.isnan(replicates)]
    if not len(known) or (clusters is not None and clusters < 2):
        return None, None
    tail = (1 - level) / 2
    if clusters is not None:
        tail = float(special.ndtr(special.stdtrit(clusters - 1, tail) * np.sqrt(clusters / (clusters - 1))))
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(high)
