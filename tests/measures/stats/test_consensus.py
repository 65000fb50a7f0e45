"""Suspected label errors: order, odds, and when there are none."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from eyetest.measures.stats.consensus import INDEPENDENT, PRIOR, independence, recurring, suspicion

Ints = NDArray[np.int64]


class Answered(NamedTuple):
    choices: Ints
    options: Ints
    golds: Ints
    flipped: NDArray[np.bool_]


def _answered(
    seed: int, numbers: tuple[int, ...] = (4,), items: int = 600, rate: float = 0.05, families: int = 9
) -> Answered:
    """Nine models of mixed skill in families that err alike; items differ in difficulty and in their distractors."""
    rng = np.random.default_rng(seed)
    options = rng.choice(numbers, items)
    truth = (rng.random(items) * options).astype(np.int64)
    family = np.arange(9) % families
    skills, difficulty = rng.normal(0.8, 1, families)[family], rng.normal(0, 1.5, items)
    right = rng.random((items, families))[:, family] < expit(skills - difficulty[:, None])
    pull = rng.gamma(0.7, size=(items, max(numbers))) + 1e-9
    pull[np.arange(max(numbers)) >= options[:, None]] = 0
    pull[np.arange(items), truth] = 0
    bounds = (pull / pull.sum(1, keepdims=True)).cumsum(1)
    wrong = (rng.random((items, families, 1))[:, family] > bounds[:, None, :-1]).sum(2)
    choices = np.where(right, truth[:, None], wrong)
    choices[rng.random(choices.shape) < 0.03] = -1
    flipped = rng.random(items) < rate
    moved = (truth + 1 + (rng.random(items) * (options - 1)).astype(np.int64)) % options
    return Answered(choices, options, np.where(flipped, moved, truth), flipped)


@pytest.mark.parametrize("numbers", [(2,), (4,), (2, 3, 5, 10)], ids=str)
def test_moved_keys_are_found_no_worse_than_by_counting_votes_against_them(numbers: tuple[int, ...]) -> None:
    areas = []
    for seed in range(3):
        choices, options, golds, flipped = _answered(seed, numbers)
        against = ((choices >= 0) & (choices != golds[:, None])).sum(1)
        areas.append(
            [roc_auc_score(flipped, score) for score in (suspicion(choices, options, golds).ratios, against)]
        )
    ratio, count = np.mean(areas, axis=0)
    assert ratio > max(count - 0.005, 0.75)


def test_unread_answers_say_nothing() -> None:
    choices, options, golds, _ = _answered(5, items=150)
    choices[0] = -1
    found = suspicion(choices, options, golds)
    assert found.ratios[0] == 0
    assert np.isnan(found.flawed[0])
    beyond = np.where(choices == -1, 9, choices)
    assert suspicion(beyond, options, golds).ratios == pytest.approx(found.ratios)


def test_an_item_with_one_option_says_nothing() -> None:
    choices, options, golds, _ = _answered(5, items=150)
    choices[0], options[0], golds[0] = 0, 1, 0
    found = suspicion(choices, options, golds)
    assert found.ratios[0] == 0
    assert np.isfinite(found.ratios).all()


def test_all_models_against_a_key_speak_for_an_error_and_perfect_panels_stay_finite() -> None:
    choices, options = np.zeros((200, 9), np.int64), np.full(200, 4)
    golds = np.where(np.arange(200) < 4, 1, 0)
    found = suspicion(choices, options, golds)
    assert np.isfinite(found.ratios).all()
    assert found.ratios[:4].min() > found.ratios[4:].max()
    assert (found.rivals[:4] == 0).all()


@pytest.mark.parametrize(("families", "low", "high"), [(9, 6.5, 9), (3, 2, 4), (1, 1, 1.3)])
def test_models_that_err_alike_count_as_one(families: int, low: float, high: float) -> None:
    choices, options, golds, _ = _answered(3, families=families, items=1_000)
    found = suspicion(choices, options, golds)
    assert low <= found.independent <= high
    assert np.isnan(found.flawed).all() == (families < INDEPENDENT)
    assert np.isfinite(found.ratios).all(), "an order is given in any case"


def test_keys_that_all_models_contradict_do_not_make_them_related() -> None:
    rng = np.random.default_rng(0)
    golds, options = rng.integers(0, 4, 1_000), np.full(1_000, 4)
    choices = np.where(rng.random((1_000, 9)) < 0.05, rng.integers(0, 4, (1_000, 9)), golds[:, None])
    golds[:50] = (golds[:50] + 1) % 4
    assert independence(choices, options, golds, np.ones(1_000)).sum() < INDEPENDENT
    assert suspicion(choices, options, golds).independent > INDEPENDENT


@pytest.mark.parametrize(("people", "prior"), [(0.5, PRIOR), (0.99, 0.01)])
def test_no_more_keys_are_expected_wrong_than_people_get_wrong(people: float, prior: float) -> None:
    choices, options, golds, _ = _answered(4, rate=0.15)
    found = suspicion(choices, options, golds, people=people)
    assert found.prior == pytest.approx(prior)
    assert np.nansum(found.flawed) < 1.2 * prior * len(golds)


def test_keys_of_a_value_that_is_wrong_more_often_come_first() -> None:
    """Yes (0) or no (1): 12 % of the keys that say yes are wrong, 1 % of the others; three models, 70 % right."""
    rng = np.random.default_rng(1)
    truth, options = rng.integers(2, size=3_000), np.full(3_000, 2)
    flipped = rng.random(3_000) < np.where(truth == 1, 0.12, 0.01)
    golds = np.where(flipped, 1 - truth, truth)
    choices = np.where(rng.random((3_000, 3)) < 0.7, truth[:, None], 1 - truth[:, None])
    ratios = suspicion(choices, options, golds, recurring([("Yes", "No")] * 3_000)).ratios
    against = (choices != golds[:, None]).all(axis=1)
    assert ratios[against & (golds == 0)].min() > ratios[against & (golds == 1)].max()
    assert flipped[np.argsort(-ratios)[:60]].mean() > flipped[against].mean()


def test_answers_recur_as_whole_sets() -> None:
    yes_no = [("Yes", "No"), ("no.", "yes")] * 15
    found = recurring([*yes_no, ("yes", "no", "maybe"), ("a cat", "a dog")])
    assert found[:2].tolist() == [[2, 1, 0], [1, 2, 0]]
    assert not found[30:].any()
    assert not recurring([("yes", "no")] * 29).any()
    assert recurring([]).shape == (0, 1)


@pytest.mark.science
@pytest.mark.parametrize("numbers", [(2,), (4,)], ids=str)
@pytest.mark.parametrize("families", [2, 9])
def test_flawless_benchmarks_have_few_golds_called_wrong(
    families: int, numbers: tuple[int, ...], record_property: Callable[[str, object], None]
) -> None:
    """No key is wrong: with two families of models there are no odds, with nine hardly any above one half."""
    found = [suspicion(*_answered(seed, numbers, 1_000, 0.0, families)[:3]).flawed for seed in range(10)]
    flagged = float(np.mean(np.concatenate(found) > 0.5))
    record_property("flawless", str({"families": families, "options": numbers, "flagged": flagged}))
    assert np.isnan(found).all() == (families == 2)
    assert flagged <= 0.005
