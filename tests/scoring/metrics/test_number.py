"""Numbers in texts."""

from eyetest.scoring.metrics.number import final_number
from eyetest.text.numbers import read_number, read_numbers


def test_reading() -> None:
    quantity = read_number("$1,234.50")
    assert quantity is not None
    assert (quantity.value, quantity.step, quantity.decimals) == (1234.5, 0.01, True)
    assert read_number("5th Avenue") is None
    assert read_number("3 dogs and 2 cats") is None
    assert [q.value for q in read_numbers("(0.74, -3)")] == [0.74, -3]
    assert read_numbers("room 5, floor 3") == []
    assert final_number("none") is None
