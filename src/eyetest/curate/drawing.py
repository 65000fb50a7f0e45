"""Draw a small subset of a benchmark by how well items separate models: random, of fixed size, with known chances."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyetest.errors import InputError
from eyetest.measures.stats.intervals import Floats, column_means, one_thread
from eyetest.measures.stats.item_analysis import SCALE, ItemFit, abilities, probabilities

Places = NDArray[np.intp]
Seed = int | Sequence[int]
NONE: Places = np.empty(0, np.intp)
_ITEMS_AT_ONCE = 4_096
_CERTAIN = 1 - 1e-9
_ANCHORED = 0.5  # of a subset; anchors alone rank best, but scores are missed by more
_UNEXPLAINED = 0.02  # variance of an answer that even items with no wrong answer in the panel have


class Subset(NamedTuple):
    """Positions of the drawn items, rising, and the inclusion probability of every item."""

    items: Places
    chances: Floats


def anchored(fitted: ItemFit, answers: Floats, size: int) -> Places:
    """Items for the certain half of a subset, chosen one by one to leave least doubt about the total. ``answers``:
    items × models; new models are taken to differ as the panel does, halfway between answers and curves.
    """
    mean = np.nan_to_num(column_means(answers.T), nan=0.5)
    curves = probabilities(fitted.slopes, fitted.intercepts, abilities(fitted.panel)[0])
    apart = np.nan_to_num(answers - mean[:, None]) + curves - curves.mean(axis=1, keepdims=True)
    loads = apart / (2 * np.sqrt(apart.shape[1]))
    noise, whole, left = mean * (1 - mean) + _UNEXPLAINED, loads.sum(axis=0), loads.copy()
    free, taken = np.ones(len(loads), bool), []
    with one_thread():
        for _ in range(round(min(size, len(loads)) * _ANCHORED)):
            doubt = noise + (left * loads).sum(axis=1)
            best = int(np.where(free, (left @ whole) ** 2 / doubt, -1.0).argmax())
            free[best] = False
            taken.append(best)
            known = left[best] / np.sqrt(doubt[best])
            left -= np.outer(loads @ known, known)
    return np.sort(np.array(taken, np.intp))


def pps(fitted: ItemFit, size: int, seed: Seed, certain: Places = NONE) -> Subset:
    """Draw with chances ∝ sqrt(mean P(1 − P)) · (.3 + a) over the panel, beside the ``certain`` items. No chance is
    near 0; scores on such a subset have to be estimated.
    """
    right, spread = _seen_by_panel(fitted)
    weights = np.sqrt(spread) * (0.3 + fitted.slopes)
    free = ~np.isin(np.arange(len(weights)), certain)
    chances = np.where(free, 0.0, 1.0)
    if len(certain) < size and free.any():
        chances[free] = inclusion(weights[free], size - len(certain))
    return systematic(chances, right, seed)


def inclusion(weights: Floats, size: int) -> Floats:
    """Inclusion probabilities in proportion to positive weights that sum to ``size``, none above 1."""
    if size < 1:
        raise InputError(f"a part has at least 1 item, not {size}")
    chances, certain = np.ones(len(weights)), np.zeros(len(weights), bool)
    while certain.sum() < min(size, len(weights)):
        free = ~certain
        chances[free] = np.minimum((size - certain.sum()) * weights[free] / weights[free].sum(), 1.0)
        if not (chances[free] >= _CERTAIN).any():
            return chances
        certain = chances >= _CERTAIN
        chances[certain] = 1.0
    return np.where(certain, 1.0, 0.0)


def systematic(chances: Floats, keys: Floats, seed: Seed) -> Subset:
    """Systematic sampling: items in the order of their keys, each as long as its chance, one at every step."""
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(chances))
    order = shuffled[np.argsort(keys[shuffled], kind="stable")]
    free = order[chances[order] < 1]
    ends = np.cumsum(chances[free])
    wanted = round(ends[-1]) if len(free) else 0
    steps = rng.random() + np.arange(wanted)
    drawn = free[np.minimum(np.searchsorted(ends, steps, side="right"), len(free) - 1)]
    return Subset(np.sort(np.concatenate([drawn, np.flatnonzero(chances >= 1)])), chances)


def _seen_by_panel(fitted: ItemFit) -> tuple[Floats, Floats]:
    """Each item's expected share of right answers in the panel, and its mean P(1 − P)."""
    where = fitted.panel.mean(axis=0)
    right, spread = np.empty(len(fitted.slopes)), np.empty(len(fitted.slopes))
    with one_thread():
        for start in range(0, len(right), _ITEMS_AT_ONCE):
            some = slice(start, start + _ITEMS_AT_ONCE)
            chance = probabilities(fitted.slopes[some], fitted.intercepts[some], SCALE)
            right[some], spread[some] = chance @ where, (chance * (1 - chance)) @ where
    return right, spread
