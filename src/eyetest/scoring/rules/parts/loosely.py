"""Options that a sentence means without saying all of their words: own words, a number without its unit, ``both``."""

import re
from itertools import pairwise

from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.mentions import Group, groups
from eyetest.scoring.rules.parts.naming import bare_marks
from eyetest.scoring.rules.parts.stance import stance_of
from eyetest.scoring.rules.parts.tokens import Token, stem, tokenise

Sentence = tuple[int, int]

_BEFORE_NUMBER = re.compile(
    r"(?:=|≈|→|⇒|:|\b(?:is|are|to|of|equals?|about|approximately|exactly|roughly|be|get|gives?|"
    r"yields?))\s{0,3}[$\"'(]?$"
)
_BEHIND_NUMBER = re.compile(r"[\"')]?\s{0,3}(?:[.,;!?)](?!\d)|$|\n|✓|✔|and\b|which\b|as\b|because\b)")
_QUANTIFIES = re.compile(
    r"(?:^|[,:.]|\b(?:so|thus|hence|therefore|that|conclusion))\s{0,3}(both|neither|none|all)\b", re.I
)
_LATTER = re.compile(r"\bthe (former|latter)\b", re.IGNORECASE)
_NO = re.compile(r"\b(no|not|without)\s$", re.IGNORECASE)
_SHORTEST = 3


def loose_group(case: Case, sentence: Sentence, named: list[Group], *, wholly: bool) -> Group | None:
    """The one option that a sentence takes loosely; ``wholly`` asks for all of its own words.

    What is ``named`` outright in the sentence was judged already.
    """
    return (
        _former_or_latter(case, sentence)
        or _number(case, sentence)
        or _own_words(case, sentence, named, wholly)
        or _quantified(case, sentence)
    )


def _number(case: Case, sentence: Sentence) -> Group | None:
    """``the percentage is 40`` where the options are percentages."""
    start, end = sentence
    if not case.offer.numbers:
        return None
    for token in reversed(tokenise(case.text, start, end)):
        place = case.offer.numbers.get(token.word)
        if (
            place is not None
            and _BEFORE_NUMBER.search(case.text, max(start, token.start - 20), token.start)
            and _BEHIND_NUMBER.match(case.text, token.end, end)
            and stance_of(case.text, sentence, token.start, token.end) == "taken"
        ):
            return Group((place,), token.start, token.end, "taken")
    return None


def _own_words(case: Case, sentence: Sentence, named: list[Group], wholly: bool) -> Group | None:
    """Words that only one option has: all of them, or most where the sentence concludes."""
    hits: dict[int, list[Token]] = {}
    judged = {place for group in named for place in group.places}
    for token in tokenise(case.text, *sentence):
        place = case.offer.own.get(stem(token.word))
        if place is not None and place not in judged and len(token.word) >= _SHORTEST and not token.word[0].isdigit():
            hits.setdefault(place, []).append(token)
    taken = [
        (place, found)
        for place, found in hits.items()
        if all(_says_so(case, sentence, token, place) for token in found)
    ]
    if len(taken) != 1:
        return None
    place, found = taken[0]
    own = case.offer.stems[place]
    said = len({stem(token.word) for token in found})
    if said < len(own) if wholly else 2 * said < len(own) and said < 3:
        return None
    if max(len(token.word) for token in found) <= _SHORTEST:
        return None
    return Group((place,), found[0].start, found[-1].end, "taken")


def _says_so(case: Case, sentence: Sentence, token: Token, place: int) -> bool:
    """Whether a word is taken, or negated just as the option itself negates it: ``as there are no feathers``."""
    if stance_of(case.text, sentence, token.start, token.end) == "taken":
        return True
    words = case.offer.words[place]
    negated = _NO.search(case.text, max(sentence[0], token.start - 6), token.start)
    return negated is not None and (negated[1].lower(), token.word) in pairwise(words)


def _quantified(case: Case, sentence: Sentence) -> Group | None:
    """``so both images show one`` where ``both`` is on offer."""
    found = _QUANTIFIES.search(case.text, *sentence)
    word = found[1].lower() if found else ""
    places = [place for place, words in enumerate(case.offer.words) if word and words[:1] == (word,)]
    return Group((places[0],), found.start(1), found.end(1), "taken") if found and len(places) == 1 else None


def _former_or_latter(case: Case, sentence: Sentence) -> Group | None:
    """``the former`` of two options that were named together shortly before."""
    found = _LATTER.search(case.text, *sentence)
    if not found:
        return None
    at = case.sentences.index(sentence)
    for start, end in reversed(case.sentences[max(0, at - 2) : at + 1]):
        stop = min(end, found.start())
        pairs = [mark.places for mark in bare_marks(case.text, start, stop, case.offer)]
        pairs += [group.places for group in groups(case.text, start, stop, case.offer)]
        for places in pairs:
            if len(places) == 2:
                return Group((places[found[1].lower() == "latter"],), found.start(), found.end(), "taken")
    return None
