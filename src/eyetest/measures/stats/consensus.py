"""Do models agree on another answer than the gold? How likely what they chose is if each option were the right one.

Counting wrong answers cannot tell a hard item from one whose gold is wrong. Where the gold is wrong, skilled models
meet on the same other option. Three things are weighed against that, each learnt from the answers themselves: how
skilled each model is, how much harder than usual the item may be, and how unevenly wrong answers are spread anyway.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, gammaln, log_expit, logsumexp

from eyetest.measures.stats.threads import one_thread

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_HARDNESS: Floats = np.linspace(-4.0, 4.0, 49)
"""How hard an item may be, in standard deviations."""
_SKILL_SPREAD = 3.0
_ROUNDS, _TOLERANCE = 200, 1e-4
_EVENNESS: Floats = np.geomspace(0.05, 50.0, 31)
"""Dirichlet parameters: at .05 nearly all wrong answers fall on one option, at 50 they spread evenly."""
_ITEMS_AT_ONCE = 20_000
_ENOUGH_ITEMS = 20_000
"""More items than these, taken evenly from all, would not make skills known any better that matters."""


class Panel(NamedTuple):
    """What golds say of models and items: P(right) = σ(skill − spread · hardness)."""

    skills: Floats
    spread: float
    evenness: float


class Suspicion(NamedTuple):
    """By item: log likelihood of the best rival less that of the gold, and which option the rival is."""

    ratios: Floats
    rivals: Ints


def suspicion(choices: ArrayLike, options: ArrayLike, golds: ArrayLike) -> Suspicion:
    """How much better another option explains the choices than the gold does, for items of two options or more.

    ``choices`` has a row an item and a column a model: places of options from 0, negative where no answer was read,
    which says nothing. With no answers the ratio is 0.
    """
    chosen, number, gold = (np.asarray(values, np.int64) for values in (choices, options, golds))
    chosen = np.where(chosen < number[:, None], chosen, -1)
    some = slice(None, None, -(-len(gold) // _ENOUGH_ITEMS) or 1)
    parts = [slice(start, start + _ITEMS_AT_ONCE) for start in range(0, max(len(gold), 1), _ITEMS_AT_ONCE)]
    with one_thread():
        panel = learn(chosen[some], number[some], gold[some])
        found = [_compare(likelihoods(chosen[part], number[part], panel), gold[part]) for part in parts]
    return Suspicion(*(np.concatenate(values) for values in zip(*found, strict=True)))


def learn(chosen: Ints, number: Ints, gold: Ints) -> Panel:
    """Skills, and how items differ, taking the golds at their word: few enough are wrong."""
    read, right = (chosen >= 0).astype(float), (chosen == gold[:, None]).astype(float)
    skills, spread = np.zeros(chosen.shape[1]), 1.0
    for _ in range(_ROUNDS):
        logits = skills[:, None] - spread * _HARDNESS
        likely = _shares(right @ logits + read @ log_expit(-logits) - _HARDNESS**2 / 2)
        chance, tried = expit(logits), read.T @ likely
        pull = (right.T @ likely - tried * chance).sum(1) - skills / _SKILL_SPREAD**2
        step = pull / ((tried * chance * (1 - chance)).sum(1) + _SKILL_SPREAD**-2)
        before, spread = spread, spread * float(np.sqrt((likely @ _HARDNESS**2).mean())) if len(likely) else spread
        skills = skills + np.clip(step, -1.0, 1.0)
        if max(np.abs(step).max(initial=0.0), abs(spread - before)) < _TOLERANCE:
            break
    wrong = np.where(_places(number) == gold[:, None], np.nan, _counts(chosen, number))
    return Panel(skills, spread, max(_EVENNESS, key=lambda evenness: float(_spread_over(wrong, evenness).sum())))


def likelihoods(chosen: Ints, number: Ints, panel: Panel) -> Floats:
    """Log likelihood of an item's choices if each of its options were the right one: items × options, −∞ beyond them.

    Right answers come by skill, averaged over how hard the item may be. Wrong ones fall on the other options, some of
    which attract more than others, and nobody knows beforehand which.
    """
    logits = panel.skills[:, None] - panel.spread * _HARDNESS
    base = (chosen >= 0).astype(float) @ log_expit(-logits) + np.log(_shares(-(_HARDNESS**2) / 2))
    counts = _counts(chosen, number)
    found = np.full(counts.shape, -np.inf)
    for place in range(counts.shape[1]):
        wrong = counts.copy()
        wrong[:, place] = np.nan
        by_skill = logsumexp(base + (chosen == place).astype(float) @ logits, axis=1)
        found[:, place] = by_skill + _spread_over(wrong, panel.evenness)
    return np.where(_places(number) < number[:, None], found, -np.inf)


def _compare(logs: Floats, gold: Ints) -> tuple[Floats, Ints]:
    items = np.arange(len(gold))
    rivals = logs.copy()
    rivals[items, gold] = -np.inf
    best = rivals.argmax(axis=1)
    return rivals[items, best] - logs[items, gold], best


def _places(number: Ints) -> Ints:
    return np.arange(number.max(initial=1))[None, :]


def _counts(chosen: Ints, number: Ints) -> Floats:
    """How many models chose each option; nan beyond the item's options."""
    places = _places(number)
    counts = np.stack([(chosen == place).sum(axis=1) for place in places[0]], axis=1).astype(float)
    return np.where(places < number[:, None], counts, np.nan)


def _spread_over(counts: Floats, evenness: float) -> Floats:
    """Log probability of choices in their order, on options of unknown attraction (Dirichlet-multinomial)."""
    open_ = ~np.isnan(counts)
    among, total = open_.sum(axis=1) * evenness, np.where(open_, counts, 0.0).sum(axis=1)
    each = np.where(open_, gammaln(np.where(open_, counts, 0.0) + evenness) - gammaln(evenness), 0.0)
    return np.asarray(each.sum(axis=1) + gammaln(among) - gammaln(among + total))


def _shares(logs: Floats) -> Floats:
    likely = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=-1, keepdims=True))
