"""Yes, no, neither."""

import pytest

from eyetest.scoring.metrics.yes_no import read_yes_no


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
