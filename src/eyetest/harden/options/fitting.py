"""How well texts, above all numbers, fit their question, by what is offered beside other questions.

Estimated is the ratio r(v | q) of two densities of a text v, given a question q: that of the authored options, and
that of the proposals. The formula is that of logistic regression with both classes weighted alike: log r is its logit
(Sugiyama, Suzuki and Kanamori, Density Ratio Estimation in Machine Learning, 2012, chapter 4). It is linear in the
writing and the magnitude of a text, in these crossed with the words of the question, in relations to the numbers of
the question, and in those to the authored options of the most similar other questions. Proposals that are drawn with
odds of r times their present odds fit the question as authored options do, as far as the regression is right. With
other labels and weights the same regression finds keys or authored options (`dealing`). The items are assumed to be
independent, and each is rated by a regression that was fitted to other items; only the authored options of similar
questions are seen across folds. A text that is no number counts as 0. The independent check is
``tests/harden/options/question_judging.py``.
"""

import math
import re
from collections.abc import Sequence
from itertools import permutations
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from eyetest.harden.options.similar_questions import nearest_questions
from eyetest.measures.stats.intervals import one_thread
from eyetest.probes.features import Floats, Ints, decimals, number_of
from eyetest.text import find_quantities, plain_text

LEAST_ITEMS = 60  # with fewer items nothing is learnt that generalises
FACTORS = (2, 3, 4, 10, 100, 0.5, 0.1, 0.01)  # by which authors multiply a number of the question
_MOST_NUMBERS = 5  # of a question; results of two grow with the square of their number
_MOST_WORDS = 24  # the last ones of a question, which ask; each is crossed with all of a text's signs
_BUCKETS = 2**17  # columns for hashes; with few of them unlike signs share one
_MULTIPLIER = 1_000_003  # spreads pairs of hashes over the buckets
_SMALLEST = 1e-9  # size of 0, which has no logarithm
_NEIGHBOURS = 10  # most similar questions
_QUESTION_RELATIONS = 6  # columns on sizes beside the question's numbers
_STEEPNESS = 4.0  # by which a number loses closeness to another, for each factor of ten between them
_RELATION_SCALE = 0.4  # of relations beside the two blocks of hashed columns, whose rows have length 1
_STRENGTH = 40.0  # inverse of the regression's penalty
_WORD = re.compile(r"[^\W\d_]+")


def question_numbers(question: str) -> list[float]:
    """The first numbers of a question, each of them once."""
    values = (entry.value for entry in find_quantities(plain_text(question, lone_one=False)))
    return list(dict.fromkeys(values))[:_MOST_NUMBERS]


def simple_results(numbers: Sequence[float]) -> set[float]:
    """Sums, differences, products and ratios of any two of the numbers, in both orders."""
    results: set[float] = set()
    for first, second in permutations(numbers, 2):
        results |= {first + second, first - second, first * second}
        if second:
            results.add(first / second)
    return results


class QuestionFit:
    """Features of texts beside their questions, and a regression that is cross-fitted by item."""

    def __init__(self, items: Sequence[tuple[str, Sequence[str]]], fixed: Sequence[int]) -> None:
        """``items``: questions with their texts; ``fixed``: how many of these, the first, are authored options."""
        sizes = np.array([len(texts) for _, texts in items])
        self.starts: Ints = np.cumsum(sizes) - sizes
        self.owner: Ints = np.repeat(np.arange(len(items)), sizes)
        words = [_word_hashes(question) for question, _ in items]
        written = [_writing_hashes(text) for _, texts in items for text in texts]
        pairs = [
            np.add.outer(row * _MULTIPLIER, words[item]).ravel()
            for row, item in zip(written, self.owner.tolist(), strict=True)
        ]
        relations = np.concatenate([_relations(question, texts) for question, texts in items])
        numbers = np.hstack([relations * _RELATION_SCALE, _of_similar_questions(items, fixed)])
        blocks = [_hashed(written), _hashed(pairs), sparse.csr_matrix(numbers)]
        self._rows = sparse.csr_matrix(sparse.hstack(blocks))

    def cross_fitted(self, labels: NDArray[np.bool_], weights: Floats, folds: Ints) -> Floats:
        """Logits of all texts by regressions on the weighted texts of the items of other folds.

        ``labels`` and ``weights``: one for each text, which is left out of fitting at weight 0; ``folds``: one for
        each item. Logits are rounded, so that the last digits of a platform change no choice.
        """
        fold = folds[self.owner]
        logits = np.zeros(len(fold))
        for number in np.unique(folds):
            is_fitted = (fold != number) & (weights > 0)
            model = LogisticRegression(C=_STRENGTH, solver="liblinear", tol=1e-3, random_state=0)
            with one_thread():
                model.fit(self._rows[is_fitted], labels[is_fitted], sample_weight=weights[is_fitted])
                logits[fold == number] = model.decision_function(self._rows[fold == number])
        return np.round(logits, 9)


def _word_hashes(question: str) -> Ints:
    """Hashes of the last words of a question, each of them once."""
    words = list(dict.fromkeys(_WORD.findall(question.lower())))[-_MOST_WORDS:]
    return np.array([crc32(word.encode()) for word in words], np.int64)


def _writing_hashes(text: str) -> Ints:
    """Hashes of the text, its magnitude (fine and coarse), decimals, first and last digit, final zeros and sign."""
    lowered = text.strip().lower()
    digits = re.sub(r"\D", "", lowered)
    value = number_of(lowered) or 0.0
    size = math.log10(max(abs(value), _SMALLEST))
    signs = (
        f"text {lowered}",
        f"size {round(2 * size)}",
        f"size {math.floor(size)}",
        f"decimals {decimals(lowered)}",
        f"first {digits.lstrip('0')[:1]}",
        f"last {digits[-1:]}",
        f"zeros {len(digits) - len(digits.rstrip('0'))}",
        f"minus {value < 0}",
    )
    return np.array([crc32(sign.encode()) for sign in signs], np.int64)


def _hashed(rows: Sequence[Ints]) -> sparse.csr_matrix:
    """For each row of hashes one row of columns with equal values, whose Euclidean length is 1."""
    counts = np.array([len(row) for row in rows])
    ends = np.concatenate([[0], np.cumsum(counts)])
    columns = np.concatenate([*rows, np.empty(0, np.int64)]) % _BUCKETS
    values = np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts)
    return sparse.csr_matrix((values, columns, ends), shape=(len(rows), _BUCKETS))


def _relations(question: str, texts: Sequence[str]) -> Floats:
    """How the numbers of the texts relate to the numbers of the question: equal, a result, a multiple, size.

    Sizes are decimal logarithms, clipped and scaled to about 1; with their squares a middle size can fit best.
    """
    numbers = question_numbers(question)
    values = np.array([number_of(text) or 0.0 for text in texts])
    sizes = _log_sizes(texts)
    multiples = {number * factor for number in numbers for factor in FACTORS}
    columns = [_are_among(values, listed) for listed in (set(numbers), simple_results(numbers), multiples)]
    columns += [np.clip(sizes, -4, 8) / 4, np.clip(sizes, -4, 8) ** 2 / 16]
    if not numbers:
        return np.column_stack([*columns, np.zeros((len(texts), _QUESTION_RELATIONS))])
    question_sizes = np.log10(np.maximum(np.abs(np.array(numbers)), _SMALLEST))
    apart = np.clip(sizes[:, None] - question_sizes, -4, 4)
    columns += [
        np.abs(apart).min(axis=1),
        np.abs(np.median(apart, axis=1)),
        apart.max(axis=1),
        apart.min(axis=1),
        (values > max(numbers)).astype(np.float64),
        (values < min(numbers)).astype(np.float64),
    ]
    return np.column_stack(columns)


def _of_similar_questions(items: Sequence[tuple[str, Sequence[str]]], fixed: Sequence[int]) -> Floats:
    """How near a text is to the authored options of the most similar other questions, and how often it is one.

    Both are sums over these questions, weighted by squared cosines of tf-idf vectors, and the same as weighted means.
    """
    sizes = [_log_sizes(texts) for _, texts in items]
    authored = [frozenset(texts[:count]) for (_, texts), count in zip(items, fixed, strict=True)]
    neighbours = nearest_questions([question for question, _ in items], _NEIGHBOURS)
    blocks = []
    for item, (places, cosines) in enumerate(neighbours):
        texts = items[item][1]
        weights = cosines**2
        closeness = np.zeros(len(texts))
        equality = np.zeros(len(texts))
        for other, weight in zip(places.tolist(), weights.tolist(), strict=True):
            count = fixed[other]
            apart = np.abs(sizes[item][:, None] - sizes[other][:count])
            closeness += weight * np.exp(-_STEEPNESS * apart).mean(axis=1)
            equality += weight / count * np.array([text in authored[other] for text in texts])
        total = max(float(weights.sum()), _SMALLEST)
        blocks.append(np.column_stack([closeness, equality, closeness / total, equality / total]))
    return np.concatenate(blocks)


def _log_sizes(texts: Sequence[str]) -> Floats:
    """Decimal logarithms of the texts' numbers without their signs; a text that is no number counts as 0."""
    values = np.array([number_of(text) or 0.0 for text in texts])
    return np.asarray(np.log10(np.maximum(np.abs(values), _SMALLEST)))


def _are_among(values: Floats, listed: set[float]) -> Floats:
    """1 for each value that is among those listed, but for rounding, and 0 for the others."""
    if not listed:
        return np.zeros(len(values))
    apart = np.abs(values[:, None] - np.array(sorted(listed)))
    return np.asarray(apart.min(axis=1) <= 1e-9 * np.maximum(np.abs(values), 1), np.float64)
