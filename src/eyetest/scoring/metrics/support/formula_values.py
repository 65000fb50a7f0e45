"""What a formula comes to, in floating point: enough to say that two formulas differ, not that they are the same."""

import cmath
import math
import zlib
from collections.abc import Callable, Iterator

from eyetest.scoring.metrics.support.formulas import Tree

_SCALES = (1.0, 1.0, 0.02, 5.0, 0.0003)
"""How large symbols are at each place: where one overflows or drowns, another may not."""
_DIFFER = 1e-9
_LOST = 1e-6
_SMALLEST = 1e-150
_LARGEST_FACTORIAL = 170
_CALLS: dict[str, Callable[[complex], complex]] = {
    "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "arcsin": cmath.asin, "arccos": cmath.acos,
    "arctan": cmath.atan, "sinh": cmath.sinh, "cosh": cmath.cosh, "tanh": cmath.tanh, "ln": cmath.log,
    "log": cmath.log10, "lg": cmath.log10,
    "cot": lambda z: 1 / cmath.tan(z), "sec": lambda z: 1 / cmath.cos(z), "csc": lambda z: 1 / cmath.sin(z),
}  # fmt: skip
_CONSTANTS: dict[object, complex] = {"pi": math.pi, "e": math.e, "i": 1j, "infinity": math.inf}


class _Point:
    """A place at which formulas are evaluated: every symbol has a positive value that its name and the place give."""

    def __init__(self, number: int) -> None:
        self.number, self.scale = number, _SCALES[number]

    def value(self, tree: Tree) -> complex:  # noqa: PLR0911 (one line for each kind of node)
        kind, *parts = tree
        if kind == "number":
            return float(str(parts[0]))
        if kind == "constant":
            return _CONSTANTS[parts[0]]
        if kind == "symbol":
            return self.scale * (0.3 + zlib.crc32(f"{self.number} {parts[0]}".encode()) / 2**31)
        if kind == "call":
            return _CALLS[str(parts[0])](self.value(parts[1]))  # type: ignore[arg-type]
        first, *others = (self.value(part) for part in parts)  # type: ignore[arg-type]
        if kind == "neg":
            return -first
        if kind == "abs":
            return abs(first)
        if kind == "factorial":
            return _factorial(first)
        found = _OPERATIONS[str(kind)](first, others[0])
        return _checked(found, first, others[0], str(kind))


def _checked(found: complex, first: complex, second: complex, kind: str) -> complex:
    """Refuse what floats lost: all digits of a difference, or a number too small to be told from nothing."""
    if kind in ("add", "sub", "pm") and abs(found) < _LOST * max(abs(first), abs(second)):
        raise ValueError
    if abs(found) < _SMALLEST and first and kind != "binomial":
        raise ValueError
    return found


def _factorial(value: complex) -> complex:
    if value.imag or value.real < 0 or value.real != int(value.real) or value.real > _LARGEST_FACTORIAL:
        raise ValueError
    return float(math.factorial(int(value.real)))


def _binomial(top: complex, below: complex) -> complex:
    if max(abs(top), abs(below)) > _LARGEST_FACTORIAL:
        raise ValueError
    return float(math.comb(int(top.real), int(below.real)))


_OPERATIONS: dict[str, Callable[[complex, complex], complex]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "pm": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: complex(a) ** b,
    "binomial": _binomial,
}


def value_at(tree: Tree, number: int = 0) -> complex | None:
    """The value at a place; None where floats cannot say."""
    try:
        found = _Point(number).value(tree)
    except (ArithmeticError, ValueError, KeyError, TypeError):
        return None
    return None if cmath.isnan(found) else found


def nodes(tree: Tree) -> Iterator[Tree]:
    """The tree and all trees in it."""
    yield tree
    for part in tree[1:]:
        if isinstance(part, tuple):
            yield from nodes(part)


def symbols(tree: Tree) -> set[object]:
    """The names of what varies."""
    return {node[1] for node in nodes(tree) if node[0] == "symbol"}


def constant(tree: Tree) -> float | None:
    """The real number that a formula is; None where it has symbols or is no real number."""
    found = None if symbols(tree) else value_at(tree)
    if found is None or abs(found.imag) > _DIFFER * max(1.0, abs(found)) or math.isinf(found.real):
        return None
    return found.real


def agree(one: Tree, other: Tree) -> bool | None:
    """Whether two formulas have the same values at a few places; None where no place could be evaluated."""
    compared = 0
    for number in range(len(_SCALES) if symbols(one) | symbols(other) else 1):
        first, second = value_at(one, number), value_at(other, number)
        if first is None or second is None:
            continue
        compared += 1
        if first != second and not abs(first - second) <= _DIFFER * max(abs(first), abs(second)):
            return False
    return True if compared else None


def proportional(one: Tree, other: Tree) -> bool:
    """Whether one formula is a constant multiple of the other, so that both are zero at the same places."""
    if symbols(one) != symbols(other) or not symbols(one):
        return False
    ratios = []
    for number in range(len(_SCALES)):
        first, second = value_at(one, number), value_at(other, number)
        if first and second:
            ratios.append(first / second)
    return len(ratios) > 1 and all(abs(ratio - ratios[0]) <= 1e3 * _DIFFER * abs(ratios[0]) for ratio in ratios)
