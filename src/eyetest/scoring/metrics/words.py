"""Gold words and phrases found in the output: what reading signs and forms is judged by.

A word is what stands between blanks, in lower case, without anything that is neither letter nor digit.
A gold that has no word in this sense (``☑``) cannot be found or missed: its score is None.
"""

import re
from collections.abc import Sequence

from eyetest.scoring.metrics.base import Context, CorpusScore, check_pairs
from eyetest.scoring.metrics.support.texts import bare_words, holds_phrase

_LONG_PHRASE = 1_000
"""A longer gold is looked for without regard to word edges, which a pattern would try at every word."""


class WordAccuracy:
    """The share of gold words that stand whole in the output, in any order.

    Over a corpus the words are pooled, as ReForm-Eval does: an item with ten gold words weighs ten times as
    much as one with a single word. With several references the best one counts.
    """

    name = "words"
    summary = "share of gold words found whole in the output"

    def _count(self, answer: str, references: Sequence[str]) -> tuple[int, int]:
        said = set(bare_words(answer))
        counts = [(sum(word in said for word in gold), len(gold)) for gold in map(bare_words, references) if gold]
        return max(counts, key=lambda count: count[0] / count[1], default=(0, 0))

    def score(self, answer: str, references: Sequence[str], context: Context) -> float | None:
        """The share found in one answer."""
        matched, words = self._count(answer, references)
        return matched / words if words else None

    def score_all(self, answers: Sequence[str], references: Sequence[Sequence[str]]) -> CorpusScore:
        """The share found in all answers together, and in each."""
        check_pairs(answers, references)
        counts = [self._count(*pair) for pair in zip(answers, references, strict=True)]
        total = sum(words for _, words in counts)
        items = tuple(matched / words if words else None for matched, words in counts)
        return CorpusScore(sum(matched for matched, _ in counts) / total if total else None, items)


class PhraseAccuracy:
    """Whether a whole gold phrase stands in the output, word for word."""

    name = "phrase"
    summary = "whether the whole gold phrase stands in the output"

    def score(self, answer: str, references: Sequence[str], context: Context) -> float | None:
        """1 where any reference is found; None where no reference has a word."""
        phrases = [phrase for phrase in map(bare_words, references) if phrase]
        said = bare_words(answer)
        return float(any(holds_phrase(said, phrase) for phrase in phrases)) if phrases else None


class ReformPhrase:
    """The phrase rule of ReForm-Eval's OCR scorer, for comparison with published scores.

    It keeps only ASCII letters, digits and white space. A single gold sign such as ``☑`` becomes nothing,
    and nothing is found in any output that has a word; white space left over must be found as it is.
    """

    name = "phrase-reform"
    summary = "phrase accuracy as ReForm-Eval counts it: a gold without letters is found in any words"

    @staticmethod
    def _kept(text: str) -> str:
        return "".join(char for char in text.lower() if (char.isascii() and char.isalnum()) or char.isspace())

    @staticmethod
    def _occurs(phrase: str, said: str) -> bool:
        if len(phrase) > _LONG_PHRASE:
            return phrase in said
        return re.search(rf"\b{re.escape(phrase)}\b", said, re.ASCII) is not None

    def score(self, answer: str, references: Sequence[str], context: Context) -> float | None:
        """1 where any reference is found."""
        said = self._kept(answer)
        return float(any(self._occurs(self._kept(text), said) for text in references)) if references else None


METRICS = (WordAccuracy(), PhraseAccuracy(), ReformPhrase())
