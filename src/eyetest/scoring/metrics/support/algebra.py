"""Whether two formulas are the same: by their values at a few points, to as many digits as it takes to tell.

Floats find most differences (``formulas.agree``); what they cannot tell apart is computed here with mpmath. Two
formulas that agree to sixty digits more than their values need, at seven points of five sizes, are the same. Formulas
are data from strangers: they are trees of known nodes, no text of theirs is run, and values that grow beyond all
use, or need too many digits, are not computed to their end.
"""

import math
import zlib
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import mpmath

from eyetest.scoring.metrics.support.formulas import Tree, nodes, symbols

MOST_DIGITS = 3_000
"""A value with more of them before or behind its point is given up."""
MOST_WORK = 200_000
"""Nodes times digits; a formula that needs more is given up."""
_SCALES = (1.0, 1.0, 0.02, 5.0, 0.0003, 70.0, 2000.0)
"""How large symbols are at each point: a root of a square turns its sign where it likes."""
_SPARE = 100
_TOLD = 60
"""Digits, beyond those that the values need, in which formulas that are the same have to agree."""
_CALLS: dict[object, Callable[[Any], Any]] = {
    "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "cot": mpmath.cot, "sec": mpmath.sec, "csc": mpmath.csc,
    "arcsin": mpmath.asin, "arccos": mpmath.acos, "arctan": mpmath.atan, "sinh": mpmath.sinh, "cosh": mpmath.cosh,
    "tanh": mpmath.tanh, "ln": mpmath.log, "log": mpmath.log10, "lg": mpmath.log10,
}  # fmt: skip
_CONSTANTS: dict[object, Callable[[], Any]] = {
    "pi": lambda: +mpmath.pi, "e": lambda: +mpmath.e, "i": lambda: mpmath.mpc(0, 1), "infinity": lambda: mpmath.inf,
}  # fmt: skip
_OPERATIONS: dict[object, Callable[..., Any]] = {
    "neg": lambda a: -a,
    "abs": abs,
    "factorial": mpmath.factorial,
    "binomial": mpmath.binomial,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
}


class _TooMuchError(ArithmeticError):
    """A value that nobody will wait for."""


@lru_cache(maxsize=10_000)
def same(one: Tree, other: Tree) -> bool | None:
    """Whether two formulas are the same for all positive values of their symbols; None where that was not decided."""
    points = range(len(_SCALES) if symbols(one) | symbols(other) else 1)
    verdicts = {_same_at(one, other, number) for number in points}
    return False if False in verdicts else True if True in verdicts else None


def _same_at(one: Tree, other: Tree, number: int) -> bool | None:
    """A first look says how large things are; the second has the digits that this takes."""
    size = sum(1 for tree in (one, other) for _ in nodes(tree))
    look = _Values(number)
    try:
        with mpmath.workdps(_SPARE):
            look.value(one), look.value(other)
        digits = _SPARE + 3 * look.span
        if size * digits > MOST_WORK:
            return None
        with mpmath.workdps(digits):
            return _equal(look.value(one), look.value(other), digits, look.span)
    except (ArithmeticError, ValueError, TypeError, KeyError):
        return None


def _equal(first: Any, second: Any, digits: int, span: int) -> bool | None:
    if mpmath.isnan(first) or mpmath.isnan(second):
        return None
    if not (mpmath.isfinite(first) and mpmath.isfinite(second)):
        return bool(first == second)
    largest = max(abs(first), abs(second))
    if largest < mpmath.mpf(10) ** (_TOLD - digits):
        return True  # what is left of two noughts
    return bool(abs(first - second) <= largest * mpmath.mpf(10) ** -(_TOLD + span))


class _Values:
    """Values of formulas at a point, where every symbol has a positive value that its name and the point give."""

    def __init__(self, number: int) -> None:
        self.number, self.span = number, 0
        """How many digits the largest and the smallest value have before or behind the point."""

    def value(self, tree: Tree) -> Any:
        kind, *parts = tree
        if kind == "number":
            result = mpmath.mpf(str(parts[0]))
        elif kind == "constant":
            return _CONSTANTS[parts[0]]()
        elif kind == "symbol":
            drawn = zlib.crc32(f"{self.number} {parts[0]}".encode()) / 2**31
            result = mpmath.mpf(_SCALES[self.number] * (0.3 + drawn))
        elif kind == "call":
            result = _CALLS[parts[0]](self.value(parts[1]))  # type: ignore[arg-type]
        else:
            values = [self.value(part) for part in parts]  # type: ignore[arg-type]
            result = _power(*values) if kind == "pow" else _OPERATIONS[kind](*values)
        self.measure(result)
        return result

    def measure(self, value: Any) -> None:
        """Remember how many digits a value has; give up where they are too many."""
        if value and mpmath.isfinite(value):
            self.span = max(self.span, abs(round(int(mpmath.mag(value)) * math.log10(2))))
            if self.span > MOST_DIGITS:
                raise _TooMuchError


def _power(base: Any, exponent: Any) -> Any:
    if base and mpmath.isfinite(base) and abs(exponent) * (abs(int(mpmath.mag(base))) + 1) > 4 * MOST_DIGITS:
        raise _TooMuchError
    return mpmath.power(base, exponent)
