"""Evidence by seat and test in the order of asking, whatever the order of rows; cut-offs from the data."""

import random

import numpy as np
import polars as pl

from eyetest.filters import Evidence, best_cut

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


def test_missing_answers_are_none() -> None:
    evidence = Evidence(pl.DataFrame(rows()), ["b", "a"], tests=5)
    assert requests(evidence, "y") == [["b90", "b91", "b100", "b101", None], [None] * 5]
    assert requests(evidence, "z") == [[None] * 5, [None] * 5]
    assert requests(Evidence(), "x") == []


def test_the_cut_off_lies_where_models_differ() -> None:
    """All models reach .3 in half of the items; from .6 on the better ones alone do."""
    rng = np.random.default_rng(0)
    able = np.linspace(0.1, 0.9, 9)
    often = np.where(rng.random((400, 9)) < 0.5, 0.3, 0.0)
    scores = np.where(rng.random((400, 9)) < able, 0.6, often)
    scores[rng.random((400, 9)) < 0.05] = 1.0
    assert best_cut(scores).value == 0.6
    assert best_cut(scores).op == ">="
