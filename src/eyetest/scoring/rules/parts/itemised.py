"""Options that are lists themselves, ``A: Mixed; B: Variable; C: Fixed``: letters in a reply are parts of a text."""

import re
from functools import lru_cache

from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.matching import exactly
from eyetest.scoring.rules.reading import Reading

_LIST = re.compile(
    r"(?<!\w)[(\[]?(?:(?P<capital>A)|(?P<small>a)|1)[)\]]?\s{0,2}(?:[:=.–→-]|(?<=[)\]]))\s{0,3}(?![\s(])(?P<first>[^\n;]{1,80}?)[;,\n]\s{0,6}"
    r"(?:and\s)?[(\[]?(?(capital)B|(?(small)b|2))[)\]]?\s{0,2}(?:[:=.–→-]|(?<=[)\]]))\s{0,3}(?=[^\s(])"
)
_MARK = re.compile(r"(?<!\w)\(?([A-Z])(?:[.):]\)?\s{1,4}|\))$")
_ROOM = 12
_ANSWERED = re.compile(r"\banswers?(?: (?:is|are|should be|here|to [^\n:]{1,40}))?\s{0,3}:?\s{0,6}$", re.IGNORECASE)


@lru_cache(maxsize=4_096)
def _all_lists(texts: tuple[str, ...]) -> bool:
    return len(texts) > 1 and all(_LIST.match(text.strip()) for text in texts)


def itemised(case: Case) -> Reading | None:
    """The list that a reply ends with, compared with each option as a whole; its letters are no marks."""
    if not case.offer.lettered or not _all_lists(case.offer.texts):
        return None
    lists = list(_LIST.finditer(case.text))
    if not lists:
        return None
    start = lists[-1].start()
    rest = case.text[start:].split("\n\n", maxsplit=1)
    if len(rest) > 1 and rest[1].strip():
        return None
    place = exactly(rest[0], case.offer)
    end = start + len(rest[0].rstrip())
    if place is not None:
        return _beside_mark(case, place, start, end) or case.chosen(place, "itemised", start, end)
    if not case.text[:start].strip() or _ANSWERED.search(case.text, max(0, start - 80), start):
        return case.nothing("unparsed", "itemised", "none of the options", (start, end))
    return None


def _beside_mark(case: Case, place: int, start: int, end: int) -> Reading | None:
    """``F. (a) 3, (b) 3`` where that list is another option."""
    marked = _MARK.search(case.text, max(0, start - _ROOM), start)
    beside = case.offer.place(marked[1]) if marked else None
    if beside in (None, -1, place):
        return None
    return case.nothing("ambiguous", "itemised", "mark and text contradict", (start, end))
