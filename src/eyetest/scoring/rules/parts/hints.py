"""Weaker commitments: marks that conclude, marks beside their text, options left open."""

import re

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.content import Content, What, read_content
from eyetest.scoring.rules.parts.cues import BAD, PAST, SO, clause_start, past_before
from eyetest.scoring.rules.parts.marks import Found, mark_at
from eyetest.scoring.rules.parts.matching import exactly
from eyetest.scoring.rules.parts.mentions import lists_inline
from eyetest.scoring.rules.parts.stance import stance_of
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
_CLAUSE_ENDS = re.compile(
    r"\s{0,20}(?:[.,;:!)(\-–—?\n]|because|since|as\b|for\b|and\b|or\b|which|due|given|then|again|instead|"
    r"to me\b|here\b|$)"
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
_INVERTS = re.compile(r"\b(?:neither|nor)\s$", re.IGNORECASE)
_MAYBE = re.compile(r"(?:could|may|might|maybe|perhaps|possibly)\b", re.IGNORECASE)
_ARROWS = frozenset("-=→⇒∴")
_MOST = 8
_REACH = 600
_LEAD = 60
"""So many characters before a mark a cue can begin that announces it."""


def bare_sentence(case: Case, start: int, end: int) -> Statement | None:
    """A sentence that is nothing but a mark."""
    if end - start > 16 or not (bare := _BARE_SENTENCE.fullmatch(case.text, start, end)):
        return None
    place = case.offer.place(bare[1])
    if case.in_formula and end == case.sentences[-1][1]:
        return None
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
        if cue.group()[0] not in _ARROWS and PAST.search(
            text, clause_start(text, max(start, cue.start() - 25), cue.start()), cue.start()
        ):
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
        inverted = _INVERTS.search(text, max(start, cue.start() - 9), cue.start())
        if (
            found
            and known
            and not inverted
            and _is_told(text, found, end)
            and not past_before(text, start, cue.start())
        ):
            last = by_mark(found, WEAK, "told briefly")
            maybe.append(found if _MAYBE.match(cue.group()) else None)
    if last and len(maybe) > 1 and all(maybe):
        places = tuple(dict.fromkeys(place for found in maybe if found for place in found.places))
        return by_mark(Found(places, last.content.start, last.content.end), WEAK, "open")
    return last


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
    return by_mark(found, WEAK, "colon") if found else _list_after_colon(case, start, end)


def _list_after_colon(case: Case, start: int, end: int) -> Statement | None:
    """``Two of them work: B and D.`` at the end of a reply."""
    if (start, end) != case.sentences[-1]:
        return None
    colon = case.text.rfind(": ", start, end)
    found = mark_at(case.text, colon + 2, end, case.offer) if colon > start else None
    if not found or len(found.places) < 2 or case.text[found.end : end].strip(" .!)\n"):
        return None
    negated = BAD.search(case.text, start, colon) or lists_inline(case.text, start, end)
    return None if negated else by_mark(found, WEAK, "colon")


def _clause_after(text: str, at: int, end: int) -> str:
    stop = _CLAUSE_STOP.search(text, at, end)
    return text[at : stop.start() if stop else end]


def _is_told(text: str, found: Found, end: int) -> bool:
    return _concludes(text, found, end) and (found.dressed or not text[found.start].islower())


def _concludes(text: str, found: Found, end: int) -> bool:
    """Whether a mark ends its clause, or wears such dress that it is nothing else."""
    return found.dressed or bool(_CLAUSE_ENDS.match(text, found.end, min(end, found.end + 30)))
