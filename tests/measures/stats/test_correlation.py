import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from eyetest.measures.stats.ranking import METHODS, CorrelationEstimate, kendall, pearson, spearman

NOTHING = (None, None, None)
pairs = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=3, max_size=20)
SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


@given(pairs, st.sampled_from(sorted(METHODS)))
def test_values_and_p_are_scipys(points: list[tuple[int, int]], method: str) -> None:
    x, y = (np.array(values, float) for values in zip(*points, strict=True))
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    found, expected = METHODS[method](x, y, 0.95), SCIPY[method](x, y)
    assert found.value == pytest.approx(expected.statistic, abs=1e-9)
    if method != "spearman" or len(x) > 7:
        assert found.p == pytest.approx(expected.pvalue, abs=1e-6)
    assert found.n == len(x)


@given(pairs)
def test_pearsons_interval_is_scipys_for_any_level(points: list[tuple[int, int]]) -> None:
    x, y = (np.array(values, float) for values in zip(*points, strict=True))
    assume(len(x) > 3 and len(set(x)) > 1 and len(set(y)) > 1)
    assume(abs(stats.pearsonr(x, y).statistic) < 0.999)
    for level in (0.5, 0.95):
        expected = stats.pearsonr(x, y).confidence_interval(level)
        assert pearson(x, y, level)[1:3] == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_ten_models_leave_a_correlation_of_91_percent_wide_open() -> None:
    x = np.arange(10.0)
    noise = np.array([1, -1, 0, 2, -2, 1, 0, -1, 1, -1.0])
    noise -= np.polyval(np.polyfit(x, noise, 1), x)
    y = x / x.std() * 0.907 + noise / noise.std() * np.sqrt(1 - 0.907**2)
    found = pearson(x, y)
    assert found.value == pytest.approx(0.907)
    assert found[1:3] == pytest.approx((0.647, 0.978), abs=0.001)


def test_rank_correlations_have_the_intervals_of_bonett_and_wright_and_of_fieller() -> None:
    rng = np.random.default_rng(0)
    x = rng.random(30)
    y = x + rng.random(30)
    rho, tau, z = spearman(x, y), kendall(x, y), stats.norm.ppf(0.975)
    assert rho.value is not None
    assert tau.value is not None
    half = z * np.sqrt((1 + rho.value**2 / 2) / 27)
    assert rho[1:3] == pytest.approx((np.tanh(np.arctanh(rho.value) - half), np.tanh(np.arctanh(rho.value) + half)))
    half = z * np.sqrt(0.437 / 26)
    assert tau[1:3] == pytest.approx((np.tanh(np.arctanh(tau.value) - half), np.tanh(np.arctanh(tau.value) + half)))


@pytest.mark.parametrize(("method", "quantity"), [("pearson", 0.6), ("spearman", 0.5825), ("kendall", 0.4097)])
def test_intervals_hold_the_true_correlation_as_often_as_they_say(method: str, quantity: float) -> None:
    """Of normal pairs with r = .6, Spearman's ρ is 6/π·asin(.3) and Kendall's τ is 2/π·asin(.6)."""
    rng, held = np.random.default_rng(1), 0
    for _ in range(200):
        x, y = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 25).T
        found = METHODS[method](x, y, 0.9)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= quantity <= found.high
    assert 168 <= held <= 192


@pytest.mark.parametrize("method", sorted(METHODS))
def test_two_pairs_or_a_constant_have_no_correlation(method: str) -> None:
    correlate = METHODS[method]
    assert correlate([1, 2], [2, 3], 0.95) == CorrelationEstimate(*NOTHING, 2, None)
    assert correlate([], [], 0.95) == CorrelationEstimate(*NOTHING, 0, None)
    assert correlate([1, 2, 3], [5, 5, 5], 0.95) == CorrelationEstimate(*NOTHING, 3, None)
    assert correlate([0.3, 0.1 + 0.2, 0.3], [1, 2, 3], 0.95) == CorrelationEstimate(*NOTHING, 3, None)
    assert correlate([1, 2, np.nan, 4], [1, np.nan, 3, 4], 0.95).n == 2


def test_few_pairs_have_no_interval() -> None:
    assert [correlate([1, 2, 3], [1, 3, 2], 0.95).low for correlate in METHODS.values()] == [None] * 3
    four = {name: correlate([1, 2, 3, 4], [1, 3, 2, 4], 0.95).low for name, correlate in METHODS.items()}
    assert {name for name, low in four.items() if low is None} == {"kendall"}


@pytest.mark.parametrize("sign", [1, -1])
def test_orders_that_agree_wholly_are_not_certain(sign: int) -> None:
    x = np.array([1, 2, 3, 4, 5, 7.0])
    for correlate in (spearman, kendall):
        found = correlate(x, sign * x**3)
        inner, outer = (found.low, found.high) if sign > 0 else (found.high, found.low)
        assert found.value == outer == sign
        assert inner is not None
        assert 0 < abs(inner) < 0.95
    assert pearson(x, sign * x)[:3] == pytest.approx((sign, sign, sign))


def test_few_orders_agree_by_chance_as_often_as_printed_tables_say() -> None:
    assert spearman([1, 2, 3], [2, 4, 9]).p == pytest.approx(2 / 6)
    assert spearman([1, 2, 3, 4], [4, 3, 2, 1]).p == pytest.approx(2 / 24)
    assert spearman([1, 2, 3, 4, 5], [2, 1, 3, 4, 5]).p == pytest.approx(10 / 120)
    assert spearman(np.arange(9), np.arange(9)).p == pytest.approx(2 / math.factorial(9))


def test_equal_scores_are_ties_though_their_last_bits_differ() -> None:
    x = [0.1 + 0.2, 0.3, 0.5, 0.7]
    assert spearman(x, [1, 2, 3, 4]) == spearman([0.3, 0.3, 0.5, 0.7], [1, 2, 3, 4])
