"""The interval of the share of wrong keys: it holds the truth, and panels that cannot tell give a bound alone.

Generators share nothing with the product: abilities and difficulties, two options with weak models, and no structure.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from eyetest.measures.stats.consensus import Suspicion, suspicion

Ints = NDArray[np.int64]
ITEMS = 1_000


class Panel(NamedTuple):
    choices: Ints
    options: Ints
    truth: Ints


def _panel(right: NDArray[np.bool_], options: int, rng: np.random.Generator) -> Panel:
    """Choices of models that are right where ``right`` says so, and wrong evenly elsewhere."""
    truth = rng.integers(0, options, ITEMS)
    wrong = (truth[:, None] + rng.integers(1, options, right.shape)) % options
    return Panel(np.where(right, truth[:, None], wrong), np.full(ITEMS, options), truth)


def _of_beta_easiness(rng: np.random.Generator) -> Panel:
    """Ten models, four options; how easy items are follows a beta distribution."""
    easiness = np.log(1 / rng.beta(2, 0.7, ITEMS).clip(1e-4, 1 - 1e-4) - 1)
    skills = rng.normal(0, 0.6, 10)
    return _panel(rng.random((ITEMS, 10)) < expit(skills - easiness[:, None]), 4, rng)


def _of_classes(rng: np.random.Generator) -> Panel:
    """Eleven models, five options; easy, medium and guessed items."""
    share = np.array([0.95, 0.6, 0.2])[rng.choice(3, ITEMS, p=[0.7, 0.25, 0.05])]
    return _panel(rng.random((ITEMS, 11)) < share[:, None], 5, rng)


def _of_low_skill(rng: np.random.Generator) -> Panel:
    """Ten models right in .2 to .4 of the items, ten options."""
    return _panel(rng.random((ITEMS, 10)) < np.linspace(0.2, 0.4, 10), 10, rng)


def _of_hard_items(rng: np.random.Generator) -> Panel:
    """Ten models, two options; a third of the items is hard for all."""
    is_hard = rng.random(ITEMS) < 1 / 3
    share = np.where(is_hard[:, None], np.linspace(0.35, 0.5, 10), np.linspace(0.8, 0.97, 10))
    return _panel(rng.random((ITEMS, 10)) < share, 2, rng)


def _of_uneven_skill(rng: np.random.Generator) -> Panel:
    """Nine models of uneven skill, two options, normal difficulty: tens of wrong keys seem likely where none is."""
    skills, difficulty = rng.normal(0.8, 1, 9), rng.normal(0, 1.5, ITEMS)
    return _panel(rng.random((ITEMS, 9)) < expit(skills - difficulty[:, None]), 2, rng)


def _with_wrong_keys(make: Callable[[np.random.Generator], Panel], rate: float, seed: int) -> Suspicion:
    """What the choices say where a share of the keys is moved at random."""
    rng = np.random.default_rng([seed, round(1_000 * rate)])
    choices, options, truth = make(rng)
    moved = rng.permutation(ITEMS) < round(rate * ITEMS)
    keys = np.where(moved, (truth + rng.integers(1, options)) % options, truth)
    return suspicion(choices, options, keys)


@pytest.mark.parametrize("make", [_of_beta_easiness, _of_classes])
@pytest.mark.parametrize("rate", [0.0, 0.06])
def test_panels_that_tell_wrong_keys_give_an_interval_that_holds_the_truth(
    make: Callable[[np.random.Generator], Panel], rate: float
) -> None:
    weighed = _with_wrong_keys(make, rate, 1)
    assert weighed.recognition > 0.9
    assert not weighed.why_no_odds
    assert weighed.low <= rate <= weighed.high < rate + 0.06
    assert weighed.low > 0 or rate == 0


@pytest.mark.parametrize("make", [_of_low_skill, _of_hard_items, _of_uneven_skill])
@pytest.mark.parametrize("rate", [0.0, 0.06])
def test_panels_that_cannot_tell_wrong_keys_give_an_upper_bound_and_no_number(
    make: Callable[[np.random.Generator], Panel], rate: float
) -> None:
    weighed = _with_wrong_keys(make, rate, 1)
    assert np.isnan(weighed.flawed).all()
    assert np.isnan(weighed.share)
    assert weighed.low == 0
    assert rate <= weighed.high <= 0.5
    assert weighed.why_no_odds == "these models' answers do not identify the number of wrong golds"


@pytest.mark.science
@pytest.mark.parametrize("make", [_of_beta_easiness, _of_classes, _of_low_skill, _of_hard_items])
def test_intervals_and_bounds_hold_the_truth(
    make: Callable[[np.random.Generator], Panel], record_property: Callable[[str, object], None]
) -> None:
    """Of 12 benchmarks with 0, 1 and 20 % of wrong keys at least 11."""
    rates = [0.0, 0.01, 0.2]
    found = [(rate, _with_wrong_keys(make, rate, seed)) for rate in rates for seed in range(2, 6)]
    held = sum(weighed.low <= rate <= weighed.high for rate, weighed in found)
    numbers = sum(not weighed.why_no_odds for _, weighed in found)
    record_property("intervals", str({"hold the truth": held, "with a number": numbers, "of": len(found)}))
    assert held >= 11


def test_what_people_get_wrong_bounds_the_interval_also_where_moved_keys_are_more() -> None:
    """A tenth of the keys is moved to see whether it is recognised, whatever people get wrong in the benchmark."""
    rng = np.random.default_rng(3)
    choices, options, truth = _of_classes(rng)
    weighed = suspicion(choices, options, truth, people=0.99)
    assert weighed.recognition > 0.9
    assert weighed.high <= 0.01 + 1e-9
