"""Who has an answer from elsewhere: each model guesses an item by its taste, or has one of the options by heart.

An item may have leaked to few models of many, so that a count of hits drowns it. How much of a benchmark each model
has by heart is learnt from how often its choices crowd (an EM over all items, golds unseen); the models of whom
nothing speaks for it then add nothing. What any language model has by heart is text that is known, and no leak.
"""

from typing import NamedTuple

import numpy as np

from eyetest.measures.stats.beliefs import Favourites, dirichlet_multinomial
from eyetest.measures.stats.intervals import Bools, Floats, Ints

_TASTES: Floats = np.geomspace(0.1, 30.0, 9)
_BY_HEART, _BESIDE = 10.0, 0.3
"""Dirichlet parameters of what is known by heart: nine answers of ten are that option, the others are slips."""
_ROUNDS = 25
_LEAST = float(np.log(3))
"""Less evidence is not worth a mention (Jeffreys): what language models have as well comes out near nothing."""
_COMMON = 0.8
"""Of the language models, how many have what one of them has."""
_DOUBT = 1e-9
_MOST = 600.0
"""Of log likelihood ratios, so that they stay numbers."""


class ByHeart(NamedTuple):
    """What a panel has that its language models have not."""

    favoured: Favourites
    """By item the option for which most speaks, and how much: a sum of log likelihood ratios."""
    holders: Ints
    """Items × options: how many models probably have it by heart, if somebody has."""


class _Fit(NamedTuple):
    shares: Floats
    """By model, how much of the benchmark it has by heart."""
    ratios: Floats
    """Items × models × options: how much likelier choices are of one who has the option by heart."""
    posterior: Floats
    """Items × models × options: how likely the model has it by heart."""
    likelihood: float


def by_heart(counts: Ints, bases: Ints, options: Ints) -> ByHeart:
    """What models have by heart and their language models have not. Both: items × models × options.

    Without language models (none of them) models are held against their tastes alone.
    """
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
    return ByHeart(Favourites(best, np.where(leads, most, -np.inf)), (odds > 1 - fit.shares[:, None]).sum(axis=1))


def _read(bases: Ints, there: Bools) -> Floats:
    """Items × options: how likely language models have the option by heart; what one has, most of them have."""
    if not bases.shape[1]:
        return np.zeros(there.shape)
    ratios = _guessing(bases, _known(bases, there), there)[1].ratios
    together = np.where(there, np.log(1 - _COMMON + _COMMON * ratios).sum(axis=1), -np.inf)
    return _fit(together[:, None, :], np.zeros((len(bases), 1)), there.sum(axis=1)).posterior[:, 0] * (1 - _DOUBT)


def _known(counts: Ints, there: Bools) -> Floats:
    """Log likelihood of each model's choices if it has each option by heart."""
    beside = there[:, None, :] * _BESIDE
    each = [
        dirichlet_multinomial(counts, beside + _BY_HEART * (np.arange(counts.shape[2]) == option) * there[:, None, :])
        for option in range(counts.shape[2])
    ]
    return np.where(there[:, None, :], np.stack(each, axis=2), -np.inf)


def _guessing(counts: Ints, known: Floats, there: Bools) -> tuple[Floats, _Fit]:
    """Log likelihood of the choices of one who guesses, by the taste that explains all choices best; and that fit."""
    options = there.sum(axis=1)
    guesses = [dirichlet_multinomial(counts, there[:, None, :] * taste) for taste in _TASTES.tolist()]
    fits = [_fit(known, guessed, options) for guessed in guesses]
    best = max(range(len(fits)), key=lambda index: fits[index].likelihood)
    return guesses[best], fits[best]


def _fit(known: Floats, otherwise: Floats, options: Ints) -> _Fit:
    """The share that each model has by heart, where any option is as likely to be what it has."""
    ratios = np.exp(np.minimum(known - otherwise[:, :, None], _MOST))
    each = ratios / options[:, None, None]
    together = each.sum(axis=2)
    shares = np.full(known.shape[1], 0.1)
    for _ in range(_ROUNDS):
        shares = (shares * together / (1 - shares + shares * together)).mean(axis=0) if len(known) else shares
    total = 1 - shares + shares * together
    posterior = shares[:, None] * each / total[:, :, None]
    return _Fit(shares, ratios, posterior, float((otherwise + np.log(total)).sum()))
