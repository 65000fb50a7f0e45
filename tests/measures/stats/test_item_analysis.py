import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from eyetest.measures.stats.item_analysis import item_rest

Floats = NDArray[np.float64]
NAN = float("nan")


def _scores(seed: int, missing: float = 0.0) -> Floats:
    rng = np.random.default_rng(seed)
    scores = (rng.normal(size=(12, 1)) + rng.normal(size=(1, 10)) + rng.normal(size=(12, 10)) > 0).astype(float)
    scores[rng.random(scores.shape) < missing] = NAN
    return scores


@given(st.integers(0, 10_000))
def test_item_rest_is_the_correlation_with_the_sum_of_the_others(seed: int) -> None:
    scores = _scores(seed)
    for place, found in enumerate(item_rest(scores)):
        item, others = scores[place], np.delete(scores, place, 0).sum(0)
        if len(set(item)) == 1 or len(set(others)) == 1:
            assert np.isnan(found)
        else:
            assert found == pytest.approx(stats.pointbiserialr(item, others).statistic)


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


def test_what_never_varies_correlates_with_nothing() -> None:
    assert np.isnan(item_rest(np.array([[1, 1, 1, 1], [0, 1, 0, 1], [0.1, 0.7, 0.2, 0.9]]))[0])
    for scores in ([[0, 1, 0, 1], [0.1] * 4, [0.2] * 4], [[0, 1], [1, 0]], [[0, 1, 0, 1]]):
        assert np.isnan(item_rest(np.array(scores))).all()
    assert len(item_rest(np.empty((0, 4)))) == 0


def test_an_item_that_the_better_models_miss_stands_out() -> None:
    scores = np.tril(np.ones((6, 6)))
    scores[0] = [0, 0, 0, 1, 1, 1]
    assert min(range(6), key=lambda place: np.nan_to_num(item_rest(scores)[place])) == 0
