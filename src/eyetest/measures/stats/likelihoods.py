"""Log-probabilities of choices (answers × choices; −inf: impossible, nan: no choice) and the prior of marks."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from eyetest.measures.stats.intervals import (
    Floats,
    IntervalEstimate,
    Ints,
    cluster_sums,
    effective_clusters,
    percentiles,
    weights,
)


def likeliest(weights: Floats) -> Ints:
    """The choice of the largest weight in each row; −1 for ties or without any choice."""
    there = ~np.isnan(weights)
    filled = np.where(there, weights, -np.inf)
    is_best = there & (filled == filled.max(axis=1, keepdims=True))
    return np.where(is_best.sum(axis=1) == 1, is_best.argmax(axis=1), -1)


def gained(weights: Floats, before: Floats) -> Floats:
    """Log ratio of each choice's probability: log P − log P before. Impossible choices stay so."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(weights) & ~np.isnan(before), -np.inf, weights - before)


def among_choices(weights: Floats) -> Floats:
    """The probability of each choice, given that it is one of them; nan where all are impossible."""
    most = np.max(np.where(np.isnan(weights), -np.inf, weights), axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        chances = np.exp(weights - most)
        return np.asarray(chances / np.nansum(chances, axis=1, keepdims=True))


def moved(chances: Floats, before: Floats) -> Floats:
    """Probability that moved between the choices of each row: half the sum of all differences."""
    apart = np.abs(chances - before)
    return np.where(np.isnan(apart).all(axis=1), np.nan, np.nansum(apart, axis=1) / 2)


_ROUNDING = 1e-9


class MarkPrior(NamedTuple):
    """Prior of marks: ``logs`` sum to 0; ``shares`` are probabilities with their intervals."""

    logs: Floats
    shares: list[IntervalEstimate]


def item_terms(logs: Floats, shown: Ints) -> Floats:
    """An item's least squares for its marks (matrix, right side) from log-probabilities by order and mark."""
    orders, marks = logs.shape
    known = np.isfinite(logs).ravel()
    values = logs.ravel()[known]
    cell = np.arange(orders * marks)[known]
    others = np.zeros((len(cell), orders + marks))
    others[np.arange(len(cell)), cell // marks] = 1
    others[np.arange(len(cell)), orders + shown.ravel()[known]] = 1
    of_mark = np.eye(marks)[cell % marks]
    both = np.column_stack((of_mark, values))
    left = both - others @ np.linalg.lstsq(others, both, rcond=None)[0]
    return np.concatenate(((left[:, :marks].T @ left[:, :marks]).ravel(), left[:, :marks].T @ left[:, marks]))


def mark_prior(
    terms: Floats, clusters: ArrayLike, level: float = 0.95, resamples: int = 2_000, seed: int = 0
) -> MarkPrior | None:
    """The prior from the terms of all items, its interval by resampling; None where it is not identified."""
    sums = cluster_sums(terms, clusters)
    total = sums.sum(axis=0)
    marks = int((np.sqrt(4 * len(total) + 1) - 1) / 2)
    if np.linalg.matrix_rank(total[: marks**2].reshape(marks, marks), tol=_ROUNDING * max(len(terms), 1)) < marks - 1:
        return None
    drawn = np.concatenate([_solved(times @ sums, marks) for times in weights(len(sums), resamples, seed)])
    (logs,) = _solved(total[None], marks)
    effective = float(effective_clusters(np.unique(np.asarray(clusters), return_counts=True)[1]))
    bounds = [percentiles(column, level, effective) for column in among_choices(drawn).T]
    shares = zip(among_choices(logs[None])[0].tolist(), bounds, strict=True)
    return MarkPrior(logs, [IntervalEstimate(value, *ends, len(terms)) for value, ends in shares])


def _solved(sums: Floats, marks: int) -> Floats:
    """Least squares of each row of sums; undetermined coefficients are 0."""
    matrices, sides = sums[:, : marks**2].reshape(-1, marks, marks), sums[:, marks**2 :]
    inverse = np.linalg.pinv(matrices, rcond=_ROUNDING, hermitian=True)
    return np.asarray(np.einsum("kij,kj->ki", inverse, sides))
