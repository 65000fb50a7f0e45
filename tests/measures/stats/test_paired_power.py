from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from eyetest.measures.stats.paired import Paired, paired, smallest_difference, smallest_shift
from tests.measures.tables import mcnemar


@pytest.mark.parametrize(("n", "discordance"), [(100, 0.5), (200, 0.3), (1_000, 0.1), (3_000, 0.3)])
def test_the_smallest_difference_is_found_four_times_in_five(n: int, discordance: float) -> None:
    difference = smallest_difference(n, discordance)
    assert difference is not None
    shares = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
    drawn = np.random.default_rng(0).multinomial(n, shares, 4_000).tolist()
    test = cache(mcnemar)
    found = np.mean([test(only_a, only_b) < 0.05 for only_a, only_b, _ in drawn])
    assert found == pytest.approx(0.8, abs=0.03)


def test_clustered_items_are_worth_fewer_and_what_they_are_worth_tells_their_power() -> None:
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(150), 8)

    def compared(lead: float) -> Paired:
        shared = rng.normal(size=1_200)
        own = [rng.normal(size=150)[clusters] + rng.normal(size=1_200) for _ in range(2)]
        a, b = ((shared + mine > 0).astype(float) for mine in (own[0] + lead, own[1]))
        return paired(a, b, clusters)

    tried = [compared(0.0) for _ in range(100)]
    worth, discordance = np.mean([each.worth for each in tried]), np.mean([each.spread for each in tried])
    assert 300 < worth < 1_000
    smallest = smallest_difference(float(worth), float(discordance))
    assert smallest is not None
    lead = np.sqrt(3) * stats.norm.ppf(0.5 + smallest)
    found = [(compared(lead).p or 0) < 0.05 for _ in range(1_000)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.05)


@given(st.integers(200, 5_000), st.floats(0.1, 0.9))
def test_more_items_see_smaller_differences(n: int, discordance: float) -> None:
    small, large = smallest_difference(2 * n, discordance), smallest_difference(n, discordance)
    assert small is not None
    assert large is None or small < large


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
