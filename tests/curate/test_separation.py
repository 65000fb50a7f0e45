"""A part is judged by models and items that had no say, and what its own panel sees stands beside it."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from eyetest.curate.subsets import separation
from eyetest.measures.stats.item_analysis import ItemFit, choose_by_information

pytestmark = pytest.mark.science

Floats = NDArray[np.float64]


def _answers(able: Floats, slopes: Floats, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    chance = expit(np.outer(slopes, able) + rng.normal(0, 1, (len(slopes), 1)))
    return np.asarray(rng.random(chance.shape) < chance, float)


def _by_information(fitted: ItemFit, _: Floats, size: int, __: np.random.Generator) -> NDArray[np.intp]:
    return choose_by_information(fitted, size)


def test_what_separates_weak_models_says_nothing_of_stronger_ones() -> None:
    """Items that only weak models fail rank them, and all stronger models alike; random items rank both."""
    able, slopes = np.concatenate([np.linspace(-4, -1, 12), np.linspace(2, 3, 6)]), np.full(400, 2.0)
    rng = np.random.default_rng(2)
    chance = expit(np.outer(slopes, able) + np.where(np.arange(400) % 2, 5.0, -5.0)[:, None])
    tried = separation((rng.random(chance.shape) < chance).astype(float), 0.3, _by_information)
    chosen, random = tried["chosen"], tried["random"]
    assert (chosen.tau_own or 0) > 0.8
    assert (chosen.tau_stronger or 0) < (random.tau_stronger or 0) - 0.1


def test_where_models_are_alike_the_panel_is_flattered_and_half_of_the_pairs_are_wrong() -> None:
    """Nobody is better: what tells the panel apart is chance, which items and models held out do not share."""
    tried = separation(_answers(np.zeros(18), np.ones(300), 1), 0.3, _by_information)["chosen"]
    assert None not in tried
    assert (tried.tau_own or 0) > 0.4
    assert (tried.apart_own or 0) > 0.15
    assert abs(tried.tau or 0) < 0.2
    assert (tried.apart or 0) < 0.12
    assert (tried.rightly or 0) < 0.8


def test_the_order_of_the_items_held_out_decides_what_is_right() -> None:
    """On half of the items the better model fails: whoever leads on a part by chance is behind on the rest."""
    answers = _answers(np.linspace(-2, 2, 12), np.full(200, 1.5), 3)
    tried = separation(np.vstack([answers, 1 - answers]), 0.5, _by_information)["random"]
    assert tried.rightly == 0
    assert (tried.tau or 0) < -0.2


def test_missing_answers_are_no_hindrance() -> None:
    answers = _answers(np.linspace(-2, 2, 12), np.full(100, 1.5), 4)
    answers[np.random.default_rng(4).random(answers.shape) < 0.2] = np.nan
    tried = separation(answers, 0.5, _by_information)["chosen"]
    assert None not in tried
    assert tried.tau == pytest.approx(0.7, abs=0.3)
