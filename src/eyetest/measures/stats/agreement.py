"""Agreement of raters beyond chance: Cohen, Fleiss, Krippendorff (nominal), Gwet's AC1. Ratings are units × raters,
None where missing. Intervals resample whole clusters; what chance alone would give is undefined.
"""

from collections.abc import Sequence
from itertools import combinations
from math import isnan
from typing import Any

import numpy as np

from eyetest.measures.stats.intervals import NOTHING, Floats, IntervalEstimate, Ints, Resampling, resampled

Ratings = Sequence[Sequence[Any]]
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
        differ, distance, twice, once = sums[:, :4].T
        totals, paired, mean_shares = np.split(sums[:, 4:], 3, axis=1)
        paired, mean_shares = paired / twice[..., None], mean_shares / once[..., None]
        differing, n = differ / twice, totals.sum(axis=-1)
        fleiss = 1 - differing / (1 - (paired**2).sum(axis=-1))
        krippendorff = 1 - (n - 1) * distance / (n**2 - (totals**2).sum(axis=-1))
        gwet = 1 - differing / (1 - (mean_shares * (1 - mean_shares)).sum(axis=-1) / (labels - 1))
        return np.stack([1 - differing, fleiss, krippendorff, gwet], axis=-1)

    found = resampled(features, coefficients, resampling, [int(rated.sum())] * 4) if features.size else [NOTHING] * 4
    return dict(zip(("observed", "fleiss", "krippendorff", "gwet"), found, strict=True))


def cohen_pairs(ratings: Ratings, resampling: Resampling = USUAL) -> dict[tuple[int, int], IntervalEstimate]:
    """Cohen's κ of every two raters, by their columns."""

    def kappa(sums: Floats) -> Floats:
        differ, first, second = sums[:, 0], sums[:, 1 : 1 + labels], sums[:, 1 + labels :]
        n = first.sum(axis=1)
        return np.asarray(1 - differ / n / (1 - (first * second).sum(axis=1) / n**2))[:, None]

    codes, values = _coded(ratings)
    labels, kappas = len(values), dict[tuple[int, int], IntervalEstimate]()
    for one, other in combinations(range(codes.shape[1]), 2):
        first, second = codes[:, one], codes[:, other]
        both = (first >= 0) & (second >= 0)
        given = [(side[:, None] == np.arange(labels)) & both[:, None] for side in (first, second)]
        features = np.column_stack([both & (first != second), *given]).astype(float)
        kappas[one, other] = resampled(features, kappa, resampling, [int(both.sum())])[0]
    return kappas


def _coded(ratings: Ratings) -> tuple[Ints, list[Any]]:
    """Labels as numbers, −1 where there is none, and the labels in order."""
    flat = [value for row in ratings for value in row]
    values = sorted(v for v in set(flat) if v is not None and not (isinstance(v, float) and isnan(v)))
    number = {value: i for i, value in enumerate(values)}
    codes = np.fromiter((number.get(value, -1) for value in flat), np.int64, len(flat))
    return codes.reshape(len(ratings), len(ratings[0]) if len(ratings) else 0), values
