"""Formulas: what is the same is found to be, what is not is not, and nothing takes long."""

import pytest

from eyetest.text.expressions import agree
from eyetest.text.folding import undressed
from eyetest.text.formulas import Tree, parse_formula, tokenise


def tree(text: str) -> Tree:
    return parse_formula(tokenise(undressed(text)) or [])[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2^{2000}", "4^{1000}"),
        ("(x+1)^{500}", "(x+1)^{499}(x+1)"),
        ("\\frac{2}{2+\\sqrt{2}}", "2-\\sqrt{2}"),
        ("\\sqrt{2}\\sqrt{2}-2", "0"),
        ("\\sin^2 x+\\cos^2 x", "1"),
        ("\\arctan(1)", "\\pi/4"),
        ("(-8)^{1/3}", "1+\\sqrt{3}i"),
        ("n!", "n(n-1)!"),
        ("\\binom{n}{2}", "n(n-1)/2"),
        ("0.1", "1/10"),
        ("1" * 60, f"{'1' * 59}0+1"),
        ("+".join(["x"] * 140), "140x"),
    ],
)
def test_the_same(one: str, other: str) -> None:
    assert agree(tree(one), tree(other)) is True


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("e^{\\pi\\sqrt{163}}", "262537412640768744"),
        ("x+10^{-40}", "x"),
        ("\\sqrt{(x-100)^2}", "100-x"),
        ("\\infty", "-\\infty"),
    ],
)
def test_nearly_the_same(one: str, other: str) -> None:
    assert agree(tree(one), tree(other)) is False


@pytest.mark.parametrize(
    "text",
    ["9^{9^{9}}", "9^{9^{9^{9}}}", "2^{99999}", "5000!", "\\sinh(\\sinh(\\sinh(1000)))", "1e999^{1e999}", "1/0"],
)
def test_what_would_not_end_or_is_nothing_is_not_decided(text: str) -> None:
    assert agree(tree(text), tree("5")) is None
