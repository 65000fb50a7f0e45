"""What each item does on a panel: how many get it right, and whether the better models do.

Everywhere scores have a row an item and a column a model, nan where a model was not asked.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Values = list[float | None]

_ENOUGH = 3
"""Two models always lie on a line, so a correlation over them says nothing."""
_ROUNDING = 1e-12
"""Equal scores may come out so far apart, as a part of the largest."""


def mean_scores(scores: ArrayLike) -> Values:
    """The mean score of each item: the share right, where scores are 0 and 1."""
    table, known = _table(scores)
    return _or_none(table.sum(axis=1), known.sum(axis=1))


def item_rest(scores: ArrayLike) -> Values:
    """Each item's correlation, over models, with their mean score on all other items.

    With nothing missing that is the correlation with the sum of the others. None where one of both never varies, or
    fewer than three models have both.
    """
    table, known = _table(scores)
    asked = known.sum(axis=0)
    known = known & (asked > 1)
    rest = np.where(known, (table.sum(axis=0) - table) / np.maximum(asked - 1, 1), 0.0)
    item = np.where(known, table, 0.0)
    count = np.maximum(known.sum(axis=1, keepdims=True), 1)
    item = np.where(known, item - item.sum(axis=1, keepdims=True) / count, 0.0)
    rest = np.where(known, rest - rest.sum(axis=1, keepdims=True) / count, 0.0)
    squares, rest_squares = (item**2).sum(axis=1), (rest**2).sum(axis=1)
    noise = count[:, 0] * (_ROUNDING * np.abs(table).max(initial=0.0)) ** 2
    varies = (np.minimum(squares, rest_squares) > noise) & (count[:, 0] >= _ENOUGH)
    return _or_none((item * rest).sum(axis=1), np.where(varies, np.sqrt(squares * rest_squares), 0.0))


def discrimination(scores: ArrayLike, share: float = 0.27) -> Values:
    """How much better the best models do on each item than the worst: mean score of the upper less the lower group.

    The groups are ``share`` of the panel each, by mean score over all items; who is as good as a group's last belongs
    to it too. None where the groups meet, or nobody of one was asked.
    """
    table, known = _table(scores)
    asked = known.sum(axis=0)
    level = np.divide(table.sum(axis=0), asked, out=np.full(len(asked), np.nan), where=asked > 0)
    ordered = np.sort(level[asked > 0])
    size = max(1, round(share * len(ordered)))
    if not len(ordered) or ordered[-size] <= ordered[size - 1]:
        return [None] * len(table)
    upper, lower = (known & group for group in (level >= ordered[-size], level <= ordered[size - 1]))
    means = [_or_none((table * group).sum(axis=1), group.sum(axis=1)) for group in (upper, lower)]
    return [None if up is None or low is None else up - low for up, low in zip(*means, strict=True)]


def _table(scores: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    table = np.asarray(scores, float)
    known = ~np.isnan(table)
    return np.where(known, table, 0.0), known


def _or_none(above: Floats, below: ArrayLike) -> Values:
    """A quotient, None where it would divide by 0."""
    under = np.asarray(below, float)
    quotient = np.divide(above, under, out=np.full(len(above), np.nan), where=under > 0)
    return [None if missing else value for missing, value in zip(np.isnan(quotient), quotient.tolist(), strict=True)]
