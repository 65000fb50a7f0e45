import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from eyetest.measures.stats.paired import (
    Paired,
    against,
    benjamini_hochberg,
    clustered_mcnemar,
    every_pair,
    holm,
    paired,
)
from tests.measures.tables import mcnemar

counts = st.integers(0, 60)
rates = st.lists(st.floats(0, 1), min_size=1, max_size=12)
zero_one = st.integers(2, 40).flatmap(
    lambda n: st.tuples(*(st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n) for _ in range(2)))
)


@pytest.fixture(scope="module")
def contingency_tables() -> Any:
    return pytest.importorskip("statsmodels.stats.contingency_tables")


@pytest.fixture(scope="module")
def multitest() -> Any:
    return pytest.importorskip("statsmodels.stats.multitest")


@given(only_a=counts, only_b=counts)
def test_mcnemar_is_that_of_statsmodels(contingency_tables: Any, only_a: int, only_b: int) -> None:
    few = only_a + only_b < 25
    theirs = contingency_tables.mcnemar([[5, only_a], [only_b, 5]], exact=few, correction=True).pvalue
    if only_a == only_b:
        theirs = 1.0  # the correction must not turn an even split into evidence
    assert mcnemar(only_a, only_b) == pytest.approx(theirs, abs=1e-12)


def test_no_discordant_item_is_no_evidence() -> None:
    assert mcnemar(0, 0) == clustered_mcnemar([]) == clustered_mcnemar([0, 0]) == 1.0


@given(st.lists(st.integers(-3, 3), max_size=8))
def test_few_clusters_are_tested_by_counting_all_signs(net: list[int]) -> None:
    sums = [
        sum(s * v for s, v in zip(signs, net, strict=True)) for signs in itertools.product((1, -1), repeat=len(net))
    ]
    expected = np.mean([abs(each) >= abs(sum(net)) for each in sums])
    assert clustered_mcnemar(net) == pytest.approx(expected)


def test_many_clusters_are_tested_by_their_spread() -> None:
    net = [2] * 20 + [-1] * 15 + [0] * 5
    statistic = (abs(sum(net)) - 1) ** 2 / sum(v * v for v in net)
    assert clustered_mcnemar(net) == pytest.approx(stats.chi2.sf(statistic, 1))


def test_clusters_that_repeat_themselves_are_not_more_evidence() -> None:
    a, b = [1, 1, 1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0, 0, 1]
    once, five_times = paired(a, b), paired(a * 5, b * 5, list(range(8)) * 5)
    assert once.p == pytest.approx(2 / 2**6)
    assert five_times.p == pytest.approx(once.p)
    assert five_times.worth == pytest.approx(8, abs=1.01)
    assert (five_times.n, five_times.clusters, five_times.only_a) == (40, 8, 30)
    assert (paired(a * 5, b * 5).p or 0) < 1e-6


@pytest.mark.parametrize("adjust", ["holm", "fdr_bh"])
@settings(max_examples=10)  # each of theirs collects garbage
@given(ps=rates)
def test_adjusted_p_values_are_those_of_statsmodels(multitest: Any, adjust: str, ps: list[float]) -> None:
    theirs = multitest.multipletests(ps, method=adjust)[1]
    ours = (holm if adjust == "holm" else benjamini_hochberg)(ps)
    assert ours == pytest.approx(list(theirs))


def test_an_unknown_p_value_stays_unknown_and_does_not_count() -> None:
    assert holm([0.01, None, 0.04]) == [0.02, None, 0.04]
    assert benjamini_hochberg([None, 0.01, 0.04]) == [None, 0.02, 0.04]
    assert holm([]) == holm([None])[1:] == []


def test_fractions_are_tested_by_students_paired_t() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(50), rng.random(50)
    found, theirs = paired(a, b, level=0.9), stats.ttest_rel(a, b)
    interval = theirs.confidence_interval(0.9)
    assert (found.difference, found.low, found.high) == pytest.approx(((a - b).mean(), interval.low, interval.high))
    assert found.p == pytest.approx(theirs.pvalue)
    assert (found.only_a, found.only_b, found.binary) == (None, None, False)


def test_the_error_of_clusters_of_one_size_is_that_of_statsmodels() -> None:
    linear = pytest.importorskip("statsmodels.regression.linear_model")
    rng = np.random.default_rng(1)
    clusters = rng.permutation(np.repeat(np.arange(12), 8))
    a, b = rng.random(96) + 0.1 * clusters, rng.random(96)
    fit = linear.OLS(a - b, np.ones(96)).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    pair = paired(a, b, clusters)
    assert (pair.error, pair.p) == pytest.approx((fit.bse[0], fit.pvalues[0]))
    assert pair.clusters == 12
    assert pair.effective == pytest.approx(12)


@given(zero_one)
def test_turning_the_pair_round_turns_the_difference_round(columns: tuple[list[float], list[float]]) -> None:
    a, b = columns
    one, other = paired(a, b), paired(b, a)
    assert one.difference == pytest.approx(-(other.difference or 0))
    assert (one.low, one.high) == pytest.approx((-(other.high or 0), -(other.low or 0)))
    assert (one.p, one.only_a, one.only_b) == (other.p, other.only_b, other.only_a)
    assert -1 <= (one.low or 0) <= (one.difference or 0) <= (one.high or 0) <= 1


def test_the_interval_of_right_and_wrong_is_bonett_and_prices() -> None:
    a, b = np.repeat([1, 1, 0, 0], [40, 12, 5, 43]), np.repeat([1, 0, 1, 0], [40, 12, 5, 43])
    shares = np.array([13, 6]) / 102
    error = np.sqrt((shares.sum() - (shares[0] - shares[1]) ** 2) / 102)
    t = stats.t.ppf(0.975, 99)
    centre = shares[0] - shares[1]
    assert paired(a, b)[10:12] == pytest.approx((centre - t * error, centre + t * error))


def test_models_that_never_differ_still_have_an_interval() -> None:
    right = [1.0, 0.0] * 50
    found = paired(right, right)
    assert (found.difference, found.p) == (0, 1)
    assert found.high == pytest.approx(0.0275, abs=1e-3)
    of_fractions = paired([0.5] * 9, [0.5] * 9)
    assert of_fractions[10:13] == (None, None, 1.0)
    assert paired([0.5] * 6, [0.2] * 6)[10:13] == (None, None, 0.5**5), "what never varies is left to a sign test"


def test_one_cluster_says_nothing() -> None:
    assert paired([1, 1, 0], [0, 1, 0], ["x"] * 3)[10:13] == (-1.0, 1.0, 1.0)
    assert paired([0.5, 0.4], [0.1, 0.2], ["x"] * 2)[10:13] == (None, None, None)


def test_pairs_are_items_that_both_have() -> None:
    nan = float("nan")
    a, others = [1, 1, 0, nan, 1], [[0, nan, nan], [nan, 0.5, nan], [0, 1, nan], [1, 1, nan], [0, 1, nan]]
    first, second, third = against(a, others, ["p", "p", "q", "q", "r"])
    assert (first.n, first.clusters, first.b, first.only_a) == (3, 3, 0, 2)
    assert (second.n, second.clusters, second.binary) == (3, 3, False)
    assert [first.a, second.a] == pytest.approx([2 / 3, 2 / 3])
    assert third == Paired(0, 0)


def test_the_clustered_test_rarely_raises_a_false_alarm() -> None:
    """Models equally good overall, each favoured by some clusters: a test that forgot clusters would cry wolf."""
    rng = np.random.default_rng(2)
    clusters = np.sort(rng.integers(0, 40, 400))
    alarms, naive = [], []
    for _ in range(400):
        favour = rng.normal(size=40)[clusters]
        a, b = (favour + rng.normal(size=400) > 0).astype(float), (-favour + rng.normal(size=400) > 0).astype(float)
        alarms.append((paired(a, b, clusters).p or 0) < 0.05)
        naive.append((paired(a, b).p or 0) < 0.05)
    assert np.mean(alarms) < 0.08
    assert np.mean(naive) > 0.2


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("clusters", [np.arange(40), np.arange(40) // 3, np.arange(40) % 7])
def test_pairs_come_out_alike_however_many_are_worked_on_at_once(
    gaps: float, clusters: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    table = (rng.random((40, 6)) < np.linspace(0.3, 0.8, 6)).astype(float)
    table[:, 4:] *= rng.random((40, 2))
    table[rng.random(table.shape) < gaps] = np.nan
    together = every_pair(table, clusters, 0.95)
    monkeypatch.setattr("eyetest.measures.stats.paired._CELLS_AT_ONCE", 90)
    assert every_pair(table, clusters, 0.95) == together
    for one, other, pair in together:
        assert tuple(pair) == pytest.approx(tuple(paired(table[:, one], table[:, other], clusters)))
        swapped = paired(table[:, other], table[:, one], clusters)
        assert (swapped.n, swapped.only_b, swapped.only_a) == (pair.n, pair.only_a, pair.only_b)
        if pair.binary:
            won = (table[:, one] == 1) & (table[:, other] == 0)
            assert pair.only_a == won.sum()


def test_items_are_put_in_order_once_for_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    sorts: list[int] = []
    sort = np.argsort
    monkeypatch.setattr(np, "argsort", lambda values, **how: sorts.append(len(values)) or sort(values, **how))  # type: ignore[func-returns-value]
    table = (np.random.default_rng(0).random((300, 12)) < 0.5).astype(float)
    assert len(every_pair(table, np.arange(300) % 90, 0.95)) == 66
    assert sorts == [300]
