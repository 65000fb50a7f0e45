from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from eyetest.measures.stats.paired import holm, paired
from eyetest.measures.stats.ranking import (
    METHODS,
    CorrelationEstimate,
    gini,
    kendall,
    mean_ranks,
    pearson,
    ranks,
    separable_pairs,
    significantly_ahead,
    spearman,
    standings,
)

scores_with_ties = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=12)


@given(scores_with_ties)
def test_ranks_begin_with_the_best_and_share_places(scores: list[float]) -> None:
    assert ranks(scores).tolist() == stats.rankdata([-score for score in scores]).tolist()
    assert ranks(scores, "min").tolist() == stats.rankdata([-score for score in scores], method="min").tolist()


def test_a_rank_of_mean_ranks_averages_ties_within_a_column_and_shares_the_best_place_between_means() -> None:
    #        column ranks: (1, 2), (2.5, 1), (2.5, 3), (4, 4)
    scores = [[9.0, 5.0], [7.0, 6.0], [7.0, 4.0], [1.0, 2.0]]
    assert np.transpose(mean_ranks(np.transpose(scores))).tolist() == [[1.5, 1], [1.75, 2], [2.75, 3], [4, 4]]
    assert mean_ranks(np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0]]))[1].tolist() == [1, 1, 3]


def _answers(skill: list[float], items: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random((items, len(skill))) < skill).astype(float)


def test_clear_ranks_are_certain_and_near_ones_share_a_place() -> None:
    best, *near, worst = standings(_answers([0.9, 0.5, 0.51, 0.1], 300), np.arange(300))
    assert (best.rank.low, best.rank.value, best.rank.high, best.tie) == (1, 1, 1, 1)
    assert (worst.rank.low, worst.rank.high, worst.tie) == (4, 4, 4)
    assert [model.tie for model in near] == [2, 2]
    assert all((model.rank.low, model.rank.high) == (2, 3) for model in near)
    assert best.score == pytest.approx(0.9, abs=0.05)


Floats = NDArray[np.float64]


def answers(skills: Floats, clusters: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Right and wrong: models share how hard an item is, and a cluster favours some of them."""
    items, models = len(clusters), len(skills)
    favour = 0.4 * rng.normal(size=(clusters.max() + 1, models))[clusters]
    return (rng.normal(size=(items, 1)) + favour + rng.normal(size=(items, models)) + skills > 0).astype(float)


def true_ranks(skills: Floats) -> list[tuple[int, int]]:
    """The ranks that a model may claim: equally good ones may stand in any order."""
    ahead = (skills[None] > skills[:, None]).sum(axis=1)
    behind = (skills[None] < skills[:, None]).sum(axis=1)
    return [(1 + int(a), len(skills) - int(b)) for a, b in zip(ahead, behind, strict=True)]


def held(skills: Floats, clusters: NDArray[np.int64], repeats: int) -> tuple[float, Floats, float]:
    """How often all intervals together hold all true ranks, how often each does, and how often equals differ."""
    rng, counts, every, split = np.random.default_rng(len(skills)), np.zeros(len(skills)), 0, 0
    truth = true_ranks(skills)
    for _ in range(repeats):
        found = standings(answers(skills, clusters, rng), clusters)
        bounds = [(place.rank.low or 0, place.rank.high or 0) for place in found]
        holds = [low <= best and worst <= high for (low, high), (best, worst) in zip(bounds, truth, strict=True)]
        counts += holds
        every += all(holds)
        split += len({place.tie for place in found}) > 1
    return every / repeats, counts / repeats, split / repeats


def independent_shared_ranks(scores: Floats, level: float) -> list[int]:
    """1 + the number of significantly better models, written from the definitions: exact McNemar, Holm's steps."""
    p_values: dict[tuple[int, int], float] = {}
    for a, b in combinations(range(scores.shape[1]), 2):
        wins = [int(((scores[:, x] == 1) & (scores[:, y] == 0)).sum()) for x, y in ((a, b), (b, a))]
        total, least = sum(wins), min(wins)
        tail = 2 * sum(comb(total, k) for k in range(least + 1)) / 2**total
        p_values[(a, b) if wins[0] >= wins[1] else (b, a)] = min(1.0, tail)
    better = [0] * scores.shape[1]
    for step, ((_, worse), p) in enumerate(sorted(p_values.items(), key=lambda pair: pair[1])):
        if p * (len(p_values) - step) >= 1 - level:
            break
        better[worse] += 1
    return [1 + number for number in better]


@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(2, 24), st.floats(0, 0.9), st.sampled_from([0.8, 0.95]))
def test_a_shared_rank_counts_the_significantly_better_and_lies_in_its_own_interval(
    seed: int, models: int, items: int, span: float, level: float
) -> None:
    """With fewer than 25 items the product's test is exact as well, so both have to agree to the digit."""
    skills = np.linspace(0.95 - span, 0.95, models)
    scores = (np.random.default_rng(seed).random((items, models)) < skills).astype(float)
    places = standings(scores, np.arange(items), level)
    assert [place.tie for place in places] == independent_shared_ranks(scores, level)
    ahead = significantly_ahead(scores, np.arange(items), level)
    for model, place in enumerate(places):
        low, rank, high = place.rank.low, place.rank.value, place.rank.high
        assert None not in (low, rank, high, place.tie)
        assert 1 <= (low or 0) <= (place.tie or 0) <= (rank or 0) <= (high or 0) <= models
        assert place.tie == 1 + ahead[:, model].sum()


def test_equals_share_a_rank_and_their_intervals_are_whole() -> None:
    every, _, split = held(np.zeros(6), np.arange(200) // 2, 200)
    assert split < 0.09  # with each tested at 95 % against the best, two thirds of ten equals
    assert every > 0.9  # of 200, what holds 95 times in 100 strays below less than once in a thousand


@pytest.mark.science
@pytest.mark.parametrize("models", [4, 10, 20])
@pytest.mark.parametrize("span", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("shared", [1, 4])
def test_rank_intervals_hold_all_at_once(models: int, span: float, shared: int) -> None:
    """The simulated models' skills are known. Equals are the hardest case; elsewhere intervals hold more often."""
    every, each, split = held(np.linspace(0, span, models), np.arange(400) // shared, 300)
    assert every > 0.92  # .95 strays below this less than once in a hundred times
    assert each.min() >= every
    assert span > 0 or split == pytest.approx(1 - every)


positive = st.lists(st.floats(0.01, 100), min_size=1, max_size=12)


@given(positive)
def test_gini_is_half_the_relative_mean_difference_of_all_pairs_and_knows_no_scale_or_order(
    values: list[float],
) -> None:
    array = np.array(values)
    expected = np.abs(array[:, None] - array).mean() / (2 * array.mean())
    assert gini(values) == pytest.approx(expected, abs=1e-12)
    assert gini(array[::-1] * 7) == pytest.approx(expected, abs=1e-12)


def _of_skill(rng: np.random.Generator, skill: np.ndarray, items: int) -> np.ndarray:
    return (rng.random((items, len(skill))) < skill + rng.uniform(-0.2, 0.2, (items, 1))).astype(float)


def _share_of_pairs(table: np.ndarray, clusters: np.ndarray) -> float:
    width = table.shape[1]
    tests = [paired(table[:, i], table[:, j], clusters) for i in range(width) for j in range(i + 1, width)]
    reported = [p for test, p in zip(tests, holm([test.p for test in tests]), strict=True) if test.clusters > 1]
    return sum(p is not None and p < 0.05 for p in reported) / len(reported)


@pytest.mark.parametrize("items", [12, 40, 400])
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("binary", [True, False])
def test_pairs_are_separated_by_the_paired_test(items: int, size: int, gaps: float, binary: bool) -> None:
    rng = np.random.default_rng(items + size)
    table = _of_skill(rng, np.linspace(0.2, 0.8, 8), items)
    table[rng.random(table.shape) < gaps] = np.nan
    table = table if binary else np.where(np.arange(8) % 2, table, table * rng.uniform(0.2, 1, table.shape))
    clusters = rng.permutation(np.arange(items) // size)
    found = separable_pairs(table, clusters)
    assert found.n == 28
    assert found.value == pytest.approx(_share_of_pairs(table, clusters))


NOTHING = (None, None, None)
pairs = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=3, max_size=20)
SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


@pytest.mark.parametrize("method", sorted(METHODS))
@given(points=pairs)
def test_values_and_p_are_scipys_and_so_are_pearsons_intervals(points: list[tuple[int, int]], method: str) -> None:
    x, y = (np.array(values, float) for values in zip(*points, strict=True))
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    found, expected = METHODS[method](x, y, 0.95), SCIPY[method](x, y)
    assert found.value == pytest.approx(expected.statistic, abs=1e-9)
    if method != "spearman" or len(x) > 7:
        assert found.p == pytest.approx(expected.pvalue, abs=1e-6)
    assert found.n == len(x)
    if method == "pearson" and len(x) > 3 and abs(expected.statistic) < 0.999:
        for level in (0.5, 0.95):
            interval = expected.confidence_interval(level)
            assert pearson(x, y, level)[1:3] == pytest.approx((interval.low, interval.high), abs=1e-9)


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


@pytest.mark.parametrize("method", sorted(METHODS))
def test_two_pairs_or_a_constant_have_no_correlation(method: str) -> None:
    correlate = METHODS[method]
    assert correlate([1, 2], [2, 3], 0.95) == CorrelationEstimate(*NOTHING, 2, None)
    assert correlate([], [], 0.95) == CorrelationEstimate(*NOTHING, 0, None)
    assert correlate([1, 2, 3], [5, 5, 5], 0.95) == CorrelationEstimate(*NOTHING, 3, None)
    assert correlate([0.3, 0.1 + 0.2, 0.3], [1, 2, 3], 0.95) == CorrelationEstimate(*NOTHING, 3, None)
    assert correlate([1, 2, np.nan, 4], [1, np.nan, 3, 4], 0.95).n == 2


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
