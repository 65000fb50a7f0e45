"""Replies that state nothing outright: what their sentences do with the options, taken together."""

import re

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.closing import is_symbol
from eyetest.scoring.rules.parts.combined import combined
from eyetest.scoring.rules.parts.cues import CONCLUDES, TIES
from eyetest.scoring.rules.parts.declined import beside_refusal, declined_midway, refusing_in, undecidable
from eyetest.scoring.rules.parts.listing import asked_and_answered, judged_lines, quoted
from eyetest.scoring.rules.parts.loosely import loose_group
from eyetest.scoring.rules.parts.lowered import cased
from eyetest.scoring.rules.parts.mentions import Group, groups
from eyetest.scoring.rules.parts.naming import bare_marks
from eyetest.scoring.rules.parts.refusals import BUT, may_refuse
from eyetest.scoring.rules.parts.resolved import is_maybe, is_predicate, resolve
from eyetest.scoring.rules.parts.stances import Sentence, Stances, telling
from eyetest.scoring.rules.reading import Reading

_REACH = 8
"""A conclusion stands within so many sentences of the end."""
_LONG = 1_000
_OPENING, _CLOSING = 3, 12
_BULLET = re.compile(r"[\s*]{0,8}[-•+*]\s{1,3}")
_NONE_OPTION = re.compile(r"\s{0,3}(?:none\b|neither\b|no (?:correct|right) (?:answer|option))", re.IGNORECASE)
_NONE_FITS = re.compile(
    r"(?:^|[.,:]|\b(?:so|thus|hence|therefore|that))\s{0,3},?\s{0,3}none of (?:the|these|those|them)\b", re.IGNORECASE
)
_LOW_CONCLUDES, _LOW_TIES = cased(CONCLUDES), cased(TIES)


def mentions(case: Case) -> Reading | None:
    """The option that the conclusion names, or that the whole reply comes down to."""
    sentences = telling(case)
    stances = Stances(case, sentences, quoted(case) if len(sentences) > 2 else [])
    refusing = refusing_in(case, sentences) if may_refuse(case) else []
    if tie := _tied(case, stances) or _either_maybe(case, stances):
        return tie
    if refusing:
        return undecidable(case, stances, refusing) or beside_refusal(case, stances, refusing)
    if case.taken_back >= 0 and (not sentences or sentences[-1][0] <= case.taken_back):
        return case.nothing("unparsed", "retraction", "taken back")
    if case.supposed:
        return case.nothing("ambiguous", "either way", "several options", case.supposed)
    return (
        judged_lines(case)
        or asked_and_answered(case)
        or _concluding(case, stances)
        or combined(case)
        or _eliminated(case, stances)
        or _single(case, stances)
        or _none_of_them(case, sentences)
        or declined_midway(case, sentences)
    )


def _tied(case: Case, stances: Stances) -> Reading | None:
    """Two options that the end of the reply calls equally good."""
    for n in range(max(0, len(stances) - 2), len(stances)):
        sentence = stances.sentences[n]
        if tie := _LOW_TIES.search(case.low, *sentence):
            shown = (stances.sentences[max(0, n - 2)][0], sentence[1])
            places = {place for one in groups(case.text, *shown, case.offer) for place in one.places}
            places |= {place for one in bare_marks(case.text, *shown, case.offer) for place in one.places}
            if len(places) > 1 and not BUT.search(case.text, tie.end(), len(case.text)):
                return case.nothing("ambiguous", "tie", "several options", tie.span())
    return None


def _either_maybe(case: Case, stances: Stances) -> Reading | None:
    """``It could be the red one. It could also be the green one.``"""
    if len(stances) < 2 or "also" not in case.words(*stances.sentences[-1]):
        return None
    taken = [
        [group for group in stances[n][1] if group.stance == "taken"] for n in (len(stances) - 2, len(stances) - 1)
    ]
    if (
        not all(len(found) == 1 and is_maybe(case, found[0]) for found in taken)
        or taken[0][0].places == taken[1][0].places
    ):
        return None
    return case.nothing("ambiguous", "conclusion", "several options", (taken[0][0].start, taken[1][0].end))


def _none_of_them(case: Case, sentences: list[Sentence]) -> Reading | None:
    """``none of the options fits`` at the end, where that is an option."""
    options = [place for place, text in enumerate(case.offer.texts) if _NONE_OPTION.match(text)]
    for start, end in sentences[-2:] if len(options) == 1 else ():
        if found := _NONE_FITS.search(case.text, start, end):
            return case.chosen(options[0], "none of them", *found.span())
    return None


def _concluding(case: Case, stances: Stances) -> Reading | None:
    """What the last sentence or the last one with a word like ``therefore`` says, the firmer of the two first."""
    if not stances:
        return None
    last = len(stances) - 1
    if case.cut_off and _repeats(case, stances.sentences):
        last -= 1
    whole = not (case.cut_off and last == len(stances) - 1 and last)
    if whole and _one_of_items(case, stances, last):
        whole = False
    if whole and (reading := _taken(case, stances, last, predicated=True)):
        return reading
    undecided = None
    for n in range(last if whole else last - 1, max(-1, last - _REACH), -1):
        start, end = stances.sentences[n]
        if case.words(start, end).isdisjoint(gates.CONCLUDE) or not _LOW_CONCLUDES.search(case.low, start, end):
            continue
        reading = _taken(case, stances, n) or _loosely(case, stances, n, wholly=False)
        if reading and reading.kind == "chosen":
            return reading
        undecided = undecided or reading
    if not whole:
        return undecided
    reading = _taken(case, stances, last) or _loosely(case, stances, last, wholly=last > 0)
    if reading or not last:
        return reading or undecided
    named = any(group.stance == "taken" for group in stances[last][1]) or _walks(stances, last - 1)
    return _taken(case, stances, last - 1, predicated=named) or undecided


def _one_of_items(case: Case, stances: Stances, last: int) -> bool:
    """Whether the last sentence stands in a list whose items come to an option each, and concludes no more."""
    text, (start, end) = case.body.raw, stances.sentences[last]
    if not _BULLET.match(text, text.rfind("\n", 0, start + 1) + 1) or _LOW_CONCLUDES.search(case.low, start, end):
        return False
    places = []
    for n in range(last, max(-1, last - _REACH), -1):
        at = stances.sentences[n][0]
        if _BULLET.match(text, text.rfind("\n", 0, at + 1) + 1):
            places += [group.places for group in stances[n][1] if group.stance == "taken"]
    return len(set(places)) > 1


def _repeats(case: Case, sentences: list[Sentence]) -> bool:
    """Whether a reply was cut off while it said the same sentence again and again."""
    said = [case.text[start:end].strip() for start, end in sentences[-4:-1]]
    return len(said) == 3 and len(set(said)) == 1


def _walks(stances: Stances, end: int) -> bool:
    """Whether several options were visited before a sentence, so that naming one more concludes nothing."""
    before = {
        group.places for n in range(max(0, end - _REACH), end) for group in stances[n][1] if group.stance == "taken"
    }
    return len(before) > 1


def _taken(case: Case, stances: Stances, n: int, *, predicated: bool = False) -> Reading | None:
    """What a sentence comes down to; with ``predicated`` only what it says that something is."""
    sentence, found = stances[n]
    taken = [group for group in found if group.stance == "taken"]
    if predicated:
        taken = [group for group in taken if is_predicate(case, sentence, group)]
    return resolve(case, sentence, taken) if taken else None


def _loosely(case: Case, stances: Stances, n: int, *, wholly: bool) -> Reading | None:
    sentence, found = stances[n]
    if any(group.stance == "taken" for group in found) or stances.is_quoted(sentence):
        return None
    group = loose_group(case, sentence, found, wholly=wholly)
    return case.chosen(group.places[0], "own words", group.start, group.end) if group else None


def _eliminated(case: Case, stances: Stances) -> Reading | None:
    """All options but one are ruled out."""
    count = case.offer.count
    if case.nameable + len(case.dropped) < count - 1:
        return None
    dropped = {
        place for _, found in stances for group in found if group.stance == "dropped" for place in group.places
    }
    dropped |= case.dropped
    taken = {place for _, found in stances for group in found if group.stance == "taken" for place in group.places}
    left = set(range(count)) - dropped
    if len(left) == 1 and count > 1 and (not taken - left or not taken):
        return case.chosen(left.pop(), "elimination", 0, len(case.text))
    return None


def _single(case: Case, stances: Stances) -> Reading | None:
    """The only option that the whole reply takes, or what its first sentence says."""
    if case.cut_off and len(stances) > 2:
        return None
    taken = [(n, group) for n, (_, found) in enumerate(stances) for group in found if group.stance == "taken"]
    places = {place for _, group in taken for place in group.places}
    if len(places) == 1 and _near_an_end(taken[0][0], taken[-1][0], stances):
        first = taken[0][1]
        if first.marked and is_symbol(case.text, first.start):
            return None
        if len(case.text) > _LONG and (case.text[first.start : first.end].isdigit() or _given(case, stances, taken)):
            return None
        return case.chosen(first.places[0], "only mention", first.start, first.end)
    if stances and len(stances) <= 4 and not (case.cut_off and len(stances) > 1):
        sentence, found = stances[0]
        opening = [group for group in found if group.stance == "taken"]
        return resolve(case, sentence, opening) if opening else None
    return None


def _given(case: Case, stances: Stances, taken: list[tuple[int, Group]]) -> bool:
    """Whether a measure stands only where long work begins: ``the wall is 150 ft high`` is what was given."""
    first = taken[0][1]
    return case.text[first.start].isdigit() and taken[-1][0] < min(_OPENING, len(stances) - _CLOSING)


def _near_an_end(first: int, last: int, stances: Stances) -> bool:
    """Whether a mention stands where answers stand; one in the middle of long work names something in passing."""
    return first < _OPENING or last >= len(stances) - _CLOSING
