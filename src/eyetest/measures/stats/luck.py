"""How likely luck is: of guessers who toss coins, and of those who believe something.

Models that guess do not toss coins: they like certain contents, each its own or all the same ones, and keep to them
when options are shuffled. So many equal answers are no proof of knowledge. What tells the two apart is the gold: a
belief that is no knowledge falls on it as often as on any other option. Two ways to use that:

- by counting *decoys* (`exceeding`): where a panel favours options as strongly, how often is the favourite wrong?
  This holds however models share their beliefs, but needs several items that are known.
- by the *spread of hits* (`luck`): how often the gold is hit less than by guessing tells how strong beliefs are, and
  so how often it would be hit more. A single item can stand out, if items differ little in how firmly something is
  believed of them.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import betaln, gammaln, logsumexp

from eyetest.measures.stats.intervals import Bools, Floats, Ints

_EXACT = 1_000
_SIMULATED = 9_999
_TASTES: Floats = np.geomspace(0.02, 200.0, 41)
"""Dirichlet parameters an option: at .02 a guesser keeps to one option, at 200 it tosses coins."""
_USUAL_TASTE, _TASTES_DIFFER = 1.0, 1.5
"""What panels are like before their answers are seen: a normal distribution of log taste. A few items outweigh it."""


def at_least(hits: int, chances: Sequence[float]) -> float:
    """The chance of so many hits or more, when each trial has its own chance (Poisson-binomial)."""
    if not chances or hits <= 0:
        return 1.0
    if len(chances) <= _EXACT:
        return float(min(1.0, max(0.0, stats.poisson_binom.sf(hits - 1, np.asarray(chances)))))
    mean = float(np.sum(chances))
    spread = float(np.sqrt(np.sum(np.asarray(chances) * (1 - np.asarray(chances)))))
    return float(stats.norm.sf((hits - 0.5 - mean) / spread)) if spread else float(hits <= mean)


def as_odd(hits: int, chances: Sequence[float]) -> float:
    """The chance of a number of hits at least this far from what is expected, be it too many or too few."""
    too_many, too_few = at_least(hits, chances), at_least(len(chances) - hits, [1 - chance for chance in chances])
    return min(1.0, 2 * min(too_many, too_few))


def uneven(counts: Sequence[int], rng: np.random.Generator) -> float:
    """The chance of counts at least this uneven where all are equally likely; simulated where they are few."""
    total, kinds = sum(counts), len(counts)
    if total / kinds >= 5:
        return float(stats.chisquare(counts).pvalue)
    observed = np.square(np.asarray(counts) - total / kinds).sum()
    drawn = rng.multinomial(total, [1 / kinds] * kinds, size=_SIMULATED)
    as_odd = np.square(drawn - total / kinds).sum(axis=1) >= observed - 1e-9
    return float((1 + as_odd.sum()) / (1 + _SIMULATED))


def exactly(chances: Sequence[float]) -> NDArray[np.float64]:
    """The chance of 0, 1, 2 … hits, when each trial has its own chance."""
    shares = np.ones(1)
    for chance in chances:
        shares = np.convolve(shares, [1 - chance, chance])
    return shares


def most_of(trials: int, chance: float) -> float:
    """The chance of hitting more than half of the trials."""
    return float(stats.binom.sf(trials // 2, trials, chance))


class Guessing(NamedTuple):
    """The expected score of random choice, and that of always choosing the position that is right most often."""

    random: float
    frequent: float
    position: int
    n: int


def guessing(options: Sequence[int], golds: Sequence[int]) -> Guessing | None:
    """From the number of options of each item and the position of its gold."""
    if not options:
        return None
    position, count = max(Counter(golds).items(), key=lambda pair: (pair[1], -pair[0]))
    return Guessing(sum(1 / number for number in options) / len(options), count / len(golds), position, len(options))


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
    there = np.arange(counts.shape[2]) < options[:, None]
    total = counts.sum(axis=2)

    def fit(taste: float) -> float:
        each = np.where(there[:, None, :], gammaln(counts + taste) - gammaln(taste), 0.0).sum(axis=2)
        among = options[:, None] * taste
        return float((each + gammaln(among) - gammaln(among + total)).sum())

    return float(max(_TASTES, key=fit))


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


def luck(hits: Ints, trials: Ints, golds: Ints, options: Ints) -> Floats:
    """For each item, the chance of so many hits by guessing, if guessers keep to tastes as strong as these seem to.

    How strong is learnt from the items that are hit no more often than by chance: where tastes are strong, many golds
    are hardly ever hit. Items that are known are not among those.
    """
    kinds, of_kind = np.unique(np.stack([trials, golds, options], axis=1), axis=0, return_inverse=True)
    of_kind = of_kind.reshape(-1)
    usual = -((np.log(_TASTES / _USUAL_TASTE) / _TASTES_DIFFER) ** 2) / 2
    fits = [_low_side(hits, kinds, of_kind, taste) for taste in _TASTES.tolist()]
    taste = float(_TASTES[np.argmax(fits + usual)])
    chances = np.ones(len(hits))
    for number, kind in enumerate(kinds):
        mine = of_kind == number
        asked, right, offered = kind.tolist()
        chances[mine] = np.exp(_tail(_log_chances(asked, right, offered, taste))[hits[mine]])
    return chances


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
    """Log chance of 0, 1, … hits (beta-binomial)."""
    counts = np.arange(trials + 1)
    if golds == options:
        return np.where(counts == trials, 0.0, -np.inf)
    ways = -betaln(trials - counts + 1, counts + 1) - np.log(trials + 1)
    right, wrong = golds * taste, (options - golds) * taste
    return np.asarray(ways + betaln(counts + right, trials - counts + wrong) - betaln(right, wrong))


def _tail(log_chances: Floats) -> Floats:
    """Log chance of so many or more."""
    return np.minimum(np.logaddexp.accumulate(log_chances[::-1])[::-1], 0.0)
