"""Choose a batch's distractors from random sets, repeatedly making sets less likely whose key or authored options
learners find, with the question and without, and keep new options only where they are exchangeable with the key.

Of the sets of an item one is taken with odds of Π 1 / p, where p is the share that learners give to the key, or to
each authored option, among the options of the set: softmax(a · trees + b · logits), trees on relations of the options
to each other, logits of the regression of `fitting`, a and b chosen for the batch. Where options are kept or refused,
boosted trees have a part in p. If p is right, options of the sets taken are exchangeable. Assumed: items are
independent, learners are right, and sets differ enough to choose among.
Checked by other learners, ``tests/harden/options/judging.py`` and ``question_judging.py``.
"""

import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingClassifier

from eyetest.harden.options.fitting import FACTORS, LEAST_ITEMS, QuestionFit, question_numbers, simple_results
from eyetest.measures.stats.intervals import one_thread
from eyetest.probes.features import Floats, Ints, decimals, in_common, number_of
from eyetest.reform.distractors.number_sets import draw_sets
from eyetest.reform.distractors.written import Case
from eyetest.text import normalized as key

Features = NDArray[np.float32]
Learner = Callable[[Features, Floats, Features, int], Floats]
"""Scores of drawn rows, learnt from given rows and their labels, which are relative to the item; and a seed."""

_FOLDS = 4
_SPLITS = 3  # partitions into folds over which scores are averaged
_MOST_DIGITS = 18  # the last ones of a text, which are compared place by place; all rows need one length
_SETS = 48  # that are drawn for an item to choose from
_ROUNDS = 4  # how often learners look for remaining cues, in turn of authored options and of the key
_FITTINGS = 2  # how often the odds of proposals are corrected by what fits the question
_LARGEST_CORRECTION = 3.0  # of the logarithm of a proposal's odds, or a few proposals would be in every set
_COMPARED = 12  # proposals of an item to which its authored options are compared
# Factors from which those are chosen that turn learners' scores into probabilities best
_CERTAINTIES = np.array([0.0, 2.0, 4.0, 7.0, 10.0, 14.0, 20.0, 28.0])  # of trees, whose scores lie within −1 and 1
_TRUSTS = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5])  # of logits; 0 where nothing was learnt
_BOOSTED_TRUSTS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
_MOST_OF_CHANCE = (
    1.1  # how often any option may be the key of a kept item; at 1 a single unlikely option costs most items
)
_WORD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")


class Relations:
    """Relations of an item's texts that need no image: of each to the question, and of each two to each other."""

    def __init__(self, question: str, texts: Sequence[str]) -> None:
        values = np.array([number_of(text) for text in texts], np.float64)  # NaN for other texts
        self._numbers = np.nan_to_num(values)
        lowered = [text.lower() for text in texts]
        words = [set(_WORD.findall(text)) for text in lowered]
        asked = set(_WORD.findall(question.lower()))
        question_values = _question_numbers(question)
        digits = [re.sub(r"\D", "", text)[-_MOST_DIGITS:] for text in texts]
        first = [int(own.lstrip("0")[:1] or 0) for own in digits]
        last = [int(own[-1:] or 0) for own in digits]
        self._alone = np.array([
            [math.log1p(len(text)) for text in texts],
            [len(own) for own in words],
            [len(own) for own in digits],
            [len(own) - len(own.rstrip("0")) for own in digits],
            first,
            last,
            [text[:1].isupper() for text in texts],
            [len(own & asked) / max(len(own), 1) for own in words],
            *([value in related for value in values.tolist()] for related in question_values),
            np.log10(np.maximum(np.abs(self._numbers), 1e-9)),
            np.isfinite(values),
            np.abs(np.fmod(self._numbers, 2)) == 1,
        ], np.float64).T  # fmt: skip
        self._sizes = [0, 2, 3, len(self._alone[0]) - 3]  # columns: length, digits, final zeros, magnitude
        letters = [{text[at : at + 3] for at in range(max(len(text) - 2, 1))} for text in lowered]
        ends = [np.equal.outer(np.array(end), np.array(end)).astype(np.float64) for end in (first, last)]
        pairs = [in_common(words), in_common(letters), _one_digit_off(digits), *ends, *self._ratios()]
        self._pairs = np.stack(pairs, axis=2)

    def _ratios(self) -> Iterator[Floats]:
        """Which two numbers have a simple ratio, a simple difference, or differ by less than 15 %."""
        size = np.log10(np.maximum(np.abs(self._numbers), 1e-9))
        ratios = np.abs(size[:, None] - size)
        apart = np.abs(self._numbers[:, None] - self._numbers)
        for factor in (1.5, 2, 3, 10):
            yield (np.abs(ratios - math.log10(factor)) < 1e-6).astype(np.float64)
        for step in (1, 2, 10):
            yield (np.abs(apart - step) < 1e-9).astype(np.float64)
        yield (ratios < 0.06).astype(np.float64)

    def features(self, rows: Ints, offered: Floats, *, absolute: bool = False) -> Features:
        """Sets × options × features.

        ``rows``: the places of each set's options among the texts, sets × options; ``offered``: how often other items
        offer each text. All features are relative to the mean of the set; sizes, or with ``absolute`` all of them,
        are also given as they are.
        """
        alone = np.concatenate([self._alone, np.log1p(offered)[:, None]], axis=1)[rows]
        pairs = self._pairs[rows[:, :, None], rows[:, None, :]]
        itself = np.arange(rows.shape[1])
        pairs[:, itself, itself] = 0
        numbers = _among_numbers(self._numbers[rows])
        parts = [alone, pairs.mean(axis=2), pairs.max(axis=2), numbers]
        beside = np.concatenate(parts, axis=2, dtype=np.float32)
        as_is = beside if absolute else alone[:, :, self._sizes]
        return np.concatenate([beside - beside.mean(axis=1, keepdims=True), as_is], 2, dtype=np.float32)


def _question_numbers(question: str) -> list[set[float]]:
    """Numbers of a question, results of one operation on two of them, and products of one and a simple factor."""
    numbers = question_numbers(question)
    multiples = {number * factor for number in numbers for factor in FACTORS}
    return [set(numbers), simple_results(numbers), multiples]


def _one_digit_off(digits: Sequence[str]) -> Floats:
    """Which two texts differ in one digit, places counted from the end; a digit more counts as one."""
    codes = np.array([[ord(letter) for letter in own.rjust(_MOST_DIGITS)] for own in digits])
    return np.asarray((codes[:, None] != codes).sum(axis=2) == 1, np.float64)


def _among_numbers(offered: Floats) -> Floats:
    """Position of each number among the others: rank, distance from the middle, gaps, middle of two others.

    ``offered``: sets × options, 0 for other texts. Equal numbers, and texts that are none, have one position, so that
    the place of an option in its set tells nothing.
    """
    count = offered.shape[1]
    differences = offered[:, :, None] - offered[:, None, :]
    rank = (differences > 0).sum(axis=2) + ((differences == 0).sum(axis=2) - 1) / 2
    inside = np.sort(offered, axis=1)
    spread = np.maximum(inside[:, -1:] - inside[:, :1], 1e-12)
    below = _nearest_gap(differences) / spread
    above = _nearest_gap(-differences) / spread
    below, above = (np.where(np.isfinite(gaps), gaps, 1.0) for gaps in (below, above))
    first, second = np.triu_indices(count, 1)
    middles = (offered[:, first] + offered[:, second]) / 2
    between = (np.abs(middles[:, None, :] - offered[:, :, None]) < 1e-9).sum(axis=2)
    width = np.log1p(spread / np.maximum(np.abs(inside).max(axis=1, keepdims=True), 1e-12)).repeat(count, axis=1)
    figures = [rank / count, np.abs(rank - (count - 1) / 2) / count, below, above, np.minimum(below, above)]
    return np.stack([*figures, between, width], axis=2)


def _nearest_gap(differences: Floats) -> Floats:
    """Sets × options: the distance to the nearest other number that is not larger; infinite where there is none.

    ``differences``: sets × options × options, of each number and each other one.
    """
    gaps = np.where(differences >= 0, differences, np.inf)
    itself = np.arange(differences.shape[1])
    gaps[:, itself, itself] = np.inf
    return np.asarray(gaps.min(axis=2))


def _rate_by_trees(given: Features, labels: Floats, drawn: Features, seed: int) -> Floats:
    """Scores of the drawn rows by the mean label of randomised trees; they lie within −1 and 1."""
    model = ExtraTreesRegressor(50, min_samples_leaf=8, max_features=0.4, random_state=seed)
    return np.asarray(model.fit(given, labels).predict(drawn))


def _rate_by_boosting(given: Features, labels: Floats, drawn: Features, seed: int) -> Floats:
    """Scores of the drawn rows by boosted trees: the logit of a label above the mean of its item."""
    model = HistGradientBoostingClassifier(
        max_iter=60,
        max_leaf_nodes=6,
        learning_rate=0.05,
        min_samples_leaf=20,
        early_stopping=False,
        random_state=seed,
    )
    return np.asarray(model.fit(given, labels > 0).decision_function(drawn))


def _cross_fitted(
    rate: Learner,
    given: Sequence[Features],
    labels: Sequence[Floats],
    drawn: Sequence[Features],
    folds: Ints,
    seed: int,
) -> list[Floats]:
    """Scores of each item's drawn rows by a learner of the labels of the given rows of the other folds.

    All arguments but learner and seed have one entry for each item. Labels are relative to the item's mean.
    """
    scores: list[Floats] = [np.empty(0)] * len(drawn)
    for fold in range(_FOLDS):
        fitted = np.flatnonzero(folds != fold).tolist()
        rated = np.flatnonzero(folds == fold).tolist()
        targets = np.concatenate([labels[item] - labels[item].mean() for item in fitted])
        with one_thread():
            flat = rate(
                np.concatenate([given[item] for item in fitted]),
                targets,
                np.concatenate([drawn[item] for item in rated]),
                seed,
            )
        ends = np.cumsum([len(drawn[item]) for item in rated])[:-1]
        for item, part in zip(rated, np.split(np.round(flat, 9), ends), strict=True):
            scores[item] = part
    return scores


def _folds(items: int, rng: np.random.Generator) -> Ints:
    """A random fold for each item, folds being of one size."""
    return rng.permutation(np.arange(items) % _FOLDS)


def _key_labels(size: int) -> Floats:
    """1 for the key, which comes first, and 0 for the other options."""
    return np.asarray(np.eye(1, size)[0])


def exchangeable(asked: Sequence[tuple[str, Sequence[str]]], rng: np.random.Generator) -> list[bool]:
    """Which items (question and options, the key first) are kept such that the options of those are exchangeable.

    Rejection sampling: where the key has the share p of its options by cross-fitted learners, without the question
    and with it, the item is kept with probability min(1, t / p). The limit t of the item's set is the largest with
    which no option of a kept set is the key more often than ``_MOST_OF_CHANCE`` times chance, if the learners are
    right. Keeping items whose key is not guessed would instead make the guess wrong, and the key likelier among the
    others. Of fewer than 60 items all are kept, because nothing can be learnt from them.
    """
    if len(asked) < LEAST_ITEMS:
        return [True] * len(asked)
    kinds = _key_scores(asked, rng)
    factors = _best_factors(kinds, [_CERTAINTIES, _BOOSTED_TRUSTS, _TRUSTS], cautious=True)
    kept = []
    for scores in zip(*kinds, strict=True):
        shares = softmax(np.tensordot(factors, np.stack(scores), 1))
        kept.append(bool(rng.random() * shares[0] <= _largest_share(shares)))
    return kept


def _key_scores(asked: Sequence[tuple[str, Sequence[str]]], rng: np.random.Generator) -> list[list[Floats]]:
    """Scores of each item's options by learners of the keys of other items: trees, boosting, and the regression.

    They are means over partitions of the items into folds.
    """
    offered = Counter(text for _, texts in asked for text in texts)
    given = [
        Relations(question, texts).features(
            np.arange(len(texts))[None], np.array([offered[text] - 1.0 for text in texts]), absolute=True
        )[0]
        for question, texts in asked
    ]
    labels = [_key_labels(len(texts)) for _, texts in asked]
    are_keys = np.concatenate(labels) > 0
    weights = np.concatenate([np.where(label > 0, 1, 1 / (len(label) - 1)) for label in labels])
    fit = QuestionFit(asked, [1] * len(asked))
    by_trees, by_boosting, by_words = (np.zeros(len(are_keys)) for _ in range(3))
    for _ in range(_SPLITS):
        folds = _folds(len(asked), rng)
        seed = int(rng.integers(2**31))
        by_trees += np.concatenate(_cross_fitted(_rate_by_trees, given, labels, given, folds, seed)) / _SPLITS
        by_boosting += np.concatenate(_cross_fitted(_rate_by_boosting, given, labels, given, folds, seed)) / _SPLITS
        by_words += fit.cross_fitted(are_keys, weights, folds) / _SPLITS
    return [np.split(scores, fit.starts[1:]) for scores in (by_trees, by_boosting, by_words)]


def _largest_share(shares: Floats) -> float:
    """The largest limit to which shares can be cut such that none exceeds its part of what the cut ones add up to.

    That part is ``_MOST_OF_CHANCE`` times the mean of the cut shares.
    """
    ordered = np.sort(shares)
    for cut in range(len(ordered)):
        uncut = ordered[: len(ordered) - cut]
        limit = _MOST_OF_CHANCE * uncut.sum() / (len(ordered) - _MOST_OF_CHANCE * cut)
        if limit >= uncut[-1]:
            return float(limit)
    return float(ordered[0])


def deal(tables: Sequence[tuple[Case, Mapping[str, float]]], chance: random.Random) -> list[list[str]]:
    """The new texts that each item is given, in the order of ``tables``.

    ``tables``: items, each with its candidates and their relative probabilities of being drawn; no two candidates say
    the same. The odds of numbers are corrected by how well they fit the question. Of its sets each item gets one with
    odds of 1 over the product of the shares that learners give, in turn, to the authored options and to the key
    there. With fewer than 60 items that have a choice, the sets are random.
    """
    rng = np.random.default_rng(chance.getrandbits(64))
    hands = [_Hand(case, candidates) for case, candidates in tables]
    open_hands = [hand for hand in hands if hand.has_choice]
    fit = None
    if len(open_hands) >= LEAST_ITEMS:
        fit = QuestionFit([(hand.question, hand.texts) for hand in open_hands], [hand.fixed for hand in open_hands])
        _fit_odds(open_hands, fit, rng)
    for hand in hands:
        hand.draw(rng)
    if fit is not None:
        for number in range(_ROUNDS):
            others = Counter(text for hand in hands for text in hand.offers)
            _take_sets(open_hands, fit, others, rng, by_author=number % 2 == 0)
    return [[hand.texts[at] for at in hand.rows[hand.taken, hand.fixed :]] for hand in hands]


def _fit_odds(hands: Sequence["_Hand"], fit: QuestionFit, rng: np.random.Generator) -> None:
    """Correct the odds of proposed numbers such that they fit their question as authored options do."""
    labels = np.concatenate([np.arange(len(hand.texts)) < hand.fixed for hand in hands])
    for _ in range(_FITTINGS):
        weights = np.concatenate([hand.compared(rng) for hand in hands])
        logits = fit.cross_fitted(labels, weights, _folds(len(hands), rng))
        logits *= _best_trust(logits, labels, weights)
        for hand, part in zip(hands, np.split(logits, fit.starts[1:]), strict=True):
            hand.correct(part)


def _best_trust(logits: Floats, labels: NDArray[np.bool_], weights: Floats) -> float:
    """The factor of logits that fits the labels best: 0 where nothing was learnt that holds in other folds."""
    margins = np.where(labels, logits, -logits)
    losses = [float(weights @ np.logaddexp(0, -trust * margins)) for trust in _TRUSTS]
    return float(_TRUSTS[int(np.argmin(losses))])


def _take_sets(
    hands: Sequence["_Hand"], fit: QuestionFit, offered: Counter[str], rng: np.random.Generator, *, by_author: bool
) -> None:
    """Take sets anew after learners of the key, or of all authored options, have seen those that are taken.

    Shares of the learners are divided out of the odds that the sets have from earlier rounds.
    """
    counts = [hand.fixed if by_author else 1 for hand in hands]
    folds = _folds(len(hands), rng)
    trees = _tree_scores(hands, counts, offered, folds, int(rng.integers(2**31)))
    labels = np.concatenate([np.arange(len(hand.texts)) < count for hand, count in zip(hands, counts, strict=True)])
    weights = np.concatenate([hand.taken_weights(count) for hand, count in zip(hands, counts, strict=True)])
    logits = np.split(fit.cross_fitted(labels, weights, folds), fit.starts[1:])
    words = [part[hand.rows] for hand, part in zip(hands, logits, strict=True)]
    taken = [[scores[hand.taken] for hand, scores in zip(hands, kind, strict=True)] for kind in (trees, words)]
    certainty, trust = _best_factors(taken, [_CERTAINTIES, _TRUSTS], counts)
    for hand, by_trees, by_words, count in zip(hands, trees, words, counts, strict=True):
        shares = log_softmax(certainty * by_trees + trust * by_words, axis=1)[:, :count]
        hand.logits -= shares.sum(axis=1)
        hand.taken = int(np.argmax(hand.logits))


def _tree_scores(
    hands: Sequence["_Hand"], counts: Sequence[int], offered: Counter[str], folds: Ints, seed: int
) -> list[Floats]:
    """Sets × options for each hand: scores by trees that learnt which options of the taken sets come first."""
    drawn = [hand.features(offered) for hand in hands]
    given = [features[hand.taken] for hand, features in zip(hands, drawn, strict=True)]
    labels = [(np.arange(len(rows)) < count).astype(np.float64) for rows, count in zip(given, counts, strict=True)]
    rows = [features.reshape(-1, features.shape[2]) for features in drawn]
    scores = _cross_fitted(_rate_by_trees, given, labels, rows, folds, seed)
    return [part.reshape(features.shape[:2]) for features, part in zip(drawn, scores, strict=True)]


class _Hand:
    """Proposals for an item and possible sets of them; in rows of options the key comes first.

    A set is taken by the largest of its log odds with Gumbel noise, which is a draw with these odds.
    """

    def __init__(self, case: Case, candidates: Mapping[str, float]) -> None:
        self.question = case.item.question
        self.texts = [*case.options, *candidates]
        self.fixed = len(case.options)
        self._odds = np.array(list(candidates.values()), np.float64)
        values = [number_of(text) for text in self.texts]
        self._numbers = None if None in values else np.array(values, np.float64)
        self._unit = 10.0 ** -decimals(case.gold)
        self._need = min(case.need, len(candidates))
        self._names = [key(text) for text in self.texts]
        self._relations = Relations(case.item.question, self.texts)

    @property
    def has_choice(self) -> bool:
        """Whether there are more proposals than are needed."""
        return len(self._odds) > self._need > 0

    def compared(self, rng: np.random.Generator) -> Floats:
        """Weights of the texts where authored options, half of the weight, are compared to drawn proposals.

        Proposals are drawn by their odds, with repetition.
        """
        weights = np.zeros(len(self.texts))
        weights[: self.fixed] = 0.5 / self.fixed
        drawn = rng.choice(len(self._odds), _COMPARED, p=self._odds / self._odds.sum())
        np.add.at(weights, self.fixed + drawn, 0.5 / _COMPARED)
        return weights

    def correct(self, logits: Floats) -> None:
        """Multiply the odds of proposals by their density ratios, whose logarithms are the logits of all texts.

        Nothing is changed where a text is no number.
        """
        if self._numbers is not None:
            log_ratios = np.clip(logits[self.fixed :], -_LARGEST_CORRECTION, _LARGEST_CORRECTION)
            self._odds = self._odds * np.exp(log_ratios)

    def draw(self, rng: np.random.Generator) -> None:
        """Draw the sets of which one is taken."""
        drawn = draw_sets(self._need, self._odds.tolist(), self._numbers, self._unit, _SETS, rng)
        self.sets = drawn or [[]]
        rows = [[*range(self.fixed), *(self.fixed + at for at in numbers)] for numbers in self.sets]
        self.rows: Ints = np.array(rows, np.int64)
        self.logits: Floats = rng.gumbel(size=len(self.sets))
        self.taken = int(np.argmax(self.logits))

    def taken_weights(self, count: int) -> Floats:
        """Weights of all texts, 0 for those that are not in the taken set.

        The first ``count`` options of the set have half of the weight, the others the other half.
        """
        weights = np.zeros(len(self.texts))
        row = self.rows[self.taken]
        weights[row[:count]] = 0.5 / count
        weights[row[count:]] = 0.5 / (len(row) - count)
        return weights

    @property
    def offers(self) -> list[str]:
        """The options of the taken set, the key and other authored ones included, in normal form."""
        return [self._names[at] for at in self.rows[self.taken].tolist()]

    def features(self, offered: Counter[str]) -> Features:
        """Sets × options × features; ``offered``: how often all items, this one included, offer a text at present."""
        elsewhere = np.array([offered[text] for text in self._names], np.float64)
        elsewhere[self.rows[self.taken]] -= 1
        return self._relations.features(self.rows, elsewhere)


def _best_factors(
    kinds: Sequence[Sequence[Floats]],
    choices: Sequence[Floats],
    counts: Sequence[int] | None = None,
    *,
    cautious: bool = False,
) -> tuple[float, ...]:
    """The factors, one of each kind of scores, by which the sum of the scores gives the first options most.

    ``kinds``: for each learner the scores of each item's options; ``choices``: for each learner the factors to choose
    from. Compared is the mean logarithm of the share of an item's first options, ``counts`` of them, or one without
    it. With ``cautious`` the smallest factors are taken that are no worse than the best by more than one standard
    error of the difference (Breiman et al. 1984), so that noise in the scores of few items counts as nothing.
    """
    sizes = np.array([len(scores) for scores in kinds[0]])
    first_counts = np.array(counts or [1] * len(sizes))
    places = np.arange(sizes.max())
    is_option = places < sizes[:, None]
    is_first = places < first_counts[:, None]
    table = np.zeros((len(kinds), *is_option.shape))
    for kind, rows in enumerate(kinds):
        table[kind][is_option] = np.concatenate(rows)
    factors = list(product(*(own.tolist() for own in choices)))
    fits = []
    for row in factors:
        logits = np.where(is_option, np.tensordot(row, table, 1), -np.inf)
        fits.append(np.where(is_first, log_softmax(logits, axis=1), 0).sum(axis=1) / first_counts)
    best = int(np.argmax(np.mean(fits, axis=1)))
    if not cautious:
        return factors[best]
    losses = fits[best] - np.array(fits)
    errors = losses.std(axis=1) / math.sqrt(len(sizes))
    extents = [sum(factor / own[-1] for factor, own in zip(row, choices, strict=True)) for row in factors]
    no_worse = np.flatnonzero(losses.mean(axis=1) <= errors)
    return factors[min(no_worse.tolist(), key=lambda place: extents[place])]
