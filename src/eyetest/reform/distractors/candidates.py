"""Distractors from candidates and other captions, sharing no content word with answers; yes-no: only the opposite."""

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from random import Random
from typing import Literal

from eyetest.reform.annotation import Annotation
from eyetest.reform.distractors.words import plain

Stance = Literal["yes", "no", "unsure", "number", "other"]
_POLAR = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|any|isn'?t|aren'?t|doesn'?t|don'?t)\b"
)
_YES = re.compile(r"(?:yes|yeah|yep|yup|sure|correct|definitely|probably|i think so|i believe so|seems? like it)\b")
_NO = re.compile(r"\b(?:no|nope|none|not|never|nothing|neither|nobody|\w+n't|dont|doesnt|isnt|arent|cant)\b")
_UNSURE = re.compile(
    r"(?:can(?:'|no)?t|couldn'?t|not) (?:really )?(?:tell|see|sure|know|say)|don'?t know|unsure|maybe|possibly"
    r"|hard to (?:tell|say)|kind of|sort of|could be|guess"
)
_NUMBER = re.compile(
    r"\b(?:\d+|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|many|few|lots|couple|dozen)\b"
)
_SAYS_NOTHING = re.compile(
    r"an?|the|is|are|its?|it's|i|i'm|think|see|there|this|that|they|he|she|his|her|be|of|in|on|at|to|and|or|with|as|"
    r"looks?|like|appears?|seems?|some|yes|no|not|just|only|very|could|would|can|from|what|you"
)
_FIRST_WORDS = 5


def is_polar(question: str) -> bool:
    """Whether a question asks for yes or no."""
    return _POLAR.match(question.casefold().strip()) is not None and " or " not in question.casefold()


def stance(answer: str) -> Stance:
    """Kind of answer of a text, by its first words."""
    text = answer.casefold().strip()
    if not text or _UNSURE.search(text):
        return "unsure"
    if _YES.match(text):
        return "yes"
    if _NO.search(" ".join(text.split()[:_FIRST_WORDS])):
        return "no"
    return "number" if _NUMBER.search(text) else "other"


def from_candidates(
    question: str, right: Sequence[str], candidates: Sequence[str], count: int, chance: random.Random
) -> list[str]:
    """The gold, then up to so many candidates that contradict every right answer; none where that is undecidable."""
    kind = stance(right[0])
    if kind == "unsure":
        return []
    if is_polar(question):
        opposite = {"yes": "no", "no": "yes"}.get(kind)
        if opposite in {stance(answer) for answer in right}:
            return []
        contrary = [text for text in dict.fromkeys(candidates) if stance(text) == opposite]
        return sorted(contrary, key=lambda text: (len(text.split()), text))[:1]
    if kind in ("yes", "no"):
        return []
    taken = {word for answer in right for word in _telling(answer)}
    wrong = [text for text in dict.fromkeys(candidates) if stance(text) == kind and not taken & _telling(text)]
    chance.shuffle(wrong)
    chosen: list[str] = []
    for text in wrong:
        if len(chosen) < count and all(plain(text) != plain(other) for other in (*right, *chosen)):
            chosen.append(text)
    return chosen


def _telling(text: str) -> set[str]:
    """Content words, without a plural's s."""
    words = re.findall(r"[\w']+", text.casefold())
    return {word.removesuffix("s") for word in words if not _SAYS_NOTHING.fullmatch(word)}


_TRIES = 200
_SHORTEST = 3  # shorter words (a, of, on …) say nothing of what is seen
_COMMON = frozenset(
    ("with", "and", "the", "are", "that", "this", "its", "his", "her", "their", "from", "into", "there")
)


class CaptionPool:
    """Captions of other images that share no content word with those of an image, nor with each other."""

    def __init__(self, records: Iterable[Annotation]) -> None:
        self._captions = [(record.id, caption) for record in records for caption in record.captions]

    def draw(self, record: Annotation, count: int, chance: Random) -> list[str]:
        """At most so many captions of other images."""
        taken = frozenset().union(*map(content, record.captions))
        drawn: list[str] = []
        for caption in self._candidates(record, count * _TRIES, chance):
            words = content(caption)
            if words and words.isdisjoint(taken):
                taken |= words
                drawn.append(caption)
            if len(drawn) == count:
                break
        return drawn

    def _candidates(self, record: Annotation, most: int, chance: Random) -> Iterator[str]:
        for _ in range(most):
            key, caption = chance.choice(self._captions)
            if key != record.id:
                yield caption


@lru_cache(maxsize=100_000)
def content(text: str) -> frozenset[str]:
    """Words of a text that describe visible content."""
    return frozenset(word for word in plain(text).split() if len(word) >= _SHORTEST or word.isdigit()) - _COMMON
