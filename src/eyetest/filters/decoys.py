"""Items that a panel knows without the image, beyond chance and preferences, and leaked items, by decoys.

Each item has a favourite, the option for which the panel's answers speak most, found without the key. A preference
falls on the key with chance c = golds / options, so a wrong favourite (a decoy) stands for c / (1 − c) right ones
that are no knowledge. Items with a right favourite are dropped, the strongest first, as long as at most ``rate`` of
them are expected to be such (`eyetest.measures.stats.chance.exceeding`). Items that one preference may decide
together (of one question template, passage, image or tag) count by cluster. Assumed: preferences fall on keys as
often as on other options, and clusters are independent. Checked by ``tests/filters/dependent.py``.
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
_USUAL_RATE = 0.05  # accepted share of good items among dropped ones, where a stage states none
_TOO_FEW = "too few items are like it to rule out a shared belief"


class _Counted(NamedTuple):
    """The panel's answers to an item."""

    item: Item
    hits: Count
    choices: Ints | None  # seats × options; None where wrong answers do not say which option they took


def _counted(case: FilterInput, item: Item, models: Sequence[int] | None = None) -> _Counted:
    """The answers to an item, where identical requests count once.

    Without ``models`` hits, judged answers and missing answers are counted. With them ``n`` is how many of these
    seats have a judged answer, ``missing`` how many of all seats have none, and hits are left at 0.
    """
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
            times_chosen = choices.sum(axis=0).tolist()
            evidence["chosen"] = {letter(option): times for option, times in enumerate(times_chosen) if times}
    else:
        total, n, missing = 0, sum(judged[number] > 0 for number in models), judged.count(0)
    requests = tuple(answer.request for answer in every)
    return _Counted(item, Count(None, total, n, missing, requests, evidence), choices)


def _choice_counts(
    item: Item, answers: Sequence[Sequence[PanelAnswer]], right: Sequence[Sequence[bool | None]]
) -> Ints | None:
    """How often each seat chose each option (seats × options); None where a wrong answer's is unknown.

    A right answer without a letter counts for the first gold, a wrong one for the only wrong option if there is one.
    """
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
    """Choices (items × seats × options), golds (items × options), and how many options each item has.

    No item is without choices.
    """
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
    right: Bools  # whether the item has a favourite and this is a gold
    by_chance: Floats  # golds / options


def dependence(judged: _Judged, tag: str = "") -> dict[str, Ints]:
    """Clusters of items that may be right together, by kind, or by the values of a tag.

    Groups, media, passages, facts and question templates always count. Options, keys, words and profiles of models
    over items count where their clusters are wrong together more often than independent items are.
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
    """Drop what the panel knows, at a stated false discovery rate; review where evidence is thin.

    Items with answers whose options are unknown have no favourites; they are tested by their hits alone, without
    clusters. Samples should differ in the order of options, or a preferred position looks like knowledge.
    """
    rate = case.stage.rate or _USUAL_RATE
    by_item = [_counted(case, item) for item in case.items]
    tested = [entry for entry in by_item if entry.item.choices and not entry.hits.missing]
    shown = [entry for entry in tested if entry.choices is not None]
    shown_chances, dropped, doubtful = _beyond_beliefs(shown, rate, case)
    chances = dict(zip((entry.item.id for entry in shown), shown_chances, strict=True))
    if hidden := [entry for entry in tested if entry.choices is None]:
        hits = _hit_counts(hidden)
        hidden_chances = chance(hits, tastes_of_hits(hits)).tolist()
        dropped |= _beyond_chance(hidden, hidden_chances, rate)
        chances |= zip((entry.item.id for entry in hidden), hidden_chances, strict=True)
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
    """By item: right answers, all answers, golds and options."""
    columns = [(entry.hits.hits, entry.hits.n, len(entry.item.gold), len(entry.item.choices)) for entry in tested]
    return HitCounts(*np.array(columns, np.int64).T)


def _beyond_chance(tested: Sequence[_Counted], chances: Sequence[float], rate: float) -> set[str]:
    """The items with more hits than chance explains, at a false discovery rate (Benjamini and Hochberg)."""
    adjusted = benjamini_hochberg(chances)
    return {entry.item.id for entry, p in zip(tested, adjusted, strict=True) if p is not None and p <= rate}


def _beyond_beliefs(
    tested: Sequence[_Counted], rate: float, case: FilterInput
) -> tuple[list[float], set[str], dict[str, str]]:
    """For each item the chance of its hits; the items to drop; those to review, each with the reason.

    Dropped is what exceeds its decoys, clusters counted, and whose hits have a chance of at most ``rate``. To review
    goes the firmest of each cluster of those that exceed them only without clusters and the additional decoy. If even
    the lower end of the estimate is more than twice the number dropped, the likeliest of the others go there too. A
    note on the estimate is added to the case.
    """
    if not tested:
        return [], set(), {}
    counts, golds, options = _stacked(tested)
    chances = chance(_hit_counts(tested), tastes_of_choices(counts.sum(axis=1), golds, options))
    judged = _preferred([entry.item for entry in tested], counts, golds, options)
    favoured, right, by_chance = judged.favoured, judged.right, judged.by_chance
    shared = dependence(judged, case.stage.cluster)
    sure = exceeding(favoured, right, by_chance, rate, clusterings=list(shared.values())) & (chances <= rate)
    likely = exceeding(favoured, right, by_chance, rate, benefit=0.0)
    names = np.array([entry.item.id for entry in tested])
    unlikely = _beyond_chance(tested, chances.tolist(), rate)
    firmest = np.argsort(-favoured.strength, kind="stable")
    doubtful: dict[str, str] = {}
    seen: set[tuple[str, int]] = set()
    for index in firmest[(likely & ~sure)[firmest]].tolist():
        clusters = {(kind, int(numbers[index])) for kind, numbers in shared.items()}
        if names[index] in unlikely and not seen & clusters:
            doubtful[names[index]] = f"more than chance, but {_TOO_FEW}"
        seen |= clusters
    known, low, high = _known(favoured, right, by_chance, shared)
    named = int(sure.sum())
    between = f"{low:.0f} to {high:.0f} of {counted(len(tested), 'item')}"
    estimate = f"{between} are known without the image (95 %); {named:,} can be named at a rate of {rate:g}"
    case.notes.append(f"{case.stage.title}: {estimate}")
    if low > 2 * named:
        firmest_unnamed = firmest[(right & ~sure)[firmest]]
        likeliest = names[firmest_unnamed[: round(known) - named]].tolist()
        reason = f"among the likeliest of about {known:.0f} known items"
        doubtful = dict.fromkeys(likeliest, reason) | doubtful
    return chances.tolist(), set(names[sure].tolist()), doubtful


def _known(favoured: Favourites, right: Bools, by_chance: Floats, shared: Mapping[str, Ints]) -> list[float]:
    """How many items a panel knows, and the ends of an interval.

    Estimated as the right favourites less those that wrong ones stand for: each item counts 1, −c / (1 − c) or,
    without a favourite, 0. Of the intervals by items and by clusters the widest is taken; a clustering with more than
    half of the items in one cluster is left out, because its interval would exclude nothing.
    """
    odds = by_chance / np.maximum(1 - by_chance, 1e-9)
    worth = np.where(right, 1.0, -odds) * (favoured.option >= 0)
    usable = [numbers for numbers in shared.values() if 2 * np.bincount(numbers).max() <= len(right)]
    estimates = [mean(worth), *(mean(worth, numbers) for numbers in usable)]
    widest = max(estimates, key=lambda estimate: (estimate.high or 0.0) - (estimate.low or 0.0))
    shares = (widest.value, widest.low, widest.high)
    return [float(np.clip(share or 0.0, 0, 1)) * len(right) for share in shares]


def _judge_leaks(case: FilterInput) -> Iterator[Verdict]:
    """Drop what some models have memorized, at a stated error rate.

    Wrong favourites tell how many right ones are chance. Language models are the seats that others name as their
    base; what they have memorized is no leak. Without any on the panel whatever is known blind counts.
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
    """Items to drop, items to review, and per item how many models have probably memorized its gold.

    ``models`` are the places of the seats that are no language models. A likelihood ratio of at least items/rate is
    clear by itself; such items are reviewed where clusters and the additional decoy leave too few to drop.
    """
    if not tested:
        return set(), set(), {}
    counts, golds, options = _stacked(tested)
    bases = np.delete(counts, models, axis=1)
    memory = memorized(counts[:, models], bases, options)
    best = memory.favoured.option
    right = golds[np.arange(len(tested)), best] & (best >= 0)
    by_chance = golds.sum(axis=1) / options
    shared = dependence(_preferred([entry.item for entry in tested], counts[:, models], golds, options), cluster)
    leaked = exceeding(memory.favoured, right, by_chance, rate, clusterings=list(shared.values()))
    is_clear = memory.favoured.strength >= np.log(len(tested) / rate)
    doubtful = exceeding(memory.favoured, right, by_chance, rate, benefit=0.0) & is_clear & ~leaked
    names = np.array([entry.item.id for entry in tested])
    holders = zip(names.tolist(), (memory.holders * golds).sum(axis=1).tolist(), strict=True)
    return {*names[leaked].tolist()}, {*names[doubtful].tolist()}, dict(holders)


def _preferred(items: Sequence[Item], counts: Ints, golds: Bools, options: Ints) -> _Judged:
    """The items with the options that models chose most, whether or not one of them can have memorized these.

    Only firm preferences look memorized. Where the one firm preference is right, no item would be seen to be wrong
    together with others.
    """
    favoured = favourites(counts, options)
    right = golds[np.arange(len(items)), favoured.option] & (favoured.option >= 0)
    return _Judged(items, counts, favoured, right, golds.sum(axis=1) / options)


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
