"""Yes, no or neither: reading such answers, and what a table of them says."""

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from eyetest.scoring.metrics.base import Context, check_pairs
from eyetest.scoring.metrics.support.texts import composed

_READ = 4_000
"""Characters read at either end of an answer: a verdict stands at the start or at the end."""
_SAID: dict[str, Literal["yes", "no"]] = {"yes": "yes", "no": "no", "true": "yes", "false": "no"}
_VERDICT = r"(yes|no|true|false)"
_MARKS = r"[\s*_\"'`“‘({\[<>:=-]"
_CONCLUDED = re.compile(rf"(?:\banswer\b(?: is| would be| should be)?|\\boxed|<answer>){_MARKS}{{0,12}}{_VERDICT}\b")
_OPENING = re.compile(rf"{_MARKS}{{0,12}}{_VERDICT}\b(?! (?:idea|clue|way to|information|one|matter)\b)")
_ANYWHERE = re.compile(rf"\b{_VERDICT}\b(?! (?:idea|clue|way to|information|one|matter)\b)")
_NO_IDEA = re.compile(r"\b(?:yes or no|yes/no|true or false|true/false)\b")


def read_yes_no(text: str) -> Literal["yes", "no"] | None:
    r"""What an answer says; None where it says neither or both.

    In this order: the last ``answer is yes`` (``answer: no``, ``\boxed{yes}``, ``<answer>no``); the first
    word; the one verdict that occurs anywhere. ``True`` and ``false`` are yes and no. ``There is no dog``
    is a no, ``I have no idea`` and ``yes or no`` are neither. A statement without any of these words
    (``There is a dog``) is not guessed at.
    """
    if len(text) > 2 * _READ:
        text = f"{text[:_READ]} {text[-_READ:]}"
    said = _NO_IDEA.sub(" ", composed(text).casefold())
    if concluded := _CONCLUDED.findall(said):
        return _SAID[concluded[-1]]
    if opening := _OPENING.match(said):
        return _SAID[opening[1]]
    verdicts = {_SAID[word] for word in _ANYWHERE.findall(said)}
    return verdicts.pop() if len(verdicts) == 1 else None


class YesNoTable(msgspec.Struct, frozen=True):
    """Counts and rates of answers to yes/no questions; ``yes`` is what precision and recall look for.

    An answer that says neither is wrong, is no yes and is counted in ``unread``. A rate is None where there
    is nothing to divide by: precision without any yes among the answers, recall without any among the golds,
    F1 without either.
    """

    count: int
    unread: int
    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    yes_ratio: float | None
    """The share of yes among the answers: 1 for a model that always agrees."""


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def tabulate_yes_no(answers: Sequence[str], golds: Sequence[str]) -> YesNoTable:
    """Read answers and golds and count; pairs whose gold says neither are left out."""
    check_pairs(answers, golds)
    read = [(read_yes_no(answer), read_yes_no(gold)) for answer, gold in zip(answers, golds, strict=True)]
    pairs = [(said, true) for said, true in read if true]
    hits = sum(said == true == "yes" for said, true in pairs)
    said_yes = sum(said == "yes" for said, _ in pairs)
    precision = _ratio(hits, said_yes)
    recall = _ratio(hits, sum(true == "yes" for _, true in pairs))
    f1 = None
    if precision is not None and recall is not None:
        f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return YesNoTable(
        count=len(pairs),
        unread=sum(said is None for said, _ in pairs),
        accuracy=_ratio(sum(said == true for said, true in pairs), len(pairs)),
        precision=precision,
        recall=recall,
        f1=f1,
        yes_ratio=_ratio(said_yes, len(pairs)),
    )


class YesNo:
    """Whether the answer says what the reference says; None where no reference says yes or no."""

    name = "yes-no"
    summary = "the same verdict, yes or no (POPE, MME); tabulate_yes_no gives precision, recall, F1"

    def score(self, answer: str, references: Sequence[str], context: Context) -> float | None:
        """1 for the same verdict."""
        golds = {gold for gold in map(read_yes_no, references) if gold}
        return float(read_yes_no(answer) in golds) if golds else None


METRICS = (YesNo(),)
