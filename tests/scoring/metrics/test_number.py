"""Numbers in texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.scoring.metrics import Context, item_metric
from eyetest.scoring.metrics.number import final_number
from eyetest.text.numbers import digits_for_words, read_number, read_numbers


def test_reading() -> None:
    quantity = read_number("$1,234.50")
    assert quantity is not None
    assert (quantity.value, quantity.step, quantity.decimals) == (1234.5, 0.01, True)
    assert read_number("5th Avenue") is None
    assert read_number("3 dogs and 2 cats") is None
    assert [q.value for q in read_numbers("(0.74, -3)")] == [0.74, -3]
    assert read_numbers("room 5, floor 3") == []
    assert final_number("none") is None


@pytest.mark.parametrize(
    ("words", "digits"),
    [
        ("one two three", "1 2 3"),
        ("two thousand three hundred and four", "2304"),
        ("one million", "1000000"),
        ("ninety-nine red balloons", "99 red balloons"),
        ("the third man", "the third man"),
        ("two thirds", "2/3"),
        ("a quarter", "1/4"),
        ("someone", "someone"),
        ("1.2 million", "1.2 million"),
    ],
)
def test_number_words(words: str, digits: str) -> None:
    assert digits_for_words(words) == digits


@given(st.floats(-1e12, 1e12).map(lambda value: round(value, 4)), st.sampled_from(["{}", "It is {} kg.", "= {}"]))
def test_a_number_is_itself_however_wrapped(value: float, frame: str) -> None:
    written = f"{value:,.4f}"
    assert item_metric("number").score(frame.format(written), [f"{value:.4f}"], Context()) == 1.0
