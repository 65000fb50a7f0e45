"""Evidence: by seat in the order of asking, by test in the order of orders and samples, whatever the rows' order."""

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
    return [[said.request if said else None for said in row] for row in evidence.of(item)]


def test_seats_in_the_order_of_asking_and_tests_in_theirs() -> None:
    evidence = Evidence(pl.DataFrame(rows()), ["b", "a"], tests=4)
    assert requests(evidence, "x") == [["b90", "b91", "b100", "b101"], ["a90", "a91", "a100", "a101"]]
    assert sorted(evidence) == ["x", "y"]


def test_what_nobody_said_is_none() -> None:
    evidence = Evidence(pl.DataFrame(rows()), ["b", "a"], tests=5)
    assert requests(evidence, "y") == [["b90", "b91", "b100", "b101", None], [None] * 5]
    assert requests(evidence, "z") == [[None] * 5, [None] * 5]
    assert requests(Evidence.nothing(), "x") == []


def test_some_of_the_panel() -> None:
    some = Evidence(pl.DataFrame(rows()), ["b", "a"], tests=4).only(["a"])
    assert some.seats == ("a",)
    assert requests(some, "x") == [["a90", "a91", "a100", "a101"]]
