"""Evidence by seat and test in the order of asking, whatever the order of rows; cut-offs from the data."""

import random

import numpy as np
import polars as pl

from eyetest.filters import MOST_CUTS, Evidence, best_cut

KINDS = {"outcome": "answered", "reading": "chosen", "choice": None, "metric": "accuracy", "score": 1.0}


def rows() -> list[dict[str, object]]:
    found: list[dict[str, object]] = [
        {
            "item": item,
            "model": model,
            "order": order,
            "sample": sample,
            "request": f"{model}{order}{sample}",
            **KINDS,
        }
        for item in ("x", "y")
        for model in ("b", "a")
        for order in (10, 9)
        for sample in (1, 0)
        if (item, model) != ("y", "a")
    ]
    random.Random(1).shuffle(found)
    return found


def requests(evidence: Evidence, item: str) -> list[list[str | None]]:
    return [[answer.request if answer else None for answer in row] for row in evidence.of(item)]


def test_seats_in_the_order_of_asking_and_tests_in_theirs() -> None:
    evidence = Evidence(pl.DataFrame(rows()), ["b", "a"], tests=4)
    assert requests(evidence, "x") == [["b90", "b91", "b100", "b101"], ["a90", "a91", "a100", "a101"]]


def test_missing_answers_are_none() -> None:
    evidence = Evidence(pl.DataFrame(rows()), ["b", "a"], tests=5)
    assert requests(evidence, "y") == [["b90", "b91", "b100", "b101", None], [None] * 5]
    assert requests(evidence, "z") == [[None] * 5, [None] * 5]
    assert requests(Evidence(), "x") == []


def test_the_cut_off_lies_where_models_differ() -> None:
    """Everybody reaches .3 in half of the items; from .6 on the better ones alone do."""
    rng = np.random.default_rng(0)
    able = np.linspace(0.1, 0.9, 9)
    often = np.where(rng.random((400, 9)) < 0.5, 0.3, 0.0)
    scores = np.where(rng.random((400, 9)) < able, 0.6, often)
    scores[rng.random((400, 9)) < 0.05] = 1.0
    assert best_cut(scores).value == 0.6
    assert best_cut(scores).op == ">="


def test_of_equals_the_highest_and_right_or_wrong_stays_at_one() -> None:
    answers = (np.random.default_rng(1).random((100, 6)) < np.linspace(0.2, 0.9, 6)).astype(float)
    assert best_cut(answers).value == 1
    assert best_cut(np.where(answers == 1, 0.8, 0.0)).value == 0.8


def test_missing_answers_and_many_values() -> None:
    rng = np.random.default_rng(2)
    scores = rng.random((500, 5)) * np.linspace(0.5, 1, 5)
    scores[rng.random((500, 5)) < 0.3] = np.nan
    cut = best_cut(scores)
    assert np.nanmin(scores) < cut.value < np.nanmax(scores)
    assert len(np.unique(scores[~np.isnan(scores)])) > MOST_CUTS


def test_where_nothing_is_above_zero_only_a_whole_score_is_right() -> None:
    assert best_cut(np.zeros((4, 3))).value == 1
    assert best_cut(np.full((4, 3), np.nan)).value == 1
