r"""Sets of real numbers: ``x > 3`` is ``(3, ∞)``, and ``x < 1 or x > 2`` is ``(-∞, 1) ∪ (2, ∞)``.

A set is read as its intervals, in any order. Two numbers in brackets are an interval only beside a text that can be
nothing else, so ``(1, 2)`` stays a pair among pairs.
"""

from collections.abc import Iterable

import msgspec

from eyetest.text.formulas import FormulaToken

Tokens = list[FormulaToken]

OPENING = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}
RELATIONS = frozenset(("<", ">", "≤", "≥", "=", "≈", "≠"))
_UPWARDS = {"<": ("(", ")"), "≤": ("[", "]")}
_DOWNWARDS = {">": "<", "≥": "≤"}
_INFINITY = FormulaToken("constant", "infinity", 0)
_MINUS = FormulaToken("-", "-", 0)


class NumberInterval(msgspec.Struct, frozen=True):
    """An interval: its brackets and its ends."""

    brackets: str
    low: tuple[FormulaToken, ...]
    high: tuple[FormulaToken, ...]


class RealSet(msgspec.Struct, frozen=True):
    """Intervals, the variable that they are about where one is named, and whether the text can be nothing else."""

    intervals: tuple[NumberInterval, ...]
    variable: str = ""
    is_certain: bool = False


def split_tokens(tokens: Tokens, kinds: Iterable[str]) -> list[tuple[str, Tokens]]:
    """The runs between tokens of some kinds outside brackets, each with the token before it."""
    runs: list[tuple[str, Tokens]] = [("", [])]
    depth = 0
    for token in tokens:
        depth += (token.kind in OPENING) - (token.kind in OPENING.values())
        if depth == 0 and token.kind in kinds:
            runs.append((token.kind, []))
        else:
            runs[-1][1].append(token)
    return runs


def are_enclosed(tokens: Tokens) -> bool:
    """Whether the first bracket is closed by the last token, whatever kind of bracket that is."""
    if len(tokens) < 2 or tokens[0].kind not in OPENING:
        return False
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.kind in OPENING) - (token.kind in OPENING.values())
        if depth == 0:
            return index == len(tokens) - 1
    return False


def read_set(tokens: Tokens) -> RealSet | None:
    """The set of real numbers that an answer is; None for anything else."""
    alternatives = split_tokens(tokens, frozenset((",", "or", ";")))
    sets = [_read_alternative(run) for _, run in alternatives]
    intervals: list[NumberInterval] = []
    variables: set[str] = set()
    for alternative in sets:
        if alternative is None or (len(sets) > 1 and not alternative.variable):
            return None
        intervals += alternative.intervals
        variables.add(alternative.variable)
    if len(variables) != 1:
        return None
    return RealSet(tuple(intervals), variables.pop(), any(part and part.is_certain for part in sets))


def _read_alternative(tokens: Tokens) -> RealSet | None:
    variable = ""
    membership = split_tokens(tokens, "∈")
    if len(membership) == 2 and len(membership[0][1]) == 1:
        variable = membership[0][1][0].text
        tokens = membership[1][1]
    parts = [_read_interval(run) for _, run in split_tokens(tokens, "∪")]
    intervals = tuple(part for part in parts if part is not None)
    if len(intervals) == len(parts):
        is_certain = bool(variable) or len(parts) > 1 or any(map(_is_unmistakable, intervals))
        return RealSet(intervals, variable, is_certain)
    return _read_inequality(tokens)


def _read_interval(tokens: Tokens) -> NumberInterval | None:
    if len(tokens) == 1 and tokens[0].text in ("R", "ℝ"):
        return NumberInterval("()", (_MINUS, _INFINITY), (_INFINITY,))
    if not are_enclosed(tokens) or tokens[0].kind not in "([" or tokens[-1].kind not in ")]":
        return None
    ends = split_tokens(tokens[1:-1], frozenset((",", ";")))
    if len(ends) != 2 or not all(run for _, run in ends):
        return None
    return NumberInterval(tokens[0].kind + tokens[-1].kind, tuple(ends[0][1]), tuple(ends[1][1]))


def _is_unmistakable(interval: NumberInterval) -> bool:
    """Whether an interval can be no pair: its brackets differ, or an end is infinite."""
    is_infinite = any(token.text in ("∞", "infty", "infinity") for token in interval.low + interval.high)
    return is_infinite or interval.brackets in ("[)", "(]")


def _read_inequality(tokens: Tokens) -> RealSet | None:
    """The interval of ``x < 3``, ``3 > x`` or ``1 < x ≤ 3``."""
    chain = split_tokens(tokens, RELATIONS)
    signs = [sign for sign, _ in chain[1:]]
    members = [member for _, member in chain]
    if signs and all(sign in _DOWNWARDS for sign in signs):
        signs = [_DOWNWARDS[sign] for sign in reversed(signs)]
        members = members[::-1]
    if not signs or not all(members) or any(sign not in _UPWARDS for sign in signs):
        return None
    if len(members) == 3 and _is_variable(members[1]):
        brackets = _UPWARDS[signs[0]][0] + _UPWARDS[signs[1]][1]
        return RealSet((NumberInterval(brackets, tuple(members[0]), tuple(members[2])),), members[1][0].text, True)
    if len(members) != 2:
        return None
    if _is_variable(members[0]):
        interval = NumberInterval(f"({_UPWARDS[signs[0]][1]}", (_MINUS, _INFINITY), tuple(members[1]))
        return RealSet((interval,), members[0][0].text, True)
    if _is_variable(members[1]):
        interval = NumberInterval(f"{_UPWARDS[signs[0]][0]})", tuple(members[0]), (_INFINITY,))
        return RealSet((interval,), members[1][0].text, True)
    return None


def _is_variable(tokens: Tokens) -> bool:
    return len(tokens) == 1 and tokens[0].kind == "symbol"
