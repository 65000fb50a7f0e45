"""Answers that come back from item to item, such as yes and no: of them models have habits that can be learnt."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_RECURS = 30
"""A set of options that so many items share tells how readily models give each of them."""
_FEW_OPTIONS, _SHORT = 5, 100
"""Such sets have at most so many options, and characters in all."""


def recurring(answers: Iterable[Sequence[str]]) -> NDArray[np.int64]:
    """Which options are answers that come back from item to item: a number for each of them, 0 for all others.

    ``answers``: the texts of each item's options. Sets of options recur whole, in any order: yes and no, but not a
    "yes" among other things.
    """
    texts = [short_texts(own) for own in answers]
    sets = [tuple(sorted(own)) for own in texts]
    often = {own for own, count in Counter(sets).items() if count >= _RECURS and len(set(own)) == len(own)}
    members = [(own, text) for own in sorted(often) for text in own]
    names = {member: number for number, member in enumerate(members, start=1)}
    kinds = np.zeros((len(texts), max(map(len, texts), default=1)), np.int64)
    for row, (own, together) in enumerate(zip(texts, sets, strict=True)):
        kinds[row, : len(own)] = [names.get((together, text), 0) for text in own]
    return kinds


def short_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Options as far as it matters for being the same answers; none where they are too many or long to recur."""
    if len(texts) > _FEW_OPTIONS or sum(map(len, texts)) > _SHORT:
        return ()
    return tuple(" ".join(text.casefold().split()).strip(" .") for text in texts)
