import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, optimize
from scipy.special import expit, log_expit, logsumexp

from eyetest.measures.stats.item_analysis import (
    INTERCEPT_SPREAD,
    NODES,
    SCALE,
    SLOPE_LEAST,
    SLOPE_MEAN,
    SLOPE_MOST,
    SLOPE_SPREAD,
    ItemFit,
    abilities,
    fit,
    posterior_abilities,
    probabilities,
)

Floats = NDArray[np.float64]


def _answers(models: int, items: int, seed: int = 0) -> tuple[Floats, Floats, Floats, Floats]:
    """Answers, and the slopes, intercepts and abilities that they come from."""
    rng = np.random.default_rng(seed)
    slopes, intercepts = np.clip(rng.normal(1, 0.5, items), 0.1, 3), rng.normal(0, 1.5, items)
    able = rng.normal(0, 1, models)
    chance = expit(np.outer(slopes, able) + intercepts[:, None])
    return (rng.random(chance.shape) < chance).astype(float), slopes, intercepts, able


def _log_posterior(answers: Floats, slopes: Floats, intercepts: Floats) -> float:
    """What the fit maximises, written down plainly."""
    prior = -(NODES**2) / 2 - logsumexp(-(NODES**2) / 2)
    total = (
        -((slopes - SLOPE_MEAN) ** 2).sum() / 2 / SLOPE_SPREAD**2 - (intercepts**2).sum() / 2 / INTERCEPT_SPREAD**2
    )
    for model in answers.T:
        asked = ~np.isnan(model)
        logits = np.outer(slopes[asked], NODES) + intercepts[asked, None]
        signs = np.where(model[asked] == 1, 1, -1)[:, None]
        total += logsumexp(log_expit(signs * logits).sum(0) + prior)
    return float(total)


def _like(a: Floats, b: Floats) -> float:
    return float(np.corrcoef(a, b)[0, 1])


def test_what_answers_come_from_is_found_again() -> None:
    answers, slopes, intercepts, able = _answers(200, 300)
    fitted = fit(answers)
    assert fitted.converged
    assert _like(fitted.slopes, slopes) > 0.85
    assert _like(fitted.intercepts, intercepts) > 0.98
    assert _like(abilities(fitted.panel)[0], able) > 0.98


def test_predictions_are_calibrated_on_models_that_were_not_fitted() -> None:
    answers = _answers(240, 300, seed=1)[0]
    fitted = fit(answers[:, :200])
    seen, unseen = np.arange(300) < 150, np.arange(300) >= 150
    known = np.where(seen[:, None], answers[:, 200:], np.nan)
    able, _ = abilities(posterior_abilities(fitted, known))
    predicted = probabilities(fitted.slopes, fitted.intercepts, able)[unseen].ravel()
    came = answers[unseen, 200:].ravel()
    for low in np.arange(0, 1, 0.2):
        these = (predicted >= low) & (predicted < low + 0.2)
        assert came[these].mean() == pytest.approx(predicted[these].mean(), abs=0.04)


def test_it_ends_where_a_general_optimiser_ends() -> None:
    answers = _answers(25, 3, seed=2)[0]
    answers[0, :9] = np.nan
    fitted = fit(answers, tolerance=1e-7, most_rounds=5_000)
    best = optimize.minimize(
        lambda x: -_log_posterior(answers, x[:3], x[3:]),
        np.r_[np.ones(3), np.zeros(3)],
        bounds=[(SLOPE_LEAST, SLOPE_MOST)] * 3 + [(None, None)] * 3,
        options={"ftol": 1e-13, "gtol": 1e-7},
    )
    assert fitted.slopes == pytest.approx(best.x[:3], abs=1e-3)
    assert fitted.intercepts == pytest.approx(best.x[3:], abs=1e-3)


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_every_round_is_better_than_the_last(seed: int) -> None:
    answers = _answers(12, 15, seed)[0]
    answers[np.random.default_rng(seed).random(answers.shape) < 0.2] = np.nan
    heights = []
    for rounds in range(1, 8):
        fitted = fit(answers, tolerance=0, most_rounds=rounds)
        heights.append(_log_posterior(answers, fitted.slopes, fitted.intercepts))
    assert (np.diff(heights) > -1e-9).all()


def test_an_item_that_good_models_miss_keeps_its_slope_within_limits() -> None:
    answers, _, _, able = _answers(80, 60, seed=3)
    answers[0] = able < 0
    answers[1] = able > 0
    fitted = fit(answers)
    assert fitted.slopes[0] == SLOPE_LEAST
    assert SLOPE_LEAST <= fitted.slopes.min() <= fitted.slopes.max() <= SLOPE_MOST
    assert fitted.slopes[1] > 1.5


def test_order_does_not_matter_and_twice_is_the_same() -> None:
    answers = _answers(20, 30)[0]
    rows, columns = np.random.default_rng(0).permutation(30), np.random.default_rng(1).permutation(20)
    fitted, other = fit(answers), fit(answers[rows][:, columns])
    assert other.slopes == pytest.approx(fitted.slopes[rows])
    assert abilities(other.panel)[0] == pytest.approx(abilities(fitted.panel)[0][columns])
    assert (fit(answers).slopes == fitted.slopes).all()


def test_who_was_not_asked_is_anybody() -> None:
    answers = _answers(30, 40)[0]
    answers[:, 4] = np.nan
    answers[7] = np.nan
    fitted = fit(answers)
    mean, spread = abilities(fitted.panel)
    assert (mean[4], spread[4]) == pytest.approx((0, 1), abs=1e-3)
    assert (fitted.slopes[7], fitted.intercepts[7]) == (SLOPE_MEAN, 0)
    without = fit(np.delete(np.delete(answers, 7, 0), 4, 1))
    assert np.delete(fitted.slopes, 7) == pytest.approx(without.slopes, abs=1e-3)


def test_nothing_at_all_is_fitted_to_nothing() -> None:
    fitted = fit(np.empty((0, 3)))
    assert fitted.converged
    assert len(fitted.slopes) == 0
    assert abilities(fitted.panel)[0] == pytest.approx([0, 0, 0])


def test_abilities_are_the_posterior_mean_and_spread() -> None:
    slopes, intercepts, right = np.array([0.7, 1.5, 1.1]), np.array([0.5, -1.0, 0.2]), np.array([1, 0, 1])
    fitted = ItemFit(slopes, intercepts, np.empty((0, len(SCALE))), 0, True)

    def weight(theta: float) -> float:
        chance = expit(slopes * theta + intercepts)
        return float(np.prod(np.where(right, chance, 1 - chance)) * np.exp(-(theta**2) / 2))

    total, first, second = (
        integrate.quad(lambda theta, power=power: weight(theta) * theta**power, -8, 8)[0] for power in range(3)
    )
    mean, spread = abilities(posterior_abilities(fitted, right[:, None]))
    assert mean[0] == pytest.approx(first / total, abs=1e-6)
    assert spread[0] == pytest.approx(np.sqrt(second / total - (first / total) ** 2), abs=1e-6)


def test_the_spread_of_an_ability_is_honest() -> None:
    answers, slopes, intercepts, able = _answers(2_000, 40, seed=4)
    mean, spread = abilities(
        posterior_abilities(ItemFit(slopes, intercepts, np.empty((0, len(SCALE))), 0, True), answers)
    )
    assert (np.abs(able - mean) < 1.96 * spread).mean() == pytest.approx(0.95, abs=0.015)


def test_the_panel_is_placed_as_any_other_model() -> None:
    answers = _answers(9, 50)[0]
    fitted = fit(answers)
    assert (posterior_abilities(fitted, answers) == fitted.panel).all()
