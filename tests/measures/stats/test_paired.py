import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.api import OLS
from statsmodels.stats import contingency_tables
from statsmodels.stats.multitest import multipletests

from eyetest.measures.stats.paired import (
    Paired,
    against,
    benjamini_hochberg,
    clustered_mcnemar,
    holm,
    paired,
    smallest_difference,
    smallest_shift,
)
from tests.measures.tables import mcnemar

counts = st.integers(0, 60)
rates = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@given(only_a=counts, only_b=counts)
def test_mcnemar_is_that_of_statsmodels(only_a: int, only_b: int) -> None:
    few = only_a + only_b < 25
    theirs = contingency_tables.mcnemar([[5, only_a], [only_b, 5]], exact=few, correction=True).pvalue
    if only_a == only_b:
        theirs = 1.0  # the correction must not turn an even split into evidence
    assert mcnemar(only_a, only_b) == pytest.approx(theirs, abs=1e-12)


@given(st.lists(st.integers(-3, 3), max_size=8))
def test_few_clusters_are_tested_by_counting_all_signs(net: list[int]) -> None:
    sums = [
        sum(s * v for s, v in zip(signs, net, strict=True)) for signs in itertools.product((1, -1), repeat=len(net))
    ]
    expected = np.mean([abs(each) >= abs(sum(net)) for each in sums])
    assert clustered_mcnemar(net) == pytest.approx(expected)


@pytest.mark.parametrize("adjust", ["holm", "fdr_bh"])
@settings(max_examples=10)  # each of theirs collects garbage
@given(ps=rates)
def test_adjusted_p_values_are_those_of_statsmodels(adjust: str, ps: list[float]) -> None:
    theirs = multipletests(ps, method=adjust)[1]
    ours = (holm if adjust == "holm" else benjamini_hochberg)(ps)
    assert ours == pytest.approx(list(theirs))


def test_fractions_are_tested_by_students_paired_t() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(50), rng.random(50)
    found, theirs = paired(a, b, level=0.9), stats.ttest_rel(a, b)
    interval = theirs.confidence_interval(0.9)
    assert (found.difference, found.low, found.high) == pytest.approx(((a - b).mean(), interval.low, interval.high))
    assert found.p == pytest.approx(theirs.pvalue)
    assert (found.only_a, found.only_b, found.binary) == (None, None, False)


def test_the_error_of_clusters_of_one_size_is_that_of_statsmodels() -> None:
    rng = np.random.default_rng(1)
    clusters = rng.permutation(np.repeat(np.arange(12), 8))
    a, b = rng.random(96) + 0.1 * clusters, rng.random(96)
    fit = OLS(a - b, np.ones(96)).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    pair = paired(a, b, clusters)
    assert (pair.error, pair.p) == pytest.approx((fit.bse[0], fit.pvalues[0]))
    assert pair.clusters == 12
    assert pair.effective == pytest.approx(12)


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


def test_pairs_are_items_that_both_have() -> None:
    nan = float("nan")
    a, others = [1, 1, 0, nan, 1], [[0, nan, nan], [nan, 0.5, nan], [0, 1, nan], [1, 1, nan], [0, 1, nan]]
    first, second, third = against(a, others, ["p", "p", "q", "q", "r"])
    assert (first.n, first.clusters, first.b, first.only_a) == (3, 3, 0, 2)
    assert (second.n, second.clusters, second.binary) == (3, 3, False)
    assert [first.a, second.a] == pytest.approx([2 / 3, 2 / 3])
    assert third == Paired(0, 0)


@pytest.mark.science
def test_the_clustered_test_rarely_raises_a_false_alarm() -> None:
    """Models equally good overall, each favoured by some clusters, which a test of single items mistakes."""
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


@pytest.mark.parametrize(("n", "discordance"), [(100, 0.5), (200, 0.3), (1_000, 0.1), (3_000, 0.3)])
def test_the_smallest_difference_is_found_four_times_in_five(n: int, discordance: float) -> None:
    difference = smallest_difference(n, discordance)
    assert difference is not None
    shares = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
    drawn = np.random.default_rng(0).multinomial(n, shares, 4_000).tolist()
    test = cache(mcnemar)
    found = np.mean([test(only_a, only_b) < 0.05 for only_a, only_b, _ in drawn])
    assert found == pytest.approx(0.8, abs=0.03)


def test_what_cannot_be_found_is_none() -> None:
    assert smallest_difference(20, 0.05) is None
    assert smallest_difference(100, 0.0) is None
    assert smallest_difference(0, 0.5) is None
    assert smallest_shift(0.0, 10) is smallest_shift(0.1, 1) is None


def test_the_smallest_shift_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(2)
    shift = smallest_shift(1 / np.sqrt(40), 40)
    assert shift is not None
    found = [paired(rng.normal(size=40) + shift, np.zeros(40)).p for _ in range(3_000)]
    assert np.mean([p is not None and p < 0.05 for p in found]) == pytest.approx(0.8, abs=0.03)
