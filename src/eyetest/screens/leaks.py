"""Items that leaked with their pictures: a model answers them blind although its own language model does not."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from eyetest.errors import InputError
from eyetest.records import Stage, StoppingRule, Verdict
from eyetest.screens.base import Case
from eyetest.screens.counting import threshold
from eyetest.screens.evidence import kinds, summary
from eyetest.wording import counted


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


SCREENS = (LeakHits(),)
