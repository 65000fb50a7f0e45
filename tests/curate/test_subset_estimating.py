"""Scores on the whole from answers to a part: as the formula says, honest about doubt, and about models beyond."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from eyetest.curate.subsets import Estimator, pps
from eyetest.measures.stats.item_analysis import fit
from tools.gallery.validation import at_random

Floats = NDArray[np.float64]


def _items(count: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.3, 2, count), rng.normal(0, 1.5, count)


def _answers(slopes: Floats, intercepts: Floats, able: Floats, seed: int) -> Floats:
    chance = expit(np.outer(slopes, able) + intercepts[:, None])
    return np.asarray(np.random.default_rng(seed).random(chance.shape) < chance, float)


def test_a_drawn_part_misses_the_score_by_less_than_a_random_one_does() -> None:
    slopes, intercepts = _items(300, 5)
    answers = _answers(slopes, intercepts, np.random.default_rng(5).normal(0, 1, 80), 6)
    fitted = fit(answers[:, :40])
    true = answers[:, 40:].mean(axis=0)
    estimator = Estimator(fitted)
    missed = []
    for seed in range(10):
        drawn, chance = pps(fitted, 30, seed).items, at_random(300, 30, seed).items
        estimates = estimator.estimate(drawn, answers[drawn, 40:]).scores, answers[chance, 40:].mean(axis=0)
        missed.append([np.abs(said - true).mean() for said in estimates])
    estimated, plain = np.mean(missed, axis=0)
    assert estimated < 0.8 * plain
