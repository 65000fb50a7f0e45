"""Evidence by seat and test in the order of asking, whatever the order of rows."""

import random

import polars as pl

from eyetest.filters import Evidence

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
