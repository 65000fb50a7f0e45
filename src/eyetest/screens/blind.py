"""Items that can be answered without looking: MMStar's, MMMU-Pro's and LIME's way to find them."""

from collections.abc import Iterator
from typing import ClassVar

from eyetest.records import Stage, StoppingRule, Verdict
from eyetest.screens.base import Case
from eyetest.screens.counting import Count, count, refuse_settled, stopping_rule, threshold


class BlindHits:
    """Inspectors answer the text alone, once each; an item that too many of them answer goes."""

    name = "blind-hits"
    summary = "drop items that too many inspectors answer without the picture (MMStar)"
    uses: ClassVar[frozenset[str]] = frozenset({"keep", "right", "min_answers"})
    what = "answer it blind"

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule:
        """Hits are settled once no missing answer can carry them over the cut."""
        rule = stopping_rule(stage, threshold(stage, seats, size), seats, tests)
        refuse_settled(stage, rule)
        return rule

    def judge(self, case: Case) -> Iterator[Verdict]:
        """Count the inspectors that answer each item."""
        stage, seats = case.stage, [seat.model for seat in case.seats]
        rule = self.rule(stage, len(seats), case.size, case.evidence.tests)
        for item in case.items:
            found = count(stage, rule, case.evidence.of(item.id), seats, stage.full_counts)
            yield self._verdict(case, item.id, found)

    def _verdict(self, case: Case, item: str, found: Count) -> Verdict:
        counts = {"n": found.n, "hits": found.hits, "responses": found.responses, "evidence": found.evidence}
        if found.holds is None:
            return case.verdict(item, "review", found.incomplete, **counts)
        told = f"{found.hits} of {len(case.seats)} inspectors {self.what}"
        settled = "" if case.stage.full_counts else " (settled)" if found.n < self._all(case) else ""
        return case.verdict(item, "keep" if found.holds else "drop", told + settled, **counts)

    def _all(self, case: Case) -> int:
        return len(case.seats) * case.evidence.tests


class BlindMajority(BlindHits):
    """Inspectors are asked several times; one answers an item if enough of its trials are right."""

    name = "blind-majority"
    summary = "drop items that enough inspectors answer blind in most of their trials (MMMU-Pro)"
    uses: ClassVar[frozenset[str]] = frozenset({"keep", "right", "answers", "min_answers"})
    what = "answer it blind in enough trials"


class BlindCount(BlindHits):
    """LIME's check, which its paper gives no count for: the recipe states one, by default half of the panel."""

    name = "blind-count"
    summary = "drop items that a stated share of text models answers (LIME)"


SCREENS = (BlindHits(), BlindMajority(), BlindCount())
