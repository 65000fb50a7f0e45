"""Designs of small subsets: the chance with which each item is drawn, from a panel's answers.

A design gives every item a positive weight. Inclusion probabilities π_j are proportional to the weights, none is
above 1, and they sum to the size of the subset. Systematic sampling over items in the order of ease realises them
(Madow 1949), so every subset is as varied in ease as the benchmark, and scores on the whole can be estimated without
bias (`subset_estimates`).

With p_j the share of the panel that solves item j, half an answer of each kind added:

- ``stratified``: equal weights, that is, one item from each stratum of ease (at one place in all of them; items of
  equal ease are in random order).
- ``divided``: √(p(1 − p)), the standard deviation of an answer. By Neyman's allocation (1934) this makes the estimate
  most accurate if models answer independently of each other.
- ``telling``: c_j + c̄, with c_j = √(p_j(1 − p_j)) · r_j, r_j the item's correlation over models with the score on the
  other items, 0 where it is negative, and c̄ the mean of c_j over items. But for the spread of that score, which is
  nearly the same for all items, and the half answers c_j is a covariance. The mean stands for what few models cannot
  say of a single item.
- ``more-telling``: c_j + .3 c̄.
- ``hard``: (1 − p) · p^⅛, because what all models solve does not separate stronger models.
- ``harder``: (1 − p)^1.5 · p^¼.

Assumed is that models to be ranked differ on items as those of the panel do (``telling``), or that they are stronger
and fail the items that few of the panel solve (``hard``); `subset_choice` tries both on models left out. Chances are
checked against counts over draws, weights against figures by hand (tests/curate/test_subset_designs.py).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyetest.measures.stats.intervals import Floats
from eyetest.measures.stats.item_analysis import item_rest

Places = NDArray[np.intp]
Seed = int | Sequence[int]
_CERTAIN = 1 - 1e-9  # a chance that is below 1 by rounding only; as an uncertain item it could be left out
_UNSOLVED = 0.125  # power of the ease; without it items that no model solves are the likeliest


class Subset(NamedTuple):
    """Positions of the drawn items, rising, and the inclusion probability of every item of the benchmark."""

    items: Places
    chances: Floats


class Design(NamedTuple):
    """A way to draw a subset: its name, which items are likelier (or empty), and weights by a panel's answers."""

    name: str
    likelier: str
    weights: Callable[[Floats], Floats]


def ease_of_items(answers: Floats) -> Floats:
    """The share of models that solve each item (items × models), half an answer of each kind added."""
    counts = (~np.isnan(answers)).sum(axis=1)
    return np.asarray((np.nan_to_num(answers).sum(axis=1) + 0.5) / (counts + 1))


def _equal_weights(answers: Floats) -> Floats:
    return np.ones(len(answers))


def _spread_of_answers(answers: Floats) -> Floats:
    """The standard deviation of an answer to each item, right with the chance of its ease."""
    ease = ease_of_items(answers)
    return np.asarray(np.sqrt(ease * (1 - ease)))


def covariances_with_rest(answers: Floats) -> Floats:
    """Spread of each item times its correlation over models with the score on the other items.

    This is the covariance in standard deviations of that score; 0 where negative or undefined.
    """
    correlations = np.nan_to_num(item_rest(answers))
    return np.asarray(_spread_of_answers(answers) * np.maximum(correlations, 0.0))


def _telling(answers: Floats, share_of_mean: float) -> Floats:
    """Covariances, each with a share of their mean added; equal weights where no covariance is positive."""
    covariances = covariances_with_rest(answers)
    if not covariances.any():
        return np.ones(len(answers))
    return np.asarray(covariances + share_of_mean * covariances.mean())


def _as_telling(answers: Floats) -> Floats:
    return _telling(answers, 1.0)


def _as_more_telling(answers: Floats) -> Floats:
    return _telling(answers, 0.3)


def _difficulty(answers: Floats) -> Floats:
    ease = ease_of_items(answers)
    return np.asarray((1 - ease) * ease**_UNSOLVED)


def _steeper_difficulty(answers: Floats) -> Floats:
    ease = ease_of_items(answers)
    return np.asarray((1 - ease) ** 1.5 * ease ** (2 * _UNSOLVED))


STRATIFIED = Design("stratified", "", _equal_weights)
DIVIDED = Design("divided", "items on which the models are divided", _spread_of_answers)
TELLING = Design("telling", "items that go with the score on the others", _as_telling)
MORE_TELLING = Design("more-telling", "items that go most with the score on the others", _as_more_telling)
HARD = Design("hard", "items that few of the models solve", _difficulty)
HARDER = Design("harder", "items that very few of the models solve", _steeper_difficulty)


def draw_subset(answers: Floats, design: Design, size: int, seed: Seed) -> Subset:
    """Draw a subset by a design from a panel's answers (items × models, nan where not asked)."""
    chances = inclusion(design.weights(answers), size)
    return systematic(chances, ease_of_items(answers), seed)


def draw_random(items: int, size: int, seed: Seed) -> Subset:
    """Draw a simple random subset, the baseline of every design."""
    rng = np.random.default_rng(seed)
    places = rng.permutation(items)[:size]
    return Subset(np.sort(places), np.full(items, min(size / items, 1.0)))


def inclusion(weights: Floats, size: int) -> Floats:
    """Inclusion probabilities that sum to ``size``: proportional to the positive weights, none above 1.

    Items that would be above 1 are certain, and the other places are shared by the remaining items, until none is
    above 1. Where ``size`` is at least the number of items, all are certain.
    """
    chances = np.ones(len(weights))
    is_certain = np.zeros(len(weights), bool)
    while is_certain.sum() < min(size, len(weights)):
        free_weights = weights[~is_certain]
        open_places = size - is_certain.sum()
        chances[~is_certain] = np.minimum(open_places * free_weights / free_weights.sum(), 1.0)
        if not (chances[~is_certain] >= _CERTAIN).any():
            return chances
        is_certain = chances >= _CERTAIN
        chances[is_certain] = 1.0
    return np.where(is_certain, 1.0, 0.0)


def systematic(chances: Floats, keys: Floats, seed: Seed) -> Subset:
    """A systematic sample: items lie on a line in the order of their keys, each as long as its chance.

    Taken is the item at each whole step from a random start; items with equal keys are in random order.
    """
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(chances))
    order = shuffled[np.argsort(keys[shuffled], kind="stable")]
    uncertain = order[chances[order] < 1]
    certain = np.flatnonzero(chances >= 1)
    if not len(uncertain):
        return Subset(certain, chances)
    ends = np.cumsum(chances[uncertain])
    steps = rng.random() + np.arange(round(ends[-1]))
    positions = np.searchsorted(ends, steps, side="right")
    positions = np.minimum(positions, len(uncertain) - 1)  # by rounding the line may end before the last step
    return Subset(np.sort(np.concatenate([uncertain[positions], certain])), chances)
