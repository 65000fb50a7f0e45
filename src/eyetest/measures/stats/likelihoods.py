"""Log-probabilities of choices (answers × choices; −inf: impossible, nan: no choice) and the prior of letters."""

from typing import NamedTuple

import numpy as np

from eyetest.measures.stats.intervals import Floats, IntervalEstimate, Ints, Resampling, resampled


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
    """Prior of letters: ``logs`` sum to 0; ``shares`` are probabilities with their intervals."""

    logs: Floats
    shares: list[IntervalEstimate]


def item_terms(logs: Floats, shown: Ints) -> Floats:
    """An item's least squares for its letters (matrix, right side) from log-probabilities by order and mark."""
    orders, letters = logs.shape
    known = np.isfinite(logs).ravel()
    values = logs.ravel()[known]
    cell = np.arange(orders * letters)[known]
    others = np.zeros((len(cell), orders + letters))
    others[np.arange(len(cell)), cell // letters] = 1
    others[np.arange(len(cell)), orders + shown.ravel()[known]] = 1
    of_mark = np.eye(letters)[cell % letters]
    both = np.column_stack((of_mark, values))
    left = both - others @ np.linalg.lstsq(others, both, rcond=None)[0]
    return np.concatenate(((left[:, :letters].T @ left[:, :letters]).ravel(), left[:, :letters].T @ left[:, letters]))


def mark_prior(terms: Floats, how: Resampling) -> MarkPrior | None:
    """The prior from the terms of all items, its interval by resampling; None where it is not identified."""
    total = terms.sum(axis=0)
    letters = int((np.sqrt(4 * len(total) + 1) - 1) / 2)
    matrix = total[: letters**2].reshape(letters, letters)
    if np.linalg.matrix_rank(matrix, tol=_ROUNDING * max(len(terms), 1)) < letters - 1:
        return None
    shares = resampled(terms, lambda sums: among_choices(_solved(sums, letters)), how)
    return MarkPrior(_solved(total[None], letters)[0], shares)


def _solved(sums: Floats, letters: int) -> Floats:
    """Least squares of each row of sums; undetermined coefficients are 0."""
    matrices, sides = sums[:, : letters**2].reshape(-1, letters, letters), sums[:, letters**2 :]
    inverse = np.linalg.pinv(matrices, rcond=_ROUNDING, hermitian=True)
    return np.asarray(np.einsum("kij,kj->ki", inverse, sides))
