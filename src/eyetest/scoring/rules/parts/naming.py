"""Where a stretch of text names options: by text, by a dressed mark, by number or by quotation."""

import re
from collections.abc import Iterator

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.marks import NOUN, mark_at
from eyetest.scoring.rules.parts.negation import negates
from eyetest.scoring.rules.parts.offer import Offer
from eyetest.scoring.rules.parts.spoken import ORDINALS
from eyetest.scoring.rules.parts.tokens import tokenise
from eyetest.scoring.rules.parts.wording import LABELLED, Named, by_text

_MARKED = re.compile(
    rf"(?<!\w)\((?=[A-Za-z0-9]{{1,2}}\))|\b{NOUN}\s{{0,4}}(?=[\"'(\[]{{0,3}}(?:[A-Za-z]|\d{{1,2}})(?!\w))",
    re.IGNORECASE,
)
_LONE = re.compile(r"(?<![\w'.])[A-Z](?![\w'])")
_ORDINAL = re.compile(
    rf"\b({'|'.join(ORDINALS)}|last)\s(?:(?:option|choice|answer|alternative)\b(?!s)|one(?=\W{{0,4}}$)|"
    rf"(?:one )?of the (?:\w{{2,5}} )?(?:options|"
    r"choices|answers|alternatives|values)\b)",
    re.IGNORECASE,
)
_ORDINALS = re.compile(
    rf"\b({'|'.join(ORDINALS)}|last)\s(?:and|or|nor)\s(?:the\s)?({'|'.join(ORDINALS)}|last)\s"
    r"(?:options?|choices?|answers?|alternatives?|ones?)\b|"
    rf"(?<=both the )({'|'.join(ORDINALS)})\sand\s(?:the\s)?({'|'.join(ORDINALS)}|last)(?=[.!]?\s{{0,3}}$)"
)
_CARDINALS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SEVERAL = re.compile(r"\b(first|last)\s(two|three|four)\s(?:options|choices|answers|alternatives)\b", re.IGNORECASE)
_NUMBERED = re.compile(
    rf"(?:(?<!the )(?<!\w )\bnumber|\boption|\bchoice) ({'|'.join(_CARDINALS)})"
    r"(?=[,.!]|$| (?:is|fits|matches|describes|shows|seems|looks|gives)\b)",
    re.IGNORECASE,
)
_COUNTS = re.compile(
    rf"\b(?:(?:{'|'.join(ORDINALS)}|last)\s(?:ones?|options?|choices?|answers?|alternatives?|of|and|or|nor|two|three|four)|"
    rf"(?:number|option|choice) (?:{'|'.join(_CARDINALS)}))\b"
)
"""A part of both, so that what they find it finds too."""
_QUOTED = re.compile(r'"([^"\n]{4,80})"')


def named(text: str, start: int, end: int, offer: Offer, words: set[str] | None = None) -> list[Named]:
    """Every option that is named by text or by a dressed mark, the longest fitting one at each place."""
    hopeful = words is None or offer.unspelt or gates.FOREIGN in words or not words.isdisjoint(offer.first_words)
    found = by_text(text, tokenise(text, start, end), offer) if hopeful else []
    dressed = words is None or not words.isdisjoint(gates.NOUN) or text.find("(", start, end) >= 0
    for dress in _MARKED.finditer(text, start, end) if dressed else ():
        mark = mark_at(text, dress.start(), end, offer)
        if mark and mark.start < dress.end() + 8 and not _is_label(text, start, dress):
            found.append(Named(tuple(place for place in mark.places if place >= 0), mark.start, mark.end, True))
    if words is None or not (words.isdisjoint(gates.ORDINAL) or words.isdisjoint(gates.COUNTED)):
        found.extend(_by_ordinal(text, start, end, offer))
        found.extend(_by_number(text, start, end, offer))
    if text.find('"', start, end) >= 0:
        found.extend(_quotations(text, start, end, offer))
    if negates(text, start, end, words):
        found.extend(bare_marks(text, start, end, offer))
    found = [one for one in found if one.places]
    found.sort(key=lambda one: (one.start, one.end))
    return found


def _is_label(text: str, start: int, dress: re.Match[str]) -> bool:
    """``Fig (a)``, ``the neutral axis (c)``: a letter in brackets that names no option."""
    if dress.group() != "(":
        return False
    return bool(LABELLED.search(text, max(start, dress.start() - 20), dress.start()))


def counts_options(low: str) -> bool:
    """Whether a text in lower case speaks of options by their number anywhere."""
    return _COUNTS.search(low) is not None


def _by_number(text: str, start: int, end: int, offer: Offer) -> Iterator[Named]:
    """``Number three describes it best``."""
    for found in _NUMBERED.finditer(text, start, end):
        place = _CARDINALS.index(found[1].lower())
        if place < offer.count and not offer.numbers:
            yield Named((place,), found.start(), found.end(), True)


def _quotations(text: str, start: int, end: int, offer: Offer) -> Iterator[Named]:
    """``"upside down" is wrong``: words in quotation marks that are part of one option only."""
    for found in _QUOTED.finditer(text, start, end):
        tokens = tuple(token.word for token in tokenise(text, *found.span(1)))
        size = len(tokens)
        if size < 2 or tokens in offer.exact:
            continue
        having = [
            place
            for place, option in enumerate(offer.words)
            if any(option[n : n + size] == tokens for n in range(len(option) - size + 1))
        ]
        if len(having) == 1:
            yield Named((having[0],), found.start(1), found.end(1))


def _by_ordinal(text: str, start: int, end: int, offer: Offer) -> Iterator[Named]:
    """``the second option``, ``the last of the four values``, ``the first and the third option``."""
    for pair in _ORDINALS.finditer(text, start, end):
        places = tuple(offer.count - 1 if word == "last" else ORDINALS.index(word) for word in pair.groups() if word)
        if max(places) < offer.count:
            yield Named(places, pair.start(), pair.end(), True)
    for several in _SEVERAL.finditer(text, start, end):
        size, all_places = _CARDINALS.index(several[2].lower()) + 1, tuple(range(offer.count))
        if size < offer.count:
            some = all_places[:size] if several[1].lower() == "first" else all_places[-size:]
            yield Named(some, several.start(), several.end(), True)
    for found in _ORDINAL.finditer(text, start, end):
        place = offer.count - 1 if found[1].lower() == "last" else ORDINALS.index(found[1].lower())
        if place < offer.count:
            yield Named((place,), found.start(), found.end(), True)


def bare_marks(text: str, start: int, end: int, offer: Offer) -> list[Named]:
    """Capital letters alone: marks where they are ruled out ("not A, not B"), else most often names of things."""
    found: list[Named] = []
    at = start
    while letter := _LONE.search(text, at, end):
        mark = mark_at(text, letter.start(), end, offer)
        at = max(letter.end(), mark.end if mark else 0)
        if mark and not LABELLED.search(text, max(start, letter.start() - 20), letter.start()):
            found.append(Named(tuple(place for place in mark.places if place >= 0), mark.start, mark.end, True, True))
    return found
