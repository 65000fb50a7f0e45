"""Agreement of raters beyond chance: Cohen, Fleiss, Krippendorff (nominal), Gwet's AC1. Ratings are units × raters,
None where missing. Intervals resample whole clusters; what chance alone would give is undefined.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyetest.measures.stats.intervals import (
    NOTHING,
    Floats,
    IntervalEstimate,
    Ints,
    cluster_sums,
    effective_clusters,
    percentiles,
    weights,
)

Ratings = Sequence[Sequence[Any]]
_MOST_CELLS = 8_000_000


@dataclass(frozen=True)
class Resampling:
    """How units are resampled. Without clusters each unit is its own."""

    clusters: ArrayLike | None = None
    level: float = 0.95
    resamples: int = 2_000
    seed: int = 0


USUAL = Resampling()


def all_raters(ratings: Ratings, resampling: Resampling = USUAL) -> dict[str, IntervalEstimate]:
    """Coefficients of any number of raters from the same resamples; ``observed``: share of agreeing pairs. Units with
    one rating count only towards what Gwet's AC1 takes for chance, as published.
    """
    codes, values = _coded(ratings)
    labels = len(values)
    counts = (codes[:, :, None] == np.arange(labels)).sum(axis=1).astype(float)
    m = counts.sum(axis=1)
    apart, rated = (counts * (m[:, None] - counts)).sum(axis=1), m > 1
    shares = counts / np.maximum(m, 1)[:, None]
    pairs = apart / np.maximum(m * (m - 1), 1), apart / np.maximum(m - 1, 1)
    features = np.column_stack([*pairs, rated, m > 0, counts * rated[:, None], shares * rated[:, None], shares])

    def coefficients(sums: Floats) -> Floats:
        differ, distance, twice, once = np.moveaxis(sums[..., 0, :4], -1, 0)
        totals, paired, mean_shares = np.split(sums[..., 0, 4:], 3, axis=-1)
        paired, mean_shares = paired / twice[..., None], mean_shares / once[..., None]
        differing, n = differ / twice, totals.sum(axis=-1)
        fleiss = 1 - differing / (1 - (paired**2).sum(axis=-1))
        krippendorff = 1 - (n - 1) * distance / (n**2 - (totals**2).sum(axis=-1))
        gwet = 1 - differing / (1 - (mean_shares * (1 - mean_shares)).sum(axis=-1) / (labels - 1))
        return np.stack([1 - differing, fleiss, krippendorff, gwet], axis=-1)

    n = np.full(4, rated.sum())
    found = _estimates(features[:, None, :], coefficients, n, resampling)
    return dict(zip(("observed", "fleiss", "krippendorff", "gwet"), found, strict=True))


def cohen(ratings: Ratings, resampling: Resampling = USUAL) -> IntervalEstimate:
    """Cohen's κ of two raters, over the units that both rated."""
    return cohen_pairs(ratings, resampling).get((0, 1), NOTHING)


def cohen_pairs(ratings: Ratings, resampling: Resampling = USUAL) -> dict[tuple[int, int], IntervalEstimate]:
    """Cohen's κ of every two raters, by their columns. All pairs share resamples."""

    def kappa(sums: Floats) -> Any:
        differ, first, second = sums[..., 0], sums[..., 1 : 1 + labels], sums[..., 1 + labels :]
        n = first.sum(axis=-1)
        return 1 - differ / n / (1 - (first * second).sum(axis=-1) / n**2)

    codes, values = _coded(ratings)
    labels = len(values)
    pairs = list(combinations(range(codes.shape[1]), 2))
    most = max(1, _MOST_CELLS // (max(len(codes), resampling.resamples) * (1 + 2 * labels)))
    kappas: dict[tuple[int, int], IntervalEstimate] = {}
    for start in range(0, len(pairs), most):
        some = pairs[start : start + most]
        one, other = (codes[:, [pair[side] for pair in some]] for side in (0, 1))
        both = (one >= 0) & (other >= 0)
        given = [(side[:, :, None] == np.arange(labels)) & both[:, :, None] for side in (one, other)]
        features = np.concatenate([(both & (one != other))[:, :, None], *given], axis=2).astype(float)
        kappas |= zip(some, _estimates(features, kappa, both.sum(axis=0), resampling), strict=True)
    return kappas


def _coded(ratings: Ratings) -> tuple[Ints, list[Any]]:
    """Labels as numbers, −1 where there is none, and the labels in order."""
    flat = [value for row in ratings for value in row]
    values = sorted(v for v in set(flat) if v is not None and not (isinstance(v, float) and isnan(v)))
    number = {value: i for i, value in enumerate(values)}
    codes = np.fromiter((number.get(value, -1) for value in flat), np.int64, len(flat))
    return codes.reshape(len(ratings), len(ratings[0]) if len(ratings) else 0), values


def _estimates(
    features: Floats, value: Callable[[Floats], Any], n: NDArray[np.int64], resampling: Resampling
) -> list[IntervalEstimate]:
    """Values of coefficients and their variation, from sums over units × coefficients × features."""
    units, many, width = features.shape
    if not features.size:
        return [NOTHING] * len(n)
    clusters = np.arange(units) if resampling.clusters is None else resampling.clusters
    sums = cluster_sums(features.reshape(units, -1), clusters)
    drawing = weights(len(sums), resampling.resamples, resampling.seed)
    with np.errstate(divide="ignore", invalid="ignore"):
        points = value(features.sum(axis=0)).tolist()
        drawn = np.concatenate([value((times @ sums).reshape(-1, many, width)) for times in drawing]).T
    effective = float(effective_clusters(np.unique(np.asarray(clusters), return_counts=True)[1]))
    found = []
    for point, replicates, number in zip(points, drawn, n.tolist(), strict=True):
        known = replicates[~np.isnan(replicates)]
        varied = not isnan(point) and len(known) and np.ptp(known) > 0
        low, high = percentiles(known, resampling.level, effective) if varied else (None, None)
        found.append(IntervalEstimate(None if isnan(point) else point, low, high, number))
    return found
