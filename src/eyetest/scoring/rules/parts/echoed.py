"""Replies that restate the question and its options, whole, altered or cut off, and say nothing else."""

import re

from eyetest.scoring.rules.parts.case import Case

_ASKS = re.compile(
    r"\W{0,10}(?:(?:the|your|here is the|this) )?(?:question|problem|task)(?: (?:is|asks|reads|was))?(?: as follows)?"
    r"\s{0,3}:",
    re.IGNORECASE,
)
_OFFERS = re.compile(
    r"\b(?:(?:the |your |answer |possible |available |given )?(?:options|choices|alternatives))"
    r"(?: (?:are|given are|given|provided|include|to choose from))?(?: as follows)?\s{0,3}:"
    r"\s{0,6}(?=\(?[A-Za-z0-9][).:])",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?:^|[\s,;])[\s\-•]{0,6}\(?([A-Z]|[a-z](?=\))|\d{1,2})[).:]\s{1,3}")
_SPEAKS = re.compile(
    r"\b(?:answer(?! choices| options| with)|therefore|thus|hence|so|because|correct(?! (?:answer|option)\?)|i think|"
    r"i would|i choose)\b|→|✓|✅",
    re.IGNORECASE,
)
_ROOM = 60
_LONGEST = 6_000


def restates(case: Case) -> bool:
    """Whether a reply gives the question back: what it asks, then its options or nothing."""
    text = case.text.rstrip()
    if len(text) > _LONGEST or not (asks := _ASKS.match(text)):
        return False
    offers = _OFFERS.search(text, asks.end())
    if offers is None and (first := _ITEM.search(text, asks.end())) and text[first.start()] == "\n":
        return _only_items(case, text, first.start() + 1)
    if offers is None:
        rest = text[asks.end() :].strip()
        return rest.find("?") in (-1, len(rest) - 1) and len(case.sentences) == 1
    return _only_items(case, text, offers.end())


def _only_items(case: Case, text: str, at: int) -> bool:
    """Whether nothing follows but items, each with a mark of its own and no longer than options are."""
    items = list(_ITEM.finditer(text, at - 1))
    marks = [item[1].upper() for item in items]
    if not items or len(set(marks)) < len(marks) or _SPEAKS.search(text, items[-1].end()):
        return False
    last = text[items[-1].end() :]
    return "\n\n" not in last and len(last) <= 2 * case.offer.longest + _ROOM
