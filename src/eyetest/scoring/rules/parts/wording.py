"""Where the words of an option stand in a text, and whether they mean it there."""

import re

import msgspec

from eyetest.scoring.rules.parts.offer import COMMON, Offer
from eyetest.scoring.rules.parts.tokens import Token

LABELLED = re.compile(
    r"\b(?:figure|fig|point|graph|vitamin|plan|type|group|school|bank|machine|labell?ed|called|named|letter|marked|"
    r"project|bus|plate|class|section|part|line|angle|side|vertex|node|ray|switch|company|specimen|sample|structure|"
    r"curve|region|arrow|position|site|panel|beaker|tube|stock|bond|asset|fund|portfolio)s?\.?\s{1,3}$",
    re.IGNORECASE,
)
_SENTENCE_START = re.compile(
    r"[.!?\n:;,\"'—–(\-]\s*$|^\s*$|\b(?:actually|so|well|oh|then|thus|hence)\s$", re.IGNORECASE
)
_AFTER_YES = re.compile(
    r"\s{0,3}(?:[,.!:;\"')—–\-的]|$|\n)|\s(?:it|there|they|he|she|this|that|you|we|i)\b", re.IGNORECASE
)
_VERB_BEFORE = re.compile(r"\b(?:I|we|you|they)\s$", re.IGNORECASE)
"""``I mean`` is no mean."""
_RIGHT_WHAT = re.compile(
    r",\s{1,3}(?:so|then|let|the|now|i|we)\b|\s{1,3}(?:answer|option|choice|angle|triangle|one\b|of\b|side|hand)"
)
_OPENING = ("[", "(", '"', "'")
_CLOSING = ("]", ")", '"', "'")
_OPERATOR = frozenset("+-×÷=<>/^*")
_CASED = frozenset({"may", "march", "us", "it", "will"})
_SPOKEN = _CASED | {"right", "left", "go", "off", "true", "false", "up", "down", "odd", "even", "one", "same"}


class Named(msgspec.Struct):
    """Options that stand at one place; ``bare`` is a letter alone, which is a mark only where it is ruled out."""

    places: tuple[int, ...]
    start: int
    end: int
    marked: bool = False
    bare: bool = False


def by_text(text: str, tokens: list[Token], offer: Offer) -> list[Named]:
    """The options whose words stand among the tokens, the longest at each place."""
    found: list[Named] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        step = 1
        for pattern, place in offer.starts.get(token.word, ()):
            size = len(pattern)
            if size > 1 and tuple(t.word for t in tokens[at : at + size]) != pattern:
                continue
            last = tokens[at + size - 1]
            if last.end - token.start > 2 * offer.longest + 20 or not _means_it(
                text, tokens, at, size, offer.texts[place]
            ):
                continue
            found.append(Named((place,), token.start, last.end))
            step = size
            break
        at += step
    return found


def _means_it(text: str, tokens: list[Token], at: int, size: int, option: str) -> bool:
    """Everyday words, single letters and numbers inside formulas are no mention of an option."""
    token = tokens[at]
    if token.raw[0].isdigit() or token.raw == "-":
        return _stands_free(text, tokens, at, size, option)
    if size > 1:
        return True
    if len(token.raw) == 1 and token.raw.isascii() and token.raw.isalpha():
        labelled = LABELLED.search(text, max(0, token.start - 20), token.start)
        if token.raw.islower() and option.strip() == token.raw:
            return bool(labelled) or (
                text[token.start - 1 : token.start] in _OPENING and text[token.end : token.end + 1] in _CLOSING
            )
        return token.raw.isupper() and option.strip()[:1].isupper() and (bool(labelled) or token.raw not in "AI")
    if _VERB_BEFORE.search(text, max(0, token.start - 6), token.start) and token.raw.islower():
        return False
    return token.word not in COMMON or _everyday(text, token, option)


def _everyday(text: str, token: Token, option: str) -> bool:
    """Whether a word like ``no`` or ``right`` is the option here and not just a word."""
    if token.word in _SPOKEN:
        cased = token.word not in _CASED or token.raw[0].isupper() or option.strip()[:1].islower()
        return cased and not _RIGHT_WHAT.match(text, token.end)
    starts = _SENTENCE_START.search(text[max(0, token.start - 12) : token.start])
    return bool(starts) and bool(_AFTER_YES.match(text, token.end))


def _stands_free(text: str, tokens: list[Token], at: int, size: int, option: str) -> bool:
    """Whether a number is no part of a calculation: ``3 + 5`` names neither, ``= 8`` names 8, ``1^2`` no half."""
    token, last = tokens[at], tokens[at + size - 1]
    if size > 1 and "^" in text[token.end : tokens[at + 1].start] and "^" not in option:
        return False
    before = text[max(0, token.start - 2) : token.start]
    if before.endswith("-") and token.raw != "-" and not before[0].isalnum():
        return False
    previous = tokens[at - 1].raw if at and token.start - tokens[at - 1].end <= 2 else ""
    behind = at + size
    following = tokens[behind].raw if behind < len(tokens) and tokens[behind].start - last.end <= 2 else ""
    return size > 1 or (previous not in _OPERATOR - {"=", "-"} and following not in _OPERATOR)
