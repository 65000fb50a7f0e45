import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eyetest.measures.stats.ranking import entropies
from tests.measures.tables import entropy

counts_of_one = st.lists(st.integers(0, 12), min_size=2, max_size=10).filter(any)


def test_as_scipy_has_it() -> None:
    table = np.random.default_rng(1).multinomial(7, [0.4, 0.3, 0.2, 0.1, 0.0], 500)
    assert entropies(table).plain == pytest.approx(stats.entropy(table, axis=1), abs=1e-12)


def test_by_hand() -> None:
    found = entropy([3, 1, 1, 0], options=4)
    plain = -(0.6 * math.log(0.6) + 0.4 * math.log(0.2))
    assert found.plain == pytest.approx(plain)
    assert found.corrected == pytest.approx(plain + 2 / 10)
    assert found.normalised == pytest.approx(plain / math.log(4))


def test_the_correction_never_exceeds_what_the_options_allow() -> None:
    found = entropy([1, 1], options=2)
    assert found.plain == found.corrected == pytest.approx(math.log(2))
    assert entropy([1, 1]).corrected == pytest.approx(math.log(2) + 1 / 4), "with unknown options nothing is capped"


def test_always_the_same_choice() -> None:
    assert entropy([0, 5, 0], options=3) == (0, 0, 0)


def test_undefined() -> None:
    assert entropy([0, 0, 0], options=3) == (None, None, None)
    assert entropy([3, 1]).normalised is None
    assert entropy([4], options=1) == (0, 0, None)
    assert entropy([4], options=0).normalised is None


def test_rows_keep_to_themselves() -> None:
    table, options = [[2, 2, 1], [0, 0, 0], [5, 0, 0], [1, 4, 0]], [3, 3, float("nan"), 2]
    found = entropies(table, options)
    for row, (counts, most) in enumerate(zip(table, options, strict=True)):
        alone = entropy(counts, None if math.isnan(most) else int(most))
        together = [None if math.isnan(part[row]) else part[row] for part in found]
        assert together == [None if value is None else pytest.approx(value) for value in alone]


@given(counts_of_one)
def test_what_always_holds(counts: list[int]) -> None:
    found, turned = entropy(counts, len(counts)), entropy(counts[::-1], len(counts))
    assert found.plain is not None
    assert found.corrected is not None
    assert found.normalised is not None
    assert found == pytest.approx(turned)
    assert 0 <= found.plain <= math.log(min(sum(counts), len(counts))) + 1e-12
    assert found.plain - 1e-12 <= found.corrected <= math.log(len(counts)) + 1e-12
    assert 0 <= found.normalised <= 1 + 1e-12
    padded = entropy([*counts, 0, 0], len(counts))
    assert padded == pytest.approx(found), "choices that nobody made change nothing"


@pytest.mark.parametrize("tests", [5, 10, 20])
def test_the_correction_takes_most_of_the_bias(tests: int) -> None:
    shares = [0.5, 0.3, 0.15, 0.05]
    truth = -sum(share * math.log(share) for share in shares)
    found = entropies(np.random.default_rng(2).multinomial(tests, shares, 20_000), np.full(20_000, 4))
    plain, corrected = truth - found.plain.mean(), truth - found.corrected.mean()
    assert plain == pytest.approx(3 / (2 * tests), rel=0.35)
    assert abs(corrected) < 0.6 * plain
