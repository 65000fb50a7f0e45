"""Formulas that sympy makes, rewrites and prints: what is equal scores 1, what was changed a little scores 0."""

import random

import pytest
import sympy

from eyetest.scoring.metrics import Context
from tests.scoring.metrics import item_metric

PAIRS = 150
X, Y = sympy.symbols("x y")
FUNCTIONS = (sympy.sin, sympy.cos, sympy.exp, sympy.sqrt, sympy.log)


def made(draw: random.Random, depth: int) -> sympy.Expr:
    """A formula of some depth."""
    if depth == 0:
        return draw.choice(
            [X, Y, sympy.pi, sympy.Integer(draw.randint(1, 12)), sympy.Rational(draw.randint(1, 9), 7)]
        )
    one, other = made(draw, depth - 1), made(draw, draw.randint(0, depth - 1))
    kind = draw.choice(["add", "sub", "mul", "div", "square", "call"])
    if kind == "call":
        return draw.choice(FUNCTIONS)(one)
    if kind == "square":
        return one**2
    return {"add": one + other, "sub": one - other, "mul": one * other, "div": one / other if other != 0 else one}[
        kind
    ]


def score(answer: str, gold: str) -> float | None:
    return item_metric("open").score(f"So the result is ${answer}$.", [gold], Context())


@pytest.mark.slow
def test_equal_and_changed_formulas() -> None:
    draw = random.Random(3)
    missed, fooled, tried = [], [], 0
    while tried < PAIRS:
        formula = made(draw, draw.randint(1, 3))
        if formula.has(sympy.nan, sympy.zoo, sympy.oo, sympy.I) or formula.is_Integer or formula.is_Symbol:
            continue
        tried += 1
        gold = sympy.latex(formula)
        for change in (sympy.expand, sympy.factor, sympy.together):
            if score(sympy.latex(change(formula)), gold) != 1.0:
                missed.append((gold, sympy.latex(change(formula))))
        for changed in (
            formula + 1,
            -formula,
            2 * formula,
            formula.subs(X, X + 1) if formula.has(X) else formula / 2,
        ):
            if sympy.simplify(changed - formula) != 0 and score(sympy.latex(changed), gold) != 0.0:
                fooled.append((gold, sympy.latex(changed)))
    assert not fooled, fooled
    assert len(missed) <= PAIRS // 100, missed
