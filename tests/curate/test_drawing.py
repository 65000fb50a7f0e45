"""Parts have the size asked for, hold items as often as their chances say, and are the same for the same seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit

from eyetest.curate.subsets import Subset, anchored, inclusion, pps
from eyetest.errors import InputError
from eyetest.measures.stats.item_analysis import SCALE, ItemFit, choose_by_information, fit
from tools.gallery.validation import at_random, stratified

Floats = NDArray[np.float64]
weights = st.lists(st.floats(0.01, 100), min_size=1, max_size=40).map(np.array)


def _fitted(slopes: list[float], intercepts: list[float], standing: list[float]) -> ItemFit:
    """Items as given, and a panel that stands exactly where it is said to."""
    panel = np.array([np.arange(len(SCALE)) == np.abs(SCALE - able).argmin() for able in standing], float)
    return ItemFit(np.array(slopes, float), np.array(intercepts, float), panel, 0, True)


def _some(items: int, seed: int = 0) -> ItemFit:
    rng = np.random.default_rng(seed)
    slopes, intercepts = rng.uniform(0.05, 3, items), rng.normal(0, 2, items)
    return _fitted(slopes.tolist(), intercepts.tolist(), rng.normal(0, 1, 7).tolist())


def _shares(draws: list[Subset]) -> Floats:
    return np.bincount(np.concatenate([drawn.items for drawn in draws]), minlength=len(draws[0].chances)) / len(draws)


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


def test_an_item_that_becomes_certain_leaves_more_for_the_rest() -> None:
    assert inclusion(np.array([100.0, 30.0, 1.0, 1.0]), 3) == pytest.approx([1, 1, 0.5, 0.5])
    assert inclusion(np.array([100.0, 1.0, 1.0]), 1) == pytest.approx(np.array([100, 1, 1]) / 102)


@given(st.integers(1, 60), st.integers(1, 70), st.integers(0, 10_000))
def test_a_part_has_the_size_asked_for_and_no_item_twice(count: int, size: int, seed: int) -> None:
    difficulty = np.random.default_rng(seed).integers(0, 5, count)
    for drawn in (at_random(count, size, seed), stratified(difficulty, size, seed), pps(_some(count), size, seed)):
        assert len(drawn.items) == min(size, count)
        assert (np.diff(drawn.items) > 0).all()
        assert ((drawn.items >= 0) & (drawn.items < count)).all()
        assert (drawn.chances[drawn.items] > 0).all()


def test_items_come_as_often_as_their_chances_say() -> None:
    fitted = _some(14, seed=1)
    draws = [pps(fitted, 10, seed) for seed in range(500)]
    assert draws[0].chances.min() < 0.2 < draws[0].chances.max() == 1
    assert _shares(draws) == pytest.approx(draws[0].chances, abs=0.07)
    assert _shares([at_random(14, 5, seed) for seed in range(4_000)]) == pytest.approx([5 / 14] * 14, abs=0.03)
    assert _shares([stratified(np.arange(14) // 3, 5, seed) for seed in range(4_000)]) == pytest.approx(
        [5 / 14] * 14, abs=0.03
    )


def test_chances_are_those_of_the_formula() -> None:
    slopes, intercepts, standing = [0.2, 1.0, 2.0, 1.0, 0.5], [0.0, 1.0, -1.0, 4.0, 0.3], [-1.0, 0.5, 2.0]
    chance = expit(np.outer(slopes, standing) + np.array(intercepts)[:, None])
    expected = np.sqrt((chance * (1 - chance)).mean(axis=1)) * (0.3 + np.array(slopes))
    found = pps(_fitted(slopes, intercepts, standing), 2, 0).chances
    assert found == pytest.approx(2 * expected / expected.sum())


@given(st.integers(0, 1_000))
def test_every_stretch_of_the_order_of_difficulty_gets_its_share(seed: int) -> None:
    difficulty = np.random.default_rng(seed).permutation(101).astype(float)
    for size in (10, 33):
        places = np.sort(difficulty[stratified(difficulty, size, seed).items])
        there = np.searchsorted(places, np.arange(102))
        assert np.abs(there - np.arange(102) * size / 101).max() < 1


@given(st.integers(0, 1_000))
def test_likelier_items_are_spread_over_difficulties_too(seed: int) -> None:
    fitted = _fitted([1.0] * 50, np.linspace(-3, 3, 50).tolist(), [0.0])
    drawn = pps(fitted, 10, seed)
    taken = np.isin(np.arange(50), drawn.items)
    assert np.abs(np.cumsum(taken) - np.cumsum(drawn.chances)).max() < 1


def test_anchors_are_items_that_tell_of_every_skill_and_not_of_chance() -> None:
    rng = np.random.default_rng(0)
    skills = rng.normal(size=(2, 60))
    telling = [rng.random((30, 60)) < expit(2 * skill) for skill in skills]
    answers = np.vstack([*telling, rng.random((60, 60)) < 0.5]).astype(float)
    taken = anchored(fit(answers), answers, 40)
    assert len(taken) == 20
    first, second, *chance = np.bincount(taken // 30, minlength=4)
    assert sum(chance) == 0
    informed = np.bincount(choose_by_information(fit(answers), 20) // 30, minlength=4)
    assert min(first, second) > min(informed[:2])


def test_what_is_certain_is_drawn_and_the_rest_by_its_chances() -> None:
    fitted, certain = _some(40), np.array([3, 17, 30])
    draws = [pps(fitted, 12, seed, certain) for seed in range(500)]
    assert all(np.isin(certain, drawn.items).all() and len(drawn.items) == 12 for drawn in draws)
    assert draws[0].chances[certain].tolist() == [1, 1, 1]
    assert _shares(draws) == pytest.approx(draws[0].chances, abs=0.09)
    everything = pps(fitted, 3, 0, certain)
    assert everything.items.tolist() == certain.tolist()


def test_anchors_of_answers_with_gaps() -> None:
    answers = (np.random.default_rng(1).random((60, 12)) < 0.6).astype(float)
    answers[::7, :6] = np.nan
    answers[5] = np.nan
    taken = anchored(fit(answers), answers, 20)
    assert len(set(taken.tolist())) == 10
    assert len(anchored(fit(answers), answers, 90)) == 30


def test_the_same_seed_draws_the_same_and_another_another() -> None:
    fitted = _some(200)
    for seed in (0, (3, 1)):
        assert (pps(fitted, 20, seed).items == pps(fitted, 20, seed).items).all()
    parts = {tuple(pps(fitted, 20, seed).items.tolist()) for seed in range(20)}
    assert len(parts) > 15


def test_equally_difficult_items_are_not_taken_in_the_order_they_came() -> None:
    pairs = {tuple(stratified(np.zeros(6), 2, seed).items.tolist()) for seed in range(300)}
    assert len(pairs) == 15


def test_a_part_of_nothing_is_refused_and_one_too_large_is_everything() -> None:
    with pytest.raises(InputError, match="at least 1 item, not 0"):
        at_random(5, 0, 0)
    assert at_random(5, 9, 0).items.tolist() == [0, 1, 2, 3, 4]
    assert pps(_some(5), 5, 0).chances.tolist() == [1.0] * 5
