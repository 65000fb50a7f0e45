"""Intervals are as wide as models that were left out show, and hold what they say."""

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from eyetest.curate.subsets import Missed

Floats = NDArray[np.float64]


def _missed(errors: Floats, folds: ArrayLike, kin: list[str] | None = None) -> Missed:
    return Missed(errors, kin or [str(model) for model in range(len(errors))], np.asarray(folds, np.intp))


def test_the_width_of_many_is_that_of_normal_errors() -> None:
    errors = np.random.default_rng(0).normal(size=(4_000, 1))
    assert _missed(errors, np.zeros(4_000)).half_width() == pytest.approx(1.96, abs=0.06)


def test_coverage_is_of_folds_that_did_not_set_the_width() -> None:
    errors = np.array([[0.1]] * 8 + [[5.0]] * 2)
    assert _missed(errors, np.repeat([0, 1], [8, 2])).covered() == pytest.approx(0.8)
    assert _missed(errors, np.repeat([0, 1, 2, 3], [4, 4, 1, 1])).covered() == pytest.approx(0.8)
