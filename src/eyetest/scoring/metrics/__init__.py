"""Metrics of answers against references, alone or in a corpus; a module here adds those in its ``METRICS``."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import msgspec

from eyetest.registry import Registry


class Context(msgspec.Struct, frozen=True):
    """Context of a metric besides the texts: the question, and the item's tags (unit, precision …)."""

    question: str = ""
    tags: Mapping[str, Any] = {}


class CorpusScore(msgspec.Struct, frozen=True):
    """One score for all answers together, and one for each; None where there was nothing to compare with."""

    overall: float | None
    items: tuple[float | None, ...]


@runtime_checkable
class ItemMetric(Protocol):
    """Scores one answer. None: the item has no reference that this metric could use."""

    name: str
    summary: str

    def score(self, answer: str, references: Sequence[str], context: Context) -> float | None:
        """Score an answer."""


@runtime_checkable
class CorpusMetric(Protocol):
    """Scores all answers at once."""

    name: str
    summary: str

    def score_all(self, answers: Sequence[str], references: Sequence[Sequence[str]]) -> CorpusScore:
        """Score the answers, together and each."""


Metric = ItemMetric | CorpusMetric
Compare = Callable[[str, str, Context], float | None]


@dataclass
class BestReference:
    """A metric that compares the answer with each reference it can use (None: it cannot) and keeps the best."""

    name: str
    summary: str
    compare: Compare

    def score(self, answer: str, references: Sequence[str], context: Context) -> float | None:
        """The best score over the references; None without any."""
        best: float | None = None
        for reference in references:
            value = self.compare(answer, reference, context)
            if value is not None and (best is None or value > best):
                best = value
            if best is not None and best >= 1.0:
                break
        return best


METRICS: Registry[Metric] = Registry("metric", __name__, "METRICS", "metric")
