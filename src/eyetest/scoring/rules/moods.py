"""The mood of a part of a sentence: it supposes a condition that does not hold, or reports what others may say."""

import re
from typing import Literal, NamedTuple

from eyetest.scoring.rules.cues import ReplyView, sentence_start

Mood = Literal["supposes", "reports", "would be"]
_MOODS: tuple[Mood, ...] = ("reports", "supposes")
_TURN = re.compile(r"\b(?:but|however|since|so|therefore|here|yet|actually)\b|[;:]\s|(?<=\W[a-z])\.\s")
"""Words behind which a sentence says something of its own again."""


class Clause(NamedTuple):
    """The part of a sentence that names an option and says something of it."""

    start: int
    end: int


def find_mood(view: ReplyView, clause: Clause) -> Mood | None:
    """The mood of the sentence of a clause, unless the sentence turns before the clause; None where it asserts."""
    start = sentence_start(view.text, clause.start)
    for mood in _MOODS:
        for hit in view.cued.between(mood, start, clause.end):
            if not _TURN.search(view.cued.low, hit.start, clause.start):
                return mood
    return None
