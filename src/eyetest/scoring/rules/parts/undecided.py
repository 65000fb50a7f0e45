"""Sentences that leave options open: two of them together, or each under a condition of its own."""

import re
from bisect import bisect_left

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.cues import BAD, past_before
from eyetest.scoring.rules.parts.marks import Found, mark_at
from eyetest.scoring.rules.parts.statement import WEAK, Statement, by_mark

_OPEN = re.compile(
    r"\b(?:(?:could|may|might)(?: also| well)? be|(?:torn|decide|choose|choice|waver\w{0,3}|"
    r"hesitat\w{1,3}|toss-?up|tie|undecided|split|50.50) between|down to|"
    r"(?P<all>(?:all|every|everything|each|any)\b[^.,\n]{0,30}?\b(?:except(?: for)?|but|other than|apart from))|"
    r"(?P<none>\b(?:no(?: other)? (?:option|choice|answer|one|candidate)|none(?: of [^.,\n]{1,24})?|nothing) "
    r"(?:but|other than|except(?: for)?|apart from)))\b",
    re.IGNORECASE,
)
_RULES_OUT = re.compile(
    r"(?:rul\w{1,3} out|eliminat\w{1,3}|exclud\w{1,3}|reject\w{0,3}|discard\w{0,3})\s$", re.IGNORECASE
)
_FAILS = re.compile(rf"{BAD.pattern}|\b(?:contradict|conflict|fail|mismatch)\w{{0,3}}\b", re.IGNORECASE)
_OPEN_WORDS = gates.words(
    "could may might torn decide choose choice waver wavering hesitate hesitating between toss-up toss tie undecided "
    "split down all every everything each any no none nothing"
)
_ELSE_WORDS = gates.words("otherwise else")
_CONDITION = 160
_EACH_IF = re.compile(
    r"(?<!\w)([A-Z])\)?\sif\b[^.;\n]{3,80}?[,;]?\s(?:and|but|or)\s(?:it is |it's )?(?:option\s)?\(?([A-Z])\)?\sif\b"
)
"""``It is B if it melts and C if it boils.``"""
_OTHERWISE = re.compile(
    r"\b[Ii]f\b[^.?!\n]{3,120}?\b(?:is|it's|be|choose|pick|answer|then)\W{1,4}(?:option\s)?([A-Z])"
    r"\W{1,4}(?:and |but )?(?:otherwise|else)\b\W{0,3}"
    r"(?:(?:it is|it's|it would be|the answer is|choose|pick)\W{1,3})?(?:option\s)?([A-Z])(?!\w)"
)
_LAST = 2
_REACH = 600


def otherwise(case: Case, start: int, end: int) -> Statement | None:
    """``if it melts, it is A; otherwise B``."""
    words = case.words(start, end)
    if words.isdisjoint(_ELSE_WORDS) and "if" not in words:
        return None
    found = _OTHERWISE.search(case.text, max(0, start - _CONDITION), end) or _EACH_IF.search(case.text, start, end)
    places = tuple(case.offer.place(mark) for mark in found.groups()) if found else ()
    known = tuple(place for place in places if place is not None and place >= 0)
    if not found or len(set(known)) < 2:
        return None
    return by_mark(Found(known, found.start(1), found.end(2)), WEAK, "open")


def left_open(case: Case, start: int, end: int) -> Statement | None:
    """``could be B or C``, ``torn between A and D``, ``all but C can be ruled out``."""
    text = case.text
    if case.words(start, end).isdisjoint(_OPEN_WORDS):
        return None
    for cue in _OPEN.finditer(text, start, end):
        found = mark_at(text, cue.end(), min(end, cue.end() + _REACH), case.offer)
        if not found or past_before(text, start, cue.start()):
            continue
        if cue["none"]:
            if len(found.places) == 1 and not _FAILS.search(text, found.end, min(end, found.end + _REACH)):
                return by_mark(found, WEAK, "elimination")
        elif cue["all"]:
            out = _RULES_OUT.search(text, max(start, cue.start() - 16), cue.start())
            if len(found.places) == 1 and (out or _FAILS.search(text, found.end, min(end, found.end + _REACH))):
                return by_mark(found, WEAK, "elimination")
        elif len(found.places) > 1 and _stays_open(case, start):
            return by_mark(found, WEAK, "open")
    return None


def _stays_open(case: Case, start: int) -> bool:
    """Whether little follows, so that what was left open was not closed later."""
    return not case.cut_off and len(case.sentences) - bisect_left(case.sentences, (start, 0)) <= _LAST
