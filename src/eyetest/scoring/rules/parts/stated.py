"""What one sentence commits to."""

from eyetest.scoring.rules.parts import gates
from eyetest.scoring.rules.parts.announced import announced
from eyetest.scoring.rules.parts.case import Case
from eyetest.scoring.rules.parts.closing import closing
from eyetest.scoring.rules.parts.hints import (
    after_colon,
    bare_sentence,
    concluding_mark,
    paired,
    told_briefly,
)
from eyetest.scoring.rules.parts.statement import Statement, better
from eyetest.scoring.rules.parts.undecided import left_open, otherwise
from eyetest.scoring.rules.parts.verdicts import judged


def statement(case: Case, start: int, end: int) -> Statement | None:
    """The last and firmest commitment of a sentence; weaker cues count only where firmer ones chose nothing."""
    if bare := bare_sentence(case, start, end):
        return bare
    if case.words(start, end).isdisjoint(gates.SPEAKS) and not case.promising(start, end):
        return None
    told = sorted(
        (found for found in (announced(case, start, end), judged(case, start, end)) if found),
        key=lambda found: found.content.start,
    )
    best: Statement | None = None
    for found in told:
        best = better(best, found)
    if best is None or best.drops:
        best = better(best, closing(case, start, end))
    for hint in (otherwise, concluding_mark, left_open, told_briefly):
        if best is None or best.drops:
            best = better(best, hint(case, start, end))
    for hint in (paired, after_colon):
        if best is None:
            best = hint(case, start, end)
    return best
