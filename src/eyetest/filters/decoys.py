"""Items that a panel knows without the image, beyond chance and preferences, and leaked items, by decoys."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from eyetest.errors import InputError
from eyetest.filters.base import FilterInput, choice_counts, different, kinds, stacked, summary
from eyetest.filters.clusters import clusterings
from eyetest.filters.hits import Count
from eyetest.measures.stats.beliefs import (
    Favourites,
    HitCounts,
    by_heart,
    chance,
    exceeding,
    favourites,
    tastes_of_choices,
    tastes_of_hits,
)
from eyetest.measures.stats.intervals import Bools, Floats, Ints, mean
from eyetest.measures.stats.paired import benjamini_hochberg
from eyetest.records import Item, Stage, StoppingRule, Verdict, VerdictKind, letter
from eyetest.wording import counted

_USUAL_RATE = 0.05  # of good items among those that a test throws out, where a stage says none
_MANY = 0.1  # of the items, from how many on it is worth a warning that they share something
_FEW_ANSWERS = 8  # to an item, below which its favourite says little
_TOO_FEW = "too few items are like it to rule out a shared belief"


class _OnItem(NamedTuple):
    """The panel's answers to an item."""

    item: Item
    hits: Count
    choices: Ints | None  # seats × options; None where wrong answers do not say which option they took


def _on_item(case: FilterInput, item: Item, models: Sequence[int] | None = None) -> _OnItem:
    """Count the answers to an item, or only which of the seats ``models`` gave any. Identical requests count once."""
    answers = case.evidence.of(item.id)
    distinct = different(answers)
    right = [[answer.is_right(case.stage.right) for answer in row] for row in distinct]
    hits = [sum(hit is True for hit in row) for row in right]
    judged = [sum(hit is not None for hit in row) for row in right]
    every = [answer for row in distinct for answer in row]
    choices = choice_counts(item, distinct, right) if item.choices else None
    evidence = summary(case.evidence.seats, hits, judged, not_plain=kinds(every))
    if models is None:
        total, n = sum(hits), sum(judged)
        missing = sum(answer is None or answer.score is None for row in answers for answer in row)
        if choices is not None:
            evidence["chosen"] = {letter(option): int(n) for option, n in enumerate(choices.sum(axis=0)) if n}
    else:
        total, n, missing = 0, sum(judged[number] > 0 for number in models), judged.count(0)
    if case.stage.min_answers is not None and n >= case.stage.min_answers:
        missing = 0
    requests = tuple(answer.request for answer in every)
    return _OnItem(item, Count(None, total, n, missing, requests, evidence), choices)


class _AllTogether:
    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """No stopping rule: which item stands out depends on all others."""
        return None


class ChanceAware(_AllTogether):
    """Drop what the panel knows, at a stated false discovery rate; review where evidence is thin. Decoys are the
    panel's wrong favourites, as guessers share preferences; samples should differ in option order.
    """

    name = "chance-aware"
    summary = "drop items that the panel knows without the image, beyond chance and preferences, at a stated rate"
    uses: ClassVar[frozenset[str]] = frozenset({"rate", "right", "min_answers", "cluster"})

    def judge(self, case: FilterInput) -> Iterator[Verdict]:
        """Count each item, then decide about all of them together."""
        rate = case.stage.rate or _USUAL_RATE
        on_items = [_on_item(case, item) for item in case.items]
        tested = [one for one in on_items if one.item.choices and not one.hits.missing]
        shown = [one for one in tested if one.choices is not None]
        hidden = [one for one in tested if one.choices is None]
        of_shown, dropped, doubtful = _beyond_beliefs(shown, rate, case)
        of_hidden = _chances(hidden, tastes_of_hits)
        dropped |= _beyond_chance(hidden, of_hidden, rate)
        names = (one.item.id for one in (*shown, *hidden))
        chances = dict(zip(names, (*of_shown, *of_hidden), strict=True))
        for one in on_items:
            name, counts = one.item.id, one.hits.told
            told = f"{one.hits.hits} of {one.hits.n} blind answers right"
            if not one.item.choices:
                yield case.verdict(name, "keep", "nothing to choose from: guessing has no known chance", **counts)
            elif one.hits.missing:
                yield case.verdict(name, "review", f"{counted(one.hits.missing, 'answer')} missing", **counts)
            elif name in doubtful:
                told += f", p = {chances[name]:.2g}: {doubtful[name]}"
                yield case.verdict(name, "review", told, p=chances[name], **counts)
            else:
                verdict: VerdictKind = "drop" if name in dropped else "keep"
                yield case.verdict(name, verdict, f"{told}, p = {chances[name]:.2g}", p=chances[name], **counts)


def _chances(tested: Sequence[_OnItem], tastes: Callable[[HitCounts], Floats]) -> list[float]:
    if not tested:
        return []
    columns = [(one.hits.hits, one.hits.n, len(one.item.gold), len(one.item.choices)) for one in tested]
    hits = HitCounts(*np.array(columns, np.int64).T)
    return [float(chance) for chance in chance(hits, tastes(hits))]


def _beyond_chance(tested: Sequence[_OnItem], chances: Sequence[float], rate: float) -> set[str]:
    adjusted = benjamini_hochberg(chances)
    return {one.item.id for one, p in zip(tested, adjusted, strict=True) if p is not None and p <= rate}


def _beyond_beliefs(
    tested: Sequence[_OnItem], rate: float, case: FilterInput
) -> tuple[list[float], set[str], dict[str, str]]:
    """Chances; items known for certain; those to review, each with the reason."""
    if not tested:
        return [], set(), {}
    counts, golds, options = stacked([(one.item, one.choices) for one in tested if one.choices is not None])
    chances = _chances(tested, lambda _: tastes_of_choices(counts.sum(axis=1), golds, options))
    favoured = favourites(counts, options)
    right = golds[np.arange(len(tested)), favoured.option] & (favoured.option >= 0)
    by_chance = golds.sum(axis=1) / options
    shared = clusterings([one.item for one in tested], case.stage.cluster)
    sure = exceeding(favoured, right, by_chance, rate, clusterings=list(shared.values())) & (
        np.array(chances) <= rate
    )
    likely = exceeding(favoured, right, by_chance, rate, benefit=0.0)
    names = np.array([one.item.id for one in tested])
    unlikely = _beyond_chance(tested, chances, rate)
    firmest = np.argsort(-favoured.strength, kind="stable")
    doubtful: dict[str, str] = {}
    seen: set[tuple[str, int]] = set()
    for place in firmest[(likely & ~sure)[firmest]].tolist():
        mine = {(kind, int(numbers[place])) for kind, numbers in shared.items()}
        if names[place] in unlikely and not seen & mine:
            doubtful[names[place]] = f"more than chance, but {_TOO_FEW}"
        seen |= mine
    known = KnownItems.of(favoured, right, by_chance, shared, int(counts.sum(axis=(1, 2)).min()))
    lines = (*told_clusters(tested, shared), known.told(sure, rate))
    case.notes.extend(f"{case.stage.title}: {line}" for line in lines)
    if known.low > 2 * sure.sum():
        some = firmest[(right & ~sure)[firmest]][: round(known.number) - int(sure.sum())]
        likeliest = f"among the likeliest of about {known.number:.0f} known items"
        doubtful = dict.fromkeys(names[some].tolist(), likeliest) | doubtful
    return chances, set(names[sure].tolist()), doubtful


class KnownItems(NamedTuple):
    """How many items a panel knows, by favourites: right ones less those that wrong ones stand for."""

    number: float
    low: float
    high: float
    items: int
    right: int  # items whose favourite is right
    wrong: int  # wrong favourites among as many of the firmest as are known
    needed: int  # known items from which on any can be named
    shared: str  # what clusters share, where the interval is theirs
    answers: int  # the fewest answers to an item

    @classmethod
    def of(
        cls, favoured: Favourites, right: Bools, chances: Floats, shared: Mapping[str, Ints], answers: int
    ) -> "KnownItems":
        """The estimate, with the widest interval over items and kinds of clusters without a dominant cluster."""
        odds, leads = chances / np.maximum(1 - chances, 1e-9), favoured.option >= 0
        worth = np.where(right, 1.0, -odds) * leads
        usable = {kind: of for kind, of in shared.items() if 2 * np.bincount(of).max() <= len(right)}
        found = [("", mean(worth)), *((kind, mean(worth, numbers)) for kind, numbers in usable.items())]
        kind, widest = max(found, key=lambda one: (one[1].high or 0.0) - (one[1].low or 0.0))
        number, low, high = (float(np.clip(end or 0.0, 0, 1)) * len(right) for end in widest[:3])
        firmest = np.argsort(-favoured.strength, kind="stable")[: max(round(number), 1)]
        wrong = int((leads & ~right)[firmest].sum())
        needed = int(np.ceil(np.median(odds) / _USUAL_RATE))
        return cls(number, low, high, len(right), int(right.sum()), wrong, needed, kind, answers)

    def told(self, named: Bools, rate: float) -> str:
        """The estimate in words, and why not all items are named."""
        between = f"{self.low:.0f} to {self.high:.0f} of {counted(self.items, 'item')}"
        by = f", by {self.shared}" if self.shared else ""
        text = f"{between} are known without the image (95 %{by}; best estimate {self.number:.0f}): "
        text += f"the option chosen most is right on {self.right:,}"
        if self.low <= 2 * named.sum():
            return text
        why = {
            f"{self.wrong} of the {self.number:.0f} firmest favourites are wrong (shared preferences)": self.wrong
            > 0,
            f"with so few options at least {self.needed} have to be known": self.number < self.needed,
            f"items that share a {self.shared} may be right together": bool(self.shared),
            f"{self.answers} answers an item are few": self.answers < _FEW_ANSWERS,
        }
        reasons = " and ".join(reason for reason, holds in why.items() if holds)
        return f"{text}; {int(named.sum()):,} can be named at a rate of {rate:g}: {reasons or 'none stands out'}"


def told_clusters(tested: Sequence[_OnItem], shared: Mapping[str, Ints]) -> Iterator[str]:
    """A warning for each property that many items share: such items are near copies, not independent evidence."""
    for kind, numbers in shared.items():
        sizes = np.bincount(numbers)
        several = int(sizes[sizes > 1].sum())
        if several >= _MANY * len(tested):
            example = tested[int(np.flatnonzero(numbers == sizes.argmax())[0])].item.id
            yield (
                f"{several:,} of {counted(len(tested), 'item')} share a {kind} with others (the largest cluster has "
                f"{sizes.max():,}, {example} among them): they are counted by cluster, as they may be right together"
            )


class Leaks(_AllTogether):
    """Drop what some models have memorized, at a stated error rate; wrong winners tell how many right ones are
    chance. Without language models on the panel whatever is known blind counts.
    """

    name = "leaks"
    summary = "drop items that some models know blind and their language models do not, at a stated rate of errors"
    uses: ClassVar[frozenset[str]] = frozenset({"rate", "right", "min_answers", "then", "cluster"})

    def judge(self, case: FilterInput) -> Iterator[Verdict]:
        """Count each item, then decide about all of them together."""
        panel = _Panel.of(case)
        heard = [_on_item(case, item, panel.models) for item in case.items]
        tested = [one for one in heard if one.item.choices and one.choices is not None and not one.hits.missing]
        leaked, doubtful, holders = _leaked(tested, panel, case.stage.rate or _USUAL_RATE, case.stage.cluster)
        for one in heard:
            name, told = one.item.id, one.hits.told
            if not one.item.choices:
                yield case.verdict(name, "keep", "nothing to choose from: there is no decoy", **told)
            elif one.hits.missing:
                yield case.verdict(name, "review", f"{counted(one.hits.missing, 'model')} missing", **told)
            elif one.choices is None:
                yield case.verdict(name, "review", "scores came without the option that was chosen", **told)
            else:
                verdict = (case.stage.then or "drop") if name in leaked else "keep"
                reason = f"{holders[name]} of {counted(len(panel.models), 'model')} probably memorized it"
                if name in doubtful:
                    verdict, reason = "review", f"{reason}, but {_TOO_FEW}"
                yield case.verdict(name, verdict, reason, **told | {"hits": holders[name]})


class _Panel(NamedTuple):
    """The seats of the tested models, and of the language models that others were built on."""

    models: tuple[int, ...]
    bases: tuple[int, ...]

    @classmethod
    def of(cls, case: FilterInput) -> "_Panel":
        built_on = {seat.base for seat in case.seats}
        models = tuple(number for number, seat in enumerate(case.seats) if seat.model not in built_on)
        if not models:
            raise InputError(f"{case.stage.title}: only language models on the panel; add vision-language models")
        return cls(models, tuple(number for number in range(len(case.seats)) if number not in models))


def _leaked(
    tested: Sequence[_OnItem], panel: _Panel, rate: float, cluster: str
) -> tuple[set[str], set[str], dict[str, int]]:
    """Items to drop, items to review, and per item how many models memorized its gold. A likelihood ratio above
    items/rate is clear by itself; such items are reviewed where there are too few to drop.
    """
    if not tested:
        return set(), set(), {}
    counts, golds, options = stacked([(one.item, one.choices) for one in tested if one.choices is not None])
    seen = by_heart(counts[:, list(panel.models)], counts[:, list(panel.bases)], options)
    best = seen.favoured.option
    right = golds[np.arange(len(tested)), best] & (best >= 0)
    by_chance = golds.sum(axis=1) / options
    shared = list(clusterings([one.item for one in tested], cluster).values())
    gone = exceeding(seen.favoured, right, by_chance, rate, clusterings=shared)
    plain = seen.favoured.strength >= np.log(len(tested) / rate)
    likely = exceeding(seen.favoured, right, by_chance, rate, benefit=0.0) & plain & ~gone
    holders = (seen.holders * golds).sum(axis=1)
    names = np.array([one.item.id for one in tested])
    return (
        {*names[gone].tolist()},
        {*names[likely].tolist()},
        dict(zip(names.tolist(), holders.tolist(), strict=True)),
    )


FILTERS = (ChanceAware(), Leaks())
