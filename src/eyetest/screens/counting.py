"""Hits over a panel, counted so that stopping early and asking everybody end in the same verdict."""

from collections.abc import Sequence
from dataclasses import dataclass

from eyetest.errors import InputError
from eyetest.records import Cut, Stage, StoppingRule, Tally
from eyetest.running.stopping import Waves
from eyetest.screens.base import Answers, kinds, summary
from eyetest.wording import counted

_ONCE = Cut(op=">=", value=1)


@dataclass(frozen=True)
class Count:
    """What a panel comes to on one item."""

    holds: bool | None
    """Whether the item is on the keeping side; None while that is open."""
    hits: int
    """Seats that answer the item."""
    n: int
    """Answers that were judged."""
    missing: int
    """Answers that could still change it."""
    responses: tuple[str, ...]
    evidence: dict[str, object]

    @property
    def incomplete(self) -> str:
        """Why nobody can say."""
        return f"{counted(self.missing, 'answer')} missing, which could change the verdict"


def threshold(stage: Stage, seats: int, size: int) -> Cut:
    """The stage's cut over the number of seats that answer, for a panel of so many seats.

    ``hits`` counts seats; for a panel of another size than the recipe's it is taken as a share. ``share`` is one.
    """
    if set(stage.keep) == {"share"}:
        return _scaled(stage.keep["share"], seats)
    if set(stage.keep) == {"hits"}:
        cut = stage.keep["hits"]
        return cut if seats == size else _scaled(Cut(op=cut.op, value=cut.value / size), seats)
    found = ", ".join(stage.keep) or "nothing"
    raise InputError(f"the stage {stage.title}: keep says {found}; it takes hits or share")


def _scaled(cut: Cut, seats: int) -> Cut:
    """A cut over a share as one over a count, so that no share is ever compared with a rounded one."""
    return Cut(op=cut.op, value=round(cut.value * seats, 9))


def stopping_rule(stage: Stage, cut: Cut, seats: int, tests: int) -> StoppingRule:
    """The rule that holds for items that stay."""
    return StoppingRule(answers=stage.answers or _ONCE, trials=tests, falls=cut, models=seats)


def refuse_settled(stage: Stage, rule: StoppingRule) -> None:
    """A rule that no answer could change is a mistake: it would judge every item without asking anybody."""
    if (always := rule.verdict([Tally(unknown=rule.trials)] * rule.models)) is not None:
        told = f"{rule.told} is {'always' if always else 'never'} so"
        raise InputError(f"the stage {stage.title}: {told}; no answer could change it")


def count(stage: Stage, rule: StoppingRule, answers: Answers, seats: Sequence[str], full: bool) -> Count:
    """Count the hits on one item.

    Unless ``full``, only answers count that would have been asked for before the verdict was settled, whoever asked
    for more: so a run that stopped and one that did not give the same rows.
    """
    present = [[said for said in row if said is not None] for row in answers]
    right = [[said.is_right(stage.right) for said in row] for row in present]
    waves = Waves(rule, [len(row) for row in right])
    while not full and (wave := waves.wave()):
        for seat, test in wave:
            waves.heard[seat].append(right[seat][test])
    if full:
        waves.heard = right
    heard = [said for row, known in zip(present, waves.heard, strict=True) for said in row[: len(known)]]
    hits = [tally.hits for tally in waves.tallies]
    judged = [rule.trials - tally.unknown for tally in waves.tallies]
    answering = sum(rule.answers.holds(hit) for hit in hits)
    holds, missing = waves.verdict, 0
    if holds is None and stage.min_answers is not None and sum(judged) >= stage.min_answers:
        holds = rule.falls.holds(answering)
    if holds is None:
        missing = sum(tally.unknown for tally in waves.tallies if rule.model_answers(tally) is None)
    told = summary(seats, hits, judged, not_plain=kinds(iter(heard)))
    return Count(holds, answering, sum(judged), missing, tuple(said.request for said in heard), told)
