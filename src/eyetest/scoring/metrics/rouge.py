"""ROUGE-L: the longest run of words, gaps allowed, that answer and reference share in order."""

from collections.abc import Sequence

from rapidfuzz.distance import LCSseq

from eyetest.scoring.metrics.support.captions import CaptionMetric, Computed
from eyetest.scoring.metrics.support.ngrams import Tokens

_BETA2 = 1.2**2
_WORDS = 20_000
"""Only the first so many words of a text are aligned, since aligning takes time by the product of the lengths."""


def _score(answer: Tokens, references: Sequence[Tokens]) -> float:
    """F over the best precision and the best recall, which may come from different references.

    Recall weighs more (β = 1.2). An empty text counts as one empty word, as in the reference package (PyPI
    pycocoevalcap): two empty texts give 1.
    """
    said = list(answer[:_WORDS]) or [""]
    golds = [list(reference[:_WORDS]) or [""] for reference in references]
    shared = [LCSseq.similarity(said, gold) for gold in golds]
    precision = max(shared) / len(said)
    recall = max(count / len(gold) for count, gold in zip(shared, golds, strict=True))
    return (1 + _BETA2) * precision * recall / (recall + _BETA2 * precision) if precision and recall else 0.0


def rouge_l(answers: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> Computed:
    """The mean over items, and each item."""
    each = [_score(answer, golds) for answer, golds in zip(answers, references, strict=True)]
    return sum(each) / len(each), each


METRICS = (CaptionMetric("rouge-l", "longest common run of words, in order", rouge_l),)
