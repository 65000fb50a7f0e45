"""How far raters agree beyond chance: Cohen, Fleiss, Krippendorff, Gwet.

Ratings are a table, a row a unit and a column a rater, with None (or nan) where a rater did not rate. Intervals come
from drawing units again, whole clusters at a time. A coefficient is undefined where chance alone would already agree
always (nothing but one label was ever given), its interval where all draws agree (perfect agreement, one cluster):
drawing again cannot show what was never seen.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyetest.measures.stats.intervals import (
    NOTHING,
    Floats,
    IntervalEstimate,
    cluster_sums,
    effective_clusters,
    percentiles,
    weights,
)

Formula = Callable[[Floats], Any]
Ratings = Sequence[Sequence[Any]]
Scale = Literal["nominal", "ordinal", "interval"]
_MOST_CELLS = 8_000_000


@dataclass(frozen=True)
class Resampling:
    """How units are drawn again. Without clusters each unit is its own."""

    clusters: ArrayLike | None = None
    level: float = 0.95
    resamples: int = 2_000
    seed: int = 0


USUAL = Resampling()


class _Coefficient(NamedTuple):
    """What is summed over units, a row each, and what the sums come to."""

    features: Floats
    value: Formula


def all_raters(ratings: Ratings, resampling: Resampling = USUAL) -> dict[str, IntervalEstimate]:
    """Every coefficient of any number of raters by its name, all from the same draws."""
    counts, values = _counts(ratings)
    some = {
        "observed": _observed(counts),
        "fleiss": _fleiss(counts),
        "krippendorff": _krippendorff(counts, values, "nominal"),
        "gwet": _gwet(counts, len(values)),
    }
    return dict(zip(some, _estimate(list(some.values()), counts, resampling), strict=True))


def observed(ratings: Ratings, resampling: Resampling = USUAL) -> IntervalEstimate:
    """The plain share of pairs of ratings that agree, averaged over units rated at least twice."""
    counts, _ = _counts(ratings)
    return _estimate([_observed(counts)], counts, resampling)[0]


def _observed(counts: Floats) -> _Coefficient:
    return _Coefficient(_shares(counts), lambda sums: 1 - _disagreement(sums))


def fleiss(ratings: Ratings, resampling: Resampling = USUAL) -> IntervalEstimate:
    """Fleiss' κ: any number of raters, chance from the labels' shares in all. Units may miss some ratings (Gwet)."""
    counts, _ = _counts(ratings)
    return _estimate([_fleiss(counts)], counts, resampling)[0]


def _fleiss(counts: Floats) -> _Coefficient:
    def kappa(sums: Floats) -> Any:
        return 1 - _disagreement(sums) / (1 - (_label_shares(sums) ** 2).sum(axis=-1))

    return _Coefficient(_shares(counts), kappa)


def gwet(ratings: Ratings, categories: int | None = None, resampling: Resampling = USUAL) -> IntervalEstimate:
    """Gwet's AC1, which stays sensible where nearly all ratings are the same label.

    ``categories`` is how many labels there were to choose from; by default as many as were given.
    """
    counts, values = _counts(ratings)
    return _estimate([_gwet(counts, categories or len(values))], counts, resampling)[0]


def _gwet(counts: Floats, categories: int) -> _Coefficient:
    def ac1(sums: Floats) -> Any:
        shares = _label_shares(sums)
        return 1 - _disagreement(sums) / (1 - (shares * (1 - shares)).sum(axis=-1) / (categories - 1))

    return _Coefficient(_shares(counts), ac1)


def krippendorff(ratings: Ratings, scale: Scale = "nominal", resampling: Resampling = USUAL) -> IntervalEstimate:
    """Krippendorff's α: any number of raters, any ratings missing.

    On an ordinal or interval scale a near miss counts for less than a far one. Ordinal labels come in the order in
    which they sort; interval ones are numbers.
    """
    counts, values = _counts(ratings)
    return _estimate([_krippendorff(counts, values, scale)], counts, resampling)[0]


def _krippendorff(counts: Floats, values: Sequence[Any], scale: Scale) -> _Coefficient:
    labels = len(values)
    numbers = np.array(values, float) if scale == "interval" else np.zeros(labels)

    def alpha(sums: Floats) -> Any:
        coincidences = sums.reshape(*sums.shape[:-1], labels, labels)
        totals = coincidences.sum(axis=-1)
        places = np.cumsum(totals, axis=-1) - totals / 2 if scale == "ordinal" else numbers
        apart = (places[..., :, None] - places[..., None, :]) ** 2 if scale != "nominal" else 1 - np.eye(labels)
        expected = (totals[..., :, None] * totals[..., None, :] * apart).sum(axis=(-2, -1))
        return 1 - (totals.sum(axis=-1) - 1) * (coincidences * apart).sum(axis=(-2, -1)) / expected

    within = counts[:, :, None] * (counts[:, None, :] - np.eye(labels))
    among = np.maximum(counts.sum(axis=1) - 1, 1)
    return _Coefficient((within / among[:, None, None]).reshape(len(counts), labels**2), alpha)


def cohen(ratings: Ratings, resampling: Resampling = USUAL) -> IntervalEstimate:
    """Cohen's κ of two raters, over the units that both rated."""
    return cohen_pairs(ratings, resampling).get((0, 1), NOTHING)


def cohen_pairs(ratings: Ratings, resampling: Resampling = USUAL) -> dict[tuple[int, int], IntervalEstimate]:
    """Cohen's κ of every two raters, by their columns. All pairs are drawn again alike."""

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
        first, second = ([pair[side] for pair in some] for side in (0, 1))
        one, other = codes[:, first], codes[:, second]
        both = (one >= 0) & (other >= 0)
        given = [(side[:, :, None] == np.arange(labels)) & both[:, :, None] for side in (one, other)]
        features = np.concatenate([(both & (one != other))[:, :, None], *given], axis=2).astype(float)
        kappas |= zip(some, _estimates(features, kappa, both.sum(axis=0), resampling), strict=True)
    return kappas


def _coded(ratings: Ratings) -> tuple[NDArray[np.int64], list[Any]]:
    """Labels as numbers, −1 where there is none, and the labels in order."""
    flat = [value for row in ratings for value in row]
    values = sorted(value for value in set(flat) if not _missing(value))
    number = {value: i for i, value in enumerate(values)}
    raters = len(ratings[0]) if len(ratings) else 0
    codes = np.fromiter((number.get(value, -1) for value in flat), np.int64, len(flat))
    return codes.reshape(len(ratings), raters), values


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and isnan(value))


def _counts(ratings: Ratings) -> tuple[Floats, list[Any]]:
    """How many raters gave each label to each unit."""
    codes, values = _coded(ratings)
    counts = np.zeros((len(codes), len(values)))
    for label in range(len(values)):
        counts[:, label] = (codes == label).sum(axis=1)
    return counts, values


def _shares(counts: Floats) -> Floats:
    """A row a unit: the share of its pairs of ratings that differ; has it pairs, has it ratings; their shares."""
    m = counts.sum(axis=1)
    differ = (counts * (m[:, None] - counts)).sum(axis=1) / np.maximum(m * (m - 1), 1)
    return np.column_stack([differ, m > 1, m > 0, counts / np.maximum(m, 1)[:, None]])


def _disagreement(sums: Floats) -> Any:
    return sums[..., 0] / sums[..., 1]


def _label_shares(sums: Floats) -> Any:
    return sums[..., 3:] / sums[..., 2:3]


def _estimate(some: Sequence[_Coefficient], counts: Floats, resampling: Resampling) -> list[IntervalEstimate]:
    """What some coefficients come to, all drawn again alike."""
    ends = np.cumsum([one.features.shape[1] for one in some])

    def values(sums: Floats) -> Any:
        parts = np.split(sums, ends[:-1], axis=-1)
        return np.concatenate([one.value(part) for one, part in zip(some, parts, strict=True)], axis=-1)

    features = np.concatenate([one.features for one in some], axis=1)
    rated = np.full(len(some), (counts.sum(axis=1) > 1).sum())
    return _estimates(features[:, None, :], values, rated, resampling)


def _estimates(
    features: Floats, value: Formula, n: NDArray[np.int64], resampling: Resampling
) -> list[IntervalEstimate]:
    """What coefficients come to and how they vary, from sums over units × coefficients × features."""
    units, many, width = features.shape
    if not features.size:
        return [NOTHING] * len(n)
    clusters = np.arange(units) if resampling.clusters is None else resampling.clusters
    sums = cluster_sums(features.reshape(units, -1), clusters)
    with np.errstate(divide="ignore", invalid="ignore"):
        points = value(features.sum(axis=0))
        drawn = [
            value((times @ sums).reshape(-1, many, width))
            for times in weights(len(sums), resampling.resamples, resampling.seed)
        ]
    replicates = np.concatenate(drawn).T
    level = resampling.level
    effective = float(effective_clusters(np.unique(np.asarray(clusters), return_counts=True)[1]))
    return [_one(*each, effective, level) for each in zip(points.tolist(), replicates, n.tolist(), strict=True)]


def _one(point: float, replicates: Floats, n: int, clusters: float, level: float) -> IntervalEstimate:
    if isnan(point):
        return IntervalEstimate(None, None, None, n)
    known = replicates[~np.isnan(replicates)]
    varied = len(known) and np.ptp(known) > 0
    low, high = percentiles(known, level, clusters) if varied else (None, None)
    return IntervalEstimate(point, low, high, n)
