"""Whether an answer is right: the one question that screens and stopping rules ask."""

from eyetest.records import Condition, Item, Response, shown_order
from eyetest.scoring.metrics import Context, item_metric
from eyetest.scoring.rules import read_choice

_LEAST = 0.5
"""From which score on an answer that is worth something between 0 and 1 counts as right."""


def is_hit(item: Item, condition: Condition, response: Response) -> bool | None:
    """Whether a response is right. None where there is no answer to judge: the call failed, or nothing is known.

    An answer that cannot be read, a refusal and a blocked question are answers, and not right.
    """
    if response.given is not None:
        return response.given >= _LEAST
    if response.outcome == "failed" or (response.text is None and not response.candidates):
        return None
    if response.candidates:
        best = max(range(len(response.candidates)), key=response.candidates.__getitem__)
        return best in item.gold
    text = response.text or ""
    if not item.choices:
        score = item_metric("open").score(text, item.references, Context(item.question, item.tags))
        return score is not None and score >= _LEAST
    order = shown_order(item, condition)
    reading = read_choice(text, tuple(item.choices[place].text for place in order), marks=condition.marks)
    return reading.index is not None and order[reading.index] in item.gold


def looks_refused(text: str) -> bool:
    """Whether a reply seems to decline; a quick look for a display, not a reading."""
    head = text[:200].lower()
    return any(words in head for words in _DECLINING)


_DECLINING = ("i can't", "i cannot", "i'm sorry", "i am sorry", "i'm unable", "i am unable", "as an ai", "cannot see")
