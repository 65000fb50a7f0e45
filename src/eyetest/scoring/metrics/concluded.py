"""Metrics that compare a short answer with short references, word for word: they score what a reply concludes with.

A direct reply is compared as it is, so that published scores come out. Of a longer reply (more than 100 characters,
or several lines) or one that announces its answer (``answer is``, ``<answer>``, a box), the best score of these texts
counts: the whole reply, what it states or ends with (`final_answers`), and the reference that it concludes with by
the rules for open answers (`open_answer`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from eyetest.records.tables import LONGEST_DIRECT
from eyetest.scoring.metrics import BestReference, Context, ItemMetric
from eyetest.scoring.metrics.number import announcement, final_answers
from eyetest.scoring.metrics.open_answer import open_answer
from eyetest.scoring.metrics.same_text import VqaMatch, anls, exact, relaxed
from eyetest.scoring.rules.cleaning import reply_proper
from eyetest.text.numbers import READ


def is_direct(answer: str) -> bool:
    """Whether a reply is an answer and nothing else: short, on one line, and not announced as the answer."""
    text = answer.strip()
    return len(text) <= LONGEST_DIRECT and "\n" not in text and announcement(text) is None


@dataclass(frozen=True)
class Concluded:
    """A metric of short answers that is given what a reply concludes with."""

    metric: ItemMetric

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self.metric.name

    @property
    def summary(self) -> str:
        """The summary of the metric."""
        return self.metric.summary

    def score(self, answer: str, references: Sequence[str], context: Context) -> float | None:
        """The best score of the texts that a reply may mean; None without references."""
        best = self.metric.score(answer, references, context)
        if best is None or best >= 1 or is_direct(answer):
            return best
        reply = reply_proper(answer)
        for text in final_answers(reply[-READ:]):
            best = max(best, self.metric.score(text, references, context) or 0.0)
        if best < 1 and len(reply.strip()) > LONGEST_DIRECT:
            best = max(best, self._score_by_conclusion(reply, references, context))
        return best

    def _score_by_conclusion(self, reply: str, references: Sequence[str], context: Context) -> float:
        """The score of the reference that a reply concludes with, of several the longest; 0 where it is none."""
        different = sorted(dict.fromkeys(references), key=len, reverse=True)
        reference = next((text for text in different if open_answer(reply, text, context)), None)
        return 0.0 if reference is None else self.metric.score(reference, references, context) or 0.0


METRICS = (
    Concluded(BestReference("exact", "the same text but for case, spaces and outer punctuation", exact)),
    Concluded(
        BestReference("anls", "edit similarity, 0 where half or more differs (InfoVQA; LIME has no cut)", anls)
    ),
    Concluded(VqaMatch()),
    Concluded(BestReference("relaxed", "numbers within 5 %, years and words exactly (ChartQA)", relaxed)),
)
