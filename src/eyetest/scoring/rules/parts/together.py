"""Several options together: an answer to each part, two with their texts, a list below ``The reasons are:``."""

import re

from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.content import Content
from eyetest.scoring.rules.parts.matching import exactly
from eyetest.scoring.rules.parts.statement import FIRM, WEAK, Statement
from eyetest.scoring.rules.reading import Reading

_HEAD = re.compile(
    r"(?<!less )(?<!not )(?<!least )\b(?:most|likeliest|correct|best|right|plausible|probable|appropriate)\b"
    r"[^:\n]{0,140}\b(?:are|include)\b[^:\n]{0,60}:\s{0,6}$",
    re.IGNORECASE,
)
_PART = re.compile(r"(?:^|\n)[\s\-•]{0,10}\(?([a-d])\)\s{0,4}[:=]?\s{0,6}\(?([A-Z])\)?[ .]{0,6}(?=\n|$)")
_LAST_PART = re.compile(r"\n[\s\-•]{0,10}\(?[b-d]\)\s{0,4}[:=]?\s{0,6}\(?[A-Z]\)?[\s.]{0,6}$")
_REACH = 200
_ROOM = 40
_BOTH = 2
_NEGATED = re.compile(r"\b(?:not|incorrect|wrong|except|less|n't)\b|n't", re.IGNORECASE)
_ITEM = re.compile(
    r"[\s>\-•+]{0,10}(?:\d{1,2}[.)]\s{1,3}(?=\(?[A-Z][).:]))?(?:option\s)?[(\[]?([A-Z]|\d{1,2})[).:\]]{1,2}\s",
    re.IGNORECASE,
)


def listed_together(case: Case, n: int) -> Statement | None:
    """Two or more options, but not all of them, below a line that says that they are likely or right."""
    start, end = case.sentences[n]
    text = case.text
    if "are" not in case.words(start, end) and "include" not in case.words(start, end):
        return None
    if not text[start:end].rstrip().endswith(":") or not _HEAD.search(text, start, end):
        return None
    if _NEGATED.search(text, start, end):
        return None
    places, stop = _items(case, end)
    firm = FIRM if "answers" in case.words(start, end) else WEAK
    if not 1 < len(places) < case.offer.count:
        return None
    return Statement(Content("many", tuple(places), start, stop, "marks"), firm, "listed together")


def answers_to_parts(case: Case) -> Reading | None:
    """``(a): F`` and below it ``(b): B``: an answer to each part of a question is no answer to the whole."""
    if not _LAST_PART.search(case.text, max(0, len(case.text) - _ROOM)):
        return None
    parts = list(_PART.finditer(case.text, max(0, len(case.text) - _REACH)))
    if len(parts) < 2 or [part[1] for part in parts] != ["a", "b", "c", "d"][: len(parts)]:
        return None
    places = {case.offer.place(part[2]) for part in parts}
    if len(places) < 2 or None in places or -1 in places:
        return None
    return case.nothing("ambiguous", "last line", "several marks", (parts[0].start(), parts[-1].end()))


def only_listed(case: Case) -> Reading | None:
    """``B. cat`` and below it ``D. dog``, nothing else: both of them. Three or more are a list that was quoted."""
    if len(case.text) > 2 * case.offer.longest + _ROOM or "\n" not in case.text or case.offer.count <= _BOTH:
        return None
    if len(case.lines) != _BOTH or case.cut_off:
        return None
    places = [_own_item(case, *line) for line in case.lines]
    if None in places or len(set(places)) < 2:
        return None
    return case.nothing("ambiguous", "listed together", "several options", (case.lines[0][0], case.lines[1][1]))


def _own_item(case: Case, start: int, end: int) -> int | None:
    """The option that a line gives with its mark and its own text."""
    item = _ITEM.match(case.text, start, end)
    place = case.offer.place(item[1]) if item else None
    return place if item and place is not None and exactly(case.text[item.end() : end], case.offer) == place else None


def _items(case: Case, at: int) -> tuple[list[int], int]:
    """The options of the list that begins at a place, and where it ends: at the first line that is no item."""
    places: list[int] = []
    stop = at
    for line in case.text[at:].split("\n"):
        item = _ITEM.match(line)
        place = case.offer.place(item[1]) if item else None
        if line.strip() and (place is None or place < 0):
            break
        if place is not None and place not in places:
            places.append(place)
        stop = min(len(case.text), stop + len(line) + 1)
    return places, stop
