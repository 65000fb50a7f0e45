"""Answers that the rest of the reply does not bear out: another option follows from it, or it only supposes."""

import re

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.cues import CONCLUDES, TIES
from eyetest.scoring.rules.parts.mentions import Group, groups
from eyetest.scoring.rules.parts.naming import bare_marks
from eyetest.scoring.rules.parts.resolved import is_predicate
from eyetest.scoring.rules.parts.statement import Statement
from eyetest.scoring.rules.reading import Reading

_SUPPOSES = re.compile(
    r"\b[Ii]f\b[^.?!\n]{4,160}?\b(?:answer|option|choice)(?: is| would be| should be|:)?\s{1,6}"
    r"(?:option\s)?[\"'(]?([A-Z])(?!\w)"
)
_ALONE = re.compile(r"\W{0,10}([A-Z])[\s.):\]]{0,6}\n")
_TELLS = re.compile(r"^(?!.*\b(?:answer|option|choice)\b).*\w{2,} is\b", re.IGNORECASE)
_REACH = 6
_NEAR = 300


def contradicted(case: Case, reading: Reading) -> Reading | None:
    """A bare mark on the first line against the one other option, by text, that its explanation comes to.

    An explanation that names the marked option as well bears it out.
    """
    if reading.kind == "chosen" and reading.rule == "last line":
        return _opened_otherwise(case, reading)
    if reading.rule != "first line" or reading.kind != "chosen":
        return None
    if tie := _tied(case):
        return tie
    stop = case.text.find("\n", len(case.text) - len(case.text.lstrip()))
    if stop < 0 or len(case.text[:stop].strip(" .()[]:")) > 1 or case.cut_off:
        return None
    told = _explained(case, stop)
    if told is None or len(told.places) > 1 or _named(case, stop, reading.index):
        return None
    return case.nothing("ambiguous", "first line", "mark and text contradict", (told.start, told.end))


def _named(case: Case, start: int, place: int | None) -> bool:
    return any(place in group.places for group in groups(case.text, start, len(case.text), case.offer))


def _opened_otherwise(case: Case, reading: Reading) -> Reading | None:
    """``D`` and then, as the last of the explanation, ``so it is a bird``, where that is another option."""
    opening = _ALONE.match(case.text)
    place = case.offer.place(opening[1]) if opening else None
    last = case.text.rstrip().rpartition("\n")[2]
    if place in (None, -1, reading.index) or not _TELLS.search(last) or case.offer.maybe_mark.search(last):
        return None
    return case.nothing("ambiguous", "first line", "mark and text contradict", (0, len(case.text)))


def _tied(case: Case) -> Reading | None:
    """``A, but B works equally well.``"""
    start, end = case.sentences[-1]
    tie = TIES.search(case.text, start, end)
    if (
        tie is None
        or len({place for mark in bare_marks(case.text, start, end, case.offer) for place in mark.places}) < 2
    ):
        return None
    return case.nothing("ambiguous", "tie", "several options", tie.span())


def _explained(case: Case, start: int) -> Group | None:
    """The option that the last sentence, or the last one that concludes, comes to without speaking of marks."""
    for n, sentence in enumerate(reversed(case.sentences[-_REACH:])):
        if sentence[0] < start:
            break
        concludes = not case.words(*sentence).isdisjoint(gates.CONCLUDE) and CONCLUDES.search(case.text, *sentence)
        if n and not concludes:
            continue
        found = [group for group in groups(case.text, *sentence, case.offer) if group.stance == "taken"]
        marks = bare_marks(case.text, *sentence, case.offer)
        inside = [group for group in found if group.end - group.start > 1]
        if any(not any(group.start <= mark.start < group.end for group in inside) for mark in marks):
            return None
        taken = [group for group in found if concludes or is_predicate(case, sentence, group)]
        if taken or concludes:
            return taken[0] if len({place for group in taken for place in group.places}) == 1 else None
    return None


def either_way(case: Case, n: int, said: Statement) -> bool:
    """Whether an answer is one of several that are only supposed: ``If it melts, the answer is B. If not, C.``"""
    if "if" not in case.words(*case.sentences[n]):
        return False
    supposed = list(_SUPPOSES.finditer(case.text, max(0, said.content.start - _NEAR), said.content.end + _NEAR))
    inside = any(found.start() <= said.content.start < found.end() for found in supposed)
    return inside and len({found[1] for found in supposed}) > 1
