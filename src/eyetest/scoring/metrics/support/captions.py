"""The common frame of caption metrics: texts become tokens, items without references are left out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eyetest.scoring.metrics.base import CorpusScore, check_pairs
from eyetest.scoring.metrics.support.ngrams import Tokens
from eyetest.scoring.metrics.support.tokens import caption_tokens

Computed = tuple[float, Sequence[float]]
"""The score of the corpus and of each item."""
Compute = Callable[[Sequence[Tokens], Sequence[Sequence[Tokens]]], Computed]


@dataclass
class CaptionMetric:
    """A corpus metric over tokens. An item without references scores None and enters nothing."""

    name: str
    summary: str
    compute: Compute

    def score_all(self, answers: Sequence[str], references: Sequence[Sequence[str]]) -> CorpusScore:
        """Score texts, split into tokens as ``caption_tokens`` does."""
        check_pairs(answers, references)
        tokens = [[caption_tokens(text) for text in texts] for texts in references]
        return self.score_tokens([caption_tokens(answer) for answer in answers], tokens)

    def score_tokens(self, answers: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> CorpusScore:
        """Score texts that somebody else has split, so that two tools can be compared on the same tokens."""
        check_pairs(answers, references)
        usable = [place for place, texts in enumerate(references) if texts]
        items: list[float | None] = [None] * len(answers)
        if not usable:
            return CorpusScore(None, tuple(items))
        overall, scores = self.compute([answers[i] for i in usable], [references[i] for i in usable])
        for place, score in zip(usable, scores, strict=True):
            items[place] = float(score)
        return CorpusScore(float(overall), tuple(items))
