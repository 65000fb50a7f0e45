"""An independent judge of options beside their question: learners that no part of the product uses.

Each learner scores the options of an item by what it has learnt from the items of the other folds, and guesses the
option with the highest score; options with the same score share the guess.

- ``characters``: logistic regression on character n-grams of the option, alone and crossed with question words.
- ``surface``: gradient boosting on value, writing and rank, and on distances to the question's numbers.
- ``nearest``: the option that is most like the keys of the most similar questions.
- ``matching``: logistic regression on whether number, magnitude, decimals and unit of the option are in the question.
- ``rank``: the place among the sorted options that the keys of other items have most often.
- ``distance``: the smallest or largest of the smallest, median or largest distance to the question's numbers.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from eyetest.records import Item
from tests.harden.options.judging import Judgement, number

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_FOLDS = 5
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")
_WORD = re.compile(r"[^\W\d_]+")
_MOST_WORDS = 30
_MOST_NUMBERS = 8
_NEIGHBOURS = 10


class _Options:
    """The options of all items as rows, item after item, and the folds of the items."""

    def __init__(self, items: Sequence[Item], seed: int) -> None:
        self.items = items
        self.sizes = np.array([len(item.choices) for item in items])
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.owner = np.repeat(np.arange(len(items)), self.sizes)
        self.texts = [choice.text.strip().lower() for item in items for choice in item.choices]
        self.right = np.array([choice.correct for item in items for choice in item.choices])
        self.values = np.nan_to_num(np.array([number(text) for text in self.texts]))
        self.questions = [item.question.lower() for item in items]
        self.numbers = [_numbers_in(question) for question in self.questions]
        folds = np.random.default_rng(seed).permutation(np.arange(len(items)) % _FOLDS)
        self.fold = folds[self.owner]

    def rank(self, column: Floats) -> Floats:
        """Share of the item's other options with a smaller value; equal values share a rank."""
        ranks = np.zeros(len(column))
        for start, size in zip(self.starts, self.sizes, strict=True):
            ranks[start : start + size] = (stats.rankdata(column[start : start + size]) - 1) / max(size - 1, 1)
        return ranks


def judge_with_question(items: Sequence[Item], learner: str, seed: int = 0) -> Judgement:
    """Accuracy of one learner, each item by what was learnt from the items of the other folds."""
    options = _Options(items, seed)
    scores = QUESTION_LEARNERS[learner](options)
    best = np.maximum.reduceat(scores, options.starts)[options.owner]
    is_guess = scores >= best - 1e-12
    hits = np.add.reduceat(is_guess & options.right, options.starts)
    credit = hits / np.add.reduceat(is_guess, options.starts)
    low, high = stats.binomtest(round(float(credit.sum())), len(items)).proportion_ci(0.95, "wilson")
    chance = float((1 / options.sizes).mean())
    return Judgement(len(items), float(credit.mean()), float(low), float(high), chance)


def _numbers_in(text: str) -> list[float]:
    values = [number(match[0]) for match in _NUMBER.finditer(text)]
    return [value for value in values if np.isfinite(value)][:_MOST_NUMBERS]


def _cross_validated(options: _Options, rows: object, make: Callable[[], object]) -> Floats:
    scores = np.zeros(len(options.owner))
    for fold in range(_FOLDS):
        is_test = options.fold == fold
        model = make()
        model.fit(rows[~is_test], options.right[~is_test])  # type: ignore[index,attr-defined]
        scores[is_test] = model.predict_proba(rows[is_test])[:, 1]  # type: ignore[index,attr-defined]
    return scores


def _by_characters(options: _Options) -> Floats:
    words = [list(dict.fromkeys(_WORD.findall(question)))[-_MOST_WORDS:] for question in options.questions]
    tokens = []
    for text, item in zip(options.texts, options.owner.tolist(), strict=True):
        marked = f"^{text}$"
        pieces = {marked[at : at + size] for size in (1, 2, 3, 4) for at in range(len(marked) - size + 1)}
        pieces.add(marked)
        tokens.append([*pieces, *(f"{piece}|{word}" for piece in pieces for word in words[item])])
    hasher = FeatureHasher(2**18, input_type="string", alternate_sign=False)
    rows = sparse.csr_matrix(hasher.transform(tokens))
    rows.data = np.minimum(rows.data, 1) / np.sqrt(np.diff(rows.indptr).repeat(np.diff(rows.indptr)))
    return _cross_validated(options, rows, lambda: LogisticRegression(C=30, solver="liblinear", tol=1e-3))


def _log_size(values: Floats) -> Floats:
    return np.asarray(np.log10(np.maximum(np.abs(values), 1e-6)))


def _distances(options: _Options) -> Floats:
    """Smallest, median and largest distance to the numbers of the question, in powers of ten; 9 without numbers."""
    rows = np.full((len(options.owner), 3), 9.0)
    sizes = _log_size(options.values)
    for row, item in enumerate(options.owner.tolist()):
        if options.numbers[item]:
            apart = np.abs(sizes[row] - _log_size(np.array(options.numbers[item])))
            rows[row] = apart.min(), np.median(apart), apart.max()
    return rows


def _matches(options: _Options) -> Floats:
    """Whether number, results, magnitude, decimals and unit of the option are those of the question."""
    rows = []
    for text, value, item in zip(options.texts, options.values.tolist(), options.owner.tolist(), strict=True):
        named = options.numbers[item]
        results = [a + b for a in named for b in named]
        results += [abs(a - b) for a in named for b in named]
        results += [a * b for a in named for b in named]
        results += [a / b for a in named for b in named if b]
        unit = _NUMBER.sub("", text).strip(" .,-$()")
        digits = [match[0] for match in _NUMBER.finditer(options.questions[item])]
        places = {len(written.partition(".")[2]) for written in digits}
        magnitudes = {int(np.floor(np.log10(entry))) for entry in named if entry > 0}
        size = int(np.floor(np.log10(abs(value)))) if value else 0
        rows.append([
            any(abs(value - entry) < 1e-9 for entry in named),
            any(abs(value - entry) < 1e-6 * max(abs(value), 1e-6) for entry in results),
            size in magnitudes,
            len(text.partition(".")[2]) in places,
            bool(unit) and unit in options.questions[item],
            any(abs(value - factor * entry) < 1e-9 for entry in named for factor in (0.5, 2, 3, 10, 100)),
            bool(named) and value > max(named),
            bool(named) and value < min(named),
        ])  # fmt: skip
    return np.array(rows, np.float64)


def _beside_others(options: _Options, rows: Floats) -> Floats:
    means = np.add.reduceat(rows, options.starts, axis=0) / options.sizes[:, None]
    return np.hstack([rows, rows - means[options.owner]])


def _by_surface(options: _Options) -> Floats:
    texts = options.texts
    uses = Counter(texts)
    columns = [
        options.values,
        _log_size(options.values),
        options.rank(options.values),
        np.array([len(text) for text in texts]),
        np.array([len(text.partition(".")[2]) for text in texts]),
        np.array([len(text) - len(text.rstrip("0")) for text in texts]),
        np.array([uses[text] for text in texts]),
        np.array([len(options.numbers[item]) for item in options.owner]),
        np.array([len(options.questions[item]) for item in options.owner]),
    ]
    rows = np.hstack([np.column_stack(columns).astype(float), _distances(options), _matches(options)])
    table = _beside_others(options, rows)
    return _cross_validated(
        options,
        table,
        lambda: HistGradientBoostingClassifier(
            max_iter=80, max_leaf_nodes=8, learning_rate=0.06, min_samples_leaf=15, random_state=0
        ),
    )


def _by_nearest(options: _Options) -> Floats:
    vectors = TfidfVectorizer(ngram_range=(1, 2), min_df=1).fit_transform(options.questions)
    similar = np.asarray((vectors @ vectors.T).todense())
    item_fold = options.fold[options.starts]
    keys = np.flatnonzero(options.right)
    key_sizes = _log_size(options.values[keys])
    scores = np.zeros(len(options.owner))
    for row, item in enumerate(options.owner.tolist()):
        weights = np.where(item_fold == item_fold[item], 0, similar[item])
        nearest = np.argsort(-weights)[:_NEIGHBOURS]
        is_same = np.array([options.texts[keys[other]] == options.texts[row] for other in nearest])
        apart = np.abs(_log_size(options.values[row : row + 1]) - key_sizes[nearest])
        scores[row] = np.sum(weights[nearest] ** 2 * (is_same + 0.3 * np.exp(-4 * apart)))
    return scores


def _by_matching(options: _Options) -> Floats:
    table = _beside_others(options, np.hstack([_matches(options), _distances(options)]))
    return _cross_validated(options, table, lambda: make_pipeline(StandardScaler(), LogisticRegression(C=0.3)))


def _by_rank(options: _Options) -> Floats:
    places = np.round(options.rank(options.values), 6)
    scores = np.zeros(len(places))
    for fold in range(_FOLDS):
        is_test = options.fold == fold
        for place in np.unique(places[is_test]):
            at_place = options.right[~is_test & (places == place)]
            scores[is_test & (places == place)] = at_place.mean() if len(at_place) else 0
    return scores


def _by_distance(options: _Options) -> Floats:
    columns = _distances(options)
    rules = np.hstack([columns, -columns])
    best = np.maximum.reduceat(rules, options.starts)[options.owner]
    is_guess = rules >= best - 1e-12
    guesses = np.add.reduceat(is_guess, options.starts)[options.owner]
    credit = np.where(options.right[:, None] & is_guess, 1 / guesses, 0)
    scores = np.zeros(len(options.owner))
    for fold in range(_FOLDS):
        is_test = options.fold == fold
        rule = int(np.argmax(credit[~is_test].sum(axis=0)))
        scores[is_test] = rules[is_test, rule]
    return scores


QUESTION_LEARNERS: dict[str, Callable[[_Options], Floats]] = {
    "characters": _by_characters,
    "surface": _by_surface,
    "nearest": _by_nearest,
    "matching": _by_matching,
    "rank": _by_rank,
    "distance": _by_distance,
}
