"""Learners that guess keys from options: the seed picks the family that builds; the other, uninvolved, measures."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eyetest.harden.options.record import ProbeFigures
from eyetest.measures.stats.intervals import one_thread
from eyetest.probes.features import number_of
from eyetest.probes.shortcuts import p_value
from eyetest.records import Item
from eyetest.reform.distractors.number_sets import question_numbers

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Features = NDArray[np.float32]
Family = Literal["linear", "trees", "kernel"]
LEAST_ITEMS = 60  # with fewer items nothing is learnt that generalises
_FOLDS = 4
_NULL_DRAWS = 60
_MOST_DIGITS = 18
_WORD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")
_FAMILIES: dict[Family, Callable[[int, int], Any]] = {
    "linear": lambda seed, width: make_pipeline(StandardScaler(), Ridge(100.0)),
    "trees": lambda seed, width: ExtraTreesRegressor(50, min_samples_leaf=8, max_features=0.4, random_state=seed),
    "kernel": lambda seed, width: make_pipeline(
        StandardScaler(), Nystroem(gamma=0.5 / width, n_components=300, random_state=seed), Ridge(30.0)
    ),
}


def families(seed: int) -> tuple[Family, Family]:
    """The family of learners that builds, and the one that measures."""
    return ("trees", "kernel") if seed % 2 == 0 else ("kernel", "trees")


class Relations:
    """Image-free relations of an item's texts, single and in pairs."""

    def __init__(self, question: str, texts: Sequence[str]) -> None:
        values = np.array([math.nan if (value := number_of(text)) is None else value for text in texts])
        self._numbers = np.nan_to_num(values)
        lowered = [text.lower() for text in texts]
        words = [set(_WORD.findall(text)) for text in lowered]
        asked = set(_WORD.findall(question.lower()))
        known = [set(map(float, values)) for values in question_numbers(question)]
        digits = [re.sub(r"\D", "", text)[-_MOST_DIGITS:] for text in texts]
        first, last = ([int(own[at] or 0) for own in zip(*_ends(digits), strict=True)] for at in (0, 1))
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
        pairs = [_in_common(words), _in_common(letters), _one_digit_off(digits), *ends, *self._ratios()]
        self._pairs = np.stack(pairs, axis=2)

    def _ratios(self) -> Iterator[Floats]:
        size = np.log10(np.maximum(np.abs(self._numbers), 1e-9))
        ratios, apart = np.abs(size[:, None] - size), np.abs(self._numbers[:, None] - self._numbers)
        for factor in (1.5, 2, 3, 10):
            yield (np.abs(ratios - math.log10(factor)) < 1e-6).astype(np.float64)
        for step in (1, 2, 10):
            yield (np.abs(apart - step) < 1e-9).astype(np.float64)
        yield (ratios < 0.06).astype(np.float64)

    def features(self, rows: Ints, offered: Floats) -> Features:
        """Sets × options × features; ``offered``: how often other items offer each text."""
        alone = np.concatenate([self._alone, np.log1p(offered)[:, None]], axis=1)[rows]
        pairs = self._pairs[rows[:, :, None], rows[:, None, :]]
        itself = np.arange(rows.shape[1])
        pairs[:, itself, itself] = 0
        numbers = _among_numbers(self._numbers[rows])
        parts = [alone, pairs.mean(axis=2), pairs.max(axis=2), numbers]
        beside = np.concatenate(parts, axis=2, dtype=np.float32)
        return np.concatenate(
            [beside - beside.mean(axis=1, keepdims=True), alone[:, :, self._sizes]], 2, dtype=np.float32
        )


def _ends(digits: Sequence[str]) -> tuple[list[str], list[str]]:
    return [own.lstrip("0")[:1] for own in digits], [own[-1:] for own in digits]


def _in_common(bags: Sequence[set[str]]) -> Floats:
    """Share of parts that each two bags have in common."""
    columns = {part: number for number, part in enumerate(sorted(set().union(*bags)))}
    has = np.zeros((len(bags), len(columns) or 1))
    for row, bag in zip(has, bags, strict=True):
        row[[columns[part] for part in bag]] = 1
    both, sizes = has @ has.T, has.sum(axis=1)
    return np.asarray(both / np.maximum(sizes[:, None] + sizes - both, 1))


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


class CrossFitted:
    """A learner that scores each item by a model of the others."""

    def __init__(self, given: Sequence[Features], family: Family, rng: np.random.Generator) -> None:
        self.folds = rng.permutation(np.arange(len(given)) % _FOLDS)
        self._given, self._family = given, family
        self._seed = int(rng.integers(2**31))
        self._models: list[Any] = []

    def learn(self, targets: Sequence[Floats]) -> None:
        """Learn which option of each item is the key: options × sets of keys, 1 at each key."""
        self._models = []
        for fold in range(_FOLDS):
            items = np.flatnonzero(self.folds != fold).tolist()
            model = _FAMILIES[self._family](self._seed, self._given[0].shape[1])
            with one_thread():
                wanted = np.concatenate([targets[item] - targets[item].mean(axis=0) for item in items])
                model.fit(np.concatenate([self._given[item] for item in items]), np.squeeze(wanted))
            self._models.append(model)

    def scores(self, drawn: Sequence[Features]) -> list[Floats]:
        """Scores of each item: its rows × sets of keys."""
        scores: list[Floats] = [np.empty(0)] * len(drawn)
        for fold, model in enumerate(self._models):
            own = np.flatnonzero(self.folds == fold).tolist()
            with one_thread():
                flat = model.predict(np.concatenate([drawn[item] for item in own]))
            ends = np.cumsum([len(drawn[item]) for item in own])[:-1]
            for item, part in zip(own, np.split(np.round(flat.reshape(len(flat), -1), 9), ends), strict=True):
                scores[item] = part
        return scores


def judge(items: Sequence[Item], family: Family, seed: int) -> ProbeFigures | None:
    """Accuracy of a family's learner from options and question, beside random keys; None for too few items."""
    asked = [item for item in items if len(item.gold) == 1 and len(item.choices) > 1]
    if len(asked) < LEAST_ITEMS:
        return None
    rng = np.random.default_rng([seed, len(asked)])
    offered: dict[str, int] = {}
    for item in asked:
        for choice in item.choices:
            offered[choice.text] = offered.get(choice.text, 0) + 1
    given, targets = [], []
    for item in asked:
        texts = [choice.text for choice in item.choices]
        elsewhere = np.array([offered[text] - 1 for text in texts], np.float64)
        given.append(Relations(item.question, texts).features(np.arange(len(texts))[None], elsewhere)[0])
        keys = np.concatenate([item.gold, rng.integers(len(texts), size=_NULL_DRAWS)])
        targets.append((np.arange(len(texts))[:, None] == keys).astype(np.float64))
    learner = CrossFitted(given, family, rng)
    learner.learn(targets)
    hits = np.array([_credit(*pair) for pair in zip(learner.scores(given), targets, strict=True)]).mean(axis=0)
    null, chance = hits[1:], float(np.mean([1 / len(item.choices) for item in asked]))
    p, _ = p_value(float(hits[0]), null, chance, len(asked))
    return ProbeFigures(
        learner=family, n=len(asked), accuracy=float(hits[0]), chance=chance,
        null_mean=float(null.mean()), null_sd=float(null.std(ddof=1)), p=p,
    )  # fmt: skip


def _credit(scores: Floats, targets: Floats) -> Floats:
    top = scores >= scores.max(axis=0) - 1e-9
    return np.asarray((top * targets).sum(axis=0) / top.sum(axis=0))
