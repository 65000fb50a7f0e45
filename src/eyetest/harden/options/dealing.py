"""Choose a batch's distractors from random sets, repeatedly making sets less likely whose key a learner predicts, and
keep new options only where they are exchangeable with the key.
"""

import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.ensemble import ExtraTreesRegressor

from eyetest.measures.stats.intervals import one_thread
from eyetest.probes.features import Floats, Ints, decimals, in_common, number_of
from eyetest.reform.distractors.number_sets import draw_sets
from eyetest.reform.distractors.written import Case
from eyetest.text import find_quantities, plain_text
from eyetest.text import normalized as key

Features = NDArray[np.float32]
LEAST_ITEMS = 60  # with fewer items nothing is learnt that generalises
_FOLDS = 4
_SPLITS = 2  # partitions into folds over which scores are averaged
_MOST_DIGITS = 18
_QUESTION_NUMBERS = 5
_FACTORS = (2, 3, 4, 10, 100, 0.5, 0.1, 0.01)
_WORD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")


class Relations:
    """Image-free relations of an item's texts, single and in pairs."""

    def __init__(self, question: str, texts: Sequence[str]) -> None:
        values = np.array([number_of(text) for text in texts], np.float64)  # NaN for other texts
        self._numbers = np.nan_to_num(values)
        lowered = [text.lower() for text in texts]
        words = [set(_WORD.findall(text)) for text in lowered]
        asked = set(_WORD.findall(question.lower()))
        known = _question_numbers(question)
        digits = [re.sub(r"\D", "", text)[-_MOST_DIGITS:] for text in texts]
        first, last = [int(own.lstrip("0")[:1] or 0) for own in digits], [int(own[-1:] or 0) for own in digits]
        self._alone = np.array([
            [math.log1p(len(text)) for text in texts],
            [len(own) for own in words],
            [len(own) for own in digits],
            [len(own) - len(own.rstrip("0")) for own in digits],
            first,
            last,
            [text[:1].isupper() for text in texts],
            [len(own & asked) / max(len(own), 1) for own in words],
            *([value in related for value in values.tolist()] for related in known),
            np.log10(np.maximum(np.abs(self._numbers), 1e-9)),
            np.isfinite(values),
            np.abs(np.fmod(self._numbers, 2)) == 1,
        ], np.float64).T  # fmt: skip
        self._sizes = [0, 2, 3, len(self._alone[0]) - 3]
        letters = [{text[at : at + 3] for at in range(max(len(text) - 2, 1))} for text in lowered]
        ends = [np.equal.outer(np.array(end), np.array(end)).astype(np.float64) for end in (first, last)]
        pairs = [in_common(words), in_common(letters), _one_digit_off(digits), *ends, *self._ratios()]
        self._pairs = np.stack(pairs, axis=2)

    def _ratios(self) -> Iterator[Floats]:
        size = np.log10(np.maximum(np.abs(self._numbers), 1e-9))
        ratios, apart = np.abs(size[:, None] - size), np.abs(self._numbers[:, None] - self._numbers)
        for factor in (1.5, 2, 3, 10):
            yield (np.abs(ratios - math.log10(factor)) < 1e-6).astype(np.float64)
        for step in (1, 2, 10):
            yield (np.abs(apart - step) < 1e-9).astype(np.float64)
        yield (ratios < 0.06).astype(np.float64)

    def features(self, rows: Ints, offered: Floats, *, absolute: bool = False) -> Features:
        """Sets × options × features; ``offered``: how often other items offer each text.

        All are relative to the mean of the set; sizes, or with ``absolute`` all of them, are also given as they are.
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
    """Numbers of a question, and results of one operation on two of them or on one and a simple factor."""
    found = (entry.value for entry in find_quantities(plain_text(question, lone_one=False)))
    named = list(dict.fromkeys(found))[:_QUESTION_NUMBERS]
    of_two = [(a + b, a - b, a * b, a / b if b else a) for a, b in permutations(named, 2)]
    return [set(named), {value for values in of_two for value in values}, {a * by for a in named for by in _FACTORS}]


def _one_digit_off(digits: Sequence[str]) -> Floats:
    codes = np.array([[ord(letter) for letter in own.rjust(_MOST_DIGITS)] for own in digits])
    return np.asarray((codes[:, None] != codes).sum(axis=2) == 1, np.float64)


def _among_numbers(offered: Floats) -> Floats:
    """Position of each number among the others: rank, distance from the middle, gaps, middle of two others."""
    count = offered.shape[1]
    rank = np.argsort(np.argsort(offered, axis=1, kind="stable"), axis=1, kind="stable")
    inside = np.sort(offered, axis=1)
    spread = np.maximum(inside[:, -1:] - inside[:, :1], 1e-12)
    steps = np.diff(inside, axis=1) / spread
    ends = np.ones((len(offered), 1))
    below = np.take_along_axis(np.hstack([ends, steps]), rank, axis=1)
    above = np.take_along_axis(np.hstack([steps, ends]), rank, axis=1)
    first, second = np.triu_indices(count, 1)
    middles = (offered[:, first] + offered[:, second]) / 2
    between = (np.abs(middles[:, None, :] - offered[:, :, None]) < 1e-9).sum(axis=2)
    width = np.log1p(spread / np.maximum(np.abs(inside).max(axis=1, keepdims=True), 1e-12)).repeat(count, axis=1)
    figures = [rank / count, np.abs(rank - (count - 1) / 2) / count, below, above, np.minimum(below, above)]
    return np.stack([*figures, between, width], axis=2)


def _cross_fitted(given: Sequence[Features], drawn: Sequence[Features], rng: np.random.Generator) -> list[Floats]:
    """Scores of each item's drawn rows by a learner of which option is the key, the first, in the other items."""
    folds = rng.permutation(np.arange(len(given)) % _FOLDS)
    seed = int(rng.integers(2**31))
    scores: list[Floats] = [np.empty(0)] * len(drawn)
    for fold in range(_FOLDS):
        others, own = np.flatnonzero(folds != fold).tolist(), np.flatnonzero(folds == fold).tolist()
        keys = np.concatenate([np.eye(1, len(given[item]))[0] - 1 / len(given[item]) for item in others])
        model = ExtraTreesRegressor(50, min_samples_leaf=8, max_features=0.4, random_state=seed)
        with one_thread():
            model.fit(np.concatenate([given[item] for item in others]), keys)
            flat = model.predict(np.concatenate([drawn[item] for item in own]))
        ends = np.cumsum([len(drawn[item]) for item in own])[:-1]
        for item, part in zip(own, np.split(np.round(flat, 9), ends), strict=True):
            scores[item] = part
    return scores


def exchangeable(asked: Sequence[tuple[str, Sequence[str]]], rng: np.random.Generator) -> list[bool]:
    """Which items (question and options, the key first) are kept such that the options of those are exchangeable.

    Rejection sampling: the probability of keeping an item is the smallest share that a cross-fitted learner gives any
    of its options over the share of its key. Keeping items whose key is not guessed would instead make the guess
    wrong, and the key likelier among the others.
    """
    if len(asked) < LEAST_ITEMS:
        return [True] * len(asked)
    offered = Counter(text for _, texts in asked for text in texts)
    given = [
        Relations(question, texts).features(
            np.arange(len(texts))[None], np.array([offered[text] - 1.0 for text in texts]), absolute=True
        )[0]
        for question, texts in asked
    ]
    partitions = [_cross_fitted(given, given, rng) for _ in range(_SPLITS)]
    scores = [np.mean(own, axis=0) for own in zip(*partitions, strict=True)]
    certainty = _best_certainty(scores)
    shares = [softmax(certainty * own) for own in scores]
    return [bool(rng.random() * own[0] <= own.min()) for own in shares]


_SETS = 48
_ROUNDS = 4  # how often a learner looks for remaining cues
# Factors from which the one is chosen that turns a learner's scores into probabilities best
_CERTAINTIES = np.array([0.0, 2.0, 4.0, 7.0, 10.0, 14.0, 20.0, 28.0])


def deal(tables: Sequence[tuple[Case, Mapping[str, float]]], chance: random.Random) -> list[list[str]]:
    """Choose the texts that each item is given from candidates with relative probabilities of being drawn, no two of
    which say the same.

    Of its sets each item gets one with odds of 1 over the share that learners give to the key there.
    """
    rng = np.random.default_rng(chance.getrandbits(64))
    hands = [_Hand(case, candidates, rng) for case, candidates in tables]
    open_hands = [hand for hand in hands if len(hand.sets) > 1]
    for _ in range(_ROUNDS if len(open_hands) >= LEAST_ITEMS else 0):
        offered = Counter(text for hand in hands for text in hand.offers)
        drawn = [hand.features(offered) for hand in open_hands]
        given = [features[hand.taken] for hand, features in zip(open_hands, drawn, strict=True)]
        flat = _cross_fitted(given, [features.reshape(-1, features.shape[2]) for features in drawn], rng)
        scores = [part.reshape(features.shape[:2]) for features, part in zip(drawn, flat, strict=True)]
        certainty = _best_certainty([own[hand.taken] for hand, own in zip(open_hands, scores, strict=True)])
        for hand, own in zip(open_hands, scores, strict=True):
            hand.logits -= log_softmax(certainty * own, axis=1)[:, 0]
            hand.taken = int(np.argmax(hand.logits))
    return [
        [list(candidates)[at] for at in hand.sets[hand.taken]]
        for hand, (_, candidates) in zip(hands, tables, strict=True)
    ]


class _Hand:
    """Possible sets of an item; in rows of options the key comes first."""

    def __init__(self, case: Case, candidates: Mapping[str, float], rng: np.random.Generator) -> None:
        texts = [*case.options, *candidates]
        fixed = len(case.options)
        values = [number_of(text) for text in texts]
        numbers = None if None in values else np.array(values, np.float64)
        unit = 10.0 ** -decimals(case.gold)
        need = min(case.need, len(candidates))
        self.sets = draw_sets(need, list(candidates.values()), numbers, unit, _SETS, rng) or [[]]
        self._rows: Ints = np.array([[*range(fixed), *(fixed + at for at in own)] for own in self.sets], np.int64)
        self._texts = [key(text) for text in texts]
        self._relations = Relations(case.item.question, texts)
        self.logits: Floats = rng.gumbel(size=len(self.sets))
        self.taken = int(np.argmax(self.logits))

    @property
    def offers(self) -> list[str]:
        """The texts of the set that it takes."""
        return [self._texts[at] for at in self._rows[self.taken].tolist()]

    def features(self, offered: Counter[str]) -> Features:
        """Sets × options × features, by what all items offer at present."""
        elsewhere = np.array([offered[text] for text in self._texts], np.float64)
        elsewhere[self._rows[self.taken]] -= 1
        return self._relations.features(self._rows, elsewhere)


def _best_certainty(scores: Sequence[Floats]) -> float:
    """The factor by which scores of items' options fit best to where their keys are, which come first."""
    fit = [np.mean([log_softmax(by * own)[0] for own in scores]) for by in _CERTAINTIES]
    return float(_CERTAINTIES[int(np.argmax(fit))])
