"""How hard an item is: bands of how many of a panel answer it, with the picture."""

from collections.abc import Iterator
from typing import ClassVar

from eyetest.errors import InputError
from eyetest.records import Cut, Stage, StoppingRule, Verdict, VerdictKind
from eyetest.screens.base import Case
from eyetest.screens.counting import count, stopping_rule
from eyetest.wording import counted

BAND = "band"
"""What evidence calls the band of an item; it becomes its tag of that stage's name."""


class Difficulty:
    """A band for each item by the number of seats that answer it; items of some bands may go."""

    name = "difficulty"
    summary = "sort items into bands by how many of the panel answer them; drop some bands (MMStar, LIME)"
    uses: ClassVar[frozenset[str]] = frozenset({"bands", "drop", "right", "answers", "min_answers"})

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """Bands need the whole count."""
        _check(stage, size)
        return None

    def judge(self, case: Case) -> Iterator[Verdict]:
        """Count, and look the count up."""
        stage, seats = case.stage, [seat.model for seat in case.seats]
        rule = stopping_rule(stage, Cut(op=">=", value=0), len(seats), case.evidence.tests)
        for item in case.items:
            answers = case.evidence.of(item.id)
            found = count(stage, rule, answers, seats, full=True)
            told = {"n": found.n, "hits": found.hits, "responses": found.responses, "evidence": found.evidence}
            missing = sum(map(len, answers)) - found.n
            if missing and found.n < (stage.min_answers or found.n + missing):
                yield case.verdict(item.id, "review", f"{counted(missing, 'answer')} missing: no band", **told)
                continue
            band = band_of(stage, found.hits, len(seats), case.size)
            reason = f"{band}: {found.hits} of {len(seats)} answer it"
            verdict: VerdictKind = "drop" if band in stage.drop else "keep"
            yield case.verdict(item.id, verdict, reason, **told | {"evidence": found.evidence | {BAND: band}})


def band_of(stage: Stage, hits: int, seats: int, size: int) -> str:
    """The band of a count; for a panel of another size, that of the nearest count of the recipe's."""
    placed = hits if seats == size else int(hits * size / seats + 0.5)
    return next(name for name, (low, high) in stage.bands.items() if low <= placed <= high)


def _check(stage: Stage, size: int) -> None:
    covered = sorted(n for low, high in stage.bands.values() for n in range(low, high + 1))
    if covered != list(range(size + 1)):
        raise InputError(f"the stage {stage.title}: its bands have to hold each of 0 to {size} hits once")
    for band in stage.drop:
        if band not in stage.bands:
            raise InputError(f"the stage {stage.title}: no band {band}; there are {', '.join(stage.bands)}")


SCREENS = (Difficulty(),)
