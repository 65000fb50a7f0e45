"""Weaker commitments: marks that conclude, marks beside their text, options left open."""

import re
from bisect import bisect_left

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.content import Content, What, exactly, read_content
from eyetest.scoring.rules.parts.cues import BAD, PAST, SO, clause_start
from eyetest.scoring.rules.parts.marks import Found, mark_at
from eyetest.scoring.rules.parts.mentions import lists_inline, stance_of
from eyetest.scoring.rules.parts.statement import WEAK, Statement, better, by_mark

_AFTER_COLON = re.compile(
    r"[a-z]{2}\s{0,3}[:—–]\s{0,3}([\"'(]{0,2}(?:option\s)?[A-Za-z0-9][\"')]{0,2})\s{0,3}[.!]{0,2}\s{0,3}$"
)
_PAIR = re.compile(r"[a-z,]\s{1,20}\(?([A-Z])[.):]\)?\s{1,20}(?=\S)")
_CLAUSE_STOP = re.compile(r"[\n;]|[.,!?)](?=\s|$)|\s[-–—(]|。")
_BARE_SENTENCE = re.compile(
    r"\s{0,6}[(\[\"']{0,2}([A-Z]|\d{1,2})[)\]\"']{0,2}(?:,? (?:then|it is|instead|therefore))?[.!]?\s{0,6}"
)
_SHORT = 200
_COPULA = re.compile(r"\b(?:is|are|be|was)\s{1,20}\(?$")
_OPEN = re.compile(
    r"\b(?:(?:could|may|might)(?: also| well)? be|(?:torn|decide|choose|choice|waver\w{0,3}|"
    r"hesitat\w{1,3}|toss-?up|undecided|split|50.50) between|down to|"
    r"(?P<all>(?:all|every|everything|each|any)\b[^.,\n]{0,30}?\b(?:except(?: for)?|but|other than|apart from)))\b",
    re.IGNORECASE,
)
_CLAUSE_ENDS = re.compile(
    r"\s{0,20}(?:[.,;:!)(\-–—?\n]|because|since|as\b|for\b|and\b|or\b|which|due|given|then|again|instead|$)"
)
_SUBJECT = re.compile(
    r"\)?\s{1,3}(?:can|could|cannot|would|will|has|have|does|do|may|might|must|shifts?|shows?|gives?|leads?|isn't)\b"
)
"""What such a verb says of a mark is no conclusion; verdicts are read elsewhere."""
_QUOTES = re.compile(r"\b(?:options|choices)(?: are| given)?\s{0,3}:?\s{0,6}\(?[Aa1][).:]", re.IGNORECASE)
"""The options quoted back."""
_TOLD = re.compile(
    r"\b(?:is|by|are|be|\w{3,14}ly|maybe|perhaps|possibly|(?:could|may|might)(?: also| well)? be)\b", re.IGNORECASE
)
_FAILS = re.compile(rf"{BAD.pattern}|\b(?:contradict|conflict|fail|mismatch)\w{{0,3}}\b", re.IGNORECASE)
_MAYBE = re.compile(r"(?:could|may|might|maybe|perhaps|possibly)\b", re.IGNORECASE)
_OPEN_WORDS = gates.words(
    "could may might torn decide choose choice waver wavering hesitate hesitating between toss-up toss undecided "
    "split down all every everything each any"
)
_MOST = 8
_LAST = 2
_REACH = 600
_LEAD = 60
"""So many characters before a mark a cue can begin that announces it."""


def bare_sentence(case: Case, start: int, end: int) -> Statement | None:
    """A sentence that is nothing but a mark."""
    if end - start > 16 or not (bare := _BARE_SENTENCE.fullmatch(case.text, start, end)):
        return None
    place = case.offer.place(bare[1])
    if place and _ends_list(case.text, start, place):
        return None
    if bare[1].isdigit() and (case.cut_off or start_of_line(case.text, start)):
        return None
    return (
        None
        if place is None or (place < 0 and bare[1].isdigit())
        else by_mark(Found((place,), bare.start(1), bare.end(1)), WEAK, "bare sentence")
    )


def _ends_list(text: str, start: int, place: int) -> bool:
    """Whether the marks before this one stand in a row before it, so that it is the next item, cut off."""
    at = 0
    for n in range(place):
        at = text.find(f"{chr(ord('A') + n)}. ", at, start)
        if at < 0:
            return False
    return place > 0


def start_of_line(text: str, start: int) -> bool:
    """Whether a place begins a line, where a number counts steps."""
    return text[:start].rstrip(" ").endswith("\n") or not text[:start].strip()


def concluding_mark(case: Case, start: int, end: int) -> Statement | None:
    """``so D.``, ``it's B, cheese``, ``but C``."""
    text, best = case.text, None
    if case.words(start, end).isdisjoint(gates.SO):
        return None
    marks = [mark.start() for mark in case.offer.maybe_mark.finditer(text, start, end)]
    if not marks:
        return None
    for cue in SO.finditer(text, max(start, marks[0] - _LEAD), min(end, marks[-1] + 1)):
        if PAST.search(text, clause_start(text, max(start, cue.start() - 25), cue.start()), cue.start()):
            continue
        found = mark_at(text, cue.end(), min(end, cue.end() + _REACH), case.offer)
        if (
            found
            and (found.places[0] >= 0 or not text[found.start].isdigit())
            and _concludes(text, found, end)
            and not _SUBJECT.match(text, found.end, end)
        ):
            content = read_content(text, cue.end(), end, case.offer)
            if content and content.by in ("mark", "marks", "mark and text"):
                best = better(best, Statement(content, WEAK, "conclusion mark"))
    return best


def told_briefly(case: Case, start: int, end: int) -> Statement | None:
    """``maybe B``, ``the painting is by E``: enough in a short reply."""
    text, last, maybe = case.text, None, []
    if len(text) >= _SHORT or _QUOTES.search(text):
        return None
    for cue in _TOLD.finditer(text, start, end):
        found = mark_at(text, cue.end(), end, case.offer)
        known = found and (found.places[0] >= 0 or not text[found.start].isdigit())
        if found and known and _is_told(text, found, end) and not _past(text, start, cue.start()):
            last = by_mark(found, WEAK, "told briefly")
            maybe.append(found if _MAYBE.match(cue.group()) else None)
    if last and len(maybe) > 1 and all(maybe):
        places = tuple(dict.fromkeys(place for found in maybe if found for place in found.places))
        return by_mark(Found(places, last.content.start, last.content.end), WEAK, "open")
    return last


def left_open(case: Case, start: int, end: int) -> Statement | None:
    """``could be B or C``, ``torn between A and D``, ``all but C can be ruled out``."""
    text = case.text
    if case.words(start, end).isdisjoint(_OPEN_WORDS):
        return None
    for cue in _OPEN.finditer(text, start, end):
        found = mark_at(text, cue.end(), min(end, cue.end() + _REACH), case.offer)
        if not found or _past(text, start, cue.start()):
            continue
        if cue["all"]:
            if len(found.places) == 1 and _FAILS.search(text, found.end, min(end, found.end + _REACH)):
                return by_mark(found, WEAK, "elimination")
        elif len(found.places) > 1 and _stays_open(case, start):
            return by_mark(found, WEAK, "open")
    return None


def _stays_open(case: Case, start: int) -> bool:
    """Whether little follows, so that what was left open was not closed later."""
    return not case.cut_off and len(case.sentences) - bisect_left(case.sentences, (start, 0)) <= _LAST


def _past(text: str, start: int, at: int) -> bool:
    return PAST.search(text, clause_start(text, max(start, at - 60), at), at) is not None


def paired(case: Case, start: int, end: int) -> Statement | None:
    """A mark with an option's text inside a sentence: ``most closely resembles H. cohort study``."""
    text, last = case.text, None
    pairs = list(_PAIR.finditer(text, start, end))
    if not pairs or lists_inline(text, start, end):
        return None
    for pair in pairs[-_MOST:]:
        place = case.offer.place(pair[1])
        clause = _clause_after(text, pair.end(), min(end, pair.end() + _REACH))
        told = exactly(clause, case.offer) if place is not None and place >= 0 else None
        if place is None or told is None:
            continue
        at, stop = pair.start(1), pair.end() + len(clause)
        if _COPULA.search(text, max(start, at - 30), at) or stance_of(text, (start, end), at, stop) == "taken":
            what: What = "one" if told == place else "many"
            last = Statement(Content(what, tuple({place, told}), at, stop, "mark and text"), WEAK, "mark with text")
    return last


def after_colon(case: Case, start: int, end: int) -> Statement | None:
    """A mark that ends the sentence behind a colon or a dash."""
    colon = _AFTER_COLON.search(case.text, start, end)
    found = mark_at(case.text, colon.start(1), end, case.offer) if colon else None
    return by_mark(found, WEAK, "colon") if found else None


def _clause_after(text: str, at: int, end: int) -> str:
    stop = _CLAUSE_STOP.search(text, at, end)
    return text[at : stop.start() if stop else end]


def _is_told(text: str, found: Found, end: int) -> bool:
    return _concludes(text, found, end) and (found.dressed or not text[found.start].islower())


def _concludes(text: str, found: Found, end: int) -> bool:
    """Whether a mark ends its clause, or wears such dress that it is nothing else."""
    return found.dressed or bool(_CLAUSE_ENDS.match(text, found.end, min(end, found.end + 30)))
