"""Chance hits: of random guessing, of guessers with preferences, and detection of memorized answers. Preferences fall
on distractors as often as on golds: `exceeding` counts decoys (wrong favourites as strong), `chance` uses the spread
of choices, `memorized` fits how much of a benchmark each model has memorized (EM over all items, golds unseen).
"""

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from eyetest.measures.stats.intervals import Bools, Floats, Ints

_EXACT = 1_000
_SIMULATED = 9_999


def at_least(hits: int, chances: Sequence[float]) -> float:
    """The chance of so many hits or more, when each sample has its own chance (Poisson-binomial)."""
    if not chances or hits <= 0:
        return 1.0
    if len(chances) <= _EXACT:
        return float(min(1.0, max(0.0, scipy.stats.poisson_binom.sf(hits - 1, np.asarray(chances)))))
    mean = float(np.sum(chances))
    spread = float(np.sqrt(np.sum(np.asarray(chances) * (1 - np.asarray(chances)))))
    return float(scipy.stats.norm.sf((hits - 0.5 - mean) / spread)) if spread else float(hits <= mean)


def as_odd(hits: int, chances: Sequence[float]) -> float:
    """The chance of a number of hits at least this far from the expected one, in either direction."""
    too_many, too_few = at_least(hits, chances), at_least(len(chances) - hits, [1 - chance for chance in chances])
    return min(1.0, 2 * min(too_many, too_few))


def uneven(counts: Sequence[int], rng: np.random.Generator) -> float:
    """The chance of counts at least this uneven where all are equally likely; simulated where they are few."""
    total, kinds = sum(counts), len(counts)
    if total / kinds >= 5:
        return float(scipy.stats.chisquare(counts).pvalue)
    observed = np.square(np.asarray(counts) - total / kinds).sum()
    drawn = rng.multinomial(total, [1 / kinds] * kinds, size=_SIMULATED)
    as_odd = np.square(drawn - total / kinds).sum(axis=1) >= observed - 1e-9
    return float((1 + as_odd.sum()) / (1 + _SIMULATED))


def exactly(chances: Sequence[float]) -> NDArray[np.float64]:
    """The chance of 0, 1, 2 … hits, when each sample has its own chance."""
    return reduce(lambda shares, chance: np.convolve(shares, [1 - chance, chance]), chances, np.ones(1))


def most_of(samples: int, chance: float) -> float:
    """The chance of hitting more than half of the samples."""
    return float(scipy.stats.binom.sf(samples // 2, samples, chance))


def guessing(options: Sequence[int], golds: Sequence[int]) -> tuple[float, float, int]:
    """The expected score of random choice, that of always choosing the position that is right most often, and this
    position; from the number of options of each item and the position of its gold.
    """
    position, count = max(Counter(golds).items(), key=lambda pair: (pair[1], -pair[0]))
    return sum(1 / number for number in options) / len(options), count / len(golds), position


_TASTES: Floats = np.geomspace(0.02, 200.0, 41)  # Dirichlet parameters an option: .02 keeps to one, 200 is at random
_BELIEFS = ((0.3, 10.0), (1.0, 30.0))  # a taste, and how much firmer one option is believed than that
_USUAL: Floats = -((np.log(_TASTES) / 1.5) ** 2) / 2  # log weights of tastes before answers: normal in log taste
_USUAL_ITEMS = 0.1  # how many items that is worth: few, since its thin tail would hide what few know
_ROUNDS = 60
_FEWEST_TOGETHER = 4  # items of a cluster that can be wrong together beyond chance
_LEVEL = 0.05  # of clusters that were guessed from words or answers and do not exist, the share that counts
_DOUBTED = 2.0  # how many items of a cluster count as right beside those seen, so that few prove nothing


class HitCounts(NamedTuple):
    """By item: right answers, all answers, golds and options."""

    hits: Ints
    samples: Ints
    golds: Ints
    options: Ints

    def kinds(self) -> tuple[Ints, Ints]:
        """Items with equal chance, as samples, golds and options; and the kind of each item."""
        columns = np.stack([self.samples, self.golds, self.options], axis=1)
        kinds, of_kind = np.unique(columns, axis=0, return_inverse=True)
        return kinds, of_kind.reshape(-1)


class Favourites(NamedTuple):
    """By item, the option that a panel chose most."""

    option: Ints  # which option; −1 where none leads
    strength: Floats  # Fisher's sum of the log chances that tastes alone give the models' choices


def favourites(counts: Ints, options: Ints) -> Favourites:
    """The panel's favourites, without regard to golds. ``counts``: items × models × options."""
    there = np.arange(counts.shape[2]) < options[:, None]
    fits = [float(dirichlet_multinomial(counts, there[:, None, :] * taste).sum()) for taste in _TASTES]
    taste = float(_TASTES[int(np.argmax(fits))])
    together = np.where(there, counts.sum(axis=1), -1)
    best = together.argmax(axis=1)
    most = together.max(axis=1, initial=0)
    leads = ((together == most[:, None]).sum(axis=1) == 1) & (most > 0)
    hits = np.take_along_axis(counts, best[:, None, None], axis=2)[:, :, 0]
    samples = counts.sum(axis=2)
    strength = np.zeros(len(best))
    for number in np.unique(options):
        for asked in np.unique(samples[options == number]):
            mine = (options[:, None] == number) & (samples == asked)
            surprise = -_tail(_log_chances(int(asked), taste, (int(number) - 1) * taste))
            strength += np.where(mine, surprise[np.where(mine, hits, 0)], 0.0).sum(axis=1)
    return Favourites(np.where(leads, best, -1), np.where(leads, np.round(strength, 9), -np.inf))


def dirichlet_multinomial(counts: Ints, tastes: Floats) -> Floats:
    """Log chance of choices in their order; an option without a taste does not exist."""
    there = tastes > 0
    prior = np.where(there, tastes, 1.0)
    each = np.where(there, scipy.special.gammaln(counts + prior) - scipy.special.gammaln(prior), 0.0).sum(axis=-1)
    among = tastes.sum(axis=-1)
    return np.asarray(each + scipy.special.gammaln(among) - scipy.special.gammaln(among + counts.sum(axis=-1)))


def exceeding(
    favoured: Favourites,
    right: Bools,
    chances: Floats,
    rate: float,
    benefit: float = 1.0,
    clusterings: Sequence[Ints] = (),
) -> Bools:
    """Items whose right favourite is known, with at most ``rate`` of them expected to be preferences only. Wrong
    favourites are decoys, each for ``chance / (1 − chance)`` right ones; ``benefit`` adds one decoy (Barber and
    Candès), or as many as one cluster may be wrong about at once. ``clusterings``: numbers of the clusters of items.
    An item whose options are all right has no decoy: it is never known, and says nothing of the others.
    """
    has_decoys = chances < 1
    if not has_decoys.all():
        known = np.zeros(len(right), bool)
        part = Favourites(favoured.option[has_decoys], favoured.strength[has_decoys])
        clusters = [numbers[has_decoys] for numbers in clusterings]
        known[has_decoys] = exceeding(part, right[has_decoys], chances[has_decoys], rate, benefit, clusters)
        return known
    strength, found = favoured.strength, right & np.isfinite(favoured.strength)
    order = np.argsort(-strength, kind="stable")
    odds, hits = (chances / np.maximum(1 - chances, 1e-9))[order], found[order].cumsum()
    decoys, largest = np.where(found[order], 0.0, odds).cumsum(), np.maximum.accumulate(odds)
    ends = np.append(strength[order][1:] != strength[order][:-1], True)[: len(order)]
    passing = ends & (hits > 0) & (decoys + benefit * largest <= rate * np.maximum(hits, 1))
    for place in np.flatnonzero(passing)[::-1]:
        taken = found & (strength >= strength[order[place]])
        further = max((_dependent(taken, right, strength, chances, of) - 1 for of in clusterings), default=0.0)
        if decoys[place] + (benefit + further) * largest[place] <= rate * hits[place]:
            return np.asarray(taken)
    return np.zeros(len(right), bool)


def share_preferences(clusters: Ints, favoured: Favourites, right: Bools, chances: Floats) -> bool:
    """Whether items of one cluster are wrong together, which no knowledge explains.

    Of a cluster with m favourites at least Binomial(m, chance) are right where items are independent, because
    knowledge only adds to it. The chances of so few are combined over clusters of four and more items (Fisher) and
    tested at .05.
    Clusters must have been made without the keys. Checked by ``tests/filters/dependent.py``.
    """
    leads = favoured.option >= 0
    sizes, hits, expected = (np.bincount(clusters, weights) for weights in (leads, leads & right, leads * chances))
    tested = sizes >= _FEWEST_TOGETHER
    if not tested.any():
        return False
    so_few = scipy.stats.binom.cdf(hits[tested], sizes[tested], expected[tested] / sizes[tested])
    return bool(scipy.stats.combine_pvalues(np.maximum(so_few, 1e-300)).pvalue <= _LEVEL)


def _dependent(taken: Bools, right: Bools, strength: Floats, chances: Floats, clusters: Ints) -> float:
    """How many of the items taken may be right or wrong together: those of one cluster. With u the share of right
    favourites in the rest of it, two of its items correlate by (u − chance)² / (chance (1 − chance)).
    """
    rest = np.isfinite(strength) & ~taken
    several, others, hits, chance = (
        np.bincount(clusters, weights)
        for weights in (taken, rest, rest & right, chances / np.bincount(clusters)[clusters])
    )
    above = np.maximum((hits + _DOUBTED) / (others + _DOUBTED) - chance, 0.0)
    alike = np.minimum(above**2 / np.maximum(chance * (1 - chance), 1e-9), 1.0)
    return float((1 + (several - 1) * alike)[several > 0].max(initial=1.0))


def chance(counted: HitCounts, tastes: Floats) -> Floats:
    """For each item, the chance of so many hits by guessing with such tastes and beliefs."""
    kinds, of_kind = counted.kinds()
    chances = np.ones(len(counted.hits))
    for number, (samples, right, offered) in enumerate(kinds.tolist()):
        mine = of_kind == number
        logs = [_log_chances(samples, right * taste, (offered - right) * taste) for taste in _TASTES.tolist()]
        logs += [_log_believed(samples, right, offered, belief) for belief in _BELIEFS]
        chances[mine] = np.minimum(tastes @ np.exp([_tail(chances_of) for chances_of in logs]), 1.0)[
            counted.hits[mine]
        ]
    return chances


def tastes_of_choices(chosen: Ints, golds: Bools, options: Ints) -> Floats:
    """Weights of `_TASTES` and `_BELIEFS`, learnt from choices on items whose favourite is a distractor."""
    there = np.arange(chosen.shape[1]) < options[:, None]
    leading = there & (chosen == np.where(there, chosen, -1).max(axis=1, keepdims=True, initial=-1))
    wrong = (leading & ~golds).sum(axis=1) / np.maximum(leading.sum(axis=1), 1)
    guesses = [dirichlet_multinomial(chosen, there * taste) for taste in _TASTES.tolist()]
    fits = np.stack([*guesses, *(_believed(chosen, there, belief) for belief in _BELIEFS)], axis=1)
    likely = np.exp(fits - fits.max(axis=1, keepdims=True, initial=-np.inf))
    usual = np.append(np.exp(_USUAL) / np.exp(_USUAL).sum(), np.zeros(len(_BELIEFS)))
    weights = (usual + 1 / len(usual)) / 2
    for _ in range(_ROUNDS):
        shares = likely * weights
        shares /= shares.sum(axis=1, keepdims=True)
        weights = (wrong[:, None] * shares).sum(axis=0) + _USUAL_ITEMS * usual
        weights = weights / weights.sum()
    return np.asarray(weights)


def tastes_of_hits(counted: HitCounts) -> Floats:
    """The same from hits alone: one taste, by items that are hit no more often than by chance."""
    kinds, of_kind = counted.kinds()
    fits = [_low_side(counted.hits, kinds, of_kind, taste) for taste in _TASTES.tolist()]
    weights = np.zeros(len(_TASTES) + len(_BELIEFS))
    weights[np.argmax(fits + _USUAL)] = 1.0
    return weights


def _believed(chosen: Ints, there: Bools, belief: tuple[float, float]) -> Floats:
    """Log chance of choices where one unknown option is believed."""
    taste, firm = belief
    each = [
        np.where(there[:, option], dirichlet_multinomial(chosen, there * (taste + firm * believed)), -np.inf)
        for option, believed in enumerate(np.eye(chosen.shape[1]))
    ]
    return np.asarray(scipy.special.logsumexp(each, axis=0) - np.log(there.sum(axis=1)))


def _low_side(hits: Ints, kinds: Ints, of_kind: Ints, taste: float) -> float:
    """Log likelihood of the hits at or below what guessing gives, given that they are."""
    total = 0.0
    for number, (samples, golds, options) in enumerate(kinds):
        upto = samples * golds // options
        low = hits[(of_kind == number) & (hits <= upto)]
        chances = _log_chances(int(samples), golds * taste, (options - golds) * taste)[: upto + 1]
        total += float((chances[low] - scipy.special.logsumexp(chances)).sum())
    return total


def _log_believed(samples: int, golds: int, options: int, belief: tuple[float, float]) -> Floats:
    """Log chance of 0, 1, … hits where one unknown option is believed."""
    taste, firm = belief
    right, wrong = golds * taste, (options - golds) * taste
    if golds == options:
        return _log_chances(samples, right, wrong)
    hit, missed = (_log_chances(samples, right + on_gold, wrong + firm - on_gold) for on_gold in (firm, 0.0))
    return np.asarray(np.logaddexp(np.log(golds / options) + hit, np.log(1 - golds / options) + missed))


def _log_chances(samples: int, right: float, wrong: float) -> Floats:
    """Log chance of 0, 1, … hits by tastes for right and wrong options."""
    counts = np.arange(samples + 1)
    if not wrong:
        return np.where(counts == samples, 0.0, -np.inf)
    return np.asarray(scipy.stats.betabinom.logpmf(counts, samples, right, wrong))


def _tail(log_chances: Floats) -> Floats:
    return np.minimum(np.logaddexp.accumulate(log_chances[::-1])[::-1], 0.0)


_COARSE_TASTES: Floats = np.geomspace(0.1, 30.0, 9)
_MEMORIZED, _BESIDE = 10.0, 0.3  # Dirichlet parameters of memorized answers: nine of ten are that option
_SHARE_ROUNDS = 25
_LEAST = float(np.log(3))  # less evidence is not worth a mention (Jeffreys)
_COMMON = 0.8  # of the language models, how many have what one of them has
_DOUBT = 1e-9
_MOST = 600.0  # of log likelihood ratios, so that they stay numbers


class Memorized(NamedTuple):
    """What a panel has memorized and its language models have not."""

    favoured: Favourites  # by item the option for which most speaks, and how much: a sum of log likelihood ratios
    holders: Ints  # items × options: how many models have probably memorized it


class _Fit(NamedTuple):
    shares: Floats  # by model, the share of the benchmark memorized
    ratios: Floats  # items × models × options: likelihood ratio of choices if the option is memorized
    posterior: Floats  # items × models × options: probability that the model has memorized it
    likelihood: float


def memorized(counts: Ints, bases: Ints, options: Ints) -> Memorized:
    """What models have memorized and their language models (there may be none) have not: items × models × options."""
    there = np.arange(counts.shape[2]) < options[:, None]
    known = _known(counts, there)
    guessed, _ = _guessing(counts, known, there)
    read = _read(bases, there)
    with np.errstate(divide="ignore"):
        inherited = np.logaddexp.reduce(np.log(read)[:, None, :] + known, axis=2)
        unread = np.log(1 - read.sum(axis=1))[:, None] + guessed
    fit = _fit(known, np.logaddexp(unread, inherited), options)
    odds = fit.shares[:, None] * fit.ratios
    evidence = np.where(there, np.log(1 - fit.shares[:, None] + odds).sum(axis=1), -np.inf)
    most = np.round(evidence.max(axis=1, initial=-np.inf), 9)
    leads = ((np.round(evidence, 9) == most[:, None]).sum(axis=1) == 1) & (most >= _LEAST)
    best = np.where(leads, evidence.argmax(axis=1), -1)
    return Memorized(Favourites(best, np.where(leads, most, -np.inf)), (odds > 1 - fit.shares[:, None]).sum(axis=1))


def _read(bases: Ints, there: Bools) -> Floats:
    """Items × options: how likely language models have memorized the option; what one has, most have."""
    if not bases.shape[1]:
        return np.zeros(there.shape)
    ratios = _guessing(bases, _known(bases, there), there)[1].ratios
    together = np.where(there, np.log(1 - _COMMON + _COMMON * ratios).sum(axis=1), -np.inf)
    return _fit(together[:, None, :], np.zeros((len(bases), 1)), there.sum(axis=1)).posterior[:, 0] * (1 - _DOUBT)


def _known(counts: Ints, there: Bools) -> Floats:
    """Log likelihood of each model's choices if it has memorized each option."""
    beside = there[:, None, :] * _BESIDE
    each = [
        dirichlet_multinomial(
            counts, beside + _MEMORIZED * (np.arange(counts.shape[2]) == option) * there[:, None, :]
        )
        for option in range(counts.shape[2])
    ]
    return np.where(there[:, None, :], np.stack(each, axis=2), -np.inf)


def _guessing(counts: Ints, known: Floats, there: Bools) -> tuple[Floats, _Fit]:
    """Log likelihood of a guesser's choices, by the taste that explains all choices best; and that fit."""
    options = there.sum(axis=1)
    guesses = [dirichlet_multinomial(counts, there[:, None, :] * taste) for taste in _COARSE_TASTES.tolist()]
    fits = [_fit(known, guessed, options) for guessed in guesses]
    best = max(range(len(fits)), key=lambda index: fits[index].likelihood)
    return guesses[best], fits[best]


def _fit(known: Floats, otherwise: Floats, options: Ints) -> _Fit:
    """Fit the share that each model has memorized, with any option equally likely to be the memorized one."""
    ratios = np.exp(np.minimum(known - otherwise[:, :, None], _MOST))
    each = ratios / options[:, None, None]
    together = each.sum(axis=2)
    shares = np.full(known.shape[1], 0.1)
    for _ in range(_SHARE_ROUNDS):
        shares = (shares * together / (1 - shares + shares * together)).mean(axis=0) if len(known) else shares
    total = 1 - shares + shares * together
    posterior = shares[:, None] * each / total[:, :, None]
    return _Fit(shares, ratios, posterior, float((otherwise + np.log(total)).sum()))
