from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.measures import MEASURES, NotMeasurable, Settings
from eyetest.measures.accuracy import expected, papers
from eyetest.measures.stats.intervals import NOTHING, mean
from tests.measures.tables import results

MEASURE = MEASURES["human"]
ITEMS: list[dict[str, Any]] = [
    {"item": "1", "options": 4, "tag.field": "x"},
    {"item": "2", "options": 4, "tag.field": "x"},
    {"item": "3", "options": 10, "tag.field": "y"},
    {"item": "4", "options": 2, "tag.field": "y"},
]


def solved(scores: dict[str, float | None], **more: Any) -> list[dict[str, Any]]:
    return [{"model": "human", "item": item, "score": score, **more} for item, score in scores.items()]


def test_missing_rows_and_missing_scores_are_guesses() -> None:
    found = MEASURE.measure(results(solved({"1": 1, "2": 0, "3": None}), ITEMS), Settings()).table.row(0, named=True)
    assert found["expected"] == pytest.approx((1 + 0 + 1 / 10 + 1 / 2) / 4)
    assert found["expected_low"] < found["expected"] < found["expected_high"]
    assert (found["accuracy"], found["guessed"], found["n"]) == (0.5, 2, 4)


def test_the_papers_formula() -> None:
    found = MEASURE.measure(results(solved({"1": 1, "2": 0}), ITEMS), Settings()).table.row(0, named=True)
    assert found["paper"] == (1 + 1) / 4, "two of four are guessed, so half of them are right"
    assert found["paper_low"] <= found["paper"] <= found["paper_high"]


def test_by_discipline() -> None:
    measured = MEASURE.measure(results(solved({"1": 1}), ITEMS), Settings(by=("field",)))
    assert measured.table.select("tag.field", "expected", "guessed", "n").rows() == [
        ("x", pytest.approx(1.25 / 2), 1, 2),
        ("y", pytest.approx(0.6 / 2), 2, 2),
    ]


def test_each_benchmark_has_its_own_items() -> None:
    items = [
        *ITEMS,
        {"item": "1", "benchmark": "other", "options": 5},
        {"item": "2", "benchmark": "other", "options": 5},
    ]
    rows = [*solved({"1": 1}), *solved({"2": 1}, benchmark="other")]
    table = MEASURE.measure(results(rows, items), Settings()).table
    assert table.select("benchmark", "n", "guessed").rows() == [("bench", 4, 3), ("other", 2, 1)]
    assert table.get_column("expected").to_list() == pytest.approx([(1 + 0.25 + 0.1 + 0.5) / 4, 1.2 / 2])


def test_open_questions_cannot_be_guessed() -> None:
    measured = MEASURE.measure(results(solved({"1": 1}), [ITEMS[0], {"item": "open"}]), Settings())
    assert measured.table.get_column("expected").to_list() == [0.5]
    assert "cannot be guessed" in measured.notes[0]


def test_several_tries_are_averaged() -> None:
    rows = [*solved({"1": 1}), *solved({"1": 0}, sample=1)]
    assert MEASURE.measure(results(rows, ITEMS[:1]), Settings()).table.get_column("expected").to_list() == [0.5]


def test_nothing_known() -> None:
    for rows, items in ((solved({"1": 1}), []), (solved({"1": None}), ITEMS)):
        with pytest.raises(NotMeasurable, match="human: "):
            MEASURE.measure(results(rows, items), Settings())


def test_formulas() -> None:
    nan = float("nan")
    assert expected([1, 0, nan, nan], [0.25, 0.25, 0.1, 0.1]).value == pytest.approx(1.2 / 4)
    assert papers([1, 0, nan, nan, nan]).value == pytest.approx((1 + 2) / 5), "round(9/5)"
    assert papers([nan, nan]).value == 1, "who solves nothing has everything right"
    assert papers([]) == expected([], []) == NOTHING


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=30), st.integers(2, 10))
def test_where_all_is_solved_both_are_accuracy(scores: list[float], options: int) -> None:
    assert expected(scores, np.full(len(scores), 1 / options)) == mean(scores)
    assert papers(scores, settings=Settings(resamples=20)).value == pytest.approx(np.mean(scores))
