"""Replies that state nothing outright: what their sentences do with the options, taken together."""

import re
from collections.abc import Sequence

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.cues import CONCLUDES, CORRECTS
from eyetest.scoring.rules.parts.mentions import Group, groups, negates
from eyetest.scoring.rules.parts.refusals import BUT, UNDECIDABLE, find_refusal, may_refuse
from eyetest.scoring.rules.parts.tokens import tokenise
from eyetest.scoring.rules.reading import Reading

_PLEASANTRY = re.compile(
    r"\s{0,20}(?:\([^)]*note|let me know|i hope|hope this|feel free|if you (?:have|need|would|want)|please let|"
    r"note that|\(note|thank you|is there anything|happy to)",
    re.IGNORECASE,
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
_MAYBE = re.compile(
    r"\b(?:could|may|might|maybe|perhaps|possibly|either)(?: also)?(?: be)?(?: the| an?)?\s$", re.IGNORECASE
)

Sentence = tuple[int, int]


class Stances(Sequence[tuple[Sentence, list[Group]]]):
    """What each sentence does with the options, found out when first asked: the conclusion comes last."""

    def __init__(self, case: Case, sentences: list[Sentence]) -> None:
        self._case, self._sentences = case, sentences
        self._known: dict[int, list[Group]] = {}

    def __len__(self) -> int:
        return len(self._sentences)

    def __getitem__(self, n: int) -> tuple[Sentence, list[Group]]:  # type: ignore[override]
        case, sentence = self._case, self._sentences[n]
        if n not in self._known:
            named = case.promising(*sentence)
            self._known[n] = groups(case.text, *sentence, case.offer, case.words(*sentence)) if named else []
        return sentence, self._known[n]


def mentions(case: Case) -> Reading | None:
    """The option that the conclusion names, or that the whole reply comes down to."""
    text = case.text
    sentences = [s for s in case.sentences if not _PLEASANTRY.match(text, *s)]
    stances = Stances(case, sentences)
    refusing = [s for s in sentences if find_refusal(case, *s)] if may_refuse(case) else []
    if refusing and (says_so := _undecidable(case, stances, refusing)):
        return says_so
    if refusing:
        return _beside_refusal(case, stances, refusing)
    return (
        _concluding(case, stances, sentences)
        or _eliminated(case, stances)
        or _single(case, stances)
        or _own_words(case, sentences)
    )


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


def _concluding(case: Case, stances: Stances, sentences: list[Sentence]) -> Reading | None:
    """The last sentence that concludes, else the very last one."""
    text = case.text
    if not stances:
        return None
    marked = [
        n
        for n, s in enumerate(sentences)
        if not case.words(*s).isdisjoint(gates.CONCLUDE) and CONCLUDES.search(text, *s)
    ]
    last = len(stances) - 1
    order = ([] if case.cut_off and last else [last]) + [n for n in reversed(marked) if n >= last - 8]
    if not case.cut_off and last and not any(g.stance == "taken" for g in stances[last][1]):
        order.insert(1, last - 1)
    for n in order:
        sentence, found = stances[n]
        taken = [group for group in found if group.stance == "taken"]
        if taken and (reading := _resolve(case, sentence, taken)):
            return reading
    return None


def _resolve(case: Case, sentence: Sentence, taken: list[Group]) -> Reading | None:
    """What a sentence that takes one or more options comes down to: the one that it predicates, if any."""
    text, last = case.text, taken[-1]
    predicates = [
        group for group in taken if _PREDICATE.search(text, max(sentence[0], group.start - 40), group.start)
    ]
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


def _own_words(case: Case, sentences: list[Sentence]) -> Reading | None:
    """Words that only one option has, in a short reply or in its last sentence."""
    if not sentences or case.cut_off:
        return None
    start, end = sentences[-1]
    if len(sentences) > 1 and not CONCLUDES.search(case.text, start, end):
        return None
    tokens = tokenise(case.text, start, end)
    hits: dict[int, set[str]] = {}
    for token in tokens:
        place = case.offer.own.get(token.word)
        if place is not None and len(token.word) > 3:
            hits.setdefault(place, set()).add(token.word)
    if len(hits) != 1:
        return None
    place = next(iter(hits))
    option = set(case.offer.words[place])
    said = {token.word for token in tokens}
    if len(option & said) * 2 > len(option) and not negates(case.text, start, end):
        return case.chosen(place, "own words", start, end)
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
            and (sentence[0] > first[0] or sentence != stances[0][0])
        ):
            continue
        reading = _resolve(case, sentence, taken)
        if reading:
            return reading
    return case.nothing("refused", "refusal", "declines", first)
