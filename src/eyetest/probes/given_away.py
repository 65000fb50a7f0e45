"""Golds that are given away one by one, however few: accuracy over all items says little where one in twenty is.

Learners that see no picture give each gold a chance. Where all of them give one much more than luck does, it is
listed, and with golds drawn at random the same count says how many luck would list.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy import stats

from eyetest.probes.features import Floats, Ints
from eyetest.probes.learners import Scores, Trial


class Learnt(Protocol):
    """What one learner made of all sets of golds, the true one in the first column."""

    @property
    def excess(self) -> Floats:
        """Items × sets: the chance of the gold beyond luck."""
        ...


def gold_excess(trial: Trial, scores: Scores) -> Floats:
    """How much more than luck each item's gold gets, once scores are stretched to be as sure as they are right."""
    table = trial.table
    luck = 1 / table.counts
    centred = table.centred(scores.astype(np.float64))
    right = (centred * trial.targets).sum(axis=0)
    stretch = np.maximum(right / np.maximum((centred**2).sum(axis=0), 1e-12), 0.0)
    chances = np.maximum(table.spread(luck)[:, None] + stretch * centred, 1e-6)
    golds = np.take_along_axis(chances, trial.golds, axis=0)
    return np.asarray(golds / np.add.reduceat(chances, table.starts, axis=0) - luck[:, None])


def least_excess(learnt: Sequence[Learnt]) -> Floats:
    """Items × sets: what the learner that gives least gives, for the sets that all of them learnt."""
    sets = min(one.excess.shape[1] for one in learnt)
    return np.asarray(np.min([one.excess[:, :sets] for one in learnt], axis=0))


def as_many(listed: int, by_luck: Ints, smallest: float) -> float:
    """How often luck lists as many: a count with the mean and the spread of those under random golds."""
    mean = (float(by_luck.sum()) + 1) / (len(by_luck) + 1)
    spread = float(by_luck.var(ddof=1)) if len(by_luck) > 1 else 0.0
    if spread <= mean * 1.01:
        return max(float(stats.poisson.sf(listed - 1, mean)), smallest)
    return max(float(stats.nbinom.sf(listed - 1, mean**2 / (spread - mean), mean / spread)), smallest)
