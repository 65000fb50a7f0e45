"""What models that answered a small part of a benchmark would score on the whole (p-IRT).

What was asked counts as answered; what was not, as the model's ability lets expect, over all that it may be.
Abilities far from the panel's are guessed from curves that nobody was there to bend: such models are marked.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eyetest.errors import InputError
from eyetest.measures.stats.intervals import Floats, one_thread
from eyetest.measures.stats.item_analysis import SCALE, ItemFit, abilities, posterior_abilities, probabilities

_ITEMS_AT_ONCE = 4_096


class Estimated(NamedTuple):
    """For each model: its score on the whole, the standard error of that, and its ability.

    The error is that of answers not given by a model whose ability is not quite known. It takes the curves of items
    for true, which they are not: `calibration` says how much further scores are really missed.
    """

    scores: Floats
    errors: Floats
    abilities: Floats
    beyond: NDArray[np.int8]
    """1 where the model seems abler than the whole panel, −1 where it seems less able, else 0."""


class Estimator:
    """Estimates scores on the whole benchmark that a panel was fitted on."""

    def __init__(self, fitted: ItemFit) -> None:
        if not len(fitted.slopes) or not len(fitted.panel):
            raise InputError("a score is estimated from items that a panel has answered; there are none")
        self._fitted = fitted
        self._right, self._noise = np.zeros(len(SCALE)), np.zeros(len(SCALE))
        for start in range(0, len(fitted.slopes), _ITEMS_AT_ONCE):
            chance = self._chances(np.arange(start, min(start + _ITEMS_AT_ONCE, len(fitted.slopes))))
            self._right += chance.sum(axis=0)
            self._noise += (chance * (1 - chance)).sum(axis=0)
        standing = abilities(fitted.panel)[0]
        self._range = standing.min(), standing.max()
        self._expected = _like_the_panel(fitted.panel)

    @property
    def beforehand(self) -> Floats:
        """How likely each ability on `SCALE` is for a model of which nothing is known yet, as a logarithm."""
        return np.asarray(np.log(np.maximum(self._expected, 1e-300)) - SCALE**2 / 2, float)

    def estimate(self, items: ArrayLike, answers: ArrayLike) -> Estimated:
        """Estimate scores from answers to the items at these positions: items × models, from 0 to 1, nan if missing.

        An item whose answer is missing counts as not asked.
        """
        positions, known = np.asarray(items, np.intp), np.asarray(answers, float)
        asked = ~np.isnan(known)
        whole = len(self._fitted.slopes)
        with one_thread():
            likely = self._posterior(positions, known)
            chance = self._chances(positions)
            expected = self._right - asked.T @ chance
            noise = self._noise - asked.T @ (chance * (1 - chance))
        rest = (likely * expected).sum(axis=1)
        doubt = (likely * (expected - rest[:, None]) ** 2).sum(axis=1)
        ability = abilities(likely)[0]
        weakest, ablest = self._range
        return Estimated(
            (np.where(asked, known, 0.0).sum(axis=0) + rest) / whole,
            np.sqrt(doubt + np.maximum((likely * noise).sum(axis=1), 0.0)) / whole,
            ability,
            (ability > ablest).astype(np.int8) - (ability < weakest).astype(np.int8),
        )

    def _chances(self, positions: NDArray[np.intp]) -> Floats:
        return probabilities(self._fitted.slopes[positions], self._fitted.intercepts[positions], SCALE)

    def _posterior(self, positions: NDArray[np.intp], known: Floats) -> Floats:
        """Where models may stand, taken before any answer to be models such as the panel's."""
        part = ItemFit(
            self._fitted.slopes[positions], self._fitted.intercepts[positions], self._fitted.panel, 0, True
        )
        likely = posterior_abilities(part, known) * self._expected
        return np.asarray(likely / likely.sum(axis=1, keepdims=True), float)


def cautions(models: Sequence[str], estimated: Estimated) -> list[str]:
    """A line for each model that lies beyond the panel."""
    words = {1: "abler", -1: "less able"}
    return [
        f"{model} seems {words[side]} than every model of the panel: its score is a guess beyond what the panel "
        "shows, and that of a random part may be as good; better ask it the whole benchmark"
        for model, side in zip(models, estimated.beyond.tolist(), strict=True)
        if side
    ]


def _like_the_panel(panel: Floats) -> Floats:
    """How much likelier each ability on `SCALE` is among models such as the panel's than under the fit's N(0, 1).

    Items settle the scale of abilities, so the panel may stand far from 0 and wide, and models that were asked
    little would be drawn to a place where no model is. A narrow panel is no proof that others are as alike.
    """
    where = panel.mean(axis=0)
    centre = where @ SCALE
    spread = max(float(np.sqrt(where @ (SCALE - centre) ** 2)), 1.0)
    logs = SCALE**2 / 2 - ((SCALE - centre) / spread) ** 2 / 2
    return np.asarray(np.exp(logs - logs.max()), float)
