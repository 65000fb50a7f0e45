"""Distractors out of candidate answers that a dataset offers, of which many may be right as well.

People answer "yes", "yeah" and "it is" to the same question. So a question that asks for yes or no gets one
distractor, the opposite; any other gets candidates that share no telling word with a right answer.
"""

import random
import re
from collections.abc import Sequence
from typing import Literal

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
    """What kind of answer a text is, told by its first words."""
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
    """Up to so many candidates that contradict every right answer, the gold first; none where that cannot be told."""
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
    """The words that say something, without their plural's s."""
    words = re.findall(r"[\w']+", text.casefold())
    return {word.removesuffix("s") for word in words if not _SAYS_NOTHING.fullmatch(word)}
