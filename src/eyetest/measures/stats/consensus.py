"""Suspected label errors: how strongly models' votes speak against each key.

The score of a key is the mean of two, each in standard deviations: its margin (the largest share of models for
another option, less its own), and the log odds against it if models are independent, each as accurate as it agrees
with the given keys. The score is put on the scale of a log likelihood ratio by moving keys in the benchmark's own
votes (to every other option, half of the weight to the models' favourite); with a prior the ratio gives odds.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from eyetest.measures.stats.intervals import Floats, Ints, one_thread

_RECURS = 30  # a set of options that so many items share tells how readily models give each of them
_FEW_OPTIONS, _SHORT = 5, 100  # such sets have at most so many options, and characters in all


def recurring(answers: Iterable[Sequence[str]]) -> NDArray[np.int64]:
    """Number the options that recur from item to item as whole sets, in any order (yes and no); 0 for all others."""
    texts = [short_texts(own) for own in answers]
    sets = [tuple(sorted(own)) for own in texts]
    often = {own for own, count in Counter(sets).items() if count >= _RECURS and len(set(own)) == len(own)}
    members = [(own, text) for own in sorted(often) for text in own]
    names = {member: number for number, member in enumerate(members, start=1)}
    kinds = np.zeros((len(texts), max(map(len, texts), default=1)), np.int64)
    for row, (own, together) in enumerate(zip(texts, sets, strict=True)):
        kinds[row, : len(own)] = [names.get((together, text), 0) for text in own]
    return kinds


def short_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Comparable forms of options; none where they are too many or long to recur."""
    if len(texts) > _FEW_OPTIONS or sum(map(len, texts)) > _SHORT:
        return ()
    return tuple(" ".join(text.casefold().split()).strip(" .") for text in texts)


INDEPENDENT = 5.0  # with fewer effectively independent models there is an order, and no odds
PRIOR = 0.03  # share of wrong keys before any answer; 3.4 % on average in ten test sets (Northcutt et al. 2021)
_FAVOURITE = 0.5  # share of the moved keys that go to the models' favourite wrong option
_ROUNDS = 12  # of how often an option is right where another one is the key
_RELATIONS = 20_000  # options from which the relations of models are estimated
_UNRELATED, _AT_MOST = 0.25, 0.2  # a quarter of the pairs is unrelated, or correlates no more than this
_NOISE = 2.0  # standard errors that are no relation
_GENEROUS = 0.1  # prior of wrong keys for this alone: against those all models agree that are right
_PAIRS = 3  # two models have no other pair to compare with


class Suspicion(NamedTuple):
    """By item: the evidence against its key."""

    ratios: Floats  # log likelihood ratio of the votes: key moved against key as given
    rivals: Ints  # the option with most votes beside the key
    flawed: Floats  # probability that the key is wrong; NaN with fewer than `INDEPENDENT` independent models
    independent: float  # effective number of independent models
    prior: float


def suspicion(
    choices: ArrayLike,
    options: ArrayLike,
    golds: ArrayLike,
    kinds: ArrayLike | None = None,
    people: float = 1 - PRIOR,
) -> Suspicion:
    """What models' choices say of each key. ``choices``: items × models, places from 0, negative where unread;
    ``kinds``: items × options, numbers of `recurring`; ``people``: the share of items that people answer right, which
    bounds the prior.
    """
    number, keys = np.asarray(options, np.int64), np.asarray(golds, np.int64)
    chosen = np.asarray(choices, np.int64)
    chosen = np.where(chosen < number[:, None], chosen, -1)
    places, given = np.arange(max(int(number.max(initial=2)), 2)), np.arange(len(keys))
    of_kind = np.zeros((len(keys), len(places)), np.int64)
    if kinds is not None:
        known = np.asarray(kinds, np.int64)[:, : len(places)]
        of_kind[:, : known.shape[1]] = known
    votes = np.stack([(chosen == place).sum(axis=1) for place in places], axis=1) + 0.5
    is_open = places < number[:, None]
    shares = np.where(is_open, votes / (votes * is_open).sum(axis=1, keepdims=True), -1.0)
    read = (chosen >= 0).any(axis=1) & (number > 1)
    with one_thread():
        odds = _log_odds(chosen, shares, keys, of_kind)
        ratios = np.where(read, _calibrated((_margins(shares), odds), shares, keys), 0.0)
        some = slice(None, None, max(-(-int((number - 1).sum()) // _RELATIONS), 1))
        sound = scipy.special.expit(-ratios[some] - scipy.special.logit(_GENEROUS))
        weights = independence(chosen[some], number[some], keys[some], sound)
    prior = min(PRIOR, 1 - people)
    enough = (chosen >= 0) @ weights >= INDEPENDENT
    flawed = np.where(enough, scipy.special.expit(ratios + scipy.special.logit(prior)), np.nan)
    others = shares.copy()
    others[given, keys] = -1.0
    return Suspicion(ratios, others.argmax(axis=1), flawed, float(weights.sum()), prior)


def independence(chosen: Ints, number: Ints, keys: Ints, trust: Floats) -> Floats:
    """By model the share of its votes that is its own (of eight copies an eighth), from agreement on wrong answers.
    ``trust``: by item how likely its key is right, since all models agree against a wrong key.
    """
    items, models = chosen.shape
    places = np.arange(max(int(number.max(initial=2)), 2))
    wrong = (places < number[:, None]) & (places != keys[:, None])
    errors = (chosen[:, None, :] == places[:, None]) & wrong[:, :, None]
    read = (chosen >= 0) * trust[:, None]
    rates = (errors.any(axis=1) * trust[:, None]).sum(axis=0) / np.maximum(read.sum(axis=0), 1e-9)
    expected = rates / np.maximum(number - 1, 1)[:, None, None]
    excess = (errors - expected) * wrong[:, :, None] * np.sqrt(read)[:, None, :]
    flat = excess.reshape(-1, models)
    size = np.sqrt(np.maximum((flat**2).sum(axis=0), 1e-12))
    alike = flat.T @ flat / np.outer(size, size)
    base = 0.0
    if models >= _PAIRS:
        pairs = alike[~np.eye(models, dtype=bool)]
        base = min(float(np.quantile(pairs, _UNRELATED)), _AT_MOST) + _NOISE / np.sqrt(max(items, 1))
    related = np.clip((alike - base) / max(1 - base, 1e-9), 0.0, 1.0)
    np.fill_diagonal(related, 1.0)
    return np.asarray(1 / related.sum(axis=1))


def _margins(shares: Floats) -> Floats:
    """Items × options: the largest share of models for another option, less the option's own."""
    best, second = np.sort(shares, axis=1)[:, :-3:-1].T[:, :, None]
    return np.asarray(np.where(shares == best, second, best) - shares)


def _log_odds(chosen: Ints, shares: Floats, keys: Ints, kinds: Ints) -> Floats:
    """Items × options: log odds that another option is right if this one is the key. Votes count by how often a model
    agrees with the given keys; among options that recur, a key counts by how often each of them is right where it is
    the key.
    """
    is_open, own = shares >= 0, kinds[np.arange(len(keys)), keys]
    others = max(float(np.median(is_open.sum(axis=1))), 2.0) - 1  # one number, or items with more are more suspect
    votes = np.where(is_open, 0.0, -np.inf)
    for model in chosen.T:
        read = np.flatnonzero(model >= 0)
        right = ((model == keys)[read].sum() + 1) / (len(read) + 2)
        right = max(right, 1 / (1 + others) + 0.01)  # a model below chance has no weight
        votes[read, model[read]] += np.log(right * others / (1 - right))
    size = int(kinds.max(initial=0)) + 1
    table = np.zeros((size, size))
    for _ in range(_ROUNDS if size > 1 else 0):
        odds = votes + table[kinds, own[:, None]]
        truth = np.exp(odds - scipy.special.logsumexp(odds, axis=1, keepdims=True))
        pairs: Floats = np.eye(size) + 1e-3
        np.add.at(pairs, (kinds, np.broadcast_to(own[:, None], kinds.shape)), truth)
        table = np.log(pairs / pairs.sum(axis=0))
        table[0], table[:, 0] = 0.0, 0.0
    against = np.zeros(votes.shape)
    for place in range(kinds.shape[1]):
        odds = votes + table[kinds, kinds[:, place][:, None]]
        key = odds[:, place].copy()
        odds[:, place] = -np.inf
        several = is_open[:, place] & (is_open.sum(axis=1) > 1)
        against[several, place] = scipy.special.logsumexp(odds[several], axis=1) - key[several]
    return against


def _calibrated(scores: Sequence[Floats], shares: Floats, keys: Ints) -> Floats:
    """By item the log likelihood ratio of its key as moved and as given, by a logistic regression on the mean of the
    scores, which are items × options.
    """
    given = np.arange(len(keys))
    spread = [(own - own[given, keys].mean()) / max(float(own[given, keys].std()), 1e-9) for own in scores]
    score = np.mean(spread, axis=0) if len(keys) else np.zeros(shares.shape)
    items, places, mass = _moved(shares, keys)
    values = np.append(score[given, keys], score[items, places])
    rows = np.stack([np.ones_like(values), values], axis=1)
    moved = np.repeat([0.0, 1.0], [len(keys), len(items)])
    level, slope = _logistic(rows, moved, np.append(np.ones(len(keys)), mass))
    return np.asarray(level + slope * score[given, keys])


def _moved(shares: Floats, keys: Ints) -> tuple[Ints, Ints, Floats]:
    """Items, the keys they are moved to, and weights: all other options, the favourites among them more."""
    others = np.where(np.arange(shares.shape[1]) == keys[:, None], -1.0, shares)
    wrong = others >= 0
    leading = wrong & (others == others.max(axis=1, keepdims=True, initial=-1.0))
    mass = (1 - _FAVOURITE) * wrong / np.maximum(wrong.sum(axis=1, keepdims=True), 1)
    mass = mass + _FAVOURITE * leading / np.maximum(leading.sum(axis=1, keepdims=True), 1)
    items, moved = np.nonzero(wrong)
    return items, moved, mass[items, moved]


def _logistic(rows: Floats, labels: Floats, weights: Floats) -> Floats:
    """Coefficients by Newton's method, in bounded steps; a ridge keeps them finite where labels are separable."""
    found = np.zeros(rows.shape[1])
    for _ in range(10):
        likely = scipy.special.expit(rows @ found)
        slope = rows.T @ (weights * (labels - likely)) - 1e-3 * found
        curvature = (rows * (weights * likely * (1 - likely))[:, None]).T @ rows + 1e-3 * np.eye(len(found))
        step = np.linalg.solve(curvature, slope)
        found += step * min(1.0, 5.0 / max(float(np.abs(rows @ step).max(initial=0.0)), 1e-9))
    return found


def most_chosen(choices: Iterable[int]) -> int | None:
    """The option that a model chose most often; None where none was read or two lead."""
    votes = Counter(choices)
    leading = [option for option, count in votes.items() if count == max(votes.values())]
    return leading[0] if len(leading) == 1 else None
