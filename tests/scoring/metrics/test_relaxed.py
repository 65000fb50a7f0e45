"""Relaxed accuracy, ours and the published one."""

import pytest

from eyetest.scoring.metrics.relaxed import asks_when


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
