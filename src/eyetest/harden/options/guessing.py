"""A learner that guesses golds from the sets that items were given, so that they can be given others.

Traits that are even one by one can still give a gold away together: the round one among close neighbours, the small
one of a wide range. No list of traits says which go together in a batch; a learner finds out.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.ensemble import HistGradientBoostingRegressor

from eyetest.measures.stats.intervals import one_thread
from eyetest.probes.features import hashed_words

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Features = NDArray[np.float32]
LEAST_ITEMS = 60
"""With fewer items nothing is learnt that holds for the next one."""
_FOLDS = 4
_BIG = 1e12
_PENALTY = 50.0
"""Times that a word must have been offered before what was learnt of it counts by half; the audit's, in its scale."""


def number_features(offered: Floats, unit: float) -> Features:
    """What can be seen of numbers beside each other, as sets × options × features."""
    count = offered.shape[1]
    size = np.log10(np.abs(offered) / unit + 1)
    order = np.argsort(np.argsort(offered, axis=1, kind="stable"), axis=1, kind="stable")
    inside = np.sort(offered, axis=1)
    spread = np.maximum(inside[:, -1:] - inside[:, :1], 1e-12)
    steps = np.diff(inside, axis=1) / spread
    ends = np.ones((len(offered), 1))
    below = np.take_along_axis(np.hstack([ends, steps]), order, axis=1)
    above = np.take_along_axis(np.hstack([steps, ends]), order, axis=1)
    whole = np.minimum(np.round(np.abs(offered) / unit), _BIG)
    of_all = [
        np.repeat(figure, count, axis=1)
        for figure in (size.mean(axis=1, keepdims=True), np.ptp(size, axis=1)[:, None], steps.min(axis=1)[:, None])
    ]
    middle = (offered - np.median(offered, axis=1, keepdims=True)) / spread
    features = [order, middle, np.abs(middle), below, above, np.minimum(below, above), size, *of_all]
    features += [size - of_all[0], *(np.mod(whole, base) for base in (2, 5, 10, 100))]
    return np.stack(features, axis=2).astype(np.float32)


class Guesser:
    """Scores options as likely golds, each item by what was learnt from others."""

    def __init__(self, given: Sequence[Features], luck: np.random.Generator) -> None:
        """Learns from the set that each item was given, in which the gold comes first."""
        self.folds = luck.permutation(np.arange(len(given)) % _FOLDS)
        targets = [np.eye(1, len(rows))[0] - 1 / len(rows) for rows in given]
        self._models = []
        for fold in range(_FOLDS):
            rows = np.flatnonzero(self.folds != fold).tolist()
            model = HistGradientBoostingRegressor(
                max_iter=60, max_leaf_nodes=12, min_samples_leaf=30, learning_rate=0.08, max_features=0.5,
                early_stopping=False, random_state=int(luck.integers(2**31)),
            )  # fmt: skip
            with one_thread():
                model.fit(
                    np.concatenate([given[row] for row in rows]), np.concatenate([targets[row] for row in rows])
                )
            self._models.append(model)

    def scores(self, drawn: Sequence[Features]) -> list[Floats]:
        """For each item its sets × options."""
        scores: list[Floats] = [np.empty(0)] * len(drawn)
        for fold, model in enumerate(self._models):
            own = np.flatnonzero(self.folds == fold).tolist()
            with one_thread():
                flat = model.predict(np.concatenate([drawn[row].reshape(-1, drawn[row].shape[2]) for row in own]))
            ends = np.cumsum([drawn[row].shape[0] * drawn[row].shape[1] for row in own])[:-1]
            for row, part in zip(own, np.split(np.round(flat, 9), ends), strict=True):
                scores[row] = part.reshape(drawn[row].shape[:2])
        return scores


class WordGuesser:
    """Scores texts as likely golds by what they say and what is asked: "2" where there are often two.

    It sees the columns that the audit's linear learner sees, and learns as that does.
    """

    def __init__(self, questions: Sequence[str], texts: Sequence[Sequence[str]]) -> None:
        """Is told of each item the question and all texts that it could be given, the gold first."""
        sizes = [len(own) for own in texts]
        self._ends = np.cumsum(sizes)
        self._starts = self._ends - sizes
        owner = np.repeat(np.arange(len(texts)), sizes)
        self._words = hashed_words(questions, [text for own in texts for text in own], owner)

    def scores(self, given: Sequence[Sequence[int]], luck: np.random.Generator) -> list[Floats]:
        """For each item its texts, by what was learnt from others; ``given`` says which each offers, gold first."""
        folds = luck.permutation(np.arange(len(given)) % _FOLDS)
        scores: list[Floats] = [np.empty(0)] * len(given)
        with one_thread():
            learnt = [self._sums([given[item] for item in own], own) for own in _members(folds)]
            gram, side = (np.sum(parts, axis=0) for parts in zip(*learnt, strict=True))
            for own, (own_gram, own_side) in zip(_members(folds), learnt, strict=True):
                left = gram - own_gram + _PENALTY * np.eye(len(gram))
                weights = linalg.solve(left, side - own_side, assume_a="pos", check_finite=False)
                for item in own.tolist():
                    scores[item] = np.round(self._words[self._starts[item] : self._ends[item]] @ weights, 9)
        return scores

    def _sums(self, given: Sequence[Sequence[int]], items: Ints) -> tuple[Floats, Floats]:
        """Products of columns, centred within the item, with each other and with golds."""
        sizes = np.array([len(rows) for rows in given])
        rows = np.concatenate(given) + np.repeat(self._starts[items], sizes)
        starts = np.cumsum(sizes) - sizes
        columns = self._words[rows].toarray().astype(np.float64)
        columns -= np.repeat(np.add.reduceat(columns, starts, axis=0) / sizes[:, None], sizes, axis=0)
        return columns.T @ columns, columns[starts].sum(axis=0)


def _members(folds: Ints) -> list[Ints]:
    return [np.flatnonzero(folds == fold) for fold in range(_FOLDS)]
