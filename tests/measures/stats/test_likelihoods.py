"""Arithmetic on log-probabilities of choices."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from eyetest.measures.stats.intervals import Resampling
from eyetest.measures.stats.likelihoods import among_choices, gained, item_terms, likeliest, mark_prior, moved
from eyetest.records import Choice, Condition, Item, Response, letter
from eyetest.scoring import Scorer

INF, NAN = math.inf, math.nan


def test_the_likeliest_choice_is_the_one_that_scoring_takes() -> None:
    rng = np.random.default_rng(3)
    for options in (1, 2, 3, 5):
        table = rng.choice([-INF, -3.0, -2.0, -1.5, -1.0], size=(200, options))
        item = Item(id="1", question="?", choices=tuple(Choice(f"c{i}", correct=not i) for i in range(options)))
        padded = np.column_stack([table, np.full((200, 2), NAN)])
        for row, chosen in zip(table.tolist(), likeliest(padded).tolist(), strict=True):
            candidates = tuple(None if weight == -INF else weight for weight in row)
            response = Response(request="", outcome="answered", candidates=candidates)
            choice = Scorer().score(item, Condition(method="likelihood"), response).choice
            assert choice == (letter(chosen) if chosen >= 0 else None), row


def test_what_is_impossible_gains_nothing_and_what_became_possible_gains_everything() -> None:
    after = np.array([[-1.0, -INF, -INF, -2.0, NAN]])
    before = np.array([[-3.0, -1.0, -INF, -INF, NAN]])
    assert gained(after, before)[0, :4].tolist() == [2.0, -INF, -INF, INF]
    assert math.isnan(gained(after, before)[0, 4])


def test_probability_among_choices_and_how_much_of_it_moves() -> None:
    with np.errstate(divide="ignore"):
        after = np.log([[0.7, 0.2, 0.1], [0.3, 0.1, 0.0], [0.0, 0.0, 0.0], [0.5, 0.25, NAN]])
    before = np.log(np.array([[0.2, 0.3, 0.5], [0.1, 0.3, 0.4], [0.1, 0.1, 0.1], [0.2, 0.6, NAN]]) / 7)
    chances, without = among_choices(after), among_choices(before)
    assert chances[1].tolist() == pytest.approx([0.75, 0.25, 0.0])
    assert np.isnan(chances[2]).all()
    assert chances[3, :2].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert moved(chances, without)[[0, 1, 3]].tolist() == pytest.approx([0.5, 0.625, 2 / 3 - 0.25])
    assert np.isnan(moved(chances, without)[2])
    assert moved(among_choices(after), among_choices(after - 5))[:2].tolist() == pytest.approx([0, 0])


def rotations(options: int) -> NDArray[np.int64]:
    return (np.arange(options)[:, None] + np.arange(options)) % options


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


def test_orders_that_do_not_tell_letters_apart_tell_nothing() -> None:
    shown = np.array([[0, 1, 2, 3], [3, 2, 1, 0]])
    logs = np.zeros((2, 4))
    assert mark_prior(np.array([item_terms(logs, shown)] * 5), Resampling(np.arange(5))) is None
    assert mark_prior(item_terms(np.zeros((1, 4)), shown[:1])[None], Resampling(["1"])) is None
