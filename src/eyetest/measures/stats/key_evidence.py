"""Evidence against each option as the key of its item, from which options models chose.

Estimated is an order: for every item and option, how strongly the models' choices speak against
this option being the right one. The score is the mean of two, from `LEARNED_FROM` models on of
three, each in standard deviations over the given keys:

- the **margin**: the largest share of models for another option, less the option's own share;
- the **log odds** against the option if models are independent, each as accurate as it agrees with
  the given keys and wrong evenly among the other options. Where options recur as a set (yes and
  no), another option counts by how often it is right where this one is the key;
- the **learned evidence**: the log probability of the best other option less that of the option, by
  a conditional logit (McFadden 1974), P(o) ∝ exp(Σ β_m · [model m chose o]). The weights β are
  fitted to the given keys with a ridge penalty, and each item is scored by weights that were fitted
  without it. Models that repeat each other share a weight, which independence does not give.

Assumed: most keys are right, and wrong keys do not follow the models' choices. Independent checks:
tests/measures/test_planted_keys.py (keys moved in real answers, against a count and scikit-learn
with cleanlab).
"""

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from eyetest.measures.stats.intervals import Bools, Floats, Ints

LEARNED_FROM = 5  # models; with fewer, weights learned from the keys are no better than shares of votes
_FOLDS = 5
_RIDGE = 1.0  # on each weight; one item is worth about this much
_NEWTON_STEPS = 12
_LARGEST_STEP = 2.0  # of a weight, so that a separable start does not diverge
_TOLERANCE = 1e-4
_ROUNDS = 12  # of how often an option is right where another one is the key
_ABOVE_CHANCE = 0.01  # a model below chance has no weight


class Votes(NamedTuple):
    """The choices of models for items that have their keys."""

    chosen: Ints  # items × models: the option's place, −1 where unread
    number: Ints  # options of each item
    keys: Ints  # the place of each item's given key
    kinds: Ints  # items × options: number of an option that recurs from item to item, 0 for all others

    @property
    def is_open(self) -> Bools:
        """Items × options: whether the item has this option."""
        return np.arange(self.kinds.shape[1]) < self.number[:, None]

    @property
    def counts(self) -> Floats:
        """Items × options: how many models chose the option."""
        places = range(self.kinds.shape[1])
        return np.stack([(self.chosen == place).sum(axis=1) for place in places], axis=1).astype(float)

    @property
    def shares(self) -> Floats:
        """Items × options: the option's share of the votes, half a vote added to each; −1 beyond the options."""
        votes, is_open = self.counts + 0.5, self.is_open
        return np.where(is_open, votes / (votes * is_open).sum(axis=1, keepdims=True), -1.0)


def weigh_options(votes: Votes) -> Floats:
    """Return, items × options, the evidence against each option as the key, in standard deviations."""
    scores = [_margins(votes.shares), _log_odds(votes)]
    if votes.chosen.shape[1] >= LEARNED_FROM:
        scores.append(_learned(votes))
    return np.asarray(np.mean([_standardised(score, votes.keys) for score in scores], axis=0))


def _standardised(scores: Floats, keys: Ints) -> Floats:
    """The scores in standard deviations around their mean over the given keys."""
    of_keys = scores[np.arange(len(keys)), keys]
    if not len(of_keys):
        return scores
    return np.asarray((scores - of_keys.mean()) / max(float(of_keys.std()), 1e-9))


def _margins(shares: Floats) -> Floats:
    """Items × options: the largest share of models for another option, less the option's own."""
    return _best_other(shares) - shares


def _best_other(values: Floats) -> Floats:
    """Items × options: the largest value among the item's other options."""
    ascending = np.sort(values, axis=1)
    best, second = ascending[:, -1:], ascending[:, -2:-1]
    return np.where(values == best, second, best)


def _log_odds(votes: Votes) -> Floats:
    """Items × options: log odds that another option is right if this one is the key."""
    is_open, kinds = votes.is_open, votes.kinds
    weights = _independent_weights(votes)
    sums = np.where(is_open, _sums_of_weights(votes.chosen, weights, is_open), -np.inf)
    table = _right_where_other_is_key(sums, votes)
    several = is_open & (votes.number[:, None] > 1)
    against = np.zeros(sums.shape)
    for place in range(kinds.shape[1]):
        odds = sums + table[kinds, kinds[:, place][:, None]]
        of_key = odds[:, place].copy()
        odds[:, place] = -np.inf
        rows = several[:, place]
        against[rows, place] = scipy.special.logsumexp(odds[rows], axis=1) - of_key[rows]
    return against


def _independent_weights(votes: Votes) -> Floats:
    """By model the log odds that a vote of it is worth if models are independent and wrong evenly.

    The number of wrong options is one for all items, the median: a number for each item makes items with many options
    more suspect.
    """
    wrong_options = max(float(np.median(votes.number)), 2.0) - 1 if len(votes.number) else 1.0
    weights = np.zeros(votes.chosen.shape[1])
    for model, chosen in enumerate(votes.chosen.T):
        read = chosen >= 0
        right = ((chosen == votes.keys)[read].sum() + 1) / (read.sum() + 2)
        right = max(right, 1 / (1 + wrong_options) + _ABOVE_CHANCE)
        weights[model] = np.log(right * wrong_options / (1 - right))
    return weights


def _sums_of_weights(chosen: Ints, weights: Floats, is_open: Bools) -> Floats:
    """Items × options: the sum of the weights of the models that chose the option."""
    sums = np.zeros(is_open.shape)
    for model, weight in zip(chosen.T, weights, strict=True):
        read = np.flatnonzero(model >= 0)
        sums[read, model[read]] += weight
    return sums


def _right_where_other_is_key(sums: Floats, votes: Votes) -> Floats:
    """Log probabilities by kind of option and kind of key; 0 for options that do not recur."""
    kinds, items = votes.kinds, np.arange(len(votes.keys))
    kinds_of_keys = np.broadcast_to(kinds[items, votes.keys][:, None], kinds.shape)
    size = int(kinds.max(initial=0)) + 1
    table = np.zeros((size, size))
    for _ in range(_ROUNDS if size > 1 else 0):
        odds = sums + table[kinds, kinds_of_keys]
        truth = np.exp(odds - scipy.special.logsumexp(odds, axis=1, keepdims=True))
        pairs: Floats = np.eye(size) + 1e-3
        np.add.at(pairs, (kinds, kinds_of_keys), truth)
        table = np.log(pairs / pairs.sum(axis=0))
        table[0] = 0.0
        table[:, 0] = 0.0
    return table


def _learned(votes: Votes) -> Floats:
    """Items × options: log probability of the best other option less the option's own, by weights of other items."""
    is_open = votes.is_open
    folds = np.random.default_rng(0).permutation(len(votes.keys)) % _FOLDS
    evidence = np.zeros(is_open.shape)
    weights = np.zeros(votes.chosen.shape[1])
    for fold in range(_FOLDS):
        scored = folds == fold
        fitted = ~scored & (votes.number > 1)
        part = Votes(votes.chosen[fitted], votes.number[fitted], votes.keys[fitted], votes.kinds[fitted])
        weights = _logit_weights(part, weights)
        utilities = _sums_of_weights(votes.chosen[scored], weights, is_open[scored])
        utilities = np.where(is_open[scored], utilities, -np.inf)
        evidence[scored] = np.where(is_open[scored], _best_other(utilities), 0.0)
        evidence[scored] -= np.where(is_open[scored], utilities, 0.0)
    return np.where(np.isfinite(evidence), evidence, 0.0)


def _logit_weights(votes: Votes, start: Floats) -> Floats:
    """Weights of a conditional logit of the key, with a ridge penalty, by Newton's method in bounded steps."""
    is_open, read = votes.is_open, votes.chosen >= 0
    agreed = (votes.chosen == votes.keys[:, None]).sum(axis=0)
    places = np.maximum(votes.chosen, 0)
    weights = start.copy()
    for _ in range(_NEWTON_STEPS):
        utilities = np.where(is_open, _sums_of_weights(votes.chosen, weights, is_open), -np.inf)
        likely = scipy.special.softmax(utilities, axis=1) if len(utilities) else utilities
        of_choice = np.where(read, np.take_along_axis(likely, places, axis=1), 0.0)
        slope = agreed - of_choice.sum(axis=0) - _RIDGE * weights
        step = np.linalg.solve(_curvature(votes.chosen, of_choice), slope)
        largest = float(np.abs(step).max(initial=0.0))
        weights = weights + step * min(1.0, _LARGEST_STEP / max(largest, 1e-12))
        if largest < _TOLERANCE:
            break
    return weights


def _curvature(chosen: Ints, of_choice: NDArray[np.float64]) -> Floats:
    """Minus the second derivatives of the penalised log likelihood; ``of_choice``: probabilities of the choices."""
    models = chosen.shape[1]
    curvature = _RIDGE * np.eye(models) - of_choice.T @ of_choice
    for model in range(models):
        curvature[model] += of_choice[:, model] @ (chosen == chosen[:, model][:, None])
    return curvature
