"""Suspected label errors: do models' votes look like those of an item whose key was moved? Keys are moved in the
benchmark's own votes (to every other option, half of the weight to the models' favourite). Two estimates of the log
likelihood ratio are averaged: a ridge logistic regression on votes that separates moved from given keys, which finds
planted errors best, and Dawid–Skene's model with the key as one more annotator, which finds real ones best. With a
prior the ratio gives odds.
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
_ROWS = 20_000  # moved keys from which the regression is learnt
_OF_A_TASK = 5  # tasks with fewer items are learnt together
_FAVOURITE = 0.5  # share of the moved keys that go to the models' favourite wrong option
_ROUNDS, _SCALE = 12, 5.0  # of Dawid–Skene's model, and the scale of its log odds
_STEPS, _LONGEST = 10, 5.0  # of Newton's method, and the largest change of a logit in a step
_RIDGE, _RIDGE_MODEL, _RIDGE_TASK = 0.1, 30.0, 3.0
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


class _Panel(NamedTuple):
    chosen: Ints  # items × models, −1 where unread
    number: Ints  # of options
    keys: Ints
    kinds: Ints  # items × options: numbers of `recurring`
    tasks: Ints  # by item; 0 for rare ones
    ease: Floats  # by item: mean share of models that choose the key, in items of its task

    def part(self, rows: slice) -> "_Panel":
        first = self.chosen[rows], self.number[rows], self.keys[rows]
        return _Panel(*first, self.kinds[rows], self.tasks[rows], self.ease[rows])

    def shares(self, weights: Floats) -> Floats:
        """Items × options: share of the panel's weight that chose it; −1 beyond an item's options."""
        places = np.arange(self.kinds.shape[1])
        votes = np.stack([(self.chosen == place) @ weights for place in places], axis=1) / weights.sum()
        return np.asarray(np.where(places < self.number[:, None], votes, -1.0))


def suspicion(
    choices: ArrayLike,
    options: ArrayLike,
    golds: ArrayLike,
    kinds: ArrayLike | None = None,
    tasks: Sequence[str | None] | None = None,
    people: float = 1 - PRIOR,
) -> Suspicion:
    """What models' choices say of each key. ``choices``: items × models, places from 0, negative where unread;
    ``kinds``: items × options, numbers of `recurring`; ``tasks``: item groups with equal error rates; ``people``: the
    share of items that people answer right, which bounds the prior.
    """
    number, gold = np.asarray(options, np.int64), np.asarray(golds, np.int64)
    chosen = np.asarray(choices, np.int64)
    chosen = np.where(chosen < number[:, None], chosen, -1)
    width, prior = max(int(number.max(initial=2)), 2), min(PRIOR, 1 - people)
    of_kind = np.zeros((len(gold), width), np.int64)
    if kinds is not None:
        given = np.asarray(kinds, np.int64)[:, :width]
        of_kind[:, : given.shape[1]] = given
    of_task = _numbered(tasks, len(gold))
    ease = _ease((chosen == gold[:, None]).mean(axis=1), of_task)
    panel = _Panel(chosen, number, gold, of_kind, of_task, ease)
    some = slice(None, None, max(-(-int((number - 1).sum()) // _ROWS), 1))
    with one_thread():
        first = _ratios(panel._replace(tasks=np.zeros_like(of_task)), np.ones(chosen.shape[1]), some)
        sound = scipy.special.expit(-first[some] - scipy.special.logit(_GENEROUS))
        weights = independence(chosen[some], number[some], gold[some], sound)
        ratios = (_ratios(panel, weights, some) + _annotators(panel, weights, some)) / 2
    shares = panel.shares(weights)
    shares[np.arange(len(gold)), gold] = -1.0
    known = (chosen >= 0) @ weights >= INDEPENDENT
    flawed = np.where(known, scipy.special.expit(ratios + scipy.special.logit(prior)), np.nan)
    return Suspicion(ratios, shares.argmax(axis=1), flawed, float(weights.sum()), prior)


def _numbered(tasks: Sequence[str | None] | None, items: int) -> Ints:
    often = {task for task, count in Counter(tasks or ()).items() if task and count >= _OF_A_TASK}
    places = {task: place for place, task in enumerate(sorted(often), start=1)}
    return np.array([places.get(task or "", 0) for task in tasks or [None] * items], np.int64)


def _ease(support: Floats, tasks: Ints) -> Floats:
    """By item the mean support of keys in its task, shrunk to that of all items."""
    sums, counts = np.bincount(tasks, support), np.bincount(tasks)
    overall = support.mean() if len(support) else 0.0
    return np.asarray(((sums + _OF_A_TASK * overall) / (counts + _OF_A_TASK))[tasks])


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


def _ratios(panel: _Panel, weights: Floats, some: slice) -> Floats:
    """Log likelihood ratios of all items, by a regression on some of them with keys as given and with keys moved."""
    part = panel.part(some)
    shares, given = part.shares(weights), np.arange(len(part.keys))
    items, keys, mass = _moved(shares, part.keys)
    rows, penalties = _features(part, shares, np.append(given, items), np.append(part.keys, keys))
    labels = np.repeat([0.0, 1.0], [len(given), len(items)])
    coefficients = _ridge_logistic(rows, labels, np.append(np.ones(len(given)), mass), penalties)
    rows, _ = _features(panel, panel.shares(weights), np.arange(len(panel.keys)), panel.keys)
    return np.asarray(np.where((panel.chosen >= 0).any(axis=1), rows @ coefficients, 0.0))


def _annotators(panel: _Panel, weights: Floats, some: slice) -> Floats:
    """Log likelihood ratios of all items by the log odds against each key in Dawid–Skene's model."""
    against = _against(panel)
    given, part = np.arange(len(panel.keys)), panel.part(some)
    items, keys, mass = _moved(part.shares(weights), part.keys)
    scores = np.append(against[given, panel.keys][some], against[some][items, keys]) / _SCALE
    labels = np.repeat([0.0, 1.0], [len(part.keys), len(items)])
    rows, trust = np.stack([np.ones_like(scores), scores], axis=1), np.append(np.ones(len(part.keys)), mass)
    level, slope = _ridge_logistic(rows, labels, trust, np.array([1e-6, 1e-3]))
    ratios = level + slope * against[given, panel.keys] / _SCALE
    return np.asarray(np.where((panel.chosen >= 0).any(axis=1), ratios, 0.0))


def _against(panel: _Panel) -> Floats:
    """Items × options: log odds that another option is right if this one is the key. Votes count by one accuracy a
    model; among options that recur, a key counts by how often each of them is right where it is the key.
    """
    chosen, number, kinds = panel.chosen, panel.number, panel.kinds
    is_open = np.arange(kinds.shape[1]) < number[:, None]
    size = int(kinds.max(initial=0)) + 1
    own = kinds[np.arange(len(panel.keys)), panel.keys]
    truth = np.where(is_open, panel.shares(np.ones(chosen.shape[1])) + 1e-2, 0.0)
    logs, table = np.zeros(truth.shape), np.zeros((size, size))
    for _ in range(_ROUNDS):
        truth /= truth.sum(axis=1, keepdims=True)
        logs = np.where(is_open, 0.0, -np.inf)
        for model in chosen.T:
            read = np.flatnonzero(model >= 0)
            right = (truth[read, model[read]].sum() + 1) / (len(read) + 2)
            above = np.maximum(right, 1 / number[read] + 0.01)  # a model below chance has no weight
            logs[read, model[read]] += np.log(above * (number[read] - 1) / (1 - above))
        pairs: Floats = np.eye(size) + 1e-3
        np.add.at(pairs, (kinds, np.broadcast_to(own[:, None], kinds.shape)), truth)
        table = np.log(pairs / pairs.sum(axis=0))
        table[0], table[:, 0] = 0.0, 0.0
        odds = logs + table[kinds, own[:, None]]
        truth = np.exp(odds - scipy.special.logsumexp(odds, axis=1, keepdims=True))
    against = np.zeros(logs.shape)
    for place in range(kinds.shape[1]):
        odds = logs + table[kinds, kinds[:, place][:, None]]
        key = odds[:, place].copy()
        odds[:, place] = -np.inf
        against[:, place] = np.where(is_open[:, place], scipy.special.logsumexp(odds, axis=1) - key, 0.0)
    return against


def _moved(shares: Floats, keys: Ints) -> tuple[Ints, Ints, Floats]:
    """Items, the keys they are moved to, and weights: all other options, the favourites among them more."""
    others = np.where(np.arange(shares.shape[1]) == keys[:, None], -1.0, shares)
    wrong = others >= 0
    leading = wrong & (others == others.max(axis=1, keepdims=True, initial=-1.0))
    mass = (1 - _FAVOURITE) * wrong / np.maximum(wrong.sum(axis=1, keepdims=True), 1)
    mass = mass + _FAVOURITE * leading / np.maximum(leading.sum(axis=1, keepdims=True), 1)
    items, moved = np.nonzero(wrong)
    return items, moved, mass[items, moved]


def _features(panel: _Panel, shares: Floats, items: Ints, keys: Ints) -> tuple[Floats, Floats]:
    """Items with keys as rows of features, and a ridge penalty for each: votes, models, and tasks."""
    votes, rows = shares[items], np.arange(len(items))
    own = votes[rows, keys]
    votes[rows, keys] = -1.0
    second, rival = np.maximum(np.sort(votes, axis=1)[:, -2:], 0.0).T
    chosen, scale, ease = panel.chosen[items], np.log(panel.number[items]), panel.ease[items]
    unsupported = (own == 0) * (chosen >= 0).mean(axis=1)
    main = [own, rival, second, unsupported, scale, rival * scale, own * scale, own**2, rival**2, own * rival]
    tasks = int(panel.tasks.max(initial=0))
    if tasks:
        main += [ease, ease * own, ease * rival, ease * rival**2]
    against = (chosen >= 0) - 2.0 * (chosen == keys[:, None])
    of_task = panel.tasks[items][:, None] == np.arange(1, tasks + 1)
    blocks = [np.ones((len(items), 1)), np.stack(main, axis=1), against, of_task, of_task * (rival - own)[:, None]]
    ridges = (1e-6, _RIDGE, _RIDGE_MODEL, _RIDGE_TASK, _RIDGE_TASK)
    return np.hstack(blocks), np.repeat(ridges, [block.shape[1] for block in blocks])


def _ridge_logistic(rows: Floats, labels: Floats, weights: Floats, penalties: Floats) -> Floats:
    """Coefficients by Newton's method, in bounded steps."""
    found = np.zeros(rows.shape[1])
    for _ in range(_STEPS):
        likely = scipy.special.expit(rows @ found)
        slope = rows.T @ (weights * (labels - likely)) - penalties * found
        curvature = (rows * (weights * likely * (1 - likely))[:, None]).T @ rows + np.diag(penalties)
        step = np.linalg.solve(curvature, slope)
        found += step * min(1.0, _LONGEST / max(float(np.abs(rows @ step).max(initial=0.0)), 1e-9))
    return found


def most_chosen(choices: Iterable[int]) -> int | None:
    """The option that a model chose most often; None where none was read or two lead."""
    votes = Counter(choices)
    leading = [option for option, count in votes.items() if count == max(votes.values())]
    return leading[0] if len(leading) == 1 else None
