"""How likely luck is, of guessers who believe something.

Models that guess do not toss coins: they like certain contents, each its own or all the same ones, and keep to them
when options are shuffled. So many equal answers are no proof of knowledge. What tells the two apart is the gold: a
belief that is no knowledge falls on it as often as on any other option. Two ways to use that:

- by counting *decoys* (`exceeding`): where a panel favours options as strongly, how often is the favourite wrong?
  This holds however models share their beliefs, but needs several items that are known.
- by the *spread of choices* (`luck`): how a panel's choices crowd on items whose favourite is wrong tells how firm
  beliefs are, and so how often a gold would be hit by belief alone. A single item can stand out.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import betaln, gammaln, logsumexp

from eyetest.measures.stats.intervals import Bools, Floats, Ints

_TASTES: Floats = np.geomspace(0.02, 200.0, 41)
"""Dirichlet parameters an option: at .02 a guesser keeps to one option, at 200 it tosses coins."""
_BELIEFS = ((0.3, 10.0), (1.0, 30.0))
"""A taste, and how much firmer one option is believed than that: by all, nine times of ten or more."""
_USUAL_TASTE, _TASTES_DIFFER = 1.0, 1.5
"""What panels are like before their answers are seen: a normal distribution of log taste. A few items outweigh it."""
_USUAL_ITEMS = 0.1
"""How many items that is worth where whole choices are known: few, since its thin tail would hide what few know."""
_ROUNDS = 60


class HitCounts(NamedTuple):
    """By item: right answers, all answers, golds and options."""

    hits: Ints
    trials: Ints
    golds: Ints
    options: Ints

    def kinds(self) -> tuple[Ints, Ints]:
        """Items that luck treats alike, as trials, golds and options; and which kind each item is of."""
        columns = np.stack([self.trials, self.golds, self.options], axis=1)
        kinds, of_kind = np.unique(columns, axis=0, return_inverse=True)
        return kinds, of_kind.reshape(-1)


class Favourites(NamedTuple):
    """By item, the option that a panel chose most."""

    option: Ints
    """Which option; −1 where none leads."""
    strength: Floats
    """How unlikely tastes alone make it that so many models choose it so often: Fisher's sum of their log chances."""


def favourites(counts: Ints, options: Ints) -> Favourites:
    """The panel's favourites. ``counts``: how often each model chose each option, items × models × options.

    Golds have no part in it: all options of an item are treated alike, which is what decoys rest on.
    """
    columns = np.arange(counts.shape[2])
    taste = _taste(counts, options)
    together = np.where(columns < options[:, None], counts.sum(axis=1), -1)
    best = together.argmax(axis=1)
    most = together.max(axis=1, initial=0)
    leads = ((together == most[:, None]).sum(axis=1) == 1) & (most > 0)
    hits = np.take_along_axis(counts, best[:, None, None], axis=2)[:, :, 0]
    trials = counts.sum(axis=2)
    strength = np.zeros(len(best))
    for number in np.unique(options):
        for asked in np.unique(trials[options == number]):
            mine = (options[:, None] == number) & (trials == asked)
            surprise = -_tail(_log_chances(int(asked), 1, int(number), taste))
            strength += np.where(mine, surprise[np.where(mine, hits, 0)], 0.0).sum(axis=1)
    return Favourites(np.where(leads, best, -1), np.where(leads, np.round(strength, 9), -np.inf))


def _taste(counts: Ints, options: Ints) -> float:
    """The Dirichlet parameter that explains best how each model spreads its choices over an item's options."""
    there = (np.arange(counts.shape[2]) < options[:, None])[:, None, :]
    return float(max(_TASTES, key=lambda taste: float(dirichlet_multinomial(counts, there * taste).sum())))


def dirichlet_multinomial(counts: Ints, tastes: Floats) -> Floats:
    """Log chance of choices in the order they came; an option without a taste is not there."""
    there = tastes > 0
    prior = np.where(there, tastes, 1.0)
    each = np.where(there, gammaln(counts + prior) - gammaln(prior), 0.0).sum(axis=-1)
    among = tastes.sum(axis=-1)
    return np.asarray(each + gammaln(among) - gammaln(among + counts.sum(axis=-1)))


def exceeding(favoured: Favourites, right: Bools, chances: Floats, rate: float, benefit: float = 1.0) -> Bools:
    """Items whose favourite is right because it is known, with at most ``rate`` of them expected to be mere beliefs.

    Items are taken from the strongest favourite on, as far as wrong favourites (decoys) allow: each stands for
    ``chance / (1 − chance)`` right ones that are luck. ``benefit`` is the doubt with which it begins: one decoy more
    than was seen, which makes the rate a promise for any number of items (Barber and Candès' sequential rule).
    """
    order = np.argsort(-favoured.strength, kind="stable")
    odds = (chances / np.maximum(1 - chances, 1e-9))[order]
    hit = (right & np.isfinite(favoured.strength))[order]
    lucky = np.where(hit, 0.0, odds).cumsum() + benefit * np.maximum.accumulate(odds) if len(odds) else odds
    allowed = lucky <= rate * np.maximum(hit.cumsum(), 1)
    strength = favoured.strength[order]
    ends = np.append(strength[1:] != strength[:-1], True)[: len(strength)]
    passing = np.flatnonzero(allowed & ends & hit.cumsum().astype(bool))
    if not len(passing):
        return np.zeros(len(right), bool)
    return np.asarray(right & (favoured.strength >= strength[passing[-1]]))


def luck(counted: HitCounts, tastes: Floats) -> Floats:
    """For each item, the chance of so many hits by guessing, if guessers keep to such tastes and beliefs."""
    kinds, of_kind = counted.kinds()
    chances = np.ones(len(counted.hits))
    for number, (trials, right, offered) in enumerate(kinds.tolist()):
        mine = of_kind == number
        logs = [_log_chances(trials, right, offered, taste) for taste in _TASTES.tolist()]
        logs += [_log_believed(trials, right, offered, belief) for belief in _BELIEFS]
        chances[mine] = np.minimum(tastes @ np.exp([_tail(one) for one in logs]), 1.0)[counted.hits[mine]]
    return chances


def tastes_of_choices(chosen: Ints, golds: Bools, options: Ints) -> Floats:
    """How often a panel's tastes are how strong: weights of `_TASTES` and `_BELIEFS`, by its choices on each item.

    Learnt from items whose favourite is a distractor: items that are known are hardly among those, and of the others
    there are as many of every kind, whatever the gold. Tastes may differ from item to item, so that a few firm
    beliefs that all share are told from the weak tastes of all the rest.
    """
    there = np.arange(chosen.shape[1]) < options[:, None]
    leading = there & (chosen == np.where(there, chosen, -1).max(axis=1, keepdims=True, initial=-1))
    wrong = (leading & ~golds).sum(axis=1) / np.maximum(leading.sum(axis=1), 1)
    guesses = [dirichlet_multinomial(chosen, there * taste) for taste in _TASTES.tolist()]
    fits = np.stack([*guesses, *(_believed(chosen, there, belief) for belief in _BELIEFS)], axis=1)
    likely = np.exp(fits - fits.max(axis=1, keepdims=True, initial=-np.inf))
    usual = np.append(np.exp(_usual()) / np.exp(_usual()).sum(), np.zeros(len(_BELIEFS)))
    weights = (usual + 1 / len(usual)) / 2
    for _ in range(_ROUNDS):
        shares = likely * weights
        shares /= shares.sum(axis=1, keepdims=True)
        weights = (wrong[:, None] * shares).sum(axis=0) + _USUAL_ITEMS * usual
        weights = weights / weights.sum()
    return np.asarray(weights)


def tastes_of_hits(counted: HitCounts) -> Floats:
    """The same where wrong answers do not say which option they took: one taste, by golds that are hardly ever hit.

    Items that are hit no more often than by chance tell it. Items that are known are not among those.
    """
    kinds, of_kind = counted.kinds()
    fits = [_low_side(counted.hits, kinds, of_kind, taste) for taste in _TASTES.tolist()]
    weights = np.zeros(len(_TASTES) + len(_BELIEFS))
    weights[np.argmax(fits + _usual())] = 1.0
    return weights


def _believed(chosen: Ints, there: Bools, belief: tuple[float, float]) -> Floats:
    """Log chance of choices where one option, whichever, is believed."""
    taste, firm = belief
    each = [
        np.where(there[:, option], dirichlet_multinomial(chosen, there * (taste + firm * one)), -np.inf)
        for option, one in enumerate(np.eye(chosen.shape[1]))
    ]
    return np.asarray(logsumexp(each, axis=0) - np.log(there.sum(axis=1)))


def _usual() -> Floats:
    """Log weights of tastes before anything is known of a panel."""
    return np.asarray(-((np.log(_TASTES / _USUAL_TASTE) / _TASTES_DIFFER) ** 2) / 2)


def _low_side(hits: Ints, kinds: Ints, of_kind: Ints, taste: float) -> float:
    """Log likelihood of the hits at or below what guessing gives, given that they are."""
    total = 0.0
    for number, (trials, golds, options) in enumerate(kinds):
        upto = trials * golds // options
        low = hits[(of_kind == number) & (hits <= upto)]
        chances = _log_chances(trials, golds, options, taste)[: upto + 1]
        total += float((chances[low] - logsumexp(chances)).sum())
    return total


def _log_chances(trials: int, golds: int, options: int, taste: float) -> Floats:
    """Log chance of 0, 1, … hits by tastes."""
    return _beta_binomial(trials, golds * taste, (options - golds) * taste)


def _log_believed(trials: int, golds: int, options: int, belief: tuple[float, float]) -> Floats:
    """Log chance of 0, 1, … hits where one option, whichever, is believed."""
    taste, firm = belief
    if golds == options:
        return _log_chances(trials, golds, options, taste)
    right, wrong = golds * taste, (options - golds) * taste
    hit, missed = (_beta_binomial(trials, right + on_gold, wrong + firm - on_gold) for on_gold in (firm, 0.0))
    return np.asarray(np.logaddexp(np.log(golds / options) + hit, np.log(1 - golds / options) + missed))


def _beta_binomial(trials: int, right: float, wrong: float) -> Floats:
    counts = np.arange(trials + 1)
    if not wrong:
        return np.where(counts == trials, 0.0, -np.inf)
    ways = -betaln(trials - counts + 1, counts + 1) - np.log(trials + 1)
    return np.asarray(ways + betaln(counts + right, trials - counts + wrong) - betaln(right, wrong))


def _tail(log_chances: Floats) -> Floats:
    """Log chance of so many or more."""
    return np.minimum(np.logaddexp.accumulate(log_chances[::-1])[::-1], 0.0)
