"""Read an answer as yes, no or neither."""

import re
from collections.abc import Sequence
from typing import Literal

from eyetest.scoring.metrics.base import Context
from eyetest.text import composed

_READ = 4_000
_SAID: dict[str, Literal["yes", "no"]] = {"yes": "yes", "no": "no", "true": "yes", "false": "no"}
_VERDICT = r"(yes|no|true|false)"
_MARKS = r"[\s*_\"'`“‘({\[<>:=-]"
_CONCLUDED = re.compile(rf"(?:\banswer\b(?: is| would be| should be)?|\\boxed|<answer>){_MARKS}{{0,12}}{_VERDICT}\b")
_OPENING = re.compile(rf"{_MARKS}{{0,12}}{_VERDICT}\b(?! (?:idea|clue|way to|information|one|matter)\b)")
_ANYWHERE = re.compile(rf"\b{_VERDICT}\b(?! (?:idea|clue|way to|information|one|matter)\b)")
_NO_IDEA = re.compile(r"\b(?:yes or no|yes/no|true or false|true/false)\b")


def read_yes_no(text: str) -> Literal["yes", "no"] | None:
    """The last verdict that is announced, else the first word, else the only verdict anywhere; None for neither."""
    if len(text) > 2 * _READ:
        text = f"{text[:_READ]} {text[-_READ:]}"
    said = _NO_IDEA.sub(" ", composed(text).casefold())
    if concluded := _CONCLUDED.findall(said):
        return _SAID[concluded[-1]]
    if opening := _OPENING.match(said):
        return _SAID[opening[1]]
    verdicts = {_SAID[word] for word in _ANYWHERE.findall(said)}
    return verdicts.pop() if len(verdicts) == 1 else None


class YesNo:
    """Whether answer and reference agree; None where no reference is yes or no."""

    name = "yes-no"
    summary = "the same verdict, yes or no (POPE, MME)"

    def score(self, answer: str, references: Sequence[str], context: Context) -> float | None:
        """1 for the same verdict."""
        golds = {gold for gold in map(read_yes_no, references) if gold}
        return float(read_yes_no(answer) in golds) if golds else None


METRICS = (YesNo(),)
