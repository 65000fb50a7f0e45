"""Several options listed below words that announce more than one: ``The most likely reasons are:``."""

import re

from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.content import Content
from eyetest.scoring.rules.parts.statement import WEAK, Statement

_HEAD = re.compile(
    r"(?<!less )(?<!not )(?<!least )\b(?:most|likeliest|correct|best|right|plausible|probable|appropriate)\b"
    r"[^:\n]{0,140}\b(?:are|include)\b[^:\n]{0,60}:\s{0,6}$",
    re.IGNORECASE,
)
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
    if not 1 < len(places) < case.offer.count:
        return None
    return Statement(Content("many", tuple(places), start, stop, "marks"), WEAK, "listed together")


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
