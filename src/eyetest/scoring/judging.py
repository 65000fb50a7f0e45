"""Whether an answer is right: the one question that screens and stopping rules ask."""

from functools import lru_cache

from eyetest.records import Condition, Item, Response
from eyetest.scoring.scorer import Said, Scorer

LEAST = 0.5
"""From which score on an answer that is worth something between 0 and 1 counts as right."""
_DECLINING = ("i can't", "i cannot", "i'm sorry", "i am sorry", "i'm unable", "i am unable", "as an ai", "cannot see")


def is_hit(item: Item, condition: Condition, response: Response) -> bool | None:
    """Whether a response is right. None where there is no answer to judge: the call failed, or nothing is known."""
    score = _scorer().score(item, condition, Said.by(response)).score
    return None if score is None else score >= LEAST


@lru_cache(maxsize=1)
def _scorer() -> Scorer:
    return Scorer()


def looks_refused(text: str) -> bool:
    """Whether a reply seems to decline; a quick look for a display, not a reading."""
    head = text[:200].lower()
    return any(words in head for words in _DECLINING)
