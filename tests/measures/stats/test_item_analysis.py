import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, optimize, stats
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
    fit,
    item_rest,
    posterior_abilities,
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


@pytest.mark.science
def test_slopes_intercepts_and_abilities_are_recovered() -> None:
    answers, slopes, intercepts, able = _answers(200, 300)
    fitted = fit(answers)
    assert fitted.converged
    assert _like(fitted.slopes, slopes) > 0.85
    assert _like(fitted.intercepts, intercepts) > 0.98
    assert _like(fitted.panel @ SCALE, able) > 0.98


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


def test_who_was_not_asked_is_anybody() -> None:
    answers = _answers(30, 40)[0]
    answers[:, 4] = np.nan
    answers[7] = np.nan
    fitted = fit(answers)
    assert (fitted.panel[4] @ SCALE, fitted.panel[4] @ SCALE**2) == pytest.approx((0, 1), abs=1e-3)
    assert (fitted.slopes[7], fitted.intercepts[7]) == (SLOPE_MEAN, 0)
    without = fit(np.delete(np.delete(answers, 7, 0), 4, 1))
    assert np.delete(fitted.slopes, 7) == pytest.approx(without.slopes, abs=1e-3)


def test_abilities_are_those_of_the_posterior() -> None:
    slopes, intercepts, right = np.array([0.7, 1.5, 1.1]), np.array([0.5, -1.0, 0.2]), np.array([1, 0, 1])
    fitted = ItemFit(slopes, intercepts, np.empty((0, len(SCALE))), 0, True)

    def weight(theta: float) -> float:
        chance = expit(slopes * theta + intercepts)
        return float(np.prod(np.where(right, chance, 1 - chance)) * np.exp(-(theta**2) / 2))

    total, first, second = (
        integrate.quad(lambda theta, power=power: weight(theta) * theta**power, -8, 8)[0] for power in range(3)
    )
    (found,) = posterior_abilities(fitted, right[:, None])
    assert (found @ SCALE, found @ SCALE**2) == pytest.approx((first / total, second / total), abs=1e-6)


NAN = float("nan")


def _scores(seed: int, missing: float = 0.0) -> Floats:
    rng = np.random.default_rng(seed)
    scores = (rng.normal(size=(12, 1)) + rng.normal(size=(1, 10)) + rng.normal(size=(12, 10)) > 0).astype(float)
    scores[rng.random(scores.shape) < missing] = NAN
    return scores


@given(st.integers(0, 10_000))
def test_item_rest_of_models_that_were_asked(seed: int) -> None:
    scores = _scores(seed, missing=0.3)
    for place, found in enumerate(item_rest(scores)):
        others = np.delete(scores, place, 0)
        asked = ~np.isnan(scores[place]) & ~np.isnan(others).all(0)
        item, rest = scores[place, asked], np.nanmean(others[:, asked], axis=0)
        if asked.sum() < 3 or np.ptp(item) == 0 or np.ptp(rest) < 1e-9:
            assert np.isnan(found)
        else:
            assert found == pytest.approx(stats.pearsonr(item, rest).statistic)
