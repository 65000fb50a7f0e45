"""What stands behind words that announce an answer: a mark, a list of marks, an option's text."""

import re
from typing import Literal

import msgspec

from eyetest.scoring.rules.parts.beside import (
    CLAUSE_END,
    alternative,
    beginnings,
    closest,
    contradiction,
    is_off_offer,
    preferred,
)
from eyetest.scoring.rules.parts.marks import Found, mark_at
from eyetest.scoring.rules.parts.matching import exactly, nearly
from eyetest.scoring.rules.parts.mentions import groups
from eyetest.scoring.rules.parts.offer import Offer

_NOT = re.compile(
    r"\s{0,4}(?:n't|not|never|neither|nor|nicht|kein\w{0,2}|pas|niet|не|不是|nie|não|non)\b", re.IGNORECASE
)
_FIRST_TO_TENTH = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ORDINALS = {word: place for place, word in enumerate(_FIRST_TO_TENTH)}
_ORDINAL = re.compile(
    rf"(?:the\s)?({'|'.join(_ORDINALS)}|last)(?:\s(?:option|choice|answer|alternative|one|of (?:the|these))\b|"
    r"(?=[.!]?\s{0,3}$))",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"\s{0,4}[(\[]\s{0,3}(?:(?:option\s|answer\s)?([A-Z])\s{0,3}[)\]]|(?:option|answer)\s([A-Z])\s(?!or\b|and\b))",
    re.IGNORECASE,
)
_CANNOT = re.compile(
    r"(?:\(?(?:it\s)?(?:cannot|can't|can not|could not|unable|impossible|unknown|undetermined|indeterminate|"
    r"not (?:possible|applicable|(?:yet )?(?:determined|determinable|known|decidable|established)|enough|"
    r"answerable|clear)|"
    r"insufficient|i cannot|i can't|i don't|"
    r"without (?:the|an|more|seeing|access)|need more)\b|n/a\b)",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"(?:none\b|no option|no correct|nothing\b|not (?:listed|among|provided|given|available|in the|present|"
    r"included|one of|any of|on the list|here)|(?:is )?missing from|keine\b|aucune?\b|ningun[oa]\b)"
    r"(?!\s{1,3}other than)",
    re.IGNORECASE,
)
_UNCONFIRMED = re.compile(
    r"[^.,;\n]{0,60}?\bcan(?:not)?(?: \w{1,12}ly)? be (?:\w{1,12}ly )?"
    r"(?:determined|confirmed|verified|established|selected|chosen)\b",
    re.IGNORECASE,
)
"""``none of the options can be confirmed`` says that one cannot know, not that none is right."""
_NUMBER = re.compile(r"\(?(\d{1,2})[).:]\)?\s{1,3}(?=\S)")
_GLUED = re.compile(r"\(?([A-Z]{2,6})\)?(?=[\s.]{0,6}$|\s{0,3}\n)")
_FAR = 90
_REACH = 400
"""So many characters behind an announcement are looked at, and three times the longest option."""

What = Literal["one", "many", "dropped", "nothing", "refused"]


class Content(msgspec.Struct):
    """What an announcement announces; -1 stands for a mark that is not on offer."""

    what: What
    places: tuple[int, ...]
    start: int
    end: int
    by: str


def read_content(text: str, at: int, end: int, offer: Offer) -> Content | None:
    """Read what follows an announcement, up to the end of its sentence: the first reader that finds something."""
    while at < end and text[at] in " \n:\"'>-–—=":
        at += 1
    end = min(end, at + 3 * offer.longest + _REACH)
    if at >= end:
        return None
    for reader in _READERS:
        if content := reader(text, at, end, offer):
            return content
    return None


def _all_of_it(text: str, at: int, end: int, offer: Offer) -> Content | None:
    """All that follows is an option's text."""
    if _is_mark(text[at:end]) or (exact := exactly(text[at:end], offer)) is None:
        return None
    return Content("one", (exact,), at, end, "text")


def _no_option(text: str, at: int, end: int, offer: Offer) -> Content | None:
    """A refusal, none of the options, or what is ruled out."""
    if refusal := _CANNOT.match(text, at, end):
        return Content("refused", (), at, refusal.end(), "words")
    if none := _NONE.match(text, at, end):
        if _UNCONFIRMED.match(text, none.end(), end):
            return Content("refused", (), at, none.end(), "words")
        if nearest := closest(text, none.end(), end, offer):
            return Content("one", nearest.places, nearest.start, nearest.end, "mark")
        return Content("nothing", (), at, none.end(), _led(text, at))
    if negation := _NOT.match(text, at, end):
        inner = read_content(text, negation.end(), end, offer)
        places = inner.places if inner and inner.what in ("one", "many") else ()
        return Content("dropped", places, at, inner.end if inner else negation.end(), "negation")
    return None


def _led(text: str, at: int) -> str:
    """By what an announcement leads up to a place: a colon, behind which an answer stands alone, or words."""
    return "colon" if text[max(0, at - 24) : at].rstrip(" \"'\n").endswith(":") else "words"


def _amount(text: str, at: int, end: int, offer: Offer) -> Content | None:
    """``Answer: $220,000`` where no option is that much."""
    number = text[at:end].strip(" .$\n")
    if number in offer.numbers:
        return Content("one", (offer.numbers[number],), at, end, "text")
    if _led(text, at) == "words" or not is_off_offer(text[at:end], offer):
        return None
    return Content("nothing", (), at, end, "colon")


def _clause(text: str, at: int, end: int, offer: Offer) -> Content | None:
    """The first clause is an option's text; another option's mark in brackets behind it contradicts it."""
    clause = _first_clause(text, at, end)
    if len(clause) < 3 or _is_mark(clause) or (exact := exactly(clause, offer)) is None:
        return None
    stop = at + len(clause)
    beside = _BESIDE.match(text, stop, end)
    marked = offer.place(beside[1] or beside[2]) if beside else None
    if marked is not None and marked not in (exact, -1):
        return Content("many", (exact, marked), at, stop, "mark and text")
    return Content("one", (exact,), at, stop, "text")


def _ordinal(text: str, at: int, end: int, offer: Offer) -> Content | None:
    """``the second option``."""
    found = _ORDINAL.match(text, at, end)
    place = _ORDINALS.get(found[1].lower(), offer.count - 1) if found else offer.count
    return Content("one", (place,), found.start(1), found.end(), "ordinal") if found and place < offer.count else None


def _numbered(text: str, at: int, end: int, offer: Offer) -> Content | None:
    """``(3) 45 N``: the third option by its number, where its own text beside it says that it counts options."""
    found = _NUMBER.match(text, at, end) if offer.marks != "digit" else None
    place = int(found[1]) - 1 if found else -1
    if not found or not 0 <= place < offer.count:
        return None
    told = next((nearly(rest, offer) for rest in beginnings(text[found.end() : end], _FAR)), None)
    return Content("one", (place,), found.start(1), end, "number and text") if told == place else None


def _mark(text: str, at: int, end: int, offer: Offer) -> Content | None:
    found = mark_at(text, at, end, offer)
    return _marked(text, found, end, offer) if found else None


def _glued(text: str, at: int, end: int, offer: Offer) -> Content | None:
    """``Answer: AF``: several marks written as one word."""
    found = _GLUED.match(text, at, end)
    places = tuple(place for mark in found[1] if (place := offer.place(mark)) is not None) if found else ()
    if not found or len(places) < len(found[1]) or min(places) < 0 or list(places) != sorted(set(places)):
        return None
    return Content("many", places, at, found.end(1), "marks")


def _mention(text: str, at: int, end: int, offer: Offer) -> Content | None:
    """The first option that is named not too far behind the announcement, exactly or nearly."""
    clause = _first_clause(text, at, end)
    if (exact := exactly(clause, offer)) is not None:
        return Content("one", (exact,), at, at + len(clause), "text")
    for group in groups(text, at, end, offer):
        if group.start - at > _FAR:
            break
        if group.stance == "taken":
            what: What = "one" if len(group.places) == 1 else "many"
            return Content(what, group.places, group.start, group.end, "text")
    near = nearly(clause, offer)
    return None if near is None else Content("one", (near,), at, at + len(clause), "near text")


def _first_clause(text: str, at: int, end: int) -> str:
    stop = CLAUSE_END.search(text, at, end)
    return text[at : stop.start() if stop else end]


_READERS = (_all_of_it, _no_option, _clause, _ordinal, _numbered, _mark, _glued, _mention, _amount)


def _is_mark(text: str) -> bool:
    return len(text.strip(" .()[]\"'\n,:")) == 1


def _marked(text: str, found: Found, end: int, offer: Offer) -> Content:
    """A mark; ambiguous if another option's text, or another option, stands beside it."""
    if len(found.places) > 1:
        return _several(text, found, end, offer)
    place = found.places[0]
    beside = contradiction(text, found.end, end, place, offer)
    if beside is not None:
        if not found.dressed and text[found.start] == "A" and text[found.end : found.end + 1] == " ":
            return Content("one", (beside,), found.start, end, "text")
        return Content("many", (place, beside), found.start, end, "mark and text")
    if (other := alternative(text, found.end, end, place, offer)) is not None:
        return Content("many", (place, other), found.start, end, "marks")
    return Content("one", (place,), found.start, found.end, "mark")


def _several(text: str, found: Found, end: int, offer: Offer) -> Content:
    """A list of marks, unless it is an option's text or prefers one of them."""
    listed = exactly(text[found.start : end].split("\n", maxsplit=1)[0], offer)
    if listed is not None:
        return Content("one", (listed,), found.start, end, "text")
    if one := preferred(text, found, end, offer):
        return Content("one", one.places, one.start, one.end, "mark")
    if offer.sequences:
        return Content("nothing", (), found.start, found.end, "text")
    return Content("many", found.places, found.start, found.end, "marks")
