"""Marks that options bring along: ``A. cat``, ``(B) dog``, ``3) 12 cm``.

Whoever shows an item gives its options marks, and whoever moves an option gives it another. So a mark is no part of
an option's text and is taken off when the item is read; the file's own spelling is kept beside it. Options have marks
only where all of them do, one after the other and in one style: otherwise the letter may be what an option says.
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from eyetest.records import letter

_MARKS: tuple[tuple[str, Callable[[int], str]], ...] = (
    ("[A-Z]", letter),
    ("[a-z]", lambda position: letter(position).lower()),
    (r"\d{1,2}", lambda position: str(position + 1)),
)
_STYLES = (r"\(({})\)\s*", r"\[({})\]\s*", r"（({})）\s*", r"({})[)）]\s*", r"({})[、．：]\s*", r"({})\.\s+")
_LETTER_STYLES = (r"({}):\s+", r"({})\.(?=\S)")
"""A ratio (``1: 2``) and a decimal (``1.5``) begin like these, so numbers are no marks in them."""
_TIGHT = _LETTER_STYLES[1]
_FEWEST_TIGHT = 3
"""``A.M.`` and ``B.C.`` are no marked options; three in a row are."""
_GOES_ON = re.compile(r"(?:and|or|only|is|are|was|has|will|nor|but|then)\b|[&,;=→]|[<>+/-]\s", re.IGNORECASE)
"""``(A) and (B)`` and ``(A) is larger`` speak of something that is called A."""


class Marked(NamedTuple):
    """Options without their marks, and the marks."""

    marks: tuple[str, ...]
    texts: tuple[str, ...]


def split_marks(options: Sequence[str], names: Sequence[str] = ()) -> Marked | None:
    """The options without the marks that all of them bring along; None where they bring none.

    ``names`` are the letters under which the file knows the options, where some are left out.
    """
    if len(options) < 2:
        return None
    for kind, mark in _MARKS:
        expected = [tuple(mark(position) for position in range(len(options)))]
        if kind == "[A-Z]" and names:
            expected.append(tuple(names))
        for style in _styles(kind, len(options)):
            found = _matched(options, kind, style)
            marks = tuple(match[1] for match in found)
            rests = tuple(match.string[match.end() :] for match in found)
            if marks in expected and _say_something(rests):
                return Marked(marks, rests)
    return None


def bring_marks(options: Sequence[str]) -> bool:
    """Whether all options bring marks in one style, each its own and perhaps in another order than they stand."""
    if len(options) < 2:
        return False
    for kind, mark in _MARKS:
        expected = sorted(mark(position) for position in range(len(options)))
        for style in _styles(kind, len(options)):
            found = _matched(options, kind, style)
            if sorted(match[1] for match in found) == expected:
                return _say_something([match.string[match.end() :] for match in found])
    return False


def _styles(kind: str, options: int) -> list[str]:
    letters = [] if kind.startswith(r"\d") else list(_LETTER_STYLES)
    return [style for style in (*_STYLES, *letters) if style != _TIGHT or options >= _FEWEST_TIGHT]


def _matched(options: Sequence[str], kind: str, style: str) -> list[re.Match[str]]:
    pattern = re.compile(r"\s*" + style.format(kind))
    return [match for option in options if (match := pattern.match(option))]


def _say_something(rests: Sequence[str]) -> bool:
    """Whether texts without their marks are still options: none is empty, equal to another or half a sentence."""
    stripped = [rest.strip() for rest in rests]
    return all(stripped) and len(set(stripped)) == len(stripped) and not any(map(_GOES_ON.match, stripped))


def without_marks(options: Sequence[str], names: Sequence[str] = ()) -> Marked:
    """The options as texts alone, and their outermost marks, if they have any."""
    outer: tuple[str, ...] = ()
    texts = tuple(options)
    while (found := split_marks(texts, names)) is not None:
        outer, texts = outer or found.marks, found.texts
    return Marked(outer, texts)
