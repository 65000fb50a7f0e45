"""Relaxed accuracy, ours and the published one."""

import pytest

from eyetest.scoring.metrics import Context, item_metric
from eyetest.scoring.metrics.relaxed import asks_when


@pytest.mark.parametrize(
    ("answer", "gold", "question", "ours", "published"),
    [
        ("105", "100", "", 1, 1),
        ("95", "100", "", 1, 1),
        ("105.1", "100", "", 0, 0),
        ("-100", "100", "", 0, 0),
        ("$1,000", "1000", "", 1, 0),
        ("1000", "1,000", "", 1, 0),
        ("€ 5", "5", "", 1, 0),
        ("12%", "12", "", 1, 0),
        ("12", "12%", "", 1, 0),
        ("0.12", "12%", "", 1, 1),
        ("12%", "0.12", "", 1, 1),
        ("0.12", "12", "", 0, 0),
        ("2010", "2011", "In which year did sales peak?", 0, 1),
        ("2011", "2011", "In which year did sales peak?", 1, 1),
        ("1410", "1408", "How many were sold in 2019?", 1, 1),
        ("Blue", "blue", "", 1, 1),
        ("blue.", "blue", "", 1, 0),
        ("dark blue", "blue", "", 0, 0),
        ("0", "0", "", 1, 1),
        ("0.01", "0", "", 0, 0),
        ("0.0", "0", "", 1, 0),
        ("−5", "-5", "", 1, 0),
        ("1e3", "1000", "", 1, 1),
        ("nan", "5", "", 0, 0),
        ("", "5", "", 0, 0),
    ],
)
def test_relaxed(answer: str, gold: str, question: str, ours: int, published: int) -> None:
    context = Context(question=question)
    assert item_metric("relaxed").score(answer, [gold], context) == ours
    assert item_metric("relaxed-chartqa").score(answer, [gold], context) == published


def test_the_best_reference_counts() -> None:
    assert item_metric("relaxed").score("5", ["9", "5.1"], Context()) == 1


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When does the line reach the peak?", True),
        ("Which year mentioned in the heading of the chart ??", True),
        ("In what year did both genders achieve their highest pass rates?", True),
        ("What was the record year for hospital transactions?", True),
        ("Since when is it falling?", True),
        ("What is the difference in wages between the years 2000 and 2019?", False),
        ("How much revenue did it generate in the fiscal year of 2019?", False),
        ("What was the number in the year 2019?", False),
        ("How many when it rains?", False),
        ("", False),
    ],
)
def test_questions_about_time(question: str, expected: bool) -> None:
    assert asks_when(question) is expected
