import random
from functools import partial

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from eyetest.measures.stats.agreement import Ratings, all_raters, cohen_pairs
from eyetest.measures.stats.intervals import NOTHING, IntervalEstimate, Resampling

FAST = Resampling(resamples=20)
N = None
FOUR_OBSERVERS = list(
    zip(
        [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
        [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
        strict=True,
    )
)
"""Krippendorff's worked example of four observers and twelve units; Gwet uses the same one."""
ABSTRACTORS = [(0, 0)] * 13 + [(1, 1)] * 20 + [(1, 2)] * 7 + [(2, 1)] * 4 + [(2, 2)] * 56
"""Gwet's example of two abstractors who sort a hundred pregnancies."""


def cohen(ratings: Ratings, resampling: Resampling) -> IntervalEstimate:
    return cohen_pairs(ratings, resampling).get((0, 1), NOTHING)


def over_all(name: str, ratings: Ratings, resampling: Resampling) -> IntervalEstimate:
    return all_raters(ratings, resampling)[name]


observed, fleiss, gwet, krippendorff = (
    partial(over_all, name) for name in ("observed", "fleiss", "gwet", "krippendorff")
)


def value(found: IntervalEstimate) -> float:
    assert found.value is not None
    return found.value


def test_worked_examples_of_krippendorff_and_gwet() -> None:
    found = krippendorff(FOUR_OBSERVERS, FAST)
    assert value(found) == pytest.approx(0.743, abs=5e-4)
    assert found.n == 11
    assert value(observed(FOUR_OBSERVERS, FAST)) == pytest.approx(0.81818, abs=5e-6)
    assert value(gwet(FOUR_OBSERVERS, FAST)) == pytest.approx(0.77544, abs=5e-6)
    assert value(gwet(ABSTRACTORS, FAST)) == pytest.approx(0.84933, abs=5e-6)
    assert value(cohen(ABSTRACTORS, FAST)) == pytest.approx(0.7964094, abs=5e-8)


@pytest.mark.parametrize("seed", range(5))
def test_cohen_is_that_of_scikit_learn(seed: int) -> None:
    rng = random.Random(seed)
    first = rng.choices("ABCD", [4, 3, 2, 1], k=60)
    second = [label if rng.random() < 0.4 else rng.choice("ABC") for label in first]
    found = cohen(list(zip(first, second, strict=True)), FAST)
    assert value(found) == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_fleiss_is_that_of_statsmodels(seed: int) -> None:
    table = np.random.default_rng(seed).choice(4, (40, 5), p=[0.5, 0.2, 0.2, 0.1])
    table[:, 1] = table[:, 0]
    counts, _ = aggregate_raters(table)
    assert value(fleiss(table.tolist(), FAST)) == pytest.approx(fleiss_kappa(counts), abs=1e-12)


def test_what_chance_alone_explains_is_undefined() -> None:
    same = [("A", "A")] * 6
    for coefficient in (cohen, fleiss, gwet, krippendorff):
        assert coefficient(same, resampling=FAST) == (None, None, None, 6)
    assert value(cohen([("A", "B")] * 6, FAST)) == 0
    assert cohen([(None, "A"), ("B", None)], FAST) == (None, None, None, 0)
    assert cohen([], FAST) == fleiss([], FAST) == krippendorff([], FAST) == (None, None, None, 0)


def test_intervals_hold_the_truth() -> None:
    shares = np.array([[0.3, 0.05, 0.05], [0.02, 0.25, 0.03], [0.05, 0.05, 0.2]])
    chance = shares.sum(axis=1) @ shares.sum(axis=0)
    truth = (np.trace(shares) - chance) / (1 - chance)
    rng = np.random.default_rng(0)
    cells = rng.choice(9, (200, 60), p=shares.ravel())
    found = [cohen(np.column_stack([row // 3, row % 3]).tolist(), Resampling(resamples=300)) for row in cells]
    held = [each.low <= truth <= each.high for each in found if each.low is not None and each.high is not None]
    assert 0.91 <= np.mean(held) <= 0.985
