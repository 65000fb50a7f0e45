"""Whether items of one cluster are right and wrong together: Mantel's test of two tables of pairs.

Estimated is T = Σ zᵢ·zₖ over the pairs of items that share a cluster, where zᵢ holds the scores of item i in all
series less the mean of each series. If items are exchangeable, T has mean and variance over all permutations of items
by Mantel's formulas (1967; Cliff and Ord 1981), and (T − mean) / standard deviation is returned. Pairs that share a
cluster already counted are left out, so that these do not speak for others. Missing scores are at the mean of their
series. Assumed: dependence raises T; items that are dependent by clusters already counted make the test let more
pass. With few clusters T is skewed, so the deviate has no exact level. Checked against permutations in
``tests/measures/stats/test_mantel.py``.
"""

import numpy as np

from eyetest.measures.stats.intervals import Floats, Ints, column_means


def deviate_of_pairs(scores: Floats, clusters: Ints, counted: Ints) -> float:
    """How many standard deviations items of one cluster are alike beyond exchangeable ones.

    ``scores``: items × series, nan where missing. ``counted``: clusters whose pairs are left out. Returns 0 where no
    items or pairs are left or scores do not vary.
    """
    if not len(scores):
        return 0.0
    cells = np.unique(clusters * (counted.max() + 1) + counted, return_inverse=True)[1]
    centred = np.nan_to_num(scores - column_means(scores))
    products = _products_within(centred, clusters) - _products_within(centred, cells)
    neighbours = np.bincount(clusters)[clusters] - np.bincount(cells)[cells].astype(float)
    mean, variance = _moments(neighbours, centred)
    if variance <= 0:
        return 0.0
    return float((products - mean) / np.sqrt(variance))


def _products_within(centred: Floats, clusters: Ints) -> float:
    """The sum of squared lengths of the clusters' sums: products of all pairs, items with themselves included."""
    order = np.argsort(clusters, kind="stable")
    starts = np.flatnonzero(np.diff(clusters[order], prepend=-1))
    sums = np.add.reduceat(centred[order], starts, axis=0)
    return float((sums**2).sum())


def _moments(neighbours: Floats, centred: Floats) -> tuple[float, float]:
    """Mean and variance of the sum over ordered pairs, if items are permuted.

    ``neighbours``: with how many items each is paired. The rows of all products sum to 0, since columns are centred.
    """
    items = len(neighbours)
    if items < 4:
        return 0.0, 0.0
    own = (centred**2).sum(axis=1)
    gram = centred.T @ centred
    pairs = float(neighbours.sum())
    degrees = 4 * float((neighbours**2).sum())
    total = -float(own.sum())
    squares = 2 * (float((gram**2).sum()) - float((own**2).sum()))
    margins = 4 * float((own**2).sum())
    two = items * (items - 1)
    three = two * (items - 2)
    four = three * (items - 3)
    mean = pairs * total / two
    second = 2 * pairs * squares / (2 * two)
    second += (degrees - 4 * pairs) * (margins - 2 * squares) / (4 * three)
    second += (pairs**2 + 2 * pairs - degrees) * (total**2 + squares - margins) / four
    return mean, second - mean**2
