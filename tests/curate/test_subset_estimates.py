"""Scores on the whole estimated from subsets: unbiased, and with intervals that hold."""

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from eyetest.curate.subset_designs import DIVIDED, HARD, STRATIFIED, TELLING, Design, Subset, draw_subset
from eyetest.curate.subset_estimates import estimate
from eyetest.curate.subset_files import Curves
from eyetest.curate.subsets import estimate_scores
from eyetest.measures.stats.item_analysis import SCALE, ItemFit, fit
from tests.measures.tables import grid

Floats = NDArray[np.float64]


def _fitted(slopes: ArrayLike, intercepts: ArrayLike, standing: ArrayLike) -> ItemFit:
    """Items as given, and a panel whose models have exactly these abilities."""
    panel = np.array([np.arange(len(SCALE)) == np.abs(SCALE - able).argmin() for able in np.asarray(standing)], float)
    return ItemFit(np.array(slopes, float), np.array(intercepts, float), panel, 0, True)


def _skilled(items: int, models: int, seed: int, skills: int) -> Floats:
    """Models with one ability and as many further skills, each of some items alone."""
    rng = np.random.default_rng(seed)
    further = rng.normal(0, 1, (skills + 1, models))[np.arange(items) % (skills + 1)] if skills else 0.0
    chance = expit(rng.normal(0, 1, models) + 1.5 * further + rng.normal(0, 1, (items, 1)))
    return np.asarray(rng.random(chance.shape) < chance, float)


@pytest.mark.parametrize(
    ("design", "skills"),
    [(STRATIFIED, 0), (DIVIDED, 3), (TELLING, 3), (HARD, 3)],
    ids=["stratified", "divided", "telling", "hard"],
)
def test_intervals_hold_for_models_at_random_and_for_stronger_ones(design: Design, skills: int) -> None:
    """Also where one ability does not say everything: the estimate needs no true curves."""
    for strongest in (False, True):
        held, bias = [], []
        for seed in range(4):
            scores = _skilled(240, 60, seed, skills)
            order = np.argsort(-scores.mean(axis=0)) if strongest else np.arange(60)
            others, panel = scores[:, order[:20]], scores[:, order[20:]]
            fitted = fit(panel, 0.01)
            for draw in range(10):
                subset = draw_subset(panel, design, 48, [seed, draw])
                found = estimate(fitted, subset, others[subset.items])
                off = found.scores - others.mean(axis=0)
                held.append((np.abs(off) <= found.half_widths).mean())
                bias.append(off.mean())
        assert 0.92 <= np.mean(held) <= 0.99
        assert np.mean(bias) == pytest.approx(0, abs=0.012)


def test_a_model_that_gets_everything_right_still_has_an_interval() -> None:
    rng = np.random.default_rng(7)
    fitted = _fitted(rng.uniform(0.3, 2, 60), rng.normal(0, 1.5, 60), [-1.0, 0.0, 1.0])
    subset = Subset(np.arange(0, 60, 3), np.full(60, 1 / 3))
    found = estimate(fitted, subset, np.array([[1.0, np.nan]] * 20))
    assert found.scores[0] > 0.9
    assert found.half_widths[1] == np.inf  # without an answer nothing is known
    assert found.half_widths[0] > 0.005


def test_a_model_without_a_scored_answer_is_left_out_with_a_note() -> None:
    fitted = _fitted([1.0] * 4, [0.0] * 4, [-1.0, 0.0, 1.0])
    basis = Curves(["0", "1", "2", "3"], Subset(np.array([0, 1]), np.full(4, 0.5)), ["x", "y", "z"], fitted)
    rows, notes = estimate_scores(basis, grid({"none": [None, None], "some": [1.0, None], "all": [1.0, 0.0]}))
    assert rows.select("model", "n").rows() == [("some", 1), ("all", 2)]
    assert (rows["full_score_high"] > rows["full_score_low"]).all()
    assert "none: left out, no answer to an item of the subset is scored" in notes
