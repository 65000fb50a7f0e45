"""Captions of other pictures that are not true of this one as well."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from random import Random

from eyetest.reform.annotation import Annotation
from eyetest.reform.distractors.words import plain

_TRIES = 200
_SHORTEST = 3
"""Shorter words (a, of, on …) say nothing of what is seen."""
_COMMON = frozenset(
    ("with", "and", "the", "are", "that", "this", "its", "his", "her", "their", "from", "into", "there")
)


class CaptionPool:
    """All captions of a dataset, to draw those of other pictures from.

    What is drawn shares no word that says something with any caption of this picture, nor with what else is drawn. So
    it is hardly true of this picture, and the right option is no less, and no more, like the others than they are.
    """

    def __init__(self, records: Iterable[Annotation]) -> None:
        self._captions = [(record.id, caption) for record in records for caption in record.captions]

    def draw(self, record: Annotation, count: int, chance: Random) -> list[str]:
        """At most so many captions of other pictures."""
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
    """The words of a text that say what is to be seen."""
    return frozenset(word for word in plain(text).split() if len(word) >= _SHORTEST or word.isdigit()) - _COMMON
