"""Subsets by a panel's answers: chances, estimated scores, intervals, and how well they rank stronger models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from eyetest.curate.subsets import (
    FEWEST_MODELS,
    Curves,
    Subset,
    drawn,
    estimate,
    estimate_scores,
    inclusion,
    is_better,
    validated,
    validation_notes,
)
from eyetest.measures.stats.item_analysis import SCALE, ItemFit, fit
from tests.measures.tables import grid

Floats = NDArray[np.float64]
weights = st.lists(st.floats(0.01, 100), min_size=1, max_size=40).map(np.array)


def _fitted(slopes: ArrayLike, intercepts: ArrayLike, standing: ArrayLike) -> ItemFit:
    """Items as given, and a panel whose models have exactly these abilities."""
    panel = np.array([np.arange(len(SCALE)) == np.abs(SCALE - able).argmin() for able in np.asarray(standing)], float)
    return ItemFit(np.array(slopes, float), np.array(intercepts, float), panel, 0, True)


@given(weights, st.integers(1, 60))
def test_chances_sum_to_the_size_and_follow_weights_up_to_one(given_weights: Floats, size: int) -> None:
    chances = inclusion(given_weights, size)
    assert chances.sum() == pytest.approx(min(size, len(given_weights)))
    assert ((chances >= 0) & (chances <= 1)).all()
    assert (np.diff(chances[np.argsort(given_weights)]) >= -1e-12).all()
    free = (chances < 1) & (chances > 0)
    if free.any():
        rate = chances[free] / given_weights[free]
        assert rate == pytest.approx(rate[0])
        assert (given_weights[chances == 1] * rate[0] >= 1 - 1e-6).all()


def test_items_that_few_models_solve_are_likelier_and_none_is_left_out() -> None:
    answers = np.repeat(np.tri(11, 10, -1), 10, axis=0)  # items that 0 to 10 of ten models solve, ten of each
    answers[0, 0] = np.nan
    draws = [drawn(answers, 11, seed, aimed=True) for seed in range(2_000)]
    chances = draws[0].chances
    assert (chances[10:100:10] > chances[20:110:10]).all()
    assert chances[1] < chances[10] < 1.15 * chances[1], "what no model solves may be an error"
    assert chances.min() > 0
    times = np.bincount(np.concatenate([draw.items for draw in draws]), minlength=len(chances))
    assert times / len(draws) == pytest.approx(chances, abs=0.035)
    assert {len(subset.items) for subset in draws} == {11}
    assert drawn(answers, 11, 0, aimed=False).chances == pytest.approx(np.full(110, 0.1))


def _skilled(items: int, models: int, seed: int, skills: int) -> Floats:
    """Models with one ability and as many further skills, each of some items alone."""
    rng = np.random.default_rng(seed)
    further = rng.normal(0, 1, (skills + 1, models))[np.arange(items) % (skills + 1)] if skills else 0.0
    chance = expit(rng.normal(0, 1, models) + 1.5 * further + rng.normal(0, 1, (items, 1)))
    return np.asarray(rng.random(chance.shape) < chance, float)


@pytest.mark.parametrize("aimed", [True, False])
@pytest.mark.parametrize("skills", [0, 3])
def test_intervals_hold_for_models_at_random_and_for_stronger_ones(skills: int, aimed: bool) -> None:
    """Also where one ability does not say everything: the estimate needs no true curves."""
    for strongest in (False, True):
        held, bias = [], []
        for seed in range(4):
            scores = _skilled(240, 60, seed, skills)
            order = np.argsort(-scores.mean(axis=0)) if strongest else np.arange(60)
            others, panel = scores[:, order[:20]], scores[:, order[20:]]
            fitted = fit(panel, 0.01)
            for draw in range(10):
                subset = drawn(panel, 48, [seed, draw], aimed=aimed)
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


def _answers(able: Floats, slopes: Floats, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    chance = expit(np.outer(slopes, able) + rng.normal(0, 1, (len(slopes), 1)))
    return np.asarray(rng.random(chance.shape) < chance, float)


def _half_easy(models: int, seed: int) -> Floats:
    """Half of the items are solved by nearly all of the models, and the others by the abler ones."""
    rng = np.random.default_rng(seed)
    able, ease = np.linspace(-1, 2, models), np.where(np.arange(400) % 2, 6.0, -1.0)
    return np.asarray(rng.random((400, models)) < expit(1.5 * able + ease[:, None]), float)


def test_items_that_the_panel_finds_hard_rank_stronger_models_better_than_random_items() -> None:
    tried = validated(_half_easy(18, 0), 0.1)
    aimed, plain, gain = tried["stronger"]
    assert gain.value == pytest.approx((aimed.value or 0) - (plain.value or 0))
    assert (gain.value or 0) > 0.05
    assert is_better(tried)
    random, stronger = validation_notes(tried)
    assert f"models held out at random: {tried['at random'].aimed.value:.2f} (" in random
    assert f"stronger than those that choose: {aimed.value:.2f} (" in stronger
    assert f"random items {plain.value:.2f} (" in stronger


def test_a_random_subset_is_drawn_where_hard_items_rank_worse() -> None:
    """Hard items are guessed alike by all models, and easier ones separate them."""
    rng = np.random.default_rng(1)
    able, guessed = np.linspace(-1, 2, 18), np.arange(400)[:, None] % 2 == 1
    chance = np.where(guessed, 0.1, expit(1.5 * able + 0.5))
    tried = validated((rng.random((400, 18)) < chance).astype(float), 0.1)
    assert not is_better(tried)
    assert "a random subset" in validation_notes(tried)[-1]


@pytest.mark.science
@pytest.mark.parametrize("models", [12, 24])
def test_intervals_of_tau_cover_what_other_models_give(models: int) -> None:
    """Panels of one population: the mean over all of them is the truth."""
    panels = [
        validated(_answers(np.random.default_rng([7, panel]).normal(0, 1, models), np.ones(300), 5), 0.1, panel)
        for panel in range(30)
    ]
    for to in ("at random", "stronger"):
        for part in ("aimed", "random", "gain"):
            found = [getattr(tried[to], part) for tried in panels]
            truth = np.mean([one.value for one in found])
            assert np.mean([one.low <= truth <= one.high for one in found]) >= 0.9, (to, part)


def test_too_few_models_or_items_are_not_tried() -> None:
    answers = _answers(np.linspace(-2, 2, FEWEST_MODELS), np.ones(40), 3)
    assert validated(answers[:, 1:], 0.5) == {}
    assert validated(answers[:19], 0.5) == {}
    assert not is_better({})
    assert validation_notes({})[0].startswith("random items: fewer than 20 items")
    again = [validated(answers, 0.5, seed) for seed in (5, 5, 6)]
    assert again[0] == again[1] != again[2]
