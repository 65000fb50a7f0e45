"""Log-probabilities of choices (answers × choices; −inf: impossible, nan: no choice)."""

import numpy as np

from eyetest.measures.stats.intervals import Floats, Ints


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
