"""Items that can be answered without looking (MMStar, MMMU-Pro, LIME), and items that leaked with their pictures."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from eyetest.errors import InputError
from eyetest.records import Stage, StoppingRule, Verdict
from eyetest.screens.base import Case, kinds, summary
from eyetest.screens.counting import Count, count, refuse_settled, stopping_rule, threshold
from eyetest.wording import counted


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


class LeakHits:
    """The panel holds models and the language models they were built on; each such pair can hit an item."""

    name = "leak-hits"
    summary = "drop items that models answer blind although their language models do not (MMStar)"
    uses: ClassVar[frozenset[str]] = frozenset({"keep", "right", "min_answers", "then"})

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """A pair needs both its answers."""
        threshold(stage, seats, size)
        return None

    def judge(self, case: Case) -> Iterator[Verdict]:
        """Count the pairs that hit each item."""
        stage = case.stage
        places = {seat.model: place for place, seat in enumerate(case.seats)}
        pairs = [(places[seat.model], places[seat.base]) for seat in case.seats if seat.base in places]
        if not pairs:
            raise InputError(f"the stage {stage.title}: no model of the panel sits beside its language model (base)")
        cut = threshold(stage, len(pairs), len(pairs))
        for item in case.items:
            heard = [[said for said in row if said is not None] for row in case.evidence.of(item.id)]
            right = [[hit for said in row if (hit := said.is_right(stage.right)) is not None] for row in heard]
            known = [(_mostly(right[a]), _mostly(right[b])) for a, b in pairs if right[a] and right[b]]
            hits = sum(seeing and not text for seeing, text in known)
            said_all = [said for row in heard for said in row]
            of_seats = [sum(row) for row in right], [len(row) for row in right]
            told = {
                "n": len(known),
                "hits": hits,
                "responses": tuple(said.request for said in said_all),
                "evidence": summary(case.evidence.seats, *of_seats, not_plain=kinds(iter(said_all))),
            }
            if len(known) < (stage.min_answers or len(pairs)):
                yield case.verdict(item.id, "review", f"{counted(len(pairs) - len(known), 'pair')} missing", **told)
            else:
                verdict = "keep" if cut.holds(hits) else stage.then or "drop"
                yield case.verdict(item.id, verdict, f"leaked to {hits} of {counted(len(pairs), 'pair')}", **told)


def _mostly(right: Sequence[bool]) -> bool:
    """Whether more than half of a seat's answers are right."""
    return sum(right) * 2 > len(right)


SCREENS = (BlindHits(), BlindMajority(), BlindCount(), LeakHits())
