"""Draw a small part of a benchmark on which new models are asked instead of on all of it.

Every drawing is random, of a fixed size, the same for the same seed, and knows each item's chance to be in it.
`estimating` says what a model's score on the part means for the whole.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyetest.errors import InputError
from eyetest.measures.stats.item_response import SCALE, ItemFit, probabilities
from eyetest.measures.stats.threads import one_thread

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Seed = int | Sequence[int]
_ITEMS_AT_ONCE = 4_096
_CERTAIN = 1 - 1e-9


class Drawn(NamedTuple):
    """The places of the items that were drawn, rising, and the chance that each item of the whole had."""

    items: Places
    chances: Floats


def pps(fitted: ItemFit, size: int, seed: Seed) -> Drawn:
    """Items that tell the panel's models apart are likelier: chances go with sqrt(mean P(1 − P)) · (.3 + a).

    The mean is over the panel's models, wherever they may stand. No item's chance comes near 0, because what sets new
    models apart may be what the panel could not show. Scores on such a part are not those of the whole: they have to
    be estimated from it.
    """
    right, spread = _seen_by_panel(fitted)
    return _systematic(inclusion(np.sqrt(spread) * (0.3 + fitted.slopes), size), right, seed)


def stratified(difficulty: ArrayLike, size: int, seed: Seed) -> Drawn:
    """Every item is as likely as any other, and the part is as difficult as the whole (ties in random order)."""
    keys = np.asarray(difficulty, float)
    return _systematic(inclusion(np.ones(len(keys)), size), keys, seed)


def at_random(count: int, size: int, seed: Seed) -> Drawn:
    """Every part of this size is as likely as any other."""
    return stratified(np.zeros(count), size, seed)


def inclusion(weights: Floats, size: int) -> Floats:
    """Chances in proportion to positive weights that sum to ``size``. None is above 1: the rest has more then."""
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


def _systematic(chances: Floats, keys: Floats, seed: Seed) -> Drawn:
    """Lay items end to end in the order of their keys, each as long as its chance, and take one at every whole step.

    So every stretch of the order gets its share, and an item is drawn as often as its chance says.
    """
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(chances))
    order = shuffled[np.argsort(keys[shuffled], kind="stable")]
    free = order[chances[order] < 1]
    ends = np.cumsum(chances[free])
    wanted = round(ends[-1]) if len(free) else 0
    steps = rng.random() + np.arange(wanted)
    drawn = free[np.minimum(np.searchsorted(ends, steps, side="right"), len(free) - 1)]
    return Drawn(np.sort(np.concatenate([drawn, np.flatnonzero(chances >= 1)])), chances)


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
