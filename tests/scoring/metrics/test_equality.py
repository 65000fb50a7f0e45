"""Mathematical equality of open answers: what is the same however written, and what only looks alike."""

import pytest

from eyetest.scoring.metrics.base import Context
from eyetest.scoring.metrics.open_answer import open_answer

SAME = {
    "1/2": ("0.5", r"\frac{1}{2}", r"\frac12", "50%", ".5"),
    "50%": ("1/2", "0.5", "50 %"),
    r"1\frac{1}{2}": ("1.5", "3/2"),
    r"2 \times 10^3": ("2000", "2,000", "2e3"),
    r"\sqrt{8}": (r"2\sqrt{2}", "8^{1/2}"),
    "(x+1)^2": ("x^2+2x+1", "(1+x)(x+1)"),
    r"\{1, 2, 3\}": (r"\{3, 2, 1\}", "{3,2,1}"),
    "[1, 3)": (r"1 \le x < 3", "[1,3)"),
    "x=2 or x=3": ("3 or 2",),
    "3:4": ("6:8",),
    "90°": ("90 degrees", "90"),
    "5 cm": ("5 centimeters", "5"),
}
"""Gold, and answers that say the same."""
DIFFERENT = {
    "1/3": ("0.33", "0.3333"),
    "5 km": ("5 m", "50 km"),
    "[1, 3)": ("[1, 3]", "(1, 3)"),
    "(1, 3)": ("(3, 1)",),
    r"\{2, 3\}": (r"\{2, 3, 4\}", "(2, 3)"),
    "2, 3": ("3, 2",),
    r"18\pi": ("18", "56.5"),
    "1:3": ("3:1", "1/3"),
    "x > 3": ("x < 3", r"x \ge 3"),
    "2^3": ("23", "6"),
    "3 m": ("3 m^2",),
    r"\sqrt{2}": ("1.41",),
}


def score(answer: str, gold: str) -> float:
    return open_answer(f"The answer is {answer}", gold, Context())


@pytest.mark.parametrize(("gold", "answer"), [(gold, answer) for gold, said in SAME.items() for answer in said])
def test_the_same(gold: str, answer: str) -> None:
    assert score(answer, gold) == 1


@pytest.mark.parametrize(("gold", "answer"), [(gold, answer) for gold, said in DIFFERENT.items() for answer in said])
def test_not_the_same(gold: str, answer: str) -> None:
    assert score(answer, gold) == 0
