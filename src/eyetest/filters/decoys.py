"""Items that a panel knows without the image, beyond chance and preferences, and leaked items, by decoys.

Items that one preference may decide together (of one question template, passage, image or tag) count by cluster.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from eyetest.errors import InputError, counted
from eyetest.filters import PLAIN, Filter, FilterInput, PanelAnswer, summary
from eyetest.filters.hits import Count
from eyetest.measures.stats.chance import (
    Favourites,
    HitCounts,
    chance,
    exceeding,
    favourites,
    memorized,
    share_preferences,
    tastes_of_choices,
    tastes_of_hits,
)
from eyetest.measures.stats.intervals import Bools, Floats, Ints, mean
from eyetest.measures.stats.paired import benjamini_hochberg
from eyetest.measures.stats.profiles import profile_clusters
from eyetest.records import MAX_CHOICES, Item, Verdict, VerdictKind, letter
from eyetest.results.dependence import binding, clusterings, guessed_clusterings

_LETTERS = {letter(position): position for position in range(MAX_CHOICES)}
_USUAL_RATE = 0.05  # of good items among those that a test throws out, where a stage says none
_TOO_FEW = "too few items are like it to rule out a shared belief"


class _Counted(NamedTuple):
    """The panel's answers to an item."""

    item: Item
    hits: Count
    choices: Ints | None  # seats × options; None where wrong answers do not say which option they took


def _counted(case: FilterInput, item: Item, models: Sequence[int] | None = None) -> _Counted:
    """Count the answers to an item, or only which of the seats ``models`` gave any. Identical requests count once."""
    answers = case.evidence.of(item.id)
    distinct = [list({answer.request: answer for answer in row if answer is not None}.values()) for row in answers]
    right = [[answer.is_right(case.stage.right) for answer in row] for row in distinct]
    hits = [sum(hit is True for hit in row) for row in right]
    judged = [sum(hit is not None for hit in row) for row in right]
    every = [answer for row in distinct for answer in row]
    choices = _choice_counts(item, distinct, right) if item.choices else None
    evidence = summary(case.evidence.seats, hits, judged, every)
    if models is None:
        total, n = sum(hits), sum(judged)
        missing = sum(answer is None or answer.score is None for row in answers for answer in row)
        if choices is not None:
            evidence["chosen"] = {letter(option): int(n) for option, n in enumerate(choices.sum(axis=0)) if n}
    else:
        total, n, missing = 0, sum(judged[number] > 0 for number in models), judged.count(0)
    requests = tuple(answer.request for answer in every)
    return _Counted(item, Count(None, total, n, missing, requests, evidence), choices)


def _choice_counts(
    item: Item, answers: Sequence[Sequence[PanelAnswer]], right: Sequence[Sequence[bool | None]]
) -> Ints | None:
    """How often each seat chose each option (seats × options); None where a wrong answer's is unknown."""
    counts = np.zeros((len(answers), len(item.choices)), np.int64)
    wrong = [option for option in range(len(item.choices)) if option not in item.gold]
    for seat, (row, hits) in enumerate(zip(answers, right, strict=True)):
        for answer, hit in zip(row, hits, strict=True):
            if hit is None or answer.kind not in PLAIN:
                continue
            option = _LETTERS.get(answer.choice or "")
            if option is None and hit:
                option = item.gold[0]
            elif option is None and len(wrong) == 1:
                option = wrong[0]
            if option is None or option >= len(item.choices):
                return None
            counts[seat, option] += 1
    return counts


def _stacked(tested: Sequence[_Counted]) -> tuple[Ints, Bools, Ints]:
    """Choices (items × seats × options), golds (items × options), and how many options each item has."""
    options = np.array([len(entry.item.choices) for entry in tested], np.int64)
    choices = [entry.choices for entry in tested if entry.choices is not None]
    counts = np.zeros((len(tested), len(choices[0]), options.max()), np.int64)
    golds = np.zeros((len(tested), options.max()), bool)
    for row, entry in enumerate(tested):
        counts[row, :, : options[row]] = choices[row]
        golds[row, list(entry.item.gold)] = True
    return counts, golds, options


class _Judged(NamedTuple):
    """Items whose right favourites are counted."""

    items: Sequence[Item]
    counts: Ints  # items × models × options
    favoured: Favourites
    right: Bools
    by_chance: Floats


def dependence(judged: _Judged, tag: str = "") -> dict[str, Ints]:
    """Clusters of items that may be right together, by kind, or by the values of a tag.

    Bonds that say so by themselves always count. Words, single options and profiles of models over items count where
    their clusters are wrong together more often than independent items are.
    """
    shared = clusterings(judged.items, tag)
    if tag:
        return shared
    guessed = guessed_clusterings(judged.items)
    guessed |= binding({"profile": profile_clusters(judged.counts, judged.favoured.option)})
    for kind, numbers in guessed.items():
        if share_preferences(numbers, judged.favoured, judged.right, judged.by_chance):
            shared[kind] = numbers
    return shared


def _judge_chance(case: FilterInput) -> Iterator[Verdict]:
    """Drop what the panel knows, at a stated false discovery rate; review where evidence is thin. Decoys are the
    panel's wrong favourites, as guessers share preferences; samples should differ in option order.
    """
    rate = case.stage.rate or _USUAL_RATE
    by_item = [_counted(case, item) for item in case.items]
    tested = [entry for entry in by_item if entry.item.choices and not entry.hits.missing]
    shown = [entry for entry in tested if entry.choices is not None]
    found, dropped, doubtful = _beyond_beliefs(shown, rate, case)
    chances = dict(zip((entry.item.id for entry in shown), found, strict=True))
    if hidden := [entry for entry in tested if entry.choices is None]:
        hits = _hit_counts(hidden)
        found = chance(hits, tastes_of_hits(hits)).tolist()
        dropped |= _beyond_chance(hidden, found, rate)
        chances |= zip((entry.item.id for entry in hidden), found, strict=True)
    for item, count, _ in by_item:
        fields, reason = count.fields, f"{count.hits} of {count.n} blind answers right"
        if not item.choices:
            yield case.verdict(item.id, "keep", "nothing to choose from: guessing has no known chance", **fields)
        elif count.missing:
            yield case.verdict(item.id, "review", f"{counted(count.missing, 'answer')} missing", **fields)
        else:
            p, doubt = chances[item.id], doubtful.get(item.id)
            reason += f", p = {p:.2g}: {doubt}" if doubt else f", p = {p:.2g}"
            verdict: VerdictKind = "review" if doubt else "drop" if item.id in dropped else "keep"
            yield case.verdict(item.id, verdict, reason, p=p, **fields)


def _hit_counts(tested: Sequence[_Counted]) -> HitCounts:
    columns = [(entry.hits.hits, entry.hits.n, len(entry.item.gold), len(entry.item.choices)) for entry in tested]
    return HitCounts(*np.array(columns, np.int64).T)


def _beyond_chance(tested: Sequence[_Counted], chances: Sequence[float], rate: float) -> set[str]:
    adjusted = benjamini_hochberg(chances)
    return {entry.item.id for entry, p in zip(tested, adjusted, strict=True) if p is not None and p <= rate}


def _beyond_beliefs(
    tested: Sequence[_Counted], rate: float, case: FilterInput
) -> tuple[list[float], set[str], dict[str, str]]:
    """Chances; items known for certain; those to review, each with the reason."""
    if not tested:
        return [], set(), {}
    counts, golds, options = _stacked(tested)
    chances = chance(_hit_counts(tested), tastes_of_choices(counts.sum(axis=1), golds, options))
    favoured = favourites(counts, options)
    right = golds[np.arange(len(tested)), favoured.option] & (favoured.option >= 0)
    by_chance = golds.sum(axis=1) / options
    judged = _Judged([entry.item for entry in tested], counts, favoured, right, by_chance)
    shared = dependence(judged, case.stage.cluster)
    sure = exceeding(favoured, right, by_chance, rate, clusterings=list(shared.values())) & (chances <= rate)
    likely = exceeding(favoured, right, by_chance, rate, benefit=0.0)
    names = np.array([entry.item.id for entry in tested])
    unlikely = _beyond_chance(tested, chances.tolist(), rate)
    firmest = np.argsort(-favoured.strength, kind="stable")
    doubtful: dict[str, str] = {}
    seen: set[tuple[str, int]] = set()
    for index in firmest[(likely & ~sure)[firmest]].tolist():
        mine = {(kind, int(numbers[index])) for kind, numbers in shared.items()}
        if names[index] in unlikely and not seen & mine:
            doubtful[names[index]] = f"more than chance, but {_TOO_FEW}"
        seen |= mine
    known, low, high = _known(favoured, right, by_chance, shared)
    named = int(sure.sum())
    between = f"{low:.0f} to {high:.0f} of {counted(len(tested), 'item')}"
    estimate = f"{between} are known without the image (95 %); {named:,} can be named at a rate of {rate:g}"
    case.notes.append(f"{case.stage.title}: {estimate}")
    if low > 2 * named:
        some = firmest[(right & ~sure)[firmest]][: round(known) - named]
        likeliest = f"among the likeliest of about {known:.0f} known items"
        doubtful = dict.fromkeys(names[some].tolist(), likeliest) | doubtful
    return chances.tolist(), set(names[sure].tolist()), doubtful


def _known(favoured: Favourites, right: Bools, by_chance: Floats, shared: Mapping[str, Ints]) -> list[float]:
    """How many items a panel knows, and the ends of an interval: right favourites less those that wrong ones stand
    for. Of the intervals by items and by clusters, the widest; a cluster with most of the items is none.
    """
    odds = by_chance / np.maximum(1 - by_chance, 1e-9)
    worth = np.where(right, 1.0, -odds) * (favoured.option >= 0)
    usable = [numbers for numbers in shared.values() if 2 * np.bincount(numbers).max() <= len(right)]
    found = [mean(worth), *(mean(worth, numbers) for numbers in usable)]
    widest = max(found, key=lambda estimate: (estimate.high or 0.0) - (estimate.low or 0.0))
    return [float(np.clip(end or 0.0, 0, 1)) * len(right) for end in widest[:3]]


def _judge_leaks(case: FilterInput) -> Iterator[Verdict]:
    """Drop what some models have memorized, at a stated error rate; wrong winners tell how many right ones are
    chance. Without language models on the panel whatever is known blind counts.
    """
    built_on = {seat.base for seat in case.seats}
    models = [number for number, seat in enumerate(case.seats) if seat.model not in built_on]
    if not models:
        raise InputError(f"{case.stage.title}: only language models on the panel; add vision-language models")
    by_item = [_counted(case, item, models) for item in case.items]
    tested = [entry for entry in by_item if not entry.hits.missing and entry.choices is not None]
    leaked, doubtful, holders = _leaked(tested, models, case.stage.rate or _USUAL_RATE, case.stage.cluster)
    for item, count, choices in by_item:
        fields = count.fields
        if not item.choices:
            yield case.verdict(item.id, "keep", "nothing to choose from: there is no decoy", **fields)
        elif count.missing:
            yield case.verdict(item.id, "review", f"{counted(count.missing, 'model')} missing", **fields)
        elif choices is None:
            yield case.verdict(item.id, "review", "scores came without the option that was chosen", **fields)
        else:
            verdict = (case.stage.then or "drop") if item.id in leaked else "keep"
            reason = f"{holders[item.id]} of {counted(len(models), 'model')} probably memorized it"
            if item.id in doubtful:
                verdict, reason = "review", f"{reason}, but {_TOO_FEW}"
            yield case.verdict(item.id, verdict, reason, **fields | {"hits": holders[item.id]})


def _leaked(
    tested: Sequence[_Counted], models: Sequence[int], rate: float, cluster: str
) -> tuple[set[str], set[str], dict[str, int]]:
    """Items to drop, items to review, and per item how many models memorized its gold. A likelihood ratio above
    items/rate is clear by itself; such items are reviewed where there are too few to drop.
    """
    if not tested:
        return set(), set(), {}
    counts, golds, options = _stacked(tested)
    bases = np.delete(counts, models, axis=1)
    seen = memorized(counts[:, models], bases, options)
    best = seen.favoured.option
    right = golds[np.arange(len(tested)), best] & (best >= 0)
    by_chance = golds.sum(axis=1) / options
    judged = _Judged([entry.item for entry in tested], counts[:, models], seen.favoured, right, by_chance)
    shared = dependence(judged, cluster)
    gone = exceeding(seen.favoured, right, by_chance, rate, clusterings=list(shared.values()))
    plain = seen.favoured.strength >= np.log(len(tested) / rate)
    likely = exceeding(seen.favoured, right, by_chance, rate, benefit=0.0) & plain & ~gone
    names = np.array([entry.item.id for entry in tested])
    holders = zip(names.tolist(), (seen.holders * golds).sum(axis=1).tolist(), strict=True)
    return {*names[gone].tolist()}, {*names[likely].tolist()}, dict(holders)


FILTERS = (
    Filter(
        "chance-aware",
        "drop items that the panel knows without the image, beyond chance and preferences, at a stated rate",
        frozenset({"rate", "right", "cluster"}),
        _judge_chance,
        learns=True,
    ),
    Filter(
        "leaks",
        "drop items that some models know blind and their language models do not, at a stated rate of errors",
        frozenset({"rate", "right", "then", "cluster"}),
        _judge_leaks,
        learns=True,
    ),
)
