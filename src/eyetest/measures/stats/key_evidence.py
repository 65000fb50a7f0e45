"""Evidence against each option as the key of its item, from which options models chose.

Estimated is an order: for every item and option, how strongly the models' choices speak against
this option being the right one. The score is the mean of two parts, and of three where there are
`LEARNED_FROM` models or more, each in standard deviations of its values for the given keys:

- the **margin**: the largest share of votes for another option, less the option's own share; half
  a vote is added to each option, so that few votes make no large shares;
- the **log odds** against the option if models are independent, each as accurate as it agrees with
  the given keys and wrong evenly among the other options. Where options recur as a set (yes and
  no), another option counts by how often it is right in items whose key is this one;
- the **learned evidence**: the log probability of the best other option less that of the option, by
  a conditional logit (McFadden 1974), P(o) ∝ exp(Σ β_m · [model m chose o]). The weights β are
  fitted to the given keys with a ridge penalty, and each item is scored by weights that were fitted
  to the other four fifths of the items. Models that repeat each other share a weight, which
  independence does not give.

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
_FOLDS = 5  # a weight that was fitted to an item's own key would call that key right
_RIDGE = 1.0  # penalty on each weight, about one item's worth: models that are always right would have infinite ones
_NEWTON_STEPS = 12  # at most
_LARGEST_STEP = 2.0  # of a weight: full steps from a start at which keys are separable diverge
_TOLERANCE = 1e-4  # of a weight: Newton's method ends at steps below it
_ROUNDS = 12  # of the alternation between which option is right and how often it is right beside each key
_ABOVE_CHANCE = 0.01  # a model at or below chance gets a weight of nearly 0; a negative one would invert its votes


class Votes(NamedTuple):
    """The choices of models for items that have their keys."""

    chosen: Ints  # items × models: the place of the chosen option, negative where none was read
    number: Ints  # how many options each item has
    keys: Ints  # the place of each item's given key
    kinds: Ints  # items × options: number of an option that recurs from item to item, 0 for all others

    @property
    def is_read(self) -> Bools:
        """By item whether there is anything to weigh: several options, and a choice that was read."""
        return np.asarray((self.chosen >= 0).any(axis=1) & (self.number > 1))

    def only(self, items: Bools | Ints) -> "Votes":
        """The votes on some of the items."""
        return Votes(self.chosen[items], self.number[items], self.keys[items], self.kinds[items])

    @property
    def of_answering_models(self) -> "Votes":
        """The votes without models of which no choice was read where there are several options."""
        is_answering = (self.chosen[self.is_read] >= 0).any(axis=0)
        return self._replace(chosen=self.chosen[:, is_answering])

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
        votes = self.counts + 0.5
        is_open = self.is_open
        return np.where(is_open, votes / (votes * is_open).sum(axis=1, keepdims=True), -1.0)


def move_keys(votes: Votes, items: Ints, rng: np.random.Generator) -> Votes:
    """Return the votes with the keys of some items moved, each to another option of its item at random."""
    steps = 1 + (rng.random(len(items)) * (votes.number[items] - 1)).astype(np.int64)  # none ends at the given key
    keys = votes.keys.copy()
    keys[items] = (keys[items] + steps) % votes.number[items]
    return votes._replace(keys=keys)


def weigh_options(votes: Votes) -> Floats:
    """Return, items × options, the evidence against each option as the key, in standard deviations.

    Values beyond an item's options mean nothing; `Votes.is_open` tells which these are.
    """
    scores = [_margins(votes.shares), _log_odds(votes)]
    if votes.chosen.shape[1] >= LEARNED_FROM:
        scores.append(_learned(votes))
    return np.asarray(np.mean([_standardised(score, votes.keys) for score in scores], axis=0))


def _standardised(scores: Floats, keys: Ints) -> Floats:
    """The scores less their mean over the given keys, in standard deviations over the given keys."""
    of_keys = scores[np.arange(len(keys)), keys]
    if not len(of_keys):
        return scores
    return np.asarray((scores - of_keys.mean()) / max(float(of_keys.std()), 1e-9))


def _margins(shares: Floats) -> Floats:
    """Items × options: the largest share of votes for another option, less the option's own."""
    return _best_other(shares) - shares


def _best_other(values: Floats) -> Floats:
    """Items × options: the largest value among the item's other options; of two that lead, each has the other."""
    ascending = np.sort(values, axis=1)
    best, second = ascending[:, -1:], ascending[:, -2:-1]
    return np.where(values == best, second, best)


def _log_odds(votes: Votes) -> Floats:
    """Items × options: log odds that another option is right rather than this one, if this one is the given key."""
    is_open, kinds = votes.is_open, votes.kinds
    weights = _independent_weights(votes)
    sums = np.where(is_open, _sums_of_weights(votes.chosen, weights, is_open), -np.inf)
    table = _right_where_other_is_key(sums, votes)
    has_rivals = is_open & (votes.number[:, None] > 1)
    against = np.zeros(sums.shape)
    for place in range(kinds.shape[1]):
        kinds_of_key = kinds[:, place][:, None]
        log_likelihoods = sums + table[kinds, kinds_of_key]
        log_likelihoods_of_key = log_likelihoods[:, place].copy()
        log_likelihoods[:, place] = -np.inf
        rows = has_rivals[:, place]
        log_likelihoods_of_rivals = scipy.special.logsumexp(log_likelihoods[rows], axis=1)
        against[rows, place] = log_likelihoods_of_rivals - log_likelihoods_of_key[rows]
    return against


def _independent_weights(votes: Votes) -> Floats:
    """By model what its vote adds to the log odds of an option if models are independent and wrong evenly.

    With accuracy a and w wrong options it is log(a w / (1 − a)). w is one number for all items, from the median
    number of options: a number for each item makes items with many options more suspect.
    """
    wrong_options = max(float(np.median(votes.number)), 2.0) - 1 if len(votes.number) else 1.0
    weights = np.zeros(votes.chosen.shape[1])
    for model, chosen in enumerate(votes.chosen.T):
        read = chosen >= 0
        agreed = (chosen == votes.keys)[read].sum()
        accuracy = (agreed + 1) / (read.sum() + 2)
        accuracy = max(accuracy, 1 / (1 + wrong_options) + _ABOVE_CHANCE)
        weights[model] = np.log(accuracy * wrong_options / (1 - accuracy))
    return weights


def _sums_of_weights(chosen: Ints, weights: Floats, is_open: Bools) -> Floats:
    """Items × options: the sum of the weights of the models that chose the option."""
    sums = np.zeros(is_open.shape)
    for model, weight in zip(chosen.T, weights, strict=True):
        read = np.flatnonzero(model >= 0)
        sums[read, model[read]] += weight
    return sums


def _right_where_other_is_key(sums: Floats, votes: Votes) -> Floats:
    """Return, kinds of options × kinds of keys, how often an option is right where that key is given, as logarithms.

    Alternately, the right option of each item is estimated from the votes and the table, and the table from these
    estimates. Options that do not recur have the kind 0 and the value 0, which changes no odds.
    """
    kinds, items = votes.kinds, np.arange(len(votes.keys))
    kinds_of_keys = np.broadcast_to(kinds[items, votes.keys][:, None], kinds.shape)
    size = int(kinds.max(initial=0)) + 1
    table = np.zeros((size, size))
    for _ in range(_ROUNDS if size > 1 else 0):
        log_likelihoods = sums + table[kinds, kinds_of_keys]
        probabilities = np.exp(log_likelihoods - scipy.special.logsumexp(log_likelihoods, axis=1, keepdims=True))
        pairs: Floats = np.eye(size) + 1e-3  # a pair that never occurs would have the logarithm of 0
        np.add.at(pairs, (kinds, kinds_of_keys), probabilities)
        table = np.log(pairs / pairs.sum(axis=0))
        table[0] = 0.0
        table[:, 0] = 0.0
    return table


def _learned(votes: Votes) -> Floats:
    """Items × options: log probability of the best other option less the option's own, by weights of other items.

    It is a difference of utilities, since the sum that makes them probabilities is the same for all options. A fit
    starts at the weights of the one before; its optimum does not depend on them, since the penalised likelihood is
    concave.
    """
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
    return np.where(np.isfinite(evidence), evidence, 0.0)  # an item with one option has no other, and −inf


def _logit_weights(votes: Votes, start: Floats) -> Floats:
    """Weights of a conditional logit of the key, with a ridge penalty, by Newton's method in bounded steps."""
    is_open, read = votes.is_open, votes.chosen >= 0
    agreed = (votes.chosen == votes.keys[:, None]).sum(axis=0)
    places = np.maximum(votes.chosen, 0)  # of unread choices any, which is not used
    weights = start.copy()
    for _ in range(_NEWTON_STEPS):
        utilities = np.where(is_open, _sums_of_weights(votes.chosen, weights, is_open), -np.inf)
        likely = scipy.special.softmax(utilities, axis=1) if len(utilities) else utilities
        of_choice = np.where(read, np.take_along_axis(likely, places, axis=1), 0.0)
        gradient = agreed - of_choice.sum(axis=0) - _RIDGE * weights
        step = np.linalg.solve(_curvature(votes.chosen, of_choice), gradient)
        largest = float(np.abs(step).max(initial=0.0))
        weights = weights + step * min(1.0, _LARGEST_STEP / max(largest, 1e-12))
        if largest < _TOLERANCE:
            break
    return weights


def _curvature(chosen: Ints, of_choice: NDArray[np.float64]) -> Floats:
    """Minus the second derivatives of the penalised log likelihood, models × models.

    ``of_choice``: items × models, the probability that the option which the model chose is the key; 0 where unread.
    """
    models = chosen.shape[1]
    curvature = _RIDGE * np.eye(models) - of_choice.T @ of_choice
    for model in range(models):
        curvature[model] += of_choice[:, model] @ (chosen == chosen[:, model][:, None])
    return curvature
