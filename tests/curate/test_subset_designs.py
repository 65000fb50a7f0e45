"""Designs of subsets: chances of items, and what makes an item likelier."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from eyetest.curate.subset_designs import (
    DIVIDED,
    HARD,
    HARDER,
    MORE_TELLING,
    STRATIFIED,
    TELLING,
    Design,
    draw_random,
    draw_subset,
    ease_of_items,
    inclusion,
    systematic,
)

Floats = NDArray[np.float64]
DESIGNS = (DIVIDED, HARD, HARDER, MORE_TELLING, STRATIFIED, TELLING)
weight_lists = st.lists(st.floats(0.01, 100), min_size=1, max_size=40).map(np.array)


@given(weight_lists, st.integers(1, 60))
def test_chances_sum_to_the_size_and_follow_weights_up_to_one(weights: Floats, size: int) -> None:
    chances = inclusion(weights, size)
    assert chances.sum() == pytest.approx(min(size, len(weights)))
    assert ((chances >= 0) & (chances <= 1)).all()
    assert (np.diff(chances[np.argsort(weights)]) >= -1e-12).all()
    free = (chances < 1) & (chances > 0)
    if free.any():
        rate = chances[free] / weights[free]
        assert rate == pytest.approx(rate[0])
        assert (weights[chances == 1] * rate[0] >= 1 - 1e-6).all()


@given(weight_lists, st.integers(1, 60), st.integers(0, 5))
def test_a_systematic_sample_has_the_size_and_every_certain_item(weights: Floats, size: int, seed: int) -> None:
    chances = inclusion(weights, size)
    subset = systematic(chances, np.arange(len(weights), dtype=float), seed)
    assert len(subset.items) == min(size, len(weights))
    assert (np.diff(subset.items) > 0).all()
    assert set(np.flatnonzero(chances >= 1)) <= set(subset.items)


def _panel() -> Floats:
    """Ten items each that 0 to 10 of ten models solve, the strongest models first."""
    return np.repeat(np.tri(11, 10, -1), 10, axis=0)


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_items_are_drawn_as_often_as_their_chance_says_and_none_is_left_out(design: Design) -> None:
    answers = _panel()
    answers[0, 0] = np.nan
    chances = draw_subset(answers, design, 11, 0).chances
    assert chances.min() > 0
    draws = [systematic(chances, ease_of_items(answers), seed).items for seed in range(400)]
    assert {len(items) for items in draws} == {11}
    times = np.bincount(np.concatenate(draws), minlength=len(chances))
    assert times / len(draws) == pytest.approx(chances, abs=0.08)


@pytest.mark.parametrize("design", [HARD, HARDER], ids=lambda design: design.name)
def test_hard_designs_prefer_items_that_few_models_solve(design: Design) -> None:
    chances = draw_subset(_panel(), design, 11, 0).chances
    assert (chances[10:100:10] > chances[20:110:10]).all()
    assert chances[0] < chances[10], "what no model solves may be an error"


def test_divided_items_are_those_that_half_of_the_models_solve() -> None:
    chances = draw_subset(_panel(), DIVIDED, 11, 0).chances
    assert chances[50] == chances.max()
    assert chances[0] == pytest.approx(chances[109])
    assert chances[50] / chances[0] == pytest.approx(np.sqrt(0.25 / (0.5 / 11 * 10.5 / 11)))


def test_telling_items_go_with_the_score_on_the_others() -> None:
    rng = np.random.default_rng(4)
    ability = np.linspace(-2, 2, 60)
    with_score = rng.random((100, 60)) < 1 / (1 + np.exp(-2 * ability))
    at_random = rng.random((100, 60)) < 0.5
    against = rng.random((20, 60)) < 1 / (1 + np.exp(2 * ability))
    answers = np.concatenate([with_score, at_random, against]).astype(float)
    telling = draw_subset(answers, TELLING, 22, 0).chances
    more_telling = draw_subset(answers, MORE_TELLING, 22, 0).chances
    assert 2 < telling[:100].mean() / telling[100:200].mean() < 4
    assert more_telling[:100].mean() / more_telling[100:200].mean() > 4
    assert telling[200:].max() < telling[:100].min()
    assert telling.min() > 0


def test_equal_models_make_no_item_likelier() -> None:
    for design in (TELLING, STRATIFIED):
        chances = draw_subset(np.ones((20, 5)), design, 4, 0).chances
        assert chances == pytest.approx(np.full(20, 0.2))


def test_random_subsets_have_equal_chances() -> None:
    draws = [draw_random(30, 6, seed) for seed in range(400)]
    times = np.bincount(np.concatenate([draw.items for draw in draws]), minlength=30)
    assert times / len(draws) == pytest.approx(draws[0].chances, abs=0.08)
    assert draws[0].chances == pytest.approx(np.full(30, 0.2))
