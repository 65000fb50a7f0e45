"""Numbers and open answers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.scoring.metrics import Context, item_metric
from eyetest.scoring.metrics.number import final_number, read_number, read_numbers
from eyetest.scoring.metrics.support.numbers import digits_for_words


def number(answer: str, gold: str, **tags: Any) -> float | None:
    return item_metric("number").score(answer, [gold], Context(tags=tags))


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("The area is 12.50 cm^2", "12.5"),
        ("12.50 cm²", "12.5"),
        ("12,5 is wrong, the answer is 12.5", "12.5"),
        ("twelve", "12"),
        ("Twenty-one dogs", "21"),
        ("two hundred and five", "205"),
        ("one half", "0.5"),
        ("three quarters", "0.75"),
        ("five and a half", "5.5"),
        ("1/2", "0.5"),
        ("3 1/2", "3.5"),
        (r"\frac{1}{2}", "1/2"),
        (r"$\dfrac{3}{4}$", "0.75"),
        ("½", "0.5"),
        ("3½ inches", "3.5"),
        ("1.2×10⁵", "120000"),
        (r"1.2 \times 10^{5}", "1.2e5"),
        ("1.2 x 10^-3 m", "0.0012"),
        ("50%", "0.5"),
        ("50 percent", "50"),
        ("0.5", "50%"),
        ("$1,000.00", "1000"),
        ("1.2 million", "1,200,000"),
        ("minus five", "-5"),
        ("−5", "-5"),
        ("5 cm", "5 centimeters"),
        ("45°", "45"),
        ("x = 3", "3"),
        ("12.0", "12"),
        ("The answer is 12 because there are 3 rows of 4.", "12"),
        ("3 + 9 = 12, as rows 1 and 2 show", "12"),
        ("The answer is 5. This is because line 3 shows it.", "5"),
        (r"So 3 or 4: \boxed{42}", "42"),
        ("<answer>7</answer> 9", "7"),
        ("5 is the right one", "5"),
        ("just the one", "1"),
        ("[2014, 2016]", "[2014, 2016]"),
        ("They are 2014 and 2016.", "[2014, 2016]"),
        ("0.32 and 0.67", "0.32, 0.67"),
        ("Figure 5", "Figure 5"),
    ],
)
def test_right(answer: str, gold: str) -> None:
    assert number(answer, gold) == 1.0


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("-5", "5"),
        ("12.4", "12"),
        ("12.44", "12.5"),
        ("5 km", "5 m"),
        ("H2O", "2"),
        ("cm^2", "2"),
        ("1.5", "15"),
        ("0.12", "12"),
        ("0.3333", "1/3"),
        ("2016, 2014", "[2014, 2016]"),
        ("2014", "[2014, 2016]"),
        ("5", "Figure 5"),
        ("the answer is 5, not 7", "7"),
        ("1/0", "0"),
        ("from 3-5", "5"),
        ("rows 3-5", "-5"),
        ("", "0"),
        ("no number at all", "0"),
    ],
)
def test_wrong(answer: str, gold: str) -> None:
    assert number(answer, gold) == 0.0


def test_tags() -> None:
    assert number("0.333", "0.3", precision=1) == 1.0
    assert number("10.4", "10.44", precision=2) == 0.0
    assert number("10.436", "10.44", precision=2) == 1.0
    assert number("2.2", "2", answer_type="integer", precision=1) == 0.0
    assert number("5 months", "5", unit="years") == 0.0
    assert number("5 years", "5", unit="years") == 1.0
    assert number("145", "145°", answer_type="text") == 0.0
    assert number("0.3", "0.3", precision="one") == 1.0


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
    assert number(frame.format(written), f"{value:.4f}") == 1.0


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("It is a cat.", "cat", 1),
        ("It is not a cat.", "cat", 0),
        ("It isn't red", "red", 0),
        ("The answer is Paris, the capital.", "Paris", 1),
        ("I see London. So it must be Paris", "paris", 1),
        ("I see Paris. So it must be London", "Paris", 0),
        (r"the answer is \boxed{\text{blue}}", "blue", 1),
        ("category", "cat", 0),
        ("6.5 cm long", "6 cm long", 0),
        ("√{3}", "√{2}", 0),
        ("5x", "-5x", 0),
        ("The area is 12.50 cm^2", "12.5", 1),
        ("", "", 1),
        ("", "cat", 0),
    ],
)
def test_open(answer: str, reference: str, expected: int) -> None:
    assert item_metric("open").score(answer, [reference], Context()) == expected


def test_open_takes_any_reference() -> None:
    assert item_metric("open").score("a feline", ["cat", "feline"], Context()) == 1


def test_mathvista_rule() -> None:
    metric = item_metric("mathvista")
    assert metric.score(" 2 ", ["2"], Context(tags={"answer_type": "integer"})) == 1
    assert metric.score("2.0", ["2"], Context(tags={"answer_type": "integer"})) == 0
    assert metric.score("1.2345", ["1.23"], Context(tags={"answer_type": "float", "precision": 2})) == 1
    assert metric.score("x", ["1.23"], Context(tags={"answer_type": "float", "precision": "two"})) == 0
