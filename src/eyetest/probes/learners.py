"""Two learners that are trained on the benchmark itself, for the true golds and for many random ones at once.

Both are linear in the golds once their columns or their trees are fixed, and neither columns nor trees know any gold.
So a permutation null costs little more than the observed figure: random golds are further right-hand sides.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.ensemble import ExtraTreesRegressor

from eyetest.probes.features import Floats, Ints, Table

TREES = 200
_LEAF = 10
_AT_ONCE = 10
"""Trees whose leaves are summed together: more need more memory, fewer more time."""
_SAME = 1e-5
"""Scores that differ by less than this, in standard deviations, are ties: rounding must not break them."""

Scores = NDArray[np.floating]
Fit = Callable[["Trial"], Scores]


class Trial:
    """Which golds are learnt, the true ones in the first column, and which items are held out together."""

    def __init__(self, table: Table, golds: Ints, folds: Ints) -> None:
        self.table = table
        self.golds = golds
        self.folds = folds
        self.row_folds = table.spread(folds)

    @property
    def targets(self) -> NDArray[np.float32]:
        """One column a set of golds: which option is the gold, centred within the item."""
        rows, columns = len(self.table.texts), self.golds.shape[1]
        targets = np.repeat((-1 / self.table.spread(self.table.counts)).astype(np.float32)[:, None], columns, axis=1)
        targets[self.golds, np.arange(columns)] += 1
        assert targets.shape == (rows, columns)
        return targets

    def credits(self, scores: Scores) -> Floats:
        """For each item and set of golds 1 where the gold scores highest, shared where it ties with others."""
        table = self.table
        near = _SAME * float(scores.std())
        top = scores >= np.maximum.reduceat(scores, table.starts, axis=0)[table.owner] - near
        ties = np.add.reduceat(top, table.starts, axis=0, dtype=np.int32)
        return np.asarray(np.take_along_axis(top, self.golds, axis=0) / ties)


def ridge(columns: NDArray[np.floating], penalty: float, trial: Trial) -> Scores:
    """Held-out scores of every option by least squares with a penalty, for all sets of golds."""
    targets = trial.targets
    folds = [np.flatnonzero(trial.row_folds == fold) for fold in np.unique(trial.folds)]
    grams = [columns[rows].T @ columns[rows] for rows in folds]
    sides = [columns[rows].T @ targets[rows] for rows in folds]
    gram, side = np.sum(grams, axis=0), np.sum(sides, axis=0)
    scores = np.empty(targets.shape, dtype=np.float32)
    for rows, own_gram, own_side in zip(folds, grams, sides, strict=True):
        left = gram - own_gram
        left[np.diag_indices_from(left)] += penalty
        weights = linalg.solve(left, side - own_side, assume_a="pos", overwrite_a=True, check_finite=False)
        scores[rows] = columns[rows] @ weights
    return scores


def random_trees(columns: Floats, seed: int, trial: Trial) -> Scores:
    """Held-out scores of every option as the mean, over many random trees, of the golds in its leaf."""
    leaves = _leaves(columns, seed)
    targets = trial.targets
    scores = np.zeros(targets.shape, dtype=np.float32)
    folds = [trial.row_folds == fold for fold in np.unique(trial.folds)]
    for first in range(0, leaves.shape[1], _AT_ONCE):
        membership = _membership(leaves[:, first : first + _AT_ONCE])
        sums = [membership[fold].T @ targets[fold] for fold in folds]
        sizes = [membership[fold].sum(axis=0) for fold in folds]
        total, size = np.sum(sums, axis=0), np.sum(sizes, axis=0)
        for fold, own_sum, own_size in zip(folds, sums, sizes, strict=True):
            means = (total - own_sum) / (size - own_size + 1)[:, None]
            scores[fold] += membership[fold] @ means
    return np.asarray(scores / leaves.shape[1])


def _leaves(columns: Floats, seed: int) -> NDArray[np.int64]:
    """The leaf of every row in every tree. Splits are drawn without looking at golds: they are fitted to noise."""
    noise = np.random.default_rng(seed).standard_normal(len(columns))
    trees = ExtraTreesRegressor(TREES, max_features=1, min_samples_leaf=_LEAF, random_state=seed % 2**32)
    return np.asarray(trees.fit(columns, noise).apply(columns), dtype=np.int64)


def _membership(leaves: NDArray[np.int64]) -> sparse.csr_array:
    """One column a leaf of these trees, with a 1 where a row lies in it."""
    rows, trees = leaves.shape
    offsets = np.concatenate([[0], np.cumsum(leaves.max(axis=0) + 1)])
    columns = (leaves + offsets[:-1]).ravel()
    pointers = np.arange(0, rows * trees + 1, trees)
    return sparse.csr_array(
        (np.ones(rows * trees, dtype=np.float32), columns, pointers), shape=(rows, int(offsets[-1]))
    )
