"""Where a new model stands among recorded ones, from answers to few items: which to ask next, and how far off it is.

The curves of items (2PL) are fitted to the recorded models. An item is the likelier to be asked next the more it
tells about where the model seems to stand by now: by lot, because the few items that would tell most by the curves
are alike in what they ask, and where curves are wrong they are so together. How wrong they are is tried out on
recorded models that are left out of the fit, and the stated error is scaled by it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from eyetest.curate.calibration import families, family_folds
from eyetest.curate.drawing import Places
from eyetest.curate.subset import Estimated, Estimator
from eyetest.measures.stats.intervals import Floats, column_means, one_thread
from eyetest.measures.stats.item_analysis import SCALE, ItemFit, fit, probabilities

FEWEST_ITEMS = 25
"""Before so many answers nothing is said: how far off the curves are was not tried with fewer."""
_MOST_LEFT_OUT = 48
"""Recorded models that the curves are tried on: more would take longer and hardly tell more."""
_FURTHEST = 0.5
"""Of the items, to which the curves are tried; beyond, what was asked speaks for itself."""
_COARSE = slice(None, None, 5)
"""Abilities of `SCALE` that are enough to choose an item by."""
_CERTAIN_ENOUGH = 1e-6


class AdaptiveDraw:
    """What to ask each of some models next, by what it has answered."""

    def __init__(self, fitted: ItemFit, estimator: Estimator, models: int, seed: int) -> None:
        chance = probabilities(fitted.slopes, fitted.intercepts, SCALE[_COARSE])
        chance = np.clip(chance, _CERTAIN_ENOUGH, 1 - _CERTAIN_ENOUGH)
        self._right, self._wrong = np.log(chance), np.log1p(-chance)
        self._telling = (fitted.slopes[:, None] ** 2 * chance * (1 - chance)).T
        self._logs = np.tile(estimator.beforehand[_COARSE], (models, 1))
        self._left = np.ones((models, len(fitted.slopes)), bool)
        self._rng = np.random.default_rng(seed)

    def next(self) -> Places:
        """An item for each model, none of them twice: chances go with the root of its expected information.

        To be the same everywhere, call it in `one_thread`.
        """
        likely = np.exp(self._logs - self._logs.max(axis=1, keepdims=True))
        chances = np.sqrt(likely @ self._telling) * self._left
        ends = np.cumsum(chances, axis=1)
        aims = self._rng.random(len(ends)) * ends[:, -1]
        items = np.array([np.searchsorted(row, aim, side="right") for row, aim in zip(ends, aims, strict=True)])
        self._left[np.arange(len(items)), items] = False
        return items

    def hear(self, items: Places, scores: Floats) -> None:
        """What each model's answer to its item is worth, from 0 to 1; nan where it has no score."""
        known = np.where(np.isnan(scores), 0.0, 1.0)[:, None]
        right = np.nan_to_num(scores)[:, None]
        self._logs += known * (right * self._right[items] + (1 - right) * self._wrong[items])


class Misfit(NamedTuple):
    """By how much scores of left-out models were missed, as a multiple of the stated error, after so many items."""

    items: tuple[int, ...]
    ratios: tuple[float, ...]
    models: int
    """How many that are no relatives."""

    def within(self, items: int) -> float:
        """How many stated errors lie on either side of a score, for 95 % of models such as the panel's."""
        ratio = float(np.interp(np.log(max(items, 1)), np.log(self.items), self.ratios))
        return ratio * float(special.stdtrit(self.models - 1, 0.975))


def misfit(
    table: Floats, models: Sequence[str], seed: int, tell: Callable[[float], None] = lambda share: None
) -> Misfit:
    """Try curves on models that had no say in them, nor had relatives: left out and asked as a new one would be.

    ``table`` has a row an item and a column a model. A ratio is never below 1.
    """
    sizes, kin = _sizes(len(table)), families(models)
    folds = family_folds(kin, np.random.default_rng(seed))
    off: list[Floats] = []
    tried: set[str] = set()
    for fold in range(parts := int(folds.max()) + 1):
        fitted = fit(table[:, folds != fold])
        held = np.flatnonzero(folds == fold)[: _MOST_LEFT_OUT // parts]
        with one_thread():
            off.append(_missed(fitted, table[:, held], sizes, seed))
        tried |= {kin[column] for column in held.tolist()}
        tell((fold + 1) / parts)
    ratios = np.maximum(np.sqrt((np.hstack(off) ** 2).mean(axis=1)), 1.0)
    return Misfit(tuple(sizes), tuple(ratios.tolist()), len(tried))


def _sizes(items: int) -> list[int]:
    """After how many items it is looked: doubling, up to half of all."""
    sizes = [min(FEWEST_ITEMS, items)]
    while sizes[-1] * 2 <= _FURTHEST * items:
        sizes.append(sizes[-1] * 2)
    return sizes


def _missed(fitted: ItemFit, answers: Floats, sizes: Sequence[int], seed: int) -> Floats:
    """Scores less what they were estimated to be, in stated errors: sizes × models."""
    estimator = Estimator(fitted)
    draw = AdaptiveDraw(fitted, estimator, answers.shape[1], seed)
    who, heard, off = np.arange(answers.shape[1]), np.full(answers.shape, np.nan), []
    for number in range(1, sizes[-1] + 1):
        items = draw.next()
        heard[items, who] = answers[items, who]
        draw.hear(items, heard[items, who])
        if number in sizes:
            estimated = estimator.estimate(np.arange(len(answers)), heard)
            stated = np.maximum(estimated.errors, np.finfo(float).tiny)
            off.append((estimated.scores - column_means(answers)) / stated)
    return np.array(off)


class ModelStanding(NamedTuple):
    """A model's score on the whole between its bounds, and its rank among the recorded ones between its bounds."""

    score: float
    low: float
    high: float
    rank: int
    best: int
    worst: int
    beyond: int
    """1 where it seems abler than every recorded model, −1 where less able, else 0."""


class RecordedPanel:
    """Recorded models: the curves of items fitted to their answers, their scores, and how far off the curves are."""

    def __init__(
        self,
        items: Sequence[str],
        models: Sequence[str],
        table: Floats,
        seed: int,
        tell: Callable[[float], None] = lambda share: None,
    ) -> None:
        self.items, self.fitted = list(items), fit(table)
        self.scores, self.seed = column_means(table), seed
        self.misfit, self.estimator = misfit(table, models, seed, tell), Estimator(self.fitted)

    def standing(self, asked: Sequence[int], scores: Sequence[float]) -> ModelStanding:
        """Where a model stands that answered some items."""
        positions, known = np.asarray(asked, np.intp), np.asarray(scores, float).reshape(-1, 1)
        estimated: Estimated = self.estimator.estimate(positions, known)
        count = int((~np.isnan(known)).sum())
        score = float(estimated.scores[0])
        half = float(estimated.errors[0]) * self.misfit.within(count)
        low, high = max(0.0, score - half), min(1.0, score + half)
        ranks = [1 + int((self.scores > end).sum()) for end in (score, high)]
        worst = 1 + int((self.scores >= low).sum())
        return ModelStanding(score, low, high, ranks[0], ranks[1], worst, int(estimated.beyond[0]))
