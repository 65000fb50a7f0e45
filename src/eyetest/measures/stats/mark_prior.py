"""The prior of option marks (PriDe, Zheng et al. 2024): how likely a mark is, whatever option stands there.

The log-probability of a mark is taken to be the sum of what the mark is worth, what the option shown under it is
worth to this item, and what all marks of this answer share. Least squares over an item's orders tells the first apart
from the others. Over all rotations of an item, which PriDe asks for, this is PriDe's mean of logarithms; over other
orders options do not cancel out by themselves, and least squares still holds.
"""

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
from eyetest.measures.stats.likelihoods import among_choices

_ROUNDING = 1e-9


class MarkPrior(NamedTuple):
    """What marks are worth: ``logs`` sum to 0; ``shares`` are probabilities with their intervals."""

    logs: Floats
    shares: list[IntervalEstimate]


def item_terms(logs: Floats, shown: Ints) -> Floats:
    """What an item says of its marks, to be summed over items: the matrix of least squares, then its right side.

    A row an order: the log-probability of each mark, and which option was shown under it. A mark that is not a finite
    number says nothing.
    """
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
    """The prior that the items together tell (a row of `item_terms` each), its interval from drawing them again.

    None where their orders do not tell all marks apart.
    """
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
    """The least squares of each row of sums; what is not told is taken to be 0."""
    matrices, sides = sums[:, : marks**2].reshape(-1, marks, marks), sums[:, marks**2 :]
    inverse = np.linalg.pinv(matrices, rcond=_ROUNDING, hermitian=True)
    return np.asarray(np.einsum("kij,kj->ki", inverse, sides))
