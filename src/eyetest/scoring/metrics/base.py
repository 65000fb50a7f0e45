"""What a metric is: an answer text goes in with the reference texts, a number from 0 up comes out.

Some metrics judge an item by itself (``score``), some only a whole corpus at once (``score_all``), since
the weight of a word or the length of all answers together enters every item's score.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import msgspec

from eyetest.errors import InputError


class Context(msgspec.Struct, frozen=True):
    """What a metric may know besides the texts: the question, and the item's tags (unit, precision …)."""

    question: str = ""
    tags: Mapping[str, Any] = {}


class CorpusScore(msgspec.Struct, frozen=True):
    """One score for all answers together, and one for each; None where there was nothing to compare with."""

    overall: float | None
    items: tuple[float | None, ...]


@runtime_checkable
class ItemMetric(Protocol):
    """Judges one answer. None means that the item has no reference this metric could use."""

    name: str
    summary: str

    def score(self, answer: str, references: Sequence[str], context: Context) -> float | None:
        """How much the answer is worth."""


@runtime_checkable
class CorpusMetric(Protocol):
    """Judges all answers at once."""

    name: str
    summary: str

    def score_all(self, answers: Sequence[str], references: Sequence[Sequence[str]]) -> CorpusScore:
        """How much the answers are worth, together and each."""


Metric = ItemMetric | CorpusMetric
Compare = Callable[[str, str, Context], float]


@dataclass
class BestReference:
    """A metric that compares the answer with each reference and keeps the best: the plain case in one line."""

    name: str
    summary: str
    compare: Compare

    def score(self, answer: str, references: Sequence[str], context: Context) -> float | None:
        """The best score over the references; None without any."""
        best: float | None = None
        for reference in references:
            value = self.compare(answer, reference, context)
            best = value if best is None else max(best, value)
            if best >= 1.0:
                break
        return best


def mean(scores: Sequence[float | None]) -> float | None:
    """The mean of the scores there are."""
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else None


def check_pairs(answers: Sequence[object], references: Sequence[object]) -> None:
    """Refuse lists that do not belong together: a silent zip would score the wrong pairs."""
    if len(answers) != len(references):
        raise InputError(f"{len(answers)} answers but {len(references)} lists of references: one list an answer")
