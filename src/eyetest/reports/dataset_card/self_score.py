"""How far a benchmark keeps to good practice, scored only where that can be known.

A practice is decided by a person's word in ``card.yaml``, by a check, by what the card says, or not at all: then the
card asks, and the score leaves it out.
"""

from typing import NamedTuple

from eyetest.reports.dataset_card.checks import CHECKS
from eyetest.reports.dataset_card.known import Known
from eyetest.reports.dataset_card.practices import Answer, Practice, practices


class Kept(NamedTuple):
    """Whether a practice is kept, and how one knows."""

    practice: Practice
    answer: Answer
    why: str = ""


class SelfScore(NamedTuple):
    """All practices, by the stage of life."""

    stages: dict[str, list[Kept]]

    def count(self, *answers: Answer) -> int:
        """How many practices have one of these answers."""
        return sum(kept.answer in answers for stage in self.stages.values() for kept in stage)


def self_score(known: Known) -> SelfScore:
    """Every practice with its answer."""
    return SelfScore({stage: [_kept(one, known) for one in some] for stage, some in practices().items()})


def _kept(practice: Practice, known: Known) -> Kept:
    if practice.name in known.said.practices:
        return Kept(practice, "yes" if known.said.practices[practice.name] else "no", "a person says so")
    if practice.check:
        return Kept(practice, *CHECKS[practice.check](known))
    if practice.said and getattr(known.said, practice.said):
        return Kept(practice, "yes", "said on this card")
    return Kept(practice, practice.absent, "not on this card" if practice.said else "")
