r"""Formulas as people and models write them, in TeX or without, read whole or not at all.

A formula becomes a tree of tuples, ``("add", a, b)``; nothing is computed and nothing is evaluated here. What does
not read as a formula to its last sign is none: a part of an answer is never taken for the answer.
"""

import cmath
import math
import zlib
from collections.abc import Callable, Iterator

from eyetest.scoring.metrics.support.formula_tokens import CONSTANTS, INVERSES, FormulaToken

Tree = tuple[object, ...]

DEEPEST = 60
MOST_TOKENS = 300

_SUMS = {"+": "add", "-": "sub", "pm": "pm"}
_PRODUCTS = {"*": "mul", "/": "div"}
_CLOSING = {"(": ")", "[": "]", "{": "}", "|": "|", "\\{": "\\}"}
_BEGINS = frozenset(("number", "symbol", "constant", "function", "frac", "sqrt", "binom"))


class NoFormulaError(Exception):
    """The text is not, or not wholly, a formula."""


class _Parser:
    """Recursive descent. With ``tight``, ``a/2b`` is a/(2b), else (a/2)b; people write either."""

    def __init__(self, tokens: list[FormulaToken], tight: bool) -> None:
        self.tokens, self.tight, self.at, self.depth = tokens, tight, 0, 0

    def peek(self, ahead: int = 0) -> FormulaToken:
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else FormulaToken("end", "", 0, 0)

    def take(self) -> FormulaToken:
        token = self.peek()
        if token.kind == "end":
            raise NoFormulaError
        self.at += 1
        return token

    def expect(self, kind: str) -> None:
        if self.take().kind != kind:
            raise NoFormulaError

    def whole(self) -> Tree:
        tree = self.sum()
        if self.peek().kind != "end":
            raise NoFormulaError
        return tree

    def sum(self) -> Tree:
        self.depth += 1
        if self.depth > DEEPEST:
            raise NoFormulaError
        tree = self.signed()
        while (kind := self.peek().kind) in _SUMS:
            self.take()
            tree = (_SUMS[kind], tree, self.product())
        self.depth -= 1
        return tree

    def signed(self) -> Tree:
        kind = self.peek().kind
        if kind not in _SUMS:
            return self.product()
        self.take()
        self.depth += 1
        if self.depth > DEEPEST:
            raise NoFormulaError
        tree = self.signed() if self.peek().kind in _SUMS else self.product()
        self.depth -= 1
        return tree if kind == "+" else ("neg", tree) if kind == "-" else ("pm", ("number", "0"), tree)

    def product(self) -> Tree:
        tree = self.power()
        while True:
            kind = self.peek().kind
            if kind in _PRODUCTS:
                self.take()
                right = self.factor()
                while kind == "/" and self.tight and self.begins_factor():
                    right = ("mul", right, self.power())
                tree = (_PRODUCTS[kind], tree, right)
            elif self.begins_factor():
                tree = ("mul", tree, self.power())
            else:
                return tree

    def factor(self) -> Tree:
        """What may follow a sign of multiplication: ``2 * -3``."""
        if self.peek().kind == "-":
            self.take()
            return ("neg", self.power())
        return self.power()

    def begins_factor(self) -> bool:
        token, last = self.peek(), self.tokens[self.at - 1]
        if token.kind == "number" and token.glued and last.kind == "symbol":
            raise NoFormulaError  # H2O
        return token.kind in _BEGINS or token.kind in ("(", "[", "{")

    def power(self) -> Tree:
        tree = self.atom()
        while (kind := self.peek().kind) in ("^", "!", "degree", "%"):
            self.take()
            if kind == "^":
                return ("pow", tree, self.exponent())
            tree = {
                "!": ("factorial", tree),
                "degree": ("mul", tree, ("div", ("constant", "pi"), ("number", "180"))),
                "%": ("div", tree, ("number", "100")),
            }[kind]
        return tree

    def exponent(self) -> Tree:
        self.depth += 1
        if self.depth > DEEPEST:
            raise NoFormulaError
        tree = self.factor()
        self.depth -= 1
        return tree

    def group(self, closing: str) -> Tree:
        tree = self.sum()
        self.expect(closing)
        return tree

    def argument(self) -> Tree:
        r"""What stands in braces, or a single sign: ``\frac12`` is a half."""
        if self.peek().kind == "{":
            self.take()
            return self.group("}")
        token = self.peek()
        if token.kind != "number":
            return self.atom()
        if token.text.isdigit() and len(token.text) > 1:
            self.tokens[self.at] = FormulaToken("number", token.text[1:], token.start + 1, token.end)
            return ("number", token.text[0])
        return ("number", self.take().text)

    def atom(self) -> Tree:  # noqa: PLR0911 (one a kind)
        token = self.take()
        if token.kind == "number":
            return self.mixed(token)
        if token.kind in ("constant", "symbol"):
            return (
                (token.kind, CONSTANTS.get(token.text, token.text))
                if token.kind == "constant"
                else self.symbol(token)
            )
        if token.kind in _CLOSING:
            tree = self.group(_CLOSING[token.kind])
            return ("abs", tree) if token.kind == "|" else tree
        if token.kind == "frac":
            return ("div", self.argument(), self.argument())
        if token.kind == "binom":
            return ("binomial", self.argument(), self.argument())
        if token.kind == "sqrt":
            return self.root(token)
        if token.kind == "function":
            return self.call(token.text)
        raise NoFormulaError

    def mixed(self, token: FormulaToken) -> Tree:
        r"""A number, or a mixed one: ``2\frac{1}{3}`` and ``2 1/3``."""
        number: Tree = ("number", token.text)
        if not token.text.isdigit():
            return number
        following = [self.peek(ahead) for ahead in range(3)]
        if following[0].kind == "frac" and self.is_plain_fraction():
            self.take()
            return ("add", number, ("div", self.argument(), self.argument()))
        if [t.kind for t in following] == ["number", "/", "number"] and all(t.text.isdigit() for t in following[::2]):
            self.at += 3
            return ("add", number, ("div", ("number", following[0].text), ("number", following[2].text)))
        if following[0].kind == "number":
            raise NoFormulaError
        return number

    def is_plain_fraction(self) -> bool:
        kinds = [self.peek(ahead).kind for ahead in range(1, 7)]
        return kinds == ["{", "number", "}", "{", "number", "}"] or kinds[:1] == ["number"]

    def symbol(self, token: FormulaToken) -> Tree:
        name = token.text
        if self.peek().kind == "_":
            self.take()
            name = f"{name}_{self.subscript()}"
        return ("symbol", name)

    def subscript(self) -> str:
        if self.peek().kind != "{":
            return self.take().text
        self.take()
        text = ""
        while (token := self.take()).kind != "}":
            if token.kind in ("end", "{"):
                raise NoFormulaError
            text += token.text
        return text

    def root(self, token: FormulaToken) -> Tree:
        degree: Tree = ("number", "2")
        if self.peek().kind == "[":
            self.take()
            degree = self.group("]")
        inner = self.atom() if token.text == "√" else self.argument()
        return ("pow", inner, ("div", ("number", "1"), degree))

    def call(self, name: str) -> Tree:
        base, exponent = None, None
        if self.peek().kind == "_":
            self.take()
            base = self.argument()
        if self.peek().kind == "^":
            self.take()
            exponent = self.argument() if self.peek().kind == "{" else self.atom()
        if exponent == ("neg", ("number", "1")) and name in INVERSES:
            name, exponent = INVERSES[name], None
        argument = self.call_argument()
        tree: Tree = ("call", name, argument)
        if base is not None:
            tree = ("div", ("call", "ln", argument), ("call", "ln", base))
        elif name == "exp":
            tree = ("pow", ("constant", "e"), argument)
        return tree if exponent is None else ("pow", tree, exponent)

    def call_argument(self) -> Tree:
        r"""In brackets, or the product that follows: ``\sin 2x \cos y`` is sin(2x) cos(y)."""
        if self.peek().kind in ("(", "[", "{"):
            return self.power()
        tree = self.power()
        while self.peek().kind in ("number", "symbol", "constant", "frac", "sqrt"):
            tree = ("mul", tree, self.power())
        return tree


def parse(tokens: list[FormulaToken]) -> tuple[Tree, ...]:
    """The readings of a formula: one, or two where it depends on how far a slash reaches; none for anything else."""
    if not tokens or len(tokens) > MOST_TOKENS:
        return ()
    readings = []
    slashed = any(token.kind == "/" for token in tokens)
    for tight in (False, True) if slashed else (False,):
        try:
            tree = _Parser(list(tokens), tight).whole()
        except NoFormulaError:
            continue
        if tree not in readings:
            readings.append(tree)
    return tuple(readings)


_SCALES = (1.0, 1.0, 0.02, 5.0, 0.0003)
"""How large symbols are at each point: where one overflows or drowns, another may not."""
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
    """A point at which formulas are evaluated: every symbol has a positive value that its name and the point give."""

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
        result = _OPERATIONS[str(kind)](first, others[0])
        return _checked(result, first, others[0], str(kind))


def _checked(result: complex, first: complex, second: complex, kind: str) -> complex:
    """Refuse what floats lost: all digits of a difference, or a number too small to be told from nothing."""
    if kind in ("add", "sub", "pm") and abs(result) < _LOST * max(abs(first), abs(second)):
        raise ValueError
    if abs(result) < _SMALLEST and first and kind != "binomial":
        raise ValueError
    return result


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
    """The value at a point; None where floats cannot say."""
    try:
        value = _Point(number).value(tree)
    except (ArithmeticError, ValueError, KeyError, TypeError):
        return None
    return None if cmath.isnan(value) else value


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
    value = None if symbols(tree) else value_at(tree)
    if value is None or abs(value.imag) > _DIFFER * max(1.0, abs(value)) or math.isinf(value.real):
        return None
    return value.real


def agree(one: Tree, other: Tree) -> bool | None:
    """Whether two formulas have the same values at a few points; None where no point could be evaluated."""
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
    """Whether one formula is a constant multiple of the other, so that both are zero at the same points."""
    if symbols(one) != symbols(other) or not symbols(one):
        return False
    ratios = []
    for number in range(len(_SCALES)):
        first, second = value_at(one, number), value_at(other, number)
        if first and second:
            ratios.append(first / second)
    return len(ratios) > 1 and all(abs(ratio - ratios[0]) <= 1e3 * _DIFFER * abs(ratios[0]) for ratio in ratios)
