"""Yes, no, neither."""

import pytest

from eyetest.scoring.metrics import Context, item_metric
from eyetest.scoring.metrics.yes_no import read_yes_no, tabulate_yes_no


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes", "yes"),
        (" no.", "no"),
        ("**Yes**, there is a dog.", "yes"),
        ("There is no dog.", "no"),
        ("The answer is no.", "no"),
        ("Yes... wait, the answer is no", "no"),
        ("Answer: **No**", "no"),
        (r"\boxed{Yes}", "yes"),
        ("<answer> yes </answer>", "yes"),
        ("True", "yes"),
        ("Ｎｏ", "no"),
        ("I have no idea", None),
        ("No idea.", None),
        ("Is it yes or no?", None),
        ("There is a dog", None),
        ("It could be yes, could be no", None),
        ("Not sure", None),
        ("knowledge", None),
        ("", None),
    ],
)
def test_reading(text: str, expected: str | None) -> None:
    assert read_yes_no(text) == expected


def test_a_long_answer_is_read_at_both_ends() -> None:
    assert read_yes_no("Yes. " + "blah " * 10_000) == "yes"
    assert read_yes_no("blah " * 10_000 + "The answer is no.") == "no"


def test_score() -> None:
    metric = item_metric("yes-no")
    assert metric.score("Yes, it is.", ["yes"], Context()) == 1.0
    assert metric.score("maybe", ["yes"], Context()) == 0.0
    assert metric.score("yes", ["a dog"], Context()) is None


def test_table() -> None:
    answers = ["yes", "Yes.", "no", "no", "maybe", "yes"]
    golds = ["yes", "no", "yes", "no", "yes", "a dog"]
    table = tabulate_yes_no(answers, golds)
    assert (table.count, table.unread) == (5, 1)
    assert table.accuracy == 2 / 5
    assert table.precision == 1 / 2
    assert table.recall == 1 / 3
    assert table.f1 == pytest.approx(0.4)
    assert table.yes_ratio == 2 / 5


def test_rates_that_nothing_defines_are_none() -> None:
    empty = tabulate_yes_no([], [])
    assert (empty.accuracy, empty.precision, empty.recall, empty.f1, empty.yes_ratio) == (None,) * 5
    never = tabulate_yes_no(["no", "no"], ["yes", "no"])
    assert (never.precision, never.recall, never.f1, never.yes_ratio) == (None, 0.0, None, 0.0)
    negative = tabulate_yes_no(["yes"], ["no"])
    assert (negative.precision, negative.recall, negative.f1) == (0.0, None, None)
    wrong = tabulate_yes_no(["yes", "no"], ["no", "yes"])
    assert wrong.f1 == 0.0
