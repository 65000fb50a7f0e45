"""Scores on the whole from answers to a part: as the formula says, honest about doubt, and about models beyond."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate
from scipy.special import expit

from eyetest.curate.subsets import Estimated, Estimator, cautions, pps
from eyetest.errors import InputError
from eyetest.measures.stats.item_analysis import SCALE, ItemFit, fit
from tools.gallery.validation import at_random

Floats = NDArray[np.float64]
SLOPES, INTERCEPTS = np.array([0.7, 1.5, 1.1, 0.4, 2.0]), np.array([0.5, -1.0, 0.2, 1.5, -0.3])


def _standing(slopes: Floats, intercepts: Floats, able: Floats) -> ItemFit:
    """Items as given, and a panel of models that stand exactly there."""
    panel = np.array([np.arange(len(SCALE)) == np.abs(SCALE - one).argmin() for one in able], float)
    return ItemFit(slopes, intercepts, panel, 0, True)


def _items(count: int, seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.3, 2, count), rng.normal(0, 1.5, count)


def _answers(slopes: Floats, intercepts: Floats, able: Floats, seed: int) -> Floats:
    chance = expit(np.outer(slopes, able) + intercepts[:, None])
    return np.asarray(np.random.default_rng(seed).random(chance.shape) < chance, float)


def test_a_score_is_what_was_answered_and_what_may_be_expected_of_the_rest() -> None:
    """Against plain integration, with a panel that stands around 1, twice as wide as the fit takes models to be."""
    estimator = Estimator(_standing(SLOPES, INTERCEPTS, np.array([-1.0, 3.0])))
    answers = np.array([1.0, 0.0, 1.0])

    def weight(theta: float) -> float:
        chance = expit(SLOPES[:3] * theta + INTERCEPTS[:3])
        return float(np.prod(np.where(answers == 1, chance, 1 - chance)) * np.exp(-(((theta - 1) / 2) ** 2) / 2))

    def expectation(of: object) -> float:
        assert callable(of)
        return float(integrate.quad(lambda theta: weight(theta) * of(theta), -8, 8)[0] / whole)

    whole = integrate.quad(weight, -8, 8)[0]
    rest = expectation(lambda theta: expit(SLOPES[3:] * theta + INTERCEPTS[3:]).sum())
    square = expectation(
        lambda theta: (
            (chance := expit(SLOPES[3:] * theta + INTERCEPTS[3:])).sum() ** 2 + (chance * (1 - chance)).sum()
        )
    )
    found = estimator.estimate([0, 1, 2], answers[:, None])
    assert found.scores[0] == pytest.approx((2 + rest) / 5, abs=1e-4)
    assert found.errors[0] == pytest.approx(np.sqrt(square - rest**2) / 5, abs=1e-4)
    assert found.abilities[0] == pytest.approx(expectation(lambda theta: theta), abs=1e-3)


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_who_was_asked_everything_has_just_the_score_it_has(seed: int) -> None:
    slopes, intercepts = _items(12, seed)
    answers = _answers(slopes, intercepts, np.array([-1.0, 0.0, 2.0]), seed)
    order = np.random.default_rng(seed).permutation(12)
    found = Estimator(_standing(slopes, intercepts, np.array([0.0]))).estimate(order, answers[order])
    assert found.scores == pytest.approx(answers.mean(axis=0), abs=1e-9)
    assert found.errors == pytest.approx(0, abs=1e-6)


def test_who_was_asked_nothing_is_such_as_the_panel() -> None:
    slopes, intercepts = _items(40, 0)
    able = np.array([1.0, 2.0, 3.0])
    found = Estimator(_standing(slopes, intercepts, able)).estimate(np.arange(5), np.full((5, 2), np.nan))
    assert found.abilities == pytest.approx([2, 2], abs=1e-6)
    assert found.beyond.tolist() == [0, 0]


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_models_do_not_touch_each_other_and_a_missing_answer_is_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slopes, intercepts = _items(15, seed)
    estimator = Estimator(_standing(slopes, intercepts, np.array([-0.5, 0.5])))
    items = rng.choice(15, 6, replace=False)
    answers = rng.integers(0, 2, (6, 4)).astype(float)
    answers[2, 1] = np.nan
    together = estimator.estimate(items, answers)
    for model in range(4):
        asked = ~np.isnan(answers[:, model])
        alone = estimator.estimate(items[asked], answers[asked][:, [model]])
        for figure in Estimated._fields:
            assert getattr(together, figure)[model] == pytest.approx(getattr(alone, figure)[0])


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(0, 5))
def test_one_more_right_answer_never_lowers_a_score(seed: int, place: int) -> None:
    rng = np.random.default_rng(seed)
    estimator = Estimator(_standing(*_items(15, seed), np.array([-0.5, 0.5])))
    answers = np.repeat(rng.integers(0, 2, (6, 1)).astype(float), 2, axis=1)
    answers[place] = [0, 1]
    worse, better = estimator.estimate(np.arange(6), answers).scores
    assert better > worse


def test_errors_are_honest_where_curves_are_true() -> None:
    slopes, intercepts = _items(120, 3)
    able = np.random.default_rng(3).normal(0.5, 1.5, 1_500)
    answers = _answers(slopes, intercepts, able, 4)
    fitted = _standing(slopes, intercepts, able)
    items = pps(fitted, 20, 0).items
    found = Estimator(fitted).estimate(items, answers[items])
    off = found.scores - answers.mean(axis=0)
    assert (np.abs(off) < 1.96 * found.errors).mean() == pytest.approx(0.95, abs=0.02)
    assert off.mean() == pytest.approx(0, abs=0.01)


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


def test_models_beyond_the_panel_are_marked_and_named() -> None:
    slopes, intercepts = _items(60, 7)
    estimator = Estimator(_standing(slopes, intercepts, np.array([-1.0, 0.0, 1.0])))
    answers = np.stack([np.ones(60), np.zeros(60), intercepts > 0], axis=1).astype(float)
    found = estimator.estimate(np.arange(60), answers)
    assert found.beyond.tolist() == [1, -1, 0]
    above, below = cautions(["star", "novice", "usual"], found)
    assert above.startswith("star seems abler than every model of the panel")
    assert below.startswith("novice seems less able than every model of the panel")


def test_without_items_or_panel_nothing_is_estimated() -> None:
    with pytest.raises(InputError, match="there are none"):
        Estimator(fit(np.empty((0, 3))))
    with pytest.raises(InputError, match="there are none"):
        Estimator(fit(np.empty((4, 0))))
