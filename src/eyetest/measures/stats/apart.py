"""Which models can be told apart when all are compared with all, and what that leaves open about their ranks."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from eyetest.measures.stats.paired import against, holm

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Apart(NamedTuple):
    """For each pair of models (row, column) whether a paired test finds the first ahead of the second.

    ``surely`` is after Holm's adjustment over all pairs: the chance of even one false word in it stays below the
    level. ``alone`` is what the test of the pair says by itself.
    """

    surely: Bools
    alone: Bools


def told_apart(scores: Floats, clusters: ArrayLike, level: float) -> Apart:
    """Test all pairs of models (columns) on the items (rows; nan where missing) that both have."""
    count, codes = scores.shape[1], np.unique(np.asarray(clusters), return_inverse=True)[1]
    found = [
        (one, other, pair)
        for one in range(count - 1)
        for other, pair in enumerate(against(scores[:, one], scores[:, one + 1 :], codes, level), one + 1)
    ]
    told = Apart(*(np.zeros((count, count), np.bool_) for _ in range(2)))
    for (one, other, pair), adjusted in zip(found, holm([pair.p for *_, pair in found]), strict=True):
        ahead = (one, other) if (pair.difference or 0.0) > 0 else (other, one)
        told.surely[ahead] = adjusted is not None and adjusted < 1 - level
        told.alone[ahead] = pair.p is not None and pair.p < 1 - level
    return told


def tie_groups(order: list[int], ahead: Bools) -> dict[int, int]:
    """The best place of each model's tie group, models in their order.

    A group begins with its best model and holds those next in order that are not behind that model for sure; the
    first that is begins the next group. So a chain of neighbours is not one group from best to worst.
    """
    groups: dict[int, int] = {}
    best, first = -1, 0
    for place, model in enumerate(order, 1):
        if place == 1 or ahead[best, model]:
            best, first = model, place
        groups[model] = first
    return groups


def rank_bounds(
    means: Floats, drawn: Floats, alone: Bools, clusters: int, level: float
) -> list[tuple[int, int] | None]:
    """The ranks that each model may have: the best and the worst that no model told from it rules out.

    Ranks of resamples would be too sure of themselves: where models are near, noise spreads the scores, and
    resamples begin from the spread ones. Here a model is told from others by how far all its differences stray at
    once when clusters are drawn again (Mogstad, Romano, Shaikh and Wilhelm), and by the pair's own test, which knows
    what few items are worth. None where most resamples miss something.
    """
    known = np.flatnonzero(~np.isnan(means))
    bounds: list[tuple[int, int] | None] = [None] * len(means)
    for model in known.tolist():
        others = known[known != model]
        again = drawn[:, [model]] - drawn[:, others]
        whole = again[~np.isnan(again).any(axis=1)]
        if 2 * len(whole) < len(drawn) or clusters < 2 or not len(whole):
            continue
        gaps, errors = means[model] - means[others], whole.std(axis=0)
        strays = np.abs(whole - gaps) / np.where(errors > 0, errors, np.inf)
        reach = _widened(float(np.quantile(strays.max(axis=1, initial=0.0), level)), clusters) * errors
        better = int((alone[others, model] & (-gaps > reach)).sum())
        worse = int((alone[model, others] & (gaps > reach)).sum())
        bounds[model] = 1 + better, len(known) - worse
    return bounds


def _widened(reach: float, clusters: int) -> float:
    """Few clusters drawn again vary too little: further, by as much as Student's t reaches (Hesterberg)."""
    tail = float(special.ndtr(-reach))
    return -float(special.stdtrit(clusters - 1, tail)) * float(np.sqrt(clusters / (clusters - 1)))
