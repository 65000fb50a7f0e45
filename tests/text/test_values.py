"""What a short text is read as, and how numbers in it are compared."""

import pytest

from eyetest.text import equal_numbers, normalized, parse, read_number, same, telling_words


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("(B)", "letter"), ("3:05 pm", "time"), ("2014-03-03", "date"), ("May", "date"), ("10 kg", "number"),
        ("50%", "number"), ("three quarters", "number"), (r"\frac{1}{2}", "number"), ("x²+1", "formula"),
        ("2:1", "formula"), ("6-8", "formula"), ("[1, 3)", "formula"), ("cat, dog", "list"), ("the dog", "words"),
        ("Figure 5", "words"), ("1990s", "words"), ("", "words"), ("x" * 2_000, "words"),
    ],
)  # fmt: skip
def test_kinds(text: str, kind: str) -> None:
    assert parse(text).kind == kind


def test_fields() -> None:
    assert parse("option C").letter == "C"
    assert parse("March 3").moment == (0, 3, 3)
    assert parse("3:05 pm").moment == (15 * 3600 + 300, 12)
    assert parse("cat and dog").parts == ("cat", "dog")
    value = parse("x = 12.50 km/h")
    assert value.label == "x"
    assert value.number is not None
    assert (value.number.value, value.number.step, value.number.unit) == (12.5, 0.01, "km/h")
    assert telling_words("The café") == ("cafe",)
    assert normalized("$5$ KG") == "5KG"


def test_numbers_may_be_compared_by_the_caller() -> None:
    assert not same("0.333", "1/3")
    assert same("0.333, 2", "1/3, 2", numbers=lambda one, other: equal_numbers(one, other, slack=0.001))


@pytest.mark.parametrize("text", ["5th", "1990s", "3 dogs and 2 cats", "18π", "1-cos²x", "6 to 8", "1:3"])
def test_what_is_no_number(text: str) -> None:
    assert read_number(text) is None
