"""Linear models: the effects of factor levels on a score, and the change of a score within groups."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from eyetest.measures.stats.intervals import NOTHING, Floats, IntervalEstimate, Ints, cluster_sums

LEAST_FREEDOM = 20  # items beyond those that the model itself uses up; with fewer each factor is fitted alone
LEAST_ITEMS = 2  # of a level; one item says nothing about its spread
_TOLERANCE = 1e-9


class FactorEffects(NamedTuple):
    """The levels of a factor, and whether they differ at all (F test); None where undetermined."""

    effects: list[IntervalEstimate]
    p: float | None


class Design(NamedTuple):
    """Data of each item beside its score."""

    factors: Sequence[Ints]  # the number of each item's level, for each factor; -1 where the item has none
    covariates: Floats  # a column each, such as how hard an item is; 0 columns where nothing is known
    clusters: ArrayLike  # what makes items depend on each other


def level_effects(scores: ArrayLike, design: Design, level: float = 0.95) -> tuple[list[FactorEffects], bool]:
    """The effects of each factor's levels, and whether all factors were fitted together."""
    values = np.asarray(scores, float)
    coded = [_coded(codes) for codes in design.factors]
    columns = 1 + design.covariates.shape[1] + sum(part.shape[1] for part in coded)
    together = len(values) - columns >= LEAST_FREEDOM
    fitted, centred = [], design.covariates - design.covariates.mean(axis=0)
    varying = centred[:, np.abs(centred).max(axis=0, initial=0.0) > _TOLERANCE]
    for number, part in enumerate(coded):
        others = [one for index, one in enumerate(coded) if index != number] if together else []
        around = np.column_stack((np.ones(len(values)), varying, *others))
        fitted.append(_fitted(values, around, part, design.clusters, level))
    return fitted, together


def _coded(codes: Ints) -> Floats:
    """Deviation coding: a column each level but the last, which is the others' negative; 0 for no level."""
    count = int(codes.max(initial=-1)) + 1
    sizes = np.bincount(codes[codes >= 0], minlength=count)
    if count < 2 or (sizes < LEAST_ITEMS).any():
        return np.zeros((len(codes), 0))
    coded = np.eye(count)[:, :-1]
    coded[-1] = -1
    return np.where(codes[:, None] >= 0, coded[codes], 0.0)


def _fitted(values: Floats, around: Floats, part: Floats, clusters: ArrayLike, level: float) -> FactorEffects:
    """One factor after all others: sandwich variance over clusters (HC2), Satterthwaite's degrees of freedom."""
    count = part.shape[1] + 1
    nothing = FactorEffects([NOTHING] * count, None)
    design = np.column_stack((around, part))
    rank_around, rank = np.linalg.matrix_rank(around), np.linalg.matrix_rank(design)
    freedom = len(values) - int(rank)
    if not part.shape[1] or rank - rank_around < part.shape[1] or freedom < 1:
        return nothing
    inverse = np.linalg.pinv(design)
    coefficients = inverse @ values
    residuals = values - design @ coefficients
    without = values - around @ (np.linalg.pinv(around) @ values)
    left, more = float(residuals @ residuals), float(without @ without) - float(residuals @ residuals)
    leverage = np.clip(np.einsum("ij,ji->i", design, inverse), 0, 1 - _TOLERANCE)
    pieces = cluster_sums((inverse * (residuals / np.sqrt(1 - leverage))).T, clusters)
    own = slice(around.shape[1], None)
    covariance = (pieces.T @ pieces)[own, own]
    contrasts = np.vstack((np.eye(count - 1), -np.ones(count - 1)))
    effects = contrasts @ coefficients[own]
    errors = np.sqrt(np.clip(np.einsum("ij,jk,ik->i", contrasts, covariance, contrasts), 0, None))
    shares = cluster_sums(np.square(contrasts @ inverse[own]).T, clusters)
    matter = np.minimum(shares.sum(axis=0) ** 2 / np.square(shares).sum(axis=0) - 1, freedom)
    tested = left > _TOLERANCE
    p = float(scipy.stats.f.sf(more / (count - 1) / (left / freedom), count - 1, freedom)) if tested else None
    reach = scipy.stats.t.ppf((1 + level) / 2, np.maximum(matter, _TOLERANCE))
    estimates = [
        IntervalEstimate(value, *((value - half, value + half) if half > 0 and worth >= 1 else (None, None)))
        for value, half, worth in zip(effects.tolist(), (errors * reach).tolist(), matter.tolist(), strict=True)
    ]
    return FactorEffects(estimates, p)


_ROUNDING = 1e-12


def slope_within(
    x: ArrayLike, y: ArrayLike, groups: ArrayLike, clusters: ArrayLike, *, level: float = 0.95
) -> tuple[IntervalEstimate, int]:
    """The slope of y over x within groups, its interval, and the number of groups. The error is the sandwich over
    clusters with factor g/(g−1) and Student's t with g−1 degrees.
    """
    across, scores = np.asarray(x, float), np.asarray(y, float)
    codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    across, scores = _centred(across, codes), _centred(scores, codes)
    spread = float(across @ across)
    if not spread:
        return NOTHING._replace(n=len(scores)), 0
    slope = float(across @ scores) / spread
    telling = np.bincount(codes, across**2) > 0
    kept = telling[codes]
    parts = across * (scores - slope * across)
    sums = np.bincount(np.unique(np.asarray(clusters)[kept], return_inverse=True)[1], parts[kept])
    count, g = int(telling.sum()), len(sums)
    if g < 2 or sums @ sums <= (_ROUNDING * spread) ** 2:
        return IntervalEstimate(slope, None, None, len(scores)), count
    error = float(np.sqrt(sums @ sums * g / (g - 1))) / spread
    reach = float(scipy.stats.t.ppf((1 + level) / 2, g - 1)) * error
    return IntervalEstimate(slope, slope - reach, slope + reach, len(scores)), count


def _centred(values: Floats, codes: Ints) -> Floats:
    means = np.bincount(codes, values) / np.bincount(codes)
    return np.asarray(values - means[codes])
