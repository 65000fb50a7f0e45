"""What each level of some factors does to a score, where items were given their levels by lot.

One linear model has all factors and the covariates. Levels are coded as deviations, so that a coefficient is the
level's difference from the mean of its factor's levels, each level counting once however many items it has.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from eyetest.measures.stats.intervals import NOTHING, Floats, IntervalEstimate, Ints, cluster_sums

LEAST_FREEDOM = 20
"""Items beyond those that the model itself uses up; with fewer each factor is fitted alone."""
LEAST_ITEMS = 2
"""Of a level; one item says nothing about its spread."""
_TOLERANCE = 1e-9


class FactorEffects(NamedTuple):
    """The levels of one factor, and whether they differ at all (F test); None where that cannot be told."""

    effects: list[IntervalEstimate]
    p: float | None


class Design(NamedTuple):
    """What is known of each item beside its score."""

    factors: Sequence[Ints]
    """The number of each item's level, for each factor; -1 where the item has none."""
    covariates: Floats
    """A column each, such as how hard an item is; 0 columns where nothing is known."""
    clusters: ArrayLike
    """What makes items depend on each other."""


def level_effects(scores: ArrayLike, design: Design, level: float = 0.95) -> tuple[list[FactorEffects], bool]:
    """The effects of each factor's levels, and whether all factors were fitted together."""
    values = np.asarray(scores, float)
    coded = [_coded(codes) for codes in design.factors]
    columns = 1 + design.covariates.shape[1] + sum(part.shape[1] for part in coded)
    together = len(values) - columns >= LEAST_FREEDOM
    fitted = []
    for number, part in enumerate(coded):
        others = [one for index, one in enumerate(coded) if index != number] if together else []
        around = np.column_stack((np.ones(len(values)), _varying(design.covariates), *others))
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


def _varying(columns: Floats) -> Floats:
    """The columns that say anything, around their means."""
    centred: Floats = columns - columns.mean(axis=0)
    return centred[:, np.abs(centred).max(axis=0, initial=0.0) > _TOLERANCE]


def _fitted(values: Floats, around: Floats, part: Floats, clusters: ArrayLike, level: float) -> FactorEffects:
    """One factor after all else. The interval's variance is the sandwich over clusters, each residual as large as
    its leverage made it small (HC2, where an item is its own cluster), and Student's for as many degrees of freedom
    as there are clusters that matter to a level (Satterthwaite): those of a rare one are few.
    """
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
    p = float(stats.f.sf(more / (count - 1) / (left / freedom), count - 1, freedom)) if left > _TOLERANCE else None
    reach = stats.t.ppf((1 + level) / 2, np.maximum(matter, _TOLERANCE))
    return FactorEffects([_estimate(*one) for one in zip(effects, errors * reach, matter, strict=True)], p)


def _estimate(effect: float, half: float, freedom: float) -> IntervalEstimate:
    if not half > 0 or freedom < 1:
        return IntervalEstimate(float(effect), None, None)
    return IntervalEstimate(float(effect), float(effect - half), float(effect + half))
