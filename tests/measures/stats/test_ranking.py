import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eyetest.measures.stats.intervals import IntervalEstimate
from eyetest.measures.stats.ranking import (
    Standing,
    mean_rank_standings,
    mean_ranks,
    rank_shifts,
    ranks,
    shift_intervals,
    standings,
)

scores_with_ties = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=12)


@given(scores_with_ties)
def test_ranks_begin_with_the_best_and_share_places(scores: list[float]) -> None:
    assert ranks(scores).tolist() == stats.rankdata([-score for score in scores]).tolist()
    assert ranks(scores, "min").tolist() == stats.rankdata([-score for score in scores], method="min").tolist()


def test_a_missing_score_takes_no_place() -> None:
    assert ranks([0.2, np.nan, 0.9]).tolist() == pytest.approx([2, np.nan, 1], nan_ok=True)
    assert ranks([]).tolist() == []


def test_scores_that_differ_by_rounding_are_equal() -> None:
    assert 0.1 + 0.2 != 0.3
    assert ranks([0.1 + 0.2, 0.3, 0.5]).tolist() == [2.5, 2.5, 1]


def test_a_rank_of_mean_ranks_averages_ties_within_a_column_and_shares_the_best_place_between_means() -> None:
    #        column ranks: (1, 2), (2.5, 1), (2.5, 3), (4, 4)
    scores = [[9.0, 5.0], [7.0, 6.0], [7.0, 4.0], [1.0, 2.0]]
    assert np.transpose(mean_ranks(np.transpose(scores))).tolist() == [[1.5, 1], [1.75, 2], [2.75, 3], [4, 4]]
    assert mean_ranks(np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0]]))[1].tolist() == [1, 1, 3]


def test_a_model_that_lacks_a_column_is_left_out_of_all() -> None:
    found = mean_ranks(np.array([[9.0, 7.0, 8.0], [np.nan, 6.0, 4.0]]))
    assert np.array_equal(np.transpose(found), [[np.nan, np.nan], [1.5, 1], [1.5, 1]], equal_nan=True)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=10))
def test_what_climbs_has_passed_something_that_falls(pairs: list[tuple[int, int]]) -> None:
    shifts = rank_shifts([float(a) for a, _ in pairs], [float(b) for _, b in pairs])
    assert shifts.sum() == pytest.approx(0)
    back = rank_shifts([float(b) for _, b in pairs], [float(a) for a, _ in pairs])
    assert (-shifts).tolist() == back.tolist()


def test_shifts_are_among_models_that_are_in_both() -> None:
    found = rank_shifts([0.9, 0.5, 0.1, np.nan], [0.2, 0.3, np.nan, 0.9])
    assert np.array_equal(found, [-1, 1, np.nan, np.nan], equal_nan=True)


def _answers(skill: list[float], items: int, seed: int = 0) -> np.ndarray:
    return (np.random.default_rng(seed).random((items, len(skill))) < skill).astype(float)


def test_clear_ranks_are_certain_and_near_ones_share_a_place() -> None:
    best, *near, worst = standings(_answers([0.9, 0.5, 0.51, 0.1], 300), np.arange(300))
    assert (best.rank.low, best.rank.value, best.rank.high, best.tie) == (1, 1, 1, 1)
    assert (worst.rank.low, worst.rank.high, worst.tie) == (4, 4, 4)
    assert [model.tie for model in near] == [2, 2]
    assert all((model.rank.low, model.rank.high) == (2, 3) for model in near)
    assert best.score == pytest.approx(0.9, abs=0.05)


def test_what_depends_on_each_other_widens_ranks() -> None:
    answers = _answers([0.5, 0.56, 0.62], 60, seed=4)
    copied = np.repeat(answers, 20, axis=0)
    wide = standings(copied, np.repeat(np.arange(60), 20))
    narrow = standings(copied, np.arange(1_200))

    def width(places: list[Standing]) -> float:
        return sum((place.rank.high or 0) - (place.rank.low or 0) for place in places)

    assert width(wide) > width(narrow)


def test_a_model_without_scores_has_no_standing() -> None:
    table = np.column_stack([_answers([0.9, 0.1], 50), np.full(50, np.nan)])
    nobody = standings(table, np.arange(50))[2]
    assert (nobody.rank.value, nobody.rank.low, nobody.tie, nobody.score) == (None, None, None, None)


def test_mean_ranks_have_intervals_that_hold_them() -> None:
    answers = _answers([0.8, 0.5, 0.5, 0.2], 240)
    part = np.arange(240) % 3
    tables = [np.where((part == which)[:, None], answers, np.nan) for which in range(3)]
    found = mean_rank_standings(tables, np.arange(240), resamples=200)
    plain = mean_ranks(np.array([np.nanmean(table, axis=0) for table in tables]))
    assert [[model.mean.value, model.rank.value] for model in found] == np.transpose(plain).tolist()
    for model in found:
        assert model.rank.low is not None
        assert model.rank.value is not None
        assert model.rank.high is not None
        assert model.rank.low <= model.rank.value <= model.rank.high
    assert found[0].rank == IntervalEstimate(1, 1, 1)
    assert found[1].rank.high == 3


def test_a_shift_that_items_decide_has_an_interval_without_0() -> None:
    before, after = _answers([0.9, 0.5, 0.1], 200), _answers([0.1, 0.5, 0.9], 200, seed=1)
    fallen, stayed, climbed = shift_intervals((before, after), np.arange(200), resamples=200)
    assert fallen == IntervalEstimate(-2, -2, -2)
    assert stayed == IntervalEstimate(0, 0, 0)
    assert climbed.value == 2


def test_shifts_of_the_same_scores_are_certainly_none() -> None:
    """Both sides are drawn with the same items, so noise that they share cancels."""
    near = _answers([0.5, 0.52, 0.54], 50)
    shifts = shift_intervals((near, near), np.arange(50), resamples=100)
    assert all(shift == IntervalEstimate(0, 0, 0) for shift in shifts)


def test_mean_ranks_over_columns_of_one_item_have_no_interval() -> None:
    """Most resamples leave one of the items out, so what they say is about the others."""
    scores = np.random.default_rng(0).random((8, 3))
    tables = [np.where((np.arange(8) == which)[:, None], scores, np.nan) for which in range(8)]
    for model in mean_rank_standings(tables, np.arange(8), resamples=100):
        assert model.rank.value is not None
        assert model.rank.low is None
        assert model.mean.high is None
