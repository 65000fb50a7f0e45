"""Blind hits against luck and habit: an item goes only if the panel knows it, and few good items go with it."""

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from eyetest.measures.stats.beliefs import (
    HitCounts,
    exceeding,
    favourites,
    luck,
    tastes_of_choices,
    tastes_of_hits,
)
from eyetest.measures.stats.intervals import Floats, Ints
from eyetest.measures.stats.paired import benjamini_hochberg
from eyetest.records import Item, Stage, StoppingRule, Verdict, VerdictKind, letter
from eyetest.screens.base import TOO_FEW, USUAL_RATE, ScreenInput, choice_counts, different, kinds, stacked, summary
from eyetest.screens.hits import Count
from eyetest.wording import counted


class ChanceAware:
    """Drop what the panel knows, at a stated rate of false discoveries; ask people where too little shows it.

    Guessers have tastes, and share them. So an item is not held against coins but against the panel's own wrong
    favourites: where models agree as strongly on an option, how often is it not the gold? Every trial should show the
    options in an order of its own. Trials that sent the very same request are one: a coin that is looked at ten
    times is still one coin.
    """

    name = "chance-aware"
    summary = "drop items that the panel knows blind, beyond luck and shared habits, at a stated rate of errors"
    uses: ClassVar[frozenset[str]] = frozenset({"rate", "right", "min_answers"})

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """Which item stands out depends on all the others: nothing can be left out."""
        return None

    def judge(self, case: ScreenInput) -> Iterator[Verdict]:
        """Count each item, then decide about all of them together."""
        rate = case.stage.rate or USUAL_RATE
        heard = [_OnItem.of(case, item) for item in case.items]
        tested = [one for one in heard if one.item.choices and not one.hits.missing]
        shown = [one for one in tested if one.choices is not None]
        hidden = [one for one in tested if one.choices is None]
        of_shown, dropped, doubtful = _beyond_beliefs(shown, rate)
        of_hidden = _luck(hidden, tastes_of_hits)
        dropped |= _beyond_luck(hidden, of_hidden, rate)
        names = (one.item.id for one in (*shown, *hidden))
        chances = dict(zip(names, (*of_shown, *of_hidden), strict=True))
        for one in heard:
            name, counts = one.item.id, one.hits.told
            told = f"{one.hits.hits} of {one.hits.n} blind answers right"
            if not one.item.choices:
                yield case.verdict(name, "keep", "nothing to choose from: guessing has no known chance", **counts)
            elif one.hits.missing:
                yield case.verdict(name, "review", f"{counted(one.hits.missing, 'answer')} missing", **counts)
            elif name in doubtful:
                told += f", p = {chances[name]:.2g}: more than luck, but {TOO_FEW}"
                yield case.verdict(name, "review", told, p=chances[name], **counts)
            else:
                verdict: VerdictKind = "drop" if name in dropped else "keep"
                yield case.verdict(name, verdict, f"{told}, p = {chances[name]:.2g}", p=chances[name], **counts)


class _OnItem(NamedTuple):
    """What the panel said about one item."""

    item: Item
    hits: Count
    choices: Ints | None
    """How often each seat chose each option; None where wrong answers do not say which option they took."""

    @classmethod
    def of(cls, case: ScreenInput, item: Item) -> "_OnItem":
        answers = case.evidence.of(item.id)
        heard = different(answers)
        right = [[said.is_right(case.stage.right) for said in row] for row in heard]
        hits = [sum(hit is True for hit in row) for row in right]
        judged = [sum(hit is not None for hit in row) for row in right]
        every = [said for row in heard for said in row]
        silent = sum(said is None or said.score is None for row in answers for said in row)
        enough = case.stage.min_answers is not None and sum(judged) >= case.stage.min_answers
        choices = choice_counts(item, heard, right) if item.choices else None
        told = summary(case.evidence.seats, hits, judged, not_plain=kinds(every))
        if choices is not None:
            told["chosen"] = {letter(option): int(n) for option, n in enumerate(choices.sum(axis=0)) if n}
        requests = tuple(said.request for said in every)
        return cls(item, Count(None, sum(hits), sum(judged), 0 if enough else silent, requests, told), choices)


def _luck(tested: Sequence[_OnItem], tastes: Callable[[HitCounts], Floats]) -> list[float]:
    """The chance of so many hits by guessing, for each item."""
    if not tested:
        return []
    columns = [(one.hits.hits, one.hits.n, len(one.item.gold), len(one.item.choices)) for one in tested]
    hits = HitCounts(*np.array(columns, np.int64).T)
    return [float(chance) for chance in luck(hits, tastes(hits))]


def _beyond_luck(tested: Sequence[_OnItem], chances: Sequence[float], rate: float) -> set[str]:
    adjusted = benjamini_hochberg(chances)
    return {one.item.id for one, p in zip(tested, adjusted, strict=True) if p is not None and p <= rate}


def _beyond_beliefs(tested: Sequence[_OnItem], rate: float) -> tuple[list[float], set[str], set[str]]:
    """Chances; items that are known for certain; those of which a shared belief is not ruled out."""
    if not tested:
        return [], set(), set()
    counts, golds, options = stacked([(one.item, one.choices) for one in tested if one.choices is not None])
    chances = _luck(tested, lambda _: tastes_of_choices(counts.sum(axis=1), golds, options))
    favoured = favourites(counts, options)
    right = golds[np.arange(len(tested)), favoured.option] & (favoured.option >= 0)
    by_lot = golds.sum(axis=1) / options
    sure = exceeding(favoured, right, by_lot, rate) & (np.array(chances) <= rate)
    likely = exceeding(favoured, right, by_lot, rate, benefit=0.0)
    lucky = _beyond_luck(tested, chances, rate)
    names = [one.item.id for one in tested]
    dropped = {name for name, one in zip(names, sure, strict=True) if one}
    doubtful = {name for name, one in zip(names, likely, strict=True) if one and name in lucky} - dropped
    return chances, dropped, doubtful


SCREENS = (ChanceAware(),)
