"""Blind hits against luck: an item goes only if guessing would hardly give so many, and few good items go with it."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import stats

from eyetest.records import Item, Stage, StoppingRule, Verdict
from eyetest.screens.base import Case
from eyetest.screens.evidence import Said, kinds, summary
from eyetest.wording import counted

_USUAL_RATE = 0.05


class ChanceAware:
    """Hits of all trials against a guesser with each trial's own chance, at a stated rate of false discoveries.

    Every trial shows the options in an order of its own, so that a habit of choosing one place is no knowledge.
    Trials that sent the very same request are one: a coin that is looked at ten times is still one coin.
    """

    name = "chance-aware"
    summary = "drop items answered blind more often than luck allows, at a stated rate of false discoveries"
    uses: ClassVar[frozenset[str]] = frozenset({"rate", "right", "min_answers"})

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """Which p-value is too small depends on all the others: nothing can be left out."""
        return None

    def judge(self, case: Case) -> Iterator[Verdict]:
        """Test each item, then decide about all of them together (Benjamini and Hochberg)."""
        rate = case.stage.rate or _USUAL_RATE
        found = [_tested(case, item) for item in case.items]
        tested = [place for place, one in enumerate(found) if not one.missing and one.p is not None]
        limit = discovery_limit([found[place].p or 0.0 for place in tested], rate)
        for item, one in zip(case.items, found, strict=True):
            counts = {"n": one.n, "hits": one.hits, "responses": one.responses, "evidence": one.evidence}
            if one.p is None:
                yield case.verdict(item.id, "keep", "nothing to choose from: guessing has no known chance", **counts)
            elif one.missing:
                told = f"{counted(one.missing, 'answer')} missing"
                yield case.verdict(item.id, "review", told, p=one.p, **counts)
            else:
                drop = one.p <= limit
                told = f"{one.hits} of {one.n} blind answers right, p = {one.p:.2g}"
                yield case.verdict(item.id, "drop" if drop else "keep", told, p=one.p, **counts)


class _Tested(NamedTuple):
    """One item's hits, and how likely luck gives as many."""

    p: float | None
    hits: int
    n: int
    missing: int
    responses: tuple[str, ...]
    evidence: dict[str, object]


def _tested(case: Case, item: Item) -> _Tested:
    answers = case.evidence.of(item.id)
    different = [_different(row) for row in answers]
    right = [[said.is_right(case.stage.right) for said in row] for row in different]
    hits = [sum(hit is True for hit in row) for row in right]
    judged = [sum(hit is not None for hit in row) for row in right]
    heard = [said for row in different for said in row]
    told = summary(case.evidence.seats, hits, judged, not_plain=kinds(iter(heard)))
    chance = len(item.gold) / len(item.choices) if item.choices else None
    p = None if chance is None else _luck(sum(hits), sum(judged), chance)
    silent = sum(said is None or said.score is None for row in answers for said in row)
    enough = case.stage.min_answers is not None and sum(judged) >= case.stage.min_answers
    responses = tuple(said.request for said in heard)
    return _Tested(p, sum(hits), sum(judged), 0 if enough else silent, responses, told)


@cache
def _luck(hits: int, trials: int, chance: float) -> float:
    """The chance of so many hits or more by guessing, exact however small: an item's trials all have one chance."""
    return float(stats.binom.sf(hits - 1, trials, chance))


def _different(row: Sequence[Said | None]) -> list[Said]:
    return list({said.request: said for said in row if said is not None}.values())


def discovery_limit(p_values: Sequence[float], rate: float) -> float:
    """The largest p-value that is a discovery at this rate; −1 if none is."""
    ordered = np.sort(np.asarray(p_values, float))
    below = ordered <= rate * np.arange(1, len(ordered) + 1) / max(len(ordered), 1)
    return float(ordered[np.flatnonzero(below)[-1]]) if below.any() else -1.0


SCREENS = (ChanceAware(),)
