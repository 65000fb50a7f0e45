from typing import Any

import pytest

from eyetest.errors import InputError
from eyetest.measures import MEASURES, NotMeasurable, Settings
from eyetest.measures.results import own_settings
from tests.measures.tables import both, results

MEASURE = MEASURES["linked"]


def settings(start: str = "ask=direct", end: str = "ask=cot", **own: Any) -> Settings:
    return Settings(own={"from": start, "to": end, "over": "items", **own})


def test_items_to_read() -> None:
    of = both({"a": [1, 1, 0, 0, 1, None], "b": [1, 1]}, {"a": [0, 1, 1, 0, 0, 1], "b": [1, 1]})
    measured = MEASURE.measure(of, settings())
    assert measured.table.columns == ["model", "flip", "item", "from_score", "to_score", "flips", "n"]
    assert measured.table.rows() == [
        ("a", "lost", "0", 1, 0, 2, 5),
        ("a", "lost", "4", 1, 0, 2, 5),
        ("a", "won", "2", 0, 1, 1, 5),
    ]
    assert measured.notes == ("2 lost and 1 won of 7 pairs in 2 series",)


def test_items_of_two_benchmarks_are_the_same_by_their_id() -> None:
    rows = [
        {"item": "1", "benchmark": "four", "score": 1.0},
        {"item": "2", "benchmark": "four", "score": 1.0},
        {"item": "1", "benchmark": "ten", "score": 0.0},
    ]
    table = MEASURE.measure(results(rows), settings("benchmark=four", "benchmark=ten")).table
    assert table.select("item", "flip", "n").rows() == [("1", "lost", 1)]


def test_what_counts_as_right() -> None:
    rows = [
        {"item": "1", "template": t, "ask": ask, "score": float(t < most)}
        for ask, most in (("direct", 3), ("cot", 2))
        for t in range(4)
    ]
    assert not len(MEASURE.measure(results(rows), settings()).table)
    table = MEASURE.measure(results(rows), settings(right="0.75")).table
    assert table.select("flip", "from_score", "to_score").rows() == [("lost", 0.75, 0.5)]
    with pytest.raises(InputError, match="expected a number"):
        own_settings(MEASURE, {"right": "all"})


def test_nothing_in_common() -> None:
    rows = [{"item": "1", "score": 1.0}, {"item": "2", "score": 1.0, "ask": "cot"}]
    with pytest.raises(NotMeasurable, match="linked: the two settings have no item in common"):
        MEASURE.measure(results(rows), settings())


def test_over_models_counts_who_lost_an_item() -> None:
    of = both({"a": [1, 1, 0], "b": [1, 0, 1]}, {"a": [0, 0, 1], "b": [0, 0, 1]})
    own = {"from": "ask=direct", "to": "ask=cot", "over": "models", "right": 0.5}
    table = MEASURES["linked"].measure(of, Settings(own=own)).table
    assert table.rows() == [("0", 2, 0, 2, "a, b"), ("1", 1, 0, 2, "a"), ("2", 0, 1, 2, "")]
    with pytest.raises(InputError, match="expected items, models or no-image"):
        MEASURES["linked"].measure(of, Settings(own=own | {"over": "rows"}))
