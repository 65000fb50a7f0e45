"""Scores on the whole benchmark, estimated from answers to a subset that was drawn with known chances.

Estimated is a model's mean score over all N items. With P_j the 2PL curve of item j at the model's ability, and π_j
the chance with which the item was drawn, the difference estimator (Särndal, Swensson and Wretman 1992, chapter 6)

    (Σ_all P_j + Σ_drawn (x_j − P_j) / π_j) / N

has no bias for given curves and abilities, also where these are wrong, because what they missed is weighted by the
chances. Abilities are estimated from the same answers, and scores are kept within 0 and 1, so what bias is left comes
from there. The variance is that of Poisson sampling with the number of items fixed (Hájek 1964), and at least that of
the curves.

A model's ability is the mean of its posterior, with models like the panel's as the prior. Where a model answered n of
the m drawn items, π_j n / m takes the place of π_j.

Assumed is that every chance is positive and that unanswered items are missing at random. Checked against the true
scores of simulated models with several skills (tests/curate/test_subset_estimates.py) and of real ones
(tests/curate/test_subsets_real.py).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from eyetest.curate.subset_designs import Subset
from eyetest.errors import InputError
from eyetest.measures.stats.intervals import Floats
from eyetest.measures.stats.item_analysis import SCALE, ItemFit, posterior_abilities, probabilities

LEVEL = 0.95
_ITEMS_AT_ONCE = 4_096  # whose curves are computed together, which bounds memory
_ROUNDING = 1e-12  # keeps from dividing by 0 where all drawn items are certain


class Estimated(NamedTuple):
    """For each model: its score on the whole, the standard error, and how many of the drawn items it answered."""

    scores: Floats
    errors: Floats
    n: NDArray[np.intp]

    @property
    def half_widths(self) -> Floats:
        """Half the widths of 95 % intervals, by Student's distribution for the answered items; infinite for none."""
        return np.asarray(special.stdtrit(np.maximum(self.n - 1, 1), (1 + LEVEL) / 2) * self.errors, float)


def estimate(fitted: ItemFit, subset: Subset, answers: ArrayLike) -> Estimated:
    """Estimate scores on all items from answers to a subset.

    ``fitted``: the curves of all items; ``subset``: the drawn items and all chances; ``answers``: drawn items ×
    models, from 0 to 1, nan where not asked. A model without an answer gets the score of the panel's mean ability,
    with an infinite error.
    """
    if not len(fitted.slopes) or not len(fitted.panel):
        raise InputError("a score is estimated from items that a panel has answered; there are none")
    table = np.asarray(answers, float)
    is_answered = ~np.isnan(table)
    n = is_answered.sum(axis=0)
    drawn_fit = ItemFit(fitted.slopes[subset.items], fitted.intercepts[subset.items], fitted.panel, 0, True)
    densities = posterior_abilities(drawn_fit, table) * _density_of_panel(fitted.panel)
    posteriors = densities / densities.sum(axis=1, keepdims=True)
    abilities = posteriors @ SCALE
    curves = probabilities(drawn_fit.slopes, drawn_fit.intercepts, abilities)
    chances = subset.chances[subset.items][:, None] * n / max(len(table), 1)
    weights = np.where(is_answered, 1 / np.maximum(chances, np.finfo(float).tiny), 0.0)
    residuals = np.where(is_answered, np.nan_to_num(table) - curves, 0.0)
    missed = residuals * weights
    uncertainty = np.where(is_answered, 1 - np.minimum(chances, 1.0), 0.0)  # certain items add no variance
    centres = (uncertainty * missed).sum(axis=0) / np.maximum(uncertainty.sum(axis=0), _ROUNDING)
    squares = (uncertainty * (missed - centres) ** 2).sum(axis=0)
    spread = squares * n / np.maximum(n - 1, 1)
    by_curves = (uncertainty * weights**2 * curves * (1 - curves)).sum(axis=0)  # few answers may all be alike
    items = len(fitted.slopes)
    errors = np.where(n > 0, np.sqrt(np.maximum(spread, by_curves)) / items, np.inf)
    scores = (_predicted_sums(fitted, abilities) + missed.sum(axis=0)) / items
    return Estimated(np.clip(scores, 0, 1), errors, n)


def _predicted_sums(fitted: ItemFit, abilities: Floats) -> Floats:
    """For each ability the sum over all items of the chances to get them right."""
    sums = np.zeros(len(abilities))
    for start in range(0, len(fitted.slopes), _ITEMS_AT_ONCE):
        block = slice(start, start + _ITEMS_AT_ONCE)
        sums += probabilities(fitted.slopes[block], fitted.intercepts[block], abilities).sum(axis=0)
    return sums


def _density_of_panel(panel: Floats) -> Floats:
    """Density ratio of each ability on `SCALE`, but for a factor: models like the panel's, the prior, over N(0, 1).

    The prior is normal, with the panel's mean and spread, the latter at least 1, because few models may be alike by
    chance.
    """
    mean_density = panel.mean(axis=0)
    centre = mean_density @ SCALE
    spread = max(float(np.sqrt(mean_density @ (SCALE - centre) ** 2)), 1.0)
    logs = SCALE**2 / 2 - ((SCALE - centre) / spread) ** 2 / 2
    return np.asarray(np.exp(logs - logs.max()), float)
