"""What a sentence that takes one or more options comes down to."""

import re

from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.mentions import Group
from eyetest.scoring.rules.parts.stances import Sentence
from eyetest.scoring.rules.reading import Reading

_PREDICATE = re.compile(
    r"(?:\b(?:is|are|be|it's|was|shows?|called|by|as|means|match(?:es)?|suggests?|so|to|that's|but|only|leaves|of|"
    r"makes?|choose|say|have|has|get|gives?|yields?|equals?|=|:)|:|=|→)\s{0,3}(?:\b(?:the|an?|that of|side|about|"
    r"approximately|most likely|probably|clearly|only|made by|just|as)\s){0,2}[\"'(]{0,2}$",
    re.IGNORECASE,
)
_LONG = 400
_MAYBE = re.compile(
    r"\b(?:could|may|might|maybe|perhaps|possibly|either)(?: also)?(?: be)?(?: the| an?)?\s$", re.IGNORECASE
)


def resolve(case: Case, sentence: Sentence, taken: list[Group]) -> Reading | None:
    """What a sentence that takes one or more options comes down to: the one that it predicates, if any."""
    text, last = case.text, taken[-1]
    predicates = [group for group in taken if is_predicate(case, sentence, group)]
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


def is_maybe(case: Case, group: Group) -> bool:
    """Whether the words before an option say that something may be it."""
    return _MAYBE.search(case.text, max(0, group.start - 24), group.start) is not None


def is_predicate(case: Case, sentence: Sentence, group: Group) -> bool:
    """Whether the words before an option say that something is it."""
    return _PREDICATE.search(case.text, max(sentence[0], group.start - 40), group.start) is not None


def _several(case: Case, group: Group) -> Reading | None:
    """Two options named together are a choice of both; most of them are a list of what is on offer."""
    few = len(group.places) <= max(2, case.offer.count // 2)
    if (group.conflicting and len(group.places) == 2) or (few and not group.conflicting):
        return case.nothing("ambiguous", "conclusion", "several options", (group.start, group.end))
    return None
