"""Equality of formulas, which are untrusted, by values at a few points: in floats and, to decide, with mpmath."""

import cmath
import math
import zlib
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from operator import add, mul, neg, sub, truediv
from types import ModuleType
from typing import Any

from eyetest.text.formulas import Tree

MOST_DIGITS = 3_000
MOST_WORK = 200_000  # nodes times digits; a formula that needs more is not evaluated
_SCALES = (1.0, 1.0, 0.02, 5.0, 0.0003, 70.0, 2000.0)  # of symbols: where one overflows another may not
_FLOAT_POINTS = 5
_SPARE = 100
_AGREED = 60  # digits, beyond those that the values need, in which formulas that are the same have to agree
_DIFFER = 1e-9
_LOST = 1e-6
_SMALLEST = 1e-150
_LARGEST_FACTORIAL = 170
_UNDECIDED = (ArithmeticError, ValueError, KeyError, TypeError)
_CALLS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "sinh": "sinh",
    "cosh": "cosh", "tanh": "tanh", "ln": "log", "log": "log10", "lg": "log10",
}  # fmt: skip
_Operation = Callable[..., Any]
_ARITHMETIC: dict[object, _Operation] = {
    "neg": neg, "abs": abs, "add": add, "sub": sub, "pm": add, "mul": mul, "div": truediv,
}  # fmt: skip


@cache
def _calls(module: ModuleType) -> dict[object, _Operation]:
    calls: dict[object, _Operation] = {name: getattr(module, call) for name, call in _CALLS.items()}
    inverses = {"cot": module.tan, "sec": module.cos, "csc": module.sin}
    return calls | {name: (lambda z, call=call: 1 / call(z)) for name, call in inverses.items()}


def _factorial(value: complex) -> float:
    if value.imag or value.real < 0 or value.real != int(value.real) or value.real > _LARGEST_FACTORIAL:
        raise ValueError
    return float(math.factorial(int(value.real)))


def _binomial(top: complex, below: complex) -> float:
    if max(abs(top), abs(below)) > _LARGEST_FACTORIAL:
        raise ValueError
    return float(math.comb(int(top.real), int(below.real)))


_IN_FLOATS = _ARITHMETIC | {"pow": lambda a, b: complex(a) ** b, "factorial": _factorial, "binomial": _binomial}
_CONSTANTS: dict[object, complex] = {"pi": math.pi, "e": math.e, "i": 1j, "infinity": math.inf}


class _Values:
    """Values of formulas at a point: in floats, or in mpmath's current precision."""

    def __init__(self, number: int, mp: Any = None) -> None:
        self.number, self.mp, self.span = number, mp, 0
        self.read, self.calls, self.operations = float, _calls(cmath), _IN_FLOATS
        if mp:
            self.read, self.calls = mp.mpf, _calls(mp)
            own = {"pow": self.power, "factorial": mp.factorial, "binomial": mp.binomial}
            self.operations = _ARITHMETIC | own

    def value(self, tree: Tree) -> Any:
        kind, *parts = tree
        values: list[Any] = []
        if kind == "constant":
            return self.constant(parts[0]) if self.mp else _CONSTANTS[parts[0]]
        if kind == "number":
            result = self.read(str(parts[0]))
        elif kind == "symbol":
            drawn = zlib.crc32(f"{self.number} {parts[0]}".encode()) / 2**31
            result = self.read(_SCALES[self.number] * (0.3 + drawn))
        elif kind == "call":
            result = self.calls[parts[0]](self.value(parts[1]))  # type: ignore[arg-type]
        else:
            values = [self.value(part) for part in parts]  # type: ignore[arg-type]
            result = self.operations[kind](*values)
        return self.measured(result) if self.mp else _unless_lost(kind, result, values)

    def constant(self, name: object) -> Any:
        mp = self.mp
        return mp.mpc(0, 1) if name == "i" else +{"pi": mp.pi, "e": mp.e, "infinity": mp.inf}[str(name)]

    def power(self, base: Any, exponent: Any) -> Any:
        """A power; one that would have too many digits is refused before it is computed."""
        mp = self.mp
        if base and mp.isfinite(base) and abs(exponent) * (abs(int(mp.mag(base))) + 1) > 4 * MOST_DIGITS:
            raise ArithmeticError
        return mp.power(base, exponent)

    def measured(self, value: Any) -> Any:
        """A value whose digits are counted; one with too many is refused."""
        if value and self.mp.isfinite(value):
            self.span = max(self.span, abs(round(int(self.mp.mag(value)) * math.log10(2))))
            if self.span > MOST_DIGITS:
                raise ArithmeticError
        return value


def _unless_lost(kind: object, result: Any, values: list[Any]) -> Any:
    """Refuse what floats lost: all digits of a difference, or a number too small to differ from zero."""
    if len(values) == 2:
        if kind in ("add", "sub", "pm") and abs(result) < _LOST * max(map(abs, values)):
            raise ValueError
        if abs(result) < _SMALLEST and values[0] and kind != "binomial":
            raise ValueError
    return result


def nodes(tree: Tree) -> Iterator[Tree]:
    """The tree and all its subtrees."""
    yield tree
    for part in tree[1:]:
        if isinstance(part, tuple):
            yield from nodes(part)


def symbols(tree: Tree) -> set[object]:
    """The names of the variables."""
    return {node[1] for node in nodes(tree) if node[0] == "symbol"}


def _value_at(tree: Tree, number: int = 0) -> complex | None:
    try:
        value = complex(_Values(number).value(tree))
    except _UNDECIDED:
        return None
    return None if cmath.isnan(value) else value


def constant(tree: Tree) -> float | None:
    """The real number that a formula is; None where it has symbols or is no real number."""
    value = None if symbols(tree) else _value_at(tree)
    if value is None or abs(value.imag) > _DIFFER * max(1.0, abs(value)) or math.isinf(value.real):
        return None
    return value.real


def agree(one: Tree, other: Tree) -> bool | None:
    """Whether two formulas have the same values, in floats, at a few points; None where none could be evaluated."""
    compared = 0
    for number in range(_FLOAT_POINTS if symbols(one) | symbols(other) else 1):
        first, second = _value_at(one, number), _value_at(other, number)
        if first is None or second is None:
            continue
        compared += 1
        if first != second and not abs(first - second) <= _DIFFER * max(abs(first), abs(second)):
            return False
    return True if compared else None


def proportional(one: Tree, other: Tree) -> bool:
    """Whether one formula is a constant multiple of the other, so that both are zero at the same points."""
    if symbols(one) != symbols(other) or not symbols(one):
        return False
    pairs = ((_value_at(one, number), _value_at(other, number)) for number in range(_FLOAT_POINTS))
    ratios = [first / second for first, second in pairs if first and second]
    return len(ratios) > 1 and all(abs(ratio - ratios[0]) <= 1e3 * _DIFFER * abs(ratios[0]) for ratio in ratios)


@lru_cache(maxsize=10_000)
def decide(one: Tree, other: Tree) -> bool | None:
    """Whether two formulas are equal for all positive values of their symbols; None where that was not decided."""
    points = range(len(_SCALES) if symbols(one) | symbols(other) else 1)
    verdicts = {_same_at(one, other, number) for number in points}
    return False if False in verdicts else True if True in verdicts else None


def _same_at(one: Tree, other: Tree, number: int) -> bool | None:
    """Estimate the size of the values, then compute them with the digits that this takes."""
    import mpmath  # noqa: PLC0415 (slow to import, seldom needed)

    size = sum(1 for tree in (one, other) for _ in nodes(tree))
    values = _Values(number, mpmath)
    try:
        with mpmath.workdps(_SPARE):
            values.value(one), values.value(other)
        digits = _SPARE + 3 * values.span
        if size * digits > MOST_WORK:
            return None
        with mpmath.workdps(digits):
            first, second = values.value(one), values.value(other)
            if mpmath.isnan(first) or mpmath.isnan(second):
                return None
            if not (mpmath.isfinite(first) and mpmath.isfinite(second)):
                return bool(first == second)
            largest = max(abs(first), abs(second))
            if largest < mpmath.mpf(10) ** (_AGREED - digits):
                return True  # rounding errors of two zeros
            return bool(abs(first - second) <= largest * mpmath.mpf(10) ** -(_AGREED + values.span))
    except _UNDECIDED:
        return None


def same_formula(one: Tree, other: Tree) -> bool:
    """Whether two formulas are equal: floats decide that they differ, mpmath that they are equal."""
    if one == other:
        return True
    signs = [any(node[0] == "pm" for node in nodes(tree)) for tree in (one, other)]
    if any(signs):
        return all(signs) and same_formula(_with_plus(one), _with_plus(other))
    if _has_absolute(one) != _has_absolute(other):
        return False
    agreed = agree(one, other)
    if agreed is False:
        return False
    decided = decide(one, other)
    return bool(agreed) if decided is None else decided


def _with_plus(tree: Tree) -> Tree:
    parts = (_with_plus(part) if isinstance(part, tuple) else part for part in tree[1:])
    return ("add" if tree[0] == "pm" else tree[0], *parts)


def _has_absolute(tree: Tree) -> bool:
    return any(node[0] == "abs" and symbols(node) for node in nodes(tree))
