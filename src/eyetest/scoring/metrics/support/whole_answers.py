r"""Whole answers compared with whole answers: formulas, equations, intervals, sets, ratios, and lists of these.

``x = 5`` is 5; ``y = 2x + 1`` is ``2x - y + 1 = 0``; ``[1, 3)`` is not ``(1, 3)`` and is ``1 \le x < 3``;
``\{2, 3\}`` is ``\{3, 2\}`` and ``{3, 2}``; ``1:3`` is ``2:6`` and neither 1, ``3:1`` nor 1/3. A unit may be
missing, but not be another one.
"""

import msgspec

from eyetest.scoring.metrics.support import algebra
from eyetest.scoring.metrics.support.formula_tokens import FormulaToken, tokenise, undressed
from eyetest.scoring.metrics.support.formulas import Tree, agree, constant, nodes, parse, proportional, symbols
from eyetest.scoring.metrics.support.numbers import LETTERS, same_unit, unit_of
from eyetest.scoring.metrics.support.texts import folded

_OPENING = {"(": ")", "[": "]", "{": "}", "\\{": "\\}"}
_SEPARATORS = frozenset((",", ";", "and", "or"))
_EQUAL = frozenset(("=", "≈"))
_TURNED = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "=": "=", "≈": "≈", "≠": "≠"}
_RELATIONS = frozenset((*_TURNED, "∈"))
_LOWER = {"<": "(", "≤": "["}
_UPPER = {"<": ")", "≤": "]"}
_UNION = frozenset("∪")
_PAIRED = ("ratio", "range")
_Tokens = list[FormulaToken]


class Whole(msgspec.Struct, frozen=True):
    """A text as an answer: what it says, sign by sign."""

    text: str
    tokens: tuple[FormulaToken, ...]


def read_whole(text: str) -> Whole | None:
    """The signs of an answer; None for texts in which a formula cannot be."""
    plain = undressed(text).strip(" .,;:!?\"'“”‘’")
    tokens = tokenise(plain)
    if not tokens or any(token.kind == "unknown" for token in tokens):
        return None
    return Whole(plain, tuple(tokens))


def is_formula(whole: Whole | None) -> bool:
    """Whether an answer is, in all its parts, mathematics and not words."""
    if whole is None or any(token.kind == "word" for token in whole.tokens[:1]):
        return False
    if all(token.kind == "symbol" for token in whole.tokens) and any(token.glued for token in whole.tokens):
        return False
    return _reads(list(whole.tokens), whole.text)


def _reads(tokens: _Tokens, text: str) -> bool:
    members = [
        member
        for _, run in _split(tokens, _UNION)
        for part in _parts(_value_of_membership(run))[1]
        for _, member in _chain(part)
    ]
    return bool(members) and all(_terms(member, text) for member in members)


def value_of(whole: Whole) -> tuple[float, str] | None:
    """The number that an answer comes to, and its unit; None where it comes to none."""
    _, parts, _ = _parts(list(whole.tokens))
    chain = _chain(parts[0]) if len(parts) == 1 else []
    if not chain or any(sign not in _EQUAL for sign, _ in chain[1:]):
        return None
    for term in _terms(chain[-1][1], whole.text):
        value = constant(term.tree) if term.tree[0] not in (*_PAIRED, "pm") else None
        if value is not None:
            return value, term.unit
    return None


def same_whole(gold: Whole, said: Whole) -> bool:
    """Whether two answers are the same mathematically."""
    return _same(list(gold.tokens), list(said.tokens), (gold.text, said.text))


def _split(tokens: _Tokens, kinds: frozenset[str]) -> list[tuple[str, _Tokens]]:
    """The runs between signs of some kinds that stand in no brackets, each with the sign before it."""
    runs: list[tuple[str, _Tokens]] = [("", [])]
    depth = 0
    for token in tokens:
        depth += (token.kind in _OPENING) - (token.kind in _OPENING.values())
        if depth == 0 and token.kind in kinds:
            runs.append((token.kind, []))
        else:
            runs[-1][1].append(token)
    return runs


def _parts(tokens: _Tokens) -> tuple[str, list[_Tokens], bool]:
    """The brackets around a list, its parts, and whether their order is free."""
    brackets, inner = "", tokens
    if len(tokens) > 2 and tokens[0].kind in _OPENING and tokens[-1].kind in (")", "]", "}", "\\}"):
        runs = _split(tokens[1:-1], _SEPARATORS)
        if len(runs) > 1 or tokens[0].kind == "\\{":
            brackets, inner = (tokens[0].kind + tokens[-1].kind).replace("\\", ""), tokens[1:-1]
    runs = _split(inner, _SEPARATORS)
    parts = [run for sign, run in runs if run or not sign]
    return brackets, parts, brackets == "{}" or any(sign == "or" for sign, _ in runs)


def _same(gold: _Tokens, said: _Tokens, texts: tuple[str, str]) -> bool:
    golds, saids = _split(gold, _UNION), _split(said, _UNION)
    if len(golds) > 1 or len(saids) > 1:
        pairs = zip(golds, saids, strict=False)
        return len(golds) == len(saids) and all(_same(g, s, texts) for (_, g), (_, s) in pairs)
    gold, said = _value_of_membership(gold), _value_of_membership(said)
    around, parts, free = _parts(_as_interval(gold))
    around_said, parts_said, free_said = _parts(_as_interval(said))
    if len(parts) != len(parts_said) or (around and around_said and around != around_said):
        return False
    if len(parts) == 1:
        return _same_member(parts[0], parts_said[0], texts)
    if free or free_said:
        return _same_in_any_order(parts, parts_said, texts)
    return all(_same_member(g, s, texts) for g, s in zip(parts, parts_said, strict=True))


def _same_in_any_order(golds: list[_Tokens], saids: list[_Tokens], texts: tuple[str, str]) -> bool:
    left = list(saids)
    for gold in golds:
        match = next((said for said in left if _same_member(gold, said, texts)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _value_of_membership(tokens: _Tokens) -> _Tokens:
    runs = _split(tokens, frozenset("∈"))
    return runs[1][1] if len(runs) == 2 else tokens


def _as_interval(tokens: _Tokens) -> _Tokens:
    """``1 ≤ x < 3`` as ``[1, 3)``."""
    chain = _chain(tokens)
    if len(chain) != 3:
        return tokens
    (_, low), (first, middle), (second, high) = chain
    if first in (">", "≥") and second in (">", "≥"):
        first, second, low, high = _TURNED[second], _TURNED[first], high, low
    if [token.kind for token in middle] != ["symbol"] or first not in _LOWER or second not in _UPPER:
        return tokens
    signs = [FormulaToken(kind, kind, 0, 0) for kind in (_LOWER[first], ",", _UPPER[second])]
    return [signs[0], *low, signs[1], *high, signs[2]]


def _chain(tokens: _Tokens) -> list[tuple[str, _Tokens]]:
    return _split(tokens, _RELATIONS)


def _same_member(gold: _Tokens, said: _Tokens, texts: tuple[str, str]) -> bool:
    golds, saids = _chain(gold), _chain(said)
    if any(sign not in _EQUAL for sign, _ in (*golds[1:], *saids[1:])):
        return _same_inequality(golds, saids, texts)
    if len(golds) == 1 or len(saids) == 1:
        return _same_term(golds[-1][1], saids[-1][1], texts) or _same_term(
            golds[0][1], saids[-1][1], texts, named=True
        )
    if _same_label(golds[0][1], saids[0][1], texts) and _same_term(golds[-1][1], saids[-1][1], texts):
        return True
    one, other = _difference(golds, texts[0]), _difference(saids, texts[1])
    return one is not None and other is not None and proportional(one, other)


def _same_label(gold: _Tokens, said: _Tokens, texts: tuple[str, str]) -> bool:
    """Whether two things that are said to be equal to something have the same name."""
    one, other = (
        folded(_text(tokens, text)).replace(" ", "") for tokens, text in zip((gold, said), texts, strict=True)
    )
    return one == other or _same_term(gold, said, texts)


def _difference(chain: list[tuple[str, _Tokens]], text: str) -> Tree | None:
    if len(chain) != 2:
        return None
    left, right = _terms(chain[0][1], text), _terms(chain[1][1], text)
    return ("sub", left[0].tree, right[0].tree) if left and right else None


def _same_inequality(
    golds: list[tuple[str, _Tokens]], saids: list[tuple[str, _Tokens]], texts: tuple[str, str]
) -> bool:
    if len(golds) != len(saids) or len(golds) < 2:
        return False

    def matches(chain: list[tuple[str, _Tokens]]) -> bool:
        signs = [sign for sign, _ in golds] == [sign for sign, _ in chain]
        return signs and all(_same_term(g, s, texts) for (_, g), (_, s) in zip(golds, chain, strict=True))

    members = [member for _, member in reversed(saids)]
    signs = ["", *(_TURNED.get(sign, sign) for sign, _ in reversed(saids[1:]))]
    return matches(saids) or matches(list(zip(signs, members, strict=True)))


class _Term(msgspec.Struct, frozen=True):
    """One reading of a formula with what it is measured in."""

    tree: Tree
    unit: str = ""


def _text(tokens: _Tokens, text: str) -> str:
    return text[tokens[0].start : tokens[-1].end] if tokens else ""


def _terms(tokens: _Tokens, text: str) -> list[_Term]:
    """The readings of a formula: as it stands, and without the unit behind it."""
    ratio = _split(tokens, frozenset(":"))
    if len(ratio) > 1:
        members = [parse(member) for _, member in ratio]
        return [_Term(("ratio", *(member[0] for member in members)))] if all(members) else []
    if [token.kind for token in tokens] == ["number", "-", "number"] and tokens[1].glued and tokens[2].glued:
        return [_Term(("range", *(("number", token.text) for token in tokens[::2])))]
    first_word = next((index for index, token in enumerate(tokens) if token.kind == "word"), len(tokens))
    terms = [_Term(tree) for tree in parse(tokens)]
    ends = {first_word, len(tokens) - 1} if first_word == len(tokens) else {first_word, first_word - 1}
    for end in sorted(ends, reverse=True):
        tail = tokens[end:]
        if 0 < end < len(tokens) and (tail[0].kind == "word" or _is_unit_letter(tokens, end)):
            unit = spelt(tail)
            if can_be_unit(unit):
                terms += [_Term(tree, unit) for tree in parse(tokens[:end])]
    return terms


def _is_unit_letter(tokens: _Tokens, index: int) -> bool:
    return (
        tokens[index].kind == "symbol" and tokens[index].text in LETTERS and tokens[index - 1].kind in ("number", "}")
    )


def spelt(tokens: _Tokens) -> str:
    """Signs as one text, with blanks where blanks were."""
    return "".join(token.text if token.glued else f" {token.text}" for token in tokens).strip()


def can_be_unit(text: str) -> bool:
    """Whether a text behind a formula may say in what it is measured, or of what it is the number."""
    return bool(unit_of(text)) or (len(text.split()) <= 4 and text.replace(" ", "").isalpha())


def _same_term(gold: _Tokens, said: _Tokens, texts: tuple[str, str], *, named: bool = False) -> bool:
    """Whether two formulas are the same; with ``named`` only where the gold is a value and not a mere name."""
    golds, saids = _terms(gold, texts[0]), _terms(said, texts[1])
    if named and not any(not symbols(term.tree) for term in golds):
        return False
    return any(same_unit(g.unit, s.unit) and same_formula(g.tree, s.tree) for g in golds for s in saids)


def same_formula(one: Tree, other: Tree) -> bool:
    """Whether two formulas are the same. Floats say that they differ; that they are the same, mpmath has to say."""
    if one[0] in _PAIRED or other[0] in _PAIRED:
        return one[0] == other[0] and (_same_ratio(one, other) if one[0] == "ratio" else _same_range(one, other))
    if one == other:
        return True
    signs = [any(node[0] == "pm" for node in nodes(tree)) for tree in (one, other)]
    if any(signs):
        return all(signs) and same_formula(_signed(one, "add"), _signed(other, "add"))
    if _has_absolute(one) != _has_absolute(other):
        return False
    agreed = agree(one, other)
    if agreed is False:
        return False
    decided = algebra.same(one, other)
    return bool(agreed) if decided is None else decided


def _same_ratio(one: Tree, other: Tree) -> bool:
    if len(one) != len(other):
        return False
    (first, *rest), (first_said, *rest_said) = one[1:], other[1:]
    pairs = zip(rest, rest_said, strict=True)
    return all(same_formula(("mul", a, first_said), ("mul", b, first)) for a, b in pairs)


def _same_range(one: Tree, other: Tree) -> bool:
    return all(same_formula(a, b) for a, b in zip(one[1:], other[1:], strict=True))  # type: ignore[arg-type]


def _signed(tree: Tree, sign: str) -> Tree:
    parts = (_signed(part, sign) if isinstance(part, tuple) else part for part in tree[1:])
    return (sign if tree[0] == "pm" else tree[0], *parts)


def _has_absolute(tree: Tree) -> bool:
    return any(node[0] == "abs" and symbols(node) for node in nodes(tree))
