"""Replies that state nothing outright: what their sentences do with the options, taken together."""

import re
from collections.abc import Sequence

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.cues import CONCLUDES, CORRECTS, NONE_FITS, TIES
from eyetest.scoring.rules.parts.listing import judged_lines, quoted
from eyetest.scoring.rules.parts.loosely import loose_group
from eyetest.scoring.rules.parts.lowered import cased
from eyetest.scoring.rules.parts.mentions import Group, bare_marks, groups, lists_inline
from eyetest.scoring.rules.parts.refusals import BUT, UNDECIDABLE, find_refusal, may_refuse
from eyetest.scoring.rules.reading import Reading

_PLEASANTRY = re.compile(
    r"\s{0,20}(?:\([^)]*note|let me know|i hope|hope this|feel free|if you (?:have|need|would|want)|please let|"
    r"note that|\(note|thank you|is there anything|happy to|(?:quick )?(?:double-?)?check(?:ing|:| )|for context|"
    r"by the way|incidentally|for reference|had (?:it|this|the))"
)
_PREDICATE = re.compile(
    r"(?:\b(?:is|are|be|it's|was|shows?|called|by|as|means|match(?:es)?|suggests?|so|to|that's|but|only|leaves|of|"
    r"makes?|choose|say|have|has|get|equals?|=|:)|:|=|→)\s{0,3}(?:\b(?:the|an?|that of|side|about|approximately|"
    r"most likely|probably|clearly|only|made by|just|as)\s){0,2}[\"'(]{0,2}$",
    re.IGNORECASE,
)
_REMAINS = re.compile(
    r"\b(?:the one|what|the only one|the option|the answer|that|which|this)(?: that| which)? (?:is |are )?(?:left|"
    r"remain\w{0,3})\b",
    re.IGNORECASE,
)
_LONG = 400
_REACH = 8
"""A conclusion stands within so many sentences of the end."""
_BEGINNING = 3
_ENDING = 5
_BRACKETED = re.compile(r"(?:^|\n|[.!?]\s)\s{0,6}\([^()\n]{10,600}\)\s{0,3}(?=\n|$)")
_NONE_OPTION = re.compile(r"\s{0,3}(?:none\b|neither\b|no (?:correct|right) (?:answer|option))", re.IGNORECASE)
_NONE_FITS = re.compile(
    r"(?:^|[.,:]|\b(?:so|thus|hence|therefore|that))\s{0,3},?\s{0,3}none of (?:the|these|those|them)\b", re.IGNORECASE
)
_EMPTY_LABEL = re.compile(r"\n\W{0,6}(?:(?:final|correct|my) )?(?:answer|choice|option)\W{0,12}$", re.IGNORECASE)
"""``Answer:`` with nothing behind it: whoever declined above has nothing to put there."""
_MAYBE = re.compile(
    r"\b(?:could|may|might|maybe|perhaps|possibly|either)(?: also)?(?: be)?(?: the| an?)?\s$", re.IGNORECASE
)

_THOSE = re.compile(r"\s{0,6}(?:so )?(?:neither|none) of (?:these|them|those|the two)\b", re.IGNORECASE)

_LOW_CONCLUDES, _LOW_TIES = cased(CONCLUDES), cased(TIES)

Sentence = tuple[int, int]


class Stances(Sequence[tuple[Sentence, list[Group]]]):
    """What each sentence does with the options, found out when first asked: the conclusion comes last."""

    def __init__(self, case: Case, sentences: list[Sentence], quoted: list[Sentence]) -> None:
        self._case, self.sentences, self._quoted = case, sentences, quoted
        self._known: dict[int, list[Group]] = {}

    def __len__(self) -> int:
        return len(self.sentences)

    def is_quoted(self, sentence: Sentence) -> bool:
        """Whether a sentence stands in a list of the options."""
        return any(start < sentence[1] and sentence[0] < end for start, end in self._quoted)

    def _dropped_behind(self, n: int) -> bool:
        """Whether the next sentence begins with ``neither of these``."""
        return n + 1 < len(self.sentences) and bool(_THOSE.match(self._case.text, *self.sentences[n + 1]))

    def __getitem__(self, n: int) -> tuple[Sentence, list[Group]]:  # type: ignore[override]
        case, sentence = self._case, self.sentences[n]
        if n not in self._known:
            named = case.promising(*sentence)
            found = groups(case.text, *sentence, case.offer, case.words(*sentence)) if named else []
            if self.is_quoted(sentence):
                found = [group for group in found if group.stance == "dropped"]
            if found and self._dropped_behind(n):
                for group in found:
                    group.stance = "dropped"
            self._known[n] = found
        return sentence, self._known[n]


def mentions(case: Case) -> Reading | None:
    """The option that the conclusion names, or that the whole reply comes down to."""
    sentences = _telling(case)
    stances = Stances(case, sentences, quoted(case) if len(sentences) > 2 else [])
    refusing = _refusing(case, sentences) if may_refuse(case) else []
    if tie := _tied(case, stances):
        return tie
    if refusing:
        return _undecidable(case, stances, refusing) or _beside_refusal(case, stances, refusing)
    if case.taken_back >= 0 and (not sentences or sentences[-1][0] <= case.taken_back):
        return case.nothing("unparsed", "retraction", "taken back")
    return (
        judged_lines(case)
        or _concluding(case, stances)
        or _eliminated(case, stances)
        or _single(case, stances)
        or _none_of_them(case, sentences)
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


def _telling(case: Case) -> list[Sentence]:
    """The sentences without pleasantries, asides in brackets, checks, and what was taken back later."""
    text, low = case.text, case.low
    asides = [found.span() for found in _BRACKETED.finditer(text)] if "(" in text else []
    return [
        s
        for s in case.sentences
        if s[0] > case.taken_back
        and not _PLEASANTRY.match(low, *s)
        and not any(start <= s[0] and s[1] <= end + 1 for start, end in asides)
    ] or [s for s in case.sentences if s[0] > case.taken_back]


def _refusing(case: Case, sentences: list[Sentence]) -> list[Sentence]:
    """The sentences that decline: in a long reply only where it begins or ends."""
    cut_off = case.cut_off and not _EMPTY_LABEL.search(case.text)
    return [
        s
        for n, s in enumerate(sentences)
        if (n < (_BEGINNING - cut_off) or n >= len(sentences) - (1 if cut_off else _ENDING))
        and find_refusal(case, *s)
        and not lists_inline(case.text, *s)
        and not NONE_FITS.search(case.text, *s)
    ]


def _none_of_them(case: Case, sentences: list[Sentence]) -> Reading | None:
    """``none of the options fits`` at the end, where that is an option."""
    options = [place for place, text in enumerate(case.offer.texts) if _NONE_OPTION.match(text)]
    for start, end in sentences[-2:] if len(options) == 1 else ():
        if found := _NONE_FITS.search(case.text, start, end):
            return case.chosen(options[0], "none of them", *found.span())
    return None


def _undecidable(case: Case, stances: Stances, refusing: list[Sentence]) -> Reading | None:
    """``cannot be determined`` where that is an option."""
    options = [place for place, text in enumerate(case.offer.texts) if UNDECIDABLE.search(text)]
    for sentence, found in reversed(stances):
        for group in reversed(found):
            if group.places[0] in options and sentence in refusing:
                return case.chosen(group.places[0], "undecidable", group.start, group.end)
    if len(options) == 1 and UNDECIDABLE.search(case.text, *refusing[-1]):
        return case.chosen(options[0], "undecidable", *refusing[-1])
    return None


def _concluding(case: Case, stances: Stances) -> Reading | None:
    """What the last sentence or the last one with a word like ``therefore`` says, the firmer of the two first."""
    if not stances:
        return None
    last = len(stances) - 1
    whole = not (case.cut_off and last)
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
        taken = [group for group in taken if _is_predicate(case, sentence, group)]
    return _resolve(case, sentence, taken) if taken else None


def _loosely(case: Case, stances: Stances, n: int, *, wholly: bool) -> Reading | None:
    sentence, found = stances[n]
    if any(group.stance == "taken" for group in found) or stances.is_quoted(sentence):
        return None
    group = loose_group(case, sentence, found, wholly=wholly)
    return case.chosen(group.places[0], "own words", group.start, group.end) if group else None


def _is_predicate(case: Case, sentence: Sentence, group: Group) -> bool:
    return _PREDICATE.search(case.text, max(sentence[0], group.start - 40), group.start) is not None


def _resolve(case: Case, sentence: Sentence, taken: list[Group]) -> Reading | None:
    """What a sentence that takes one or more options comes down to: the one that it predicates, if any."""
    text, last = case.text, taken[-1]
    predicates = [group for group in taken if _is_predicate(case, sentence, group)]
    if len({place for group in taken for place in group.places}) == 1:
        number = text[last.start : last.end].strip("$ ").isdigit()
        if number and not predicates and len(text) > _LONG:
            return None
        return case.chosen(last.places[0], "conclusion", last.start, last.end)
    if len(taken) > 1 and all(
        _MAYBE.search(text, max(sentence[0], group.start - 24), group.start) for group in taken
    ):
        return case.nothing("ambiguous", "conclusion", "several options", (taken[0].start, last.end))
    last = (predicates or taken)[-1]
    if len(last.places) > 1:
        return _several(case, last)
    if predicates and (len({group.places for group in predicates}) == 1 or last is taken[-1]):
        return case.chosen(last.places[0], "conclusion", last.start, last.end)
    return None


def _several(case: Case, group: Group) -> Reading | None:
    """Two options named together are a choice of both; most of them are a list of what is on offer."""
    few = len(group.places) <= max(2, case.offer.count // 2)
    if (group.conflicting and len(group.places) == 2) or (few and not group.conflicting):
        return case.nothing("ambiguous", "conclusion", "several options", (group.start, group.end))
    return None


def _eliminated(case: Case, stances: Stances) -> Reading | None:
    """All options but one are ruled out."""
    count = case.offer.count
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
    taken = [group for _, found in stances for group in found if group.stance == "taken"]
    places = {place for group in taken for place in group.places}
    if len(places) == 1 and not (case.cut_off and len(stances) > 2):
        return case.chosen(taken[0].places[0], "only mention", taken[0].start, taken[0].end)
    if stances and len(stances) <= 4 and not (case.cut_off and len(stances) > 1):
        sentence, found = stances[0]
        first = [group for group in found if group.stance == "taken"]
        return _resolve(case, sentence, first) if first else None
    return None


def _beside_refusal(case: Case, stances: Stances, refusing: list[Sentence]) -> Reading | None:
    """A refusal, unless something is chosen beside it."""
    text = case.text
    first = refusing[0]
    for sentence, found in reversed(stances):
        taken = [g for g in found if g.stance == "taken"]
        if not taken:
            continue
        inside = sentence in refusing
        at = taken[-1].start
        many = any(len(g.places) > 1 for g in taken)
        if many and not inside and len({p for g in taken for p in g.places}) < case.offer.count:
            return case.nothing("ambiguous", "beside a refusal", "several options", (taken[0].start, taken[-1].end))
        if inside:
            refusal = find_refusal(case, *sentence)
            assert refusal
            if many or not (at > refusal.end() and BUT.search(text, refusal.end(), at)):
                if many and taken[-1].end < refusal.start() and len(taken[-1].places) < case.offer.count:
                    return case.nothing(
                        "ambiguous", "beside a refusal", "several options", (taken[0].start, taken[-1].end)
                    )
                continue
        elif (
            not BUT.search(text, *sentence)
            and not CORRECTS.search(text, *sentence)
            and (sentence[0] > first[0] or sentence != stances[0][0] or len(stances) > _BEGINNING)
        ):
            continue
        reading = _resolve(case, sentence, taken)
        if reading:
            return reading
    return case.nothing("refused", "refusal", "declines", first)
