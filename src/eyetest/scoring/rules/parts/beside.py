"""What stands beside a mark or behind an announcement: another option's text, another option, an amount."""

import re
from collections.abc import Iterator
from itertools import islice

from eyetest.scoring.rules.parts.marks import Found, mark_at
from eyetest.scoring.rules.parts.matching import exactly
from eyetest.scoring.rules.parts.offer import Offer

_SEPARATES = re.compile(
    r"\s{0,20}(?:[.):,;\-–—=(]|is\b)?\s{0,20}(?:i\.e\.,?\s{0,3}|namely\s{0,3}|"
    r"which (?:is|states|reads|represents)\s{1,3})?[\"'(]{0,3}"
)
CLAUSE_END = re.compile(r"[\n;]|[.,!?)](?=\s|$)|\s(?:[-–—(]|(?=because\b|since\b))|。|，|$")
_ALTERNATIVE = re.compile(
    r"[.):]{0,2}\s{1,6}(?P<text>[^\n]{1,400}?)\s{1,6}(?:or|and)\s{1,6}(?:(?:possibly|perhaps|maybe|also)\s{1,3})?(?:option\s)?\(?(?P<mark>[A-Z])(?:[.):]{1,2}\s|\)|\s\(|[.\s]{0,3}$)"
)
_AMOUNT = re.compile(
    r"[-+]?\s?[$€£]?\s?[-+]?\d[\d,]{0,20}(?:\.\d{1,20})?(?:\s{0,3}[a-zA-Z%°/²³^]{1,12}\d?){0,3}[\s.]{0,6}"
)
_PREFERS = re.compile(
    r"[\s,;(–—-]{1,4}(?:but |though |and )?(?:(?:most|more) (?:likely|probably)|probably|preferably|"
    r"with a preference for|"
    r"i(?:'d| would)? (?:lean|prefer|go)\w{0,3}(?: towards?| to| with| for)?)(?=\s)",
    re.IGNORECASE,
)
_CLOSEST = re.compile(
    r"\bclosest(?: (?:answer|option|choice|match|one|value))?(?:\s(?:is|to|would be|being)\b|\s?:)(?=\s)",
    re.IGNORECASE,
)
_MOST_CLAUSES = 6


def alternative(text: str, at: int, end: int, place: int, offer: Offer) -> int | None:
    """The other option of ``A. cat or C. bird``, where the mark at a place has its own text beside it."""
    found = _ALTERNATIVE.match(text, at, end)
    other = offer.place(found["mark"]) if found else None
    if not found or other in (None, -1, place) or exactly(found["text"], offer) != place:
        return None
    return other


def preferred(text: str, found: Found, end: int, offer: Offer) -> Found | None:
    """The one of several that is preferred: ``B or D, most likely D``."""
    cue = _PREFERS.match(text, found.end, end)
    one = mark_at(text, cue.end(), end, offer) if cue else None
    return one if one and len(one.places) == 1 and one.places[0] in found.places else None


def closest(text: str, at: int, end: int, offer: Offer) -> Found | None:
    """The option that ``None of the above (closest to B)`` settles on."""
    cue = _CLOSEST.search(text, at, end)
    found = mark_at(text, cue.end(), end, offer) if cue else None
    return found if found and len(found.places) == 1 and found.places[0] >= 0 else None


def is_off_offer(text: str, offer: Offer) -> bool:
    """Whether a text is an amount and nothing else, where all options are amounts and none is this one."""
    return (
        _AMOUNT.fullmatch(text) is not None
        and all(map(_AMOUNT.fullmatch, offer.texts))
        and exactly(text, offer) is None
    )


def contradiction(text: str, at: int, end: int, place: int, offer: Offer) -> int | None:
    """The option whose whole text stands beside the mark of another one."""
    separated = _SEPARATES.match(text, at, end)
    at = separated.end() if separated else at
    line_end = text.find("\n", at, at + 3 * offer.longest)
    line_end = len(text) if line_end < 0 else line_end
    if line_end > end and (beside := exactly(text[at:line_end], offer)) is not None:
        return None if beside == place else beside
    line_end = text.find("\n", at, end)
    line = text[at : end if line_end < 0 else line_end]
    if place < 0 or not line.strip():
        return None
    own = offer.words[place]
    for rest in beginnings(line, 3 * offer.longest + 60):
        beside = exactly(rest, offer)
        if beside is not None:
            return None if beside == place or offer.words[beside] == own or len(rest.strip(" .)\"'")) < 2 else beside
    return None


def beginnings(line: str, longest: int) -> Iterator[str]:
    """The line, and what of it ends where a clause ends, the longest first: an option's text may hold commas."""
    if len(line) <= longest:
        yield line
    stops = [stop.start() for stop in islice(CLAUSE_END.finditer(line, 0, longest), _MOST_CLAUSES)]
    for stop in reversed(stops):
        if stop:
            yield line[:stop]
