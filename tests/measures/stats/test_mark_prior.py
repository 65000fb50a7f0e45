"""The prior of option letters: PriDe's where options rotate, least squares where they stand anyhow."""

import numpy as np
import pytest
from numpy.typing import NDArray

from eyetest.measures.stats.intervals import Resampling
from eyetest.measures.stats.likelihoods import item_terms, mark_prior

Table = NDArray[np.float64]


def rotations(options: int) -> NDArray[np.int64]:
    return (np.arange(options)[:, None] + np.arange(options)) % options


def answers(shown: NDArray[np.int64], prior: Table, content: Table, noise: Table | float = 0.0) -> Table:
    """Log-probabilities of letters that add up, each order with a level of its own."""
    return prior + content[shown] + noise - np.arange(len(shown))[:, None]


def test_over_all_rotations_it_is_the_mean_of_logarithms_that_pride_takes() -> None:
    rng = np.random.default_rng(0)
    shown = rotations(4)
    logs = np.log(rng.dirichlet([2, 1, 1, 1], 4))
    prior = mark_prior(item_terms(logs, shown)[None], Resampling(["1"]))
    assert prior is not None
    pride = np.exp(logs.mean(axis=0))
    assert [share.value for share in prior.shares] == pytest.approx((pride / pride.sum()).tolist())
    assert prior.shares[0].low is None, "one item says nothing of its spread"


def test_any_orders_of_several_items_are_the_least_squares_of_all_together() -> None:
    rng = np.random.default_rng(1)
    items, orders, letters = 9, 2, 3
    shown = np.array([[rng.permutation(letters) for _ in range(orders)] for _ in range(items)])
    logs = rng.normal(size=(items, orders, letters))
    logs[2, 1, 0] = -np.inf
    design = []
    for i, j, mark in np.argwhere(np.isfinite(logs)):
        row = np.zeros(letters + items * letters + items * orders)
        row[[mark, letters + i * letters + shown[i, j, mark], letters + items * letters + i * orders + j]] = 1
        design.append(row)
    solved = np.linalg.lstsq(np.array(design), logs[np.isfinite(logs)], rcond=None)[0][:letters]
    terms = np.array([item_terms(logs[i], shown[i]) for i in range(items)])
    prior = mark_prior(terms, Resampling(np.arange(items)))
    assert prior is not None
    assert prior.logs.tolist() == pytest.approx((solved - solved.mean()).tolist())


def test_what_is_there_comes_out_whatever_the_options_are_worth() -> None:
    rng = np.random.default_rng(2)
    shares = np.array([0.55, 0.25, 0.15, 0.05])
    terms = []
    for _ in range(40):
        shown = np.array([rng.permutation(4) for _ in range(3)])
        noise = rng.normal(0, 0.3, (3, 4))
        terms.append(item_terms(answers(shown, np.log(shares), rng.normal(0, 3, 4), noise), shown))
    prior = mark_prior(np.array(terms), Resampling(np.arange(40)))
    assert prior is not None
    for share, true in zip(prior.shares, shares, strict=True):
        assert share.value == pytest.approx(true, abs=0.03)
        assert share.low is not None
        assert share.high is not None
        assert share.low < share.value < share.high  # type: ignore[operator]
        assert share.high - share.low < 0.12


def test_orders_that_do_not_tell_letters_apart_tell_nothing() -> None:
    shown = np.array([[0, 1, 2, 3], [3, 2, 1, 0]])
    logs = np.zeros((2, 4))
    assert mark_prior(np.array([item_terms(logs, shown)] * 5), Resampling(np.arange(5))) is None
    assert mark_prior(item_terms(np.zeros((1, 4)), shown[:1])[None], Resampling(["1"])) is None
