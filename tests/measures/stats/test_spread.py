import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from eyetest.measures.stats.intervals import IntervalEstimate
from eyetest.measures.stats.paired import holm, paired
from eyetest.measures.stats.ranking import gini, separable_pairs, spread, standard_deviation
from tests.support.work import steps

positive = st.lists(st.floats(0.01, 100), min_size=1, max_size=12)


@given(positive)
def test_gini_is_half_the_relative_mean_difference_of_all_pairs_and_knows_no_scale_or_order(
    values: list[float],
) -> None:
    array = np.array(values)
    expected = np.abs(array[:, None] - array).mean() / (2 * array.mean())
    assert gini(values) == pytest.approx(expected, abs=1e-12)
    assert gini(array[::-1] * 7) == pytest.approx(expected, abs=1e-12)


def test_gini_of_one_who_has_everything_is_one_less_a_share() -> None:
    assert gini([0, 0, 0, 5]) == pytest.approx(0.75)
    assert gini([3, 3, 3]) == 0


@pytest.mark.parametrize("values", [[], [0, 0], [np.nan], [-1, 1]])
def test_gini_without_anything_to_share_is_undefined(values: list[float]) -> None:
    assert gini(values) is None


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=10))
def test_the_standard_deviation_is_the_samples_and_leaves_missing_scores_out(values: list[float]) -> None:
    assert standard_deviation([*values, np.nan]) == pytest.approx(float(np.std(values, ddof=1)), abs=1e-12)


@pytest.mark.parametrize("values", [[], [1.0], [1.0, np.nan]])
def test_one_score_has_no_standard_deviation(values: list[float]) -> None:
    assert standard_deviation(values) is None


def _answers(rng: np.random.Generator, skill: np.ndarray, items: int) -> np.ndarray:
    return (rng.random((items, len(skill))) < skill + rng.uniform(-0.2, 0.2, (items, 1))).astype(float)


def test_the_interval_holds_the_true_spread_of_models_that_differ_and_of_models_that_do_not() -> None:
    rng = np.random.default_rng(3)
    for skill in (np.full(6, 0.5), np.array([0.45, 0.5, 0.55, 0.5, 0.48, 0.52]), np.linspace(0.3, 0.7, 6)):
        held = np.zeros(2)
        for sample in range(60):
            found = spread(_answers(rng, skill, 150), np.arange(150), resamples=200, seed=sample)
            truths = gini(skill), standard_deviation(skill)
            for i, (truth, estimate) in enumerate(zip(truths, found, strict=True)):
                assert truth is not None
                assert estimate.low is not None
                assert estimate.high is not None
                held[i] += estimate.low - 1e-9 <= truth <= estimate.high
        assert (held >= 51).all(), held


def test_spread_counts_models_that_have_scores_and_is_the_same_each_time() -> None:
    table = np.array([[1, 0, np.nan], [1, 1, np.nan], [0, 0, np.nan], [1, 0, np.nan]])
    found = spread(table, np.arange(4), resamples=50, seed=1)
    assert found == spread(table, np.arange(4), resamples=50, seed=1)
    assert found[0].value == gini([0.75, 0.25])
    assert found[0].n == 2
    nobody = spread(np.empty((3, 0)), np.arange(3))
    assert nobody[0] == nobody[1] == IntervalEstimate(None, None, None, 0)


def _share_of_pairs(table: np.ndarray, clusters: np.ndarray) -> float:
    width = table.shape[1]
    tests = [paired(table[:, i], table[:, j], clusters) for i in range(width) for j in range(i + 1, width)]
    told = [p for test, p in zip(tests, holm([test.p for test in tests]), strict=True) if test.clusters > 1]
    return sum(p is not None and p < 0.05 for p in told) / len(told)


@pytest.mark.parametrize("items", [12, 40, 400])
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
@pytest.mark.parametrize("binary", [True, False])
def test_pairs_are_told_apart_by_the_paired_test(items: int, size: int, gaps: float, binary: bool) -> None:
    rng = np.random.default_rng(items + size)
    table = _answers(rng, np.linspace(0.2, 0.8, 8), items)
    table[rng.random(table.shape) < gaps] = np.nan
    table = table if binary else np.where(np.arange(8) % 2, table, table * rng.uniform(0.2, 1, table.shape))
    clusters = rng.permutation(np.arange(items) // size)
    found = separable_pairs(table, clusters)
    assert found.n == 28
    assert found.value == pytest.approx(_share_of_pairs(table, clusters))


def test_the_paired_test_of_scores_between_0_and_1_is_students() -> None:
    rng = np.random.default_rng(5)
    table = rng.random((30, 7)) + np.linspace(0, 0.3, 7)
    pairs = [(i, j) for i in range(7) for j in range(i + 1, 7)]
    p = [stats.ttest_rel(table[:, i], table[:, j]).pvalue for i, j in pairs]
    for adjusted, expected in (
        (False, np.mean(np.array(p) < 0.05)),
        (True, np.mean(multipletests(p, method="holm")[0])),
    ):
        assert 0 < expected < 1
        assert separable_pairs(table, np.arange(30), adjusted=adjusted).value == pytest.approx(expected)


def test_items_that_depend_on_each_other_tell_fewer_models_apart() -> None:
    few = _answers(np.random.default_rng(0), np.linspace(0.3, 0.7, 10), 40)
    alone, copied = separable_pairs(few, np.arange(40)), np.repeat(few, 10, axis=0)
    together = separable_pairs(copied, np.repeat(np.arange(40), 10))
    taken_for_new = separable_pairs(copied, np.arange(400))
    assert alone.value is not None
    assert together.value is not None
    assert taken_for_new.value is not None
    assert together.value == pytest.approx(alone.value, abs=0.05)
    assert taken_for_new.value > together.value + 0.2


def test_differences_without_spread_count_only_where_there_are_enough_of_them() -> None:
    shifted = [separable_pairs(np.column_stack([np.full(n, 0.2), np.full(n, 0.5)]), np.arange(n)) for n in (5, 6)]
    assert [found.value for found in shifted] == [0, 1]
    assert separable_pairs(np.full((50, 2), 0.3), np.arange(50)).value == 0


@pytest.mark.parametrize(
    ("table", "clusters"),
    [
        (np.empty((0, 3)), []),
        (np.ones((4, 1)), range(4)),
        (np.array([[1, np.nan], [np.nan, 1]]), range(2)),
        (np.eye(4), [0, 0, 0, 0]),
    ],
)
def test_pairs_that_share_fewer_than_two_clusters_cannot_be_tested(table: np.ndarray, clusters: list[int]) -> None:
    assert separable_pairs(table, list(clusters)) == IntervalEstimate(None, None, None, 0)


def test_work_grows_with_pairs_and_not_with_items() -> None:
    table = _answers(np.random.default_rng(1), np.linspace(0.3, 0.7, 60), 3_000)
    assert separable_pairs(table, np.arange(3_000)).n == 1_770
    few = steps(lambda: separable_pairs(table[:300], np.arange(300)))
    assert steps(lambda: separable_pairs(table, np.arange(3_000))) < 1.2 * few
    assert few < 1.2 * 1_770 / 435 * steps(lambda: separable_pairs(table[:300, :30], np.arange(300)))
