"""Comparison of mathematical answers: ``x = 5`` is 5, ``1:3`` is ``2:6``, sets; formulas by values at points."""

import math
import re
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from operator import add, mul, neg, sub, truediv
from typing import Any

from eyetest.text.folding import trimmed, undressed
from eyetest.text.formulas import FormulaToken, Tree, parse_formula, tokenise
from eyetest.text.intervals import RELATIONS, NumberInterval, RealSet, Tokens, are_enclosed, read_set, split_tokens
from eyetest.text.numbers import LETTERS, agrees, counted, unit_of

MOST_BITS = 10_000  # before the point, or of zeros behind it
_SCALES = (1.0, 0.02, 70.0, 2000.0)  # of symbols, at each point
_DIGITS = 150
_AGREED, _ZERO = 1e-60, 1e-100  # relative difference of equal values, and what rounding may leave of zero
_REAL = 1e-9
_FEWEST_POINTS = 3
_UNDECIDED = (ArithmeticError, ValueError, KeyError, TypeError)
_CALLS = {name: name for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "ln")}
_CALLS |= {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "log": "log10", "lg": "log10"}
_ARITHMETIC: dict[object, Callable[..., Any]] = {
    "neg": neg, "abs": abs, "add": add, "sub": sub, "pm": add, "mul": mul, "div": truediv,
}  # fmt: skip


def _value(mp: Any, tree: Tree, number: int) -> Any:
    """The value of a formula at a point, with the current precision of mpmath."""
    kind, *parts = tree
    if kind == "constant":
        return +{"pi": mp.pi, "e": mp.e, "infinity": mp.inf, "i": mp.mpc(0, 1)}[str(parts[0])]
    if kind == "number":
        result = mp.mpf(str(parts[0]))
    elif kind == "symbol":
        drawn = zlib.crc32(f"{number} {parts[0]}".encode()) / 2**31
        result = mp.mpf(_SCALES[number] * (0.3 + drawn))
    elif kind == "call":
        result = getattr(mp, _CALLS[str(parts[0])])(_value(mp, parts[1], number))  # type: ignore[arg-type]
    else:
        result = _operation(mp, kind, [_value(mp, part, number) for part in parts])  # type: ignore[arg-type]
    if result and mp.isfinite(result) and abs(int(mp.mag(result))) > MOST_BITS:
        raise ArithmeticError
    return result


def _operation(mp: Any, kind: object, values: list[Any]) -> Any:
    """An operation; a power that would have too many digits is refused before it is computed."""
    if kind in _ARITHMETIC:
        return _ARITHMETIC[kind](*values)
    if kind == "pow":
        base, exponent = values
        size = abs(int(mp.mag(base))) + 1 if base and mp.isfinite(base) else 0
        if abs(exponent) * size > MOST_BITS:
            raise ArithmeticError
        return mp.power(base, exponent)
    functions = {"factorial": mp.factorial, "binomial": mp.binomial, "floor": mp.floor, "ceil": mp.ceil}
    return functions[str(kind)](*values)


def nodes(tree: Tree) -> Iterator[Tree]:
    """The tree and all its subtrees."""
    yield tree
    for part in tree[1:]:
        if isinstance(part, tuple):
            yield from nodes(part)


def symbols(tree: Tree) -> set[object]:
    """The names of the variables."""
    return {node[1] for node in nodes(tree) if node[0] == "symbol"}


@lru_cache(maxsize=10_000)
def _value_at(tree: Tree, number: int = 0) -> Any:
    """The value of a formula at a point; None where it has none, or too many digits."""
    import mpmath  # noqa: PLC0415 (slow to import, seldom needed)

    try:
        with mpmath.workdps(_DIGITS):
            value = _value(mpmath.mp, tree, number)
    except _UNDECIDED:
        return None
    return None if mpmath.isnan(value) else value


def constant(tree: Tree) -> float | None:
    """The real number that a formula is; None where it has symbols or is no real number."""
    value = None if symbols(tree) else _value_at(tree)
    if value is None or abs(value.imag) > _REAL * max(1.0, abs(value)) or math.isinf(value.real):
        return None
    return float(value.real)


def agree(one: Tree, other: Tree) -> bool | None:
    """Whether two formulas have the same values at a few points; None where none could be evaluated."""
    import mpmath  # noqa: PLC0415 (slow to import, seldom needed)

    compared = 0
    for number in range(len(_SCALES) if symbols(one) | symbols(other) else 1):
        first, second = _value_at(one, number), _value_at(other, number)
        if first is None or second is None:
            continue
        compared += 1
        largest = max(abs(first), abs(second))
        with mpmath.workdps(_DIGITS):
            is_near = largest < _ZERO or (mpmath.isfinite(largest) and abs(first - second) <= _AGREED * largest)
            if first != second and not is_near:
                return False
    return True if compared else None


def same_formula(one: Tree, other: Tree) -> bool:
    """Whether two formulas are equal for all positive values of their symbols."""
    if one == other:
        return True
    signs = [any(node[0] == "pm" for node in nodes(tree)) for tree in (one, other)]
    if any(signs):
        return all(signs) and same_formula(_with_plus(one), _with_plus(other))
    absolute = [any(node[0] == "abs" and symbols(node) for node in nodes(tree)) for tree in (one, other)]
    return absolute[0] == absolute[1] and bool(agree(one, other))


def are_proportional(one: Tree, other: Tree) -> bool:
    """Whether one formula with symbols is a constant, not 0, times the other, by its values at a few points."""
    import mpmath  # noqa: PLC0415 (slow to import, seldom needed)

    if not symbols(one) or symbols(one) != symbols(other):
        return False
    ratios = []
    for number in range(len(_SCALES)):
        first, second = _value_at(one, number), _value_at(other, number)
        if first is None or second is None or abs(first) < _ZERO or abs(second) < _ZERO:
            continue
        with mpmath.workdps(_DIGITS):
            ratios.append(first / second)
    if len(ratios) < _FEWEST_POINTS:
        return False
    with mpmath.workdps(_DIGITS):
        return all(abs(ratio - ratios[0]) <= _AGREED * abs(ratio) for ratio in ratios)


def _with_plus(tree: Tree) -> Tree:
    parts = (_with_plus(part) if isinstance(part, tuple) else part for part in tree[1:])
    return ("add" if tree[0] == "pm" else tree[0], *parts)


_Chain = list[tuple[str, Tokens]]

_SEPARATORS = frozenset((",", ";", "and", "or"))
_EQUAL = frozenset(("=", "≈"))
_TURNED = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "=": "=", "≈": "≈", "≠": "≠"}
_PAIRED = ("ratio", "range")
_RANGE = re.compile(r"([-+]?[0-9.,]+) (?:to|through) ([0-9.,]+)")


def read_expression(text: str) -> Tokens | None:
    """The tokens of an answer; None for texts that cannot be a formula."""
    plain = trimmed(undressed(text))
    tokens = tokenise(_RANGE.sub(r"\1-\2", plain) if _RANGE.fullmatch(plain) else plain)
    if not tokens or any(token.kind == "unknown" for token in tokens):
        return None
    is_empty_set = [token.kind for token in tokens] == ["\\{", "\\}"]
    return [FormulaToken("symbol", "emptyset", 0)] if is_empty_set else tokens


def is_formula(tokens: Tokens | None) -> bool:
    """Whether an answer is, in all its parts, mathematics and not words."""
    if not tokens or tokens[0].kind == "word":
        return False
    if all(token.kind == "symbol" for token in tokens) and any(token.glued for token in tokens):
        return False
    if (numbers := read_set(tokens)) and numbers.is_certain:
        return True
    parts = _parts(tokens)[1]
    return all(map(_is_list if len(parts) > 1 else _is_relation, parts))


def _without_names(tokens: Tokens) -> Tokens:
    """The tuple that ``(p, q) = (3, 2)`` gives; other tokens as they are."""
    chain = split_tokens(tokens, "=")
    is_named_tuple = len(chain) == 2 and all(_is_tuple(member) for _, member in chain)
    is_named = is_named_tuple and all(token.kind in ("symbol", "(", ")", ",") for token in chain[0][1])
    return chain[1][1] if is_named else tokens


def _are_solutions(parts: list[Tokens]) -> bool:
    """Whether the parts of a list without brackets say themselves what they are: tuples, or named values."""
    return all(map(_is_tuple, parts)) or all(len(split_tokens(part, "=")) == 2 for part in parts)


def _is_list(tokens: Tokens) -> bool:
    """Whether a part of a list is itself a list of formulas in brackets, or a formula."""
    return is_formula(tokens) if _is_tuple(tokens) else _is_relation(tokens)


def _is_tuple(tokens: Tokens) -> bool:
    return are_enclosed(tokens) and len(_parts(tokens)[1]) > 1


def _is_relation(tokens: Tokens) -> bool:
    """Whether tokens are one formula, or several with relations between them."""
    return all(_terms(member) for _, member in split_tokens(tokens, RELATIONS))


def are_several(tokens: Tokens) -> bool:
    """Whether an answer is a list, without brackets, of formulas that have different values and no names."""
    brackets, parts, _ = _parts(tokens)
    if brackets or len(parts) < 2 or not is_formula(tokens):
        return False
    if any(len(split_tokens(part, RELATIONS)) > 1 for part in parts):
        return False
    return not all(_same_member(parts[0], part) for part in parts[1:])


def value_of(tokens: Tokens) -> tuple[float, str] | None:
    """The number that an answer evaluates to, and its unit; None where there is none."""
    _, parts, _ = _parts(tokens)
    chain = split_tokens(parts[0], RELATIONS) if len(parts) == 1 else []
    if not chain or any(sign not in _EQUAL for sign, _ in chain[1:]):
        return None
    for tree, unit in _terms(chain[-1][1]):
        value = constant(tree) if tree[0] not in (*_PAIRED, "pm") else None
        if value is not None:
            return value, unit
    return None


def same_expression(one: Tokens, other: Tokens) -> bool:
    """Whether two answers are the same mathematically."""
    sets = (read_set(one), read_set(other))
    if sets[0] and sets[1] and (sets[0].is_certain or sets[1].is_certain):
        return _same_set(sets[0], sets[1])
    around, parts, free = _parts(_without_names(one))
    around_other, parts_other, free_other = _parts(_without_names(other))
    signs = [any(_has_both_signs(part) for part in side) for side in (parts, parts_other)]
    if signs[0] != signs[1]:
        return _same_in_any_order(_with_each_sign(parts), _with_each_sign(parts_other))
    if len(parts) != len(parts_other) or (around and around_other and around != around_other):
        return False
    is_bare = not around and not around_other
    if len(parts) > 1 and (free or free_other or (is_bare and _are_solutions(parts) and _are_solutions(parts_other))):
        return _same_in_any_order(parts, parts_other)
    return all(_same_member(left, right) for left, right in zip(parts, parts_other, strict=True))


def _parts(tokens: Tokens) -> tuple[str, list[Tokens], bool]:
    """The brackets around a list, its parts, and whether their order is free."""
    brackets = ""
    enclosed = len(tokens) > 2 and are_enclosed(tokens)
    if enclosed and (tokens[0].kind == "\\{" or len(split_tokens(tokens[1:-1], _SEPARATORS)) > 1):
        brackets, tokens = (tokens[0].kind + tokens[-1].kind).replace("\\", ""), tokens[1:-1]
    runs = split_tokens(tokens, _SEPARATORS)
    parts = [run for sign, run in runs if run or not sign]
    return brackets, parts, brackets == "{}" or any(sign == "or" for sign, _ in runs)


def _same_set(one: RealSet, other: RealSet) -> bool:
    """Whether two sets of real numbers have the same intervals, in any order, of the same variable."""
    if one.variable and other.variable and one.variable != other.variable:
        return False
    if len(one.intervals) != len(other.intervals):
        return False
    left = list(other.intervals)
    for interval in one.intervals:
        match = next((candidate for candidate in left if _same_interval(interval, candidate)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _same_interval(one: NumberInterval, other: NumberInterval) -> bool:
    if one.brackets != other.brackets:
        return False
    return _same_term(list(one.low), list(other.low)) and _same_term(list(one.high), list(other.high))


def _has_both_signs(tokens: Tokens) -> bool:
    return any(token.kind == "pm" for token in tokens)


def _with_each_sign(parts: list[Tokens]) -> list[Tokens]:
    """The parts of a list, and for each that has ``±`` the one with plus and the one with minus."""
    expanded = []
    for part in parts:
        for sign in "+-" if _has_both_signs(part) else "+":
            signed = FormulaToken(sign, sign, 0)
            expanded.append([signed if token.kind == "pm" else token for token in part])
    return expanded


def _same_in_any_order(ones: list[Tokens], others: list[Tokens]) -> bool:
    if len(ones) != len(others):
        return False
    left = list(others)
    for part in ones:
        match = next((other for other in left if _same_member(part, other)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _same_member(one: Tokens, other: Tokens) -> bool:
    ones, others = split_tokens(one, RELATIONS), split_tokens(other, RELATIONS)
    if any(sign not in _EQUAL for sign, _ in (*ones[1:], *others[1:])):
        return _same_inequality(ones, others)
    if len(ones) == 1 or len(others) == 1:
        return any(_same_term(left, right) for left in _results(ones) for right in _results(others))
    (left, left_end), (right, right_end) = ((chain[0][1], chain[-1][1]) for chain in (ones, others))
    same_name = spelt(left).replace(" ", "") == spelt(right).replace(" ", "") or _same_term(left, right)
    if same_name and _same_term(left_end, right_end):
        return True
    return len(ones) == len(others) == 2 and _same_equation(ones, others)


def _same_equation(ones: _Chain, others: _Chain) -> bool:
    """Whether the difference of the sides of one equation is a constant multiple of that of the other."""
    first, second = _differences(ones), _differences(others)
    return any(are_proportional(left, right) for left in first for right in second)


def _differences(chain: _Chain) -> list[Tree]:
    sides = [parse_formula(member) for _, member in chain]
    return [("sub", left, right) for left in sides[0] for right in sides[1]]


def _results(chain: _Chain) -> list[Tokens]:
    """Possible results of an equation: its last term, or its first where that is a value and not a name."""
    first = chain[0][1]
    is_value = len(chain) > 1 and any(not symbols(tree) for tree, _ in _terms(first))
    return [chain[-1][1], first] if is_value else [chain[-1][1]]


def _same_inequality(ones: _Chain, others: _Chain) -> bool:
    if len(ones) != len(others) or len(ones) < 2:
        return False
    members = [member for _, member in reversed(others)]
    signs = ["", *(_TURNED.get(sign, sign) for sign, _ in reversed(others[1:]))]
    turned = list(zip(signs, members, strict=True))
    return any(
        [sign for sign, _ in ones] == [sign for sign, _ in chain]
        and all(_same_term(left, right) for (_, left), (_, right) in zip(ones, chain, strict=True))
        for chain in (others, turned)
    )


def _terms(tokens: Tokens) -> list[tuple[Tree, str]]:
    """The readings of a formula: as written, and without the unit after it, with that unit."""
    ratio = split_tokens(tokens, frozenset(":"))
    if len(ratio) > 1:
        members = [parse_formula(member) for _, member in ratio]
        return [(("ratio", *(member[0] for member in members)), "")] if all(members) else []
    if [token.kind for token in tokens] == ["number", "-", "number"] and tokens[1].glued and tokens[2].glued:
        return [(("range", *(("number", token.text) for token in tokens[::2])), "")]
    first_word = next((index for index, token in enumerate(tokens) if token.kind == "word"), len(tokens))
    terms = [(tree, "") for tree in parse_formula(tokens)]
    for end in (first_word, len(tokens) - 1 if first_word == len(tokens) else first_word - 1):
        if not 0 < end < len(tokens):
            continue
        last, unit = tokens[end], spelt(tokens[end:])
        is_letter = last.kind == "symbol" and last.text in LETTERS and tokens[end - 1].kind in ("number", "}")
        if (last.kind == "word" or is_letter) and can_be_unit(unit):
            terms += [(tree, unit) for tree in parse_formula(tokens[:end])]
    return terms


def spelt(tokens: Tokens) -> str:
    """Tokens as one text, with the original blanks."""
    return "".join(token.text if token.glued else f" {token.text}" for token in tokens).strip()


def can_be_unit(text: str) -> bool:
    """Whether a text after a formula may be a unit or the thing counted."""
    return bool(unit_of(text)) or (len(text.split()) <= 4 and text.replace(" ", "").isalpha())


def _same_term(one: Tokens, other: Tokens) -> bool:
    if _is_tuple(one) and _is_tuple(other):
        return same_expression(one, other)
    return any(
        agrees(counted(left_unit), counted(right_unit)) and _same_tree(left, right)
        for left, left_unit in _terms(one)
        for right, right_unit in _terms(other)
    )


def _same_tree(one: Tree, other: Tree) -> bool:
    if one[0] not in _PAIRED and other[0] not in _PAIRED:
        return same_formula(one, other)
    if one[0] != other[0] or len(one) != len(other):
        return False
    (first, *rest), (first_other, *rest_other) = one[1:], other[1:]
    if one[0] == "range":
        return same_formula(first, first_other) and same_formula(rest[0], rest_other[0])  # type: ignore[arg-type]
    pairs = zip(rest, rest_other, strict=True)
    return all(same_formula(("mul", a, first_other), ("mul", b, first)) for a, b in pairs)
