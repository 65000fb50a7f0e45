"""An independent judge of options: learners and features that no part of the product uses.

Each option is described by its relations to the item's other options (one digit off, ten times, one more, between,
sums), to the numbers of the question, and by how often its text is offered in the whole file. Gradient boosting and a
random forest are cross-validated by item; what they get is compared with guessing.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GroupKFold

from eyetest.records import Item

Floats = NDArray[np.float64]
_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?(?:/\d+)?|[-−]?\.\d+")
_FOLDS = 8
LEARNERS: dict[str, Callable[[int], object]] = {
    "boosting": lambda seed: HistGradientBoostingClassifier(
        max_iter=80, max_leaf_nodes=8, learning_rate=0.06, min_samples_leaf=15, random_state=seed
    ),
    "forest": lambda seed: RandomForestClassifier(200, min_samples_leaf=8, max_features=0.3, random_state=seed),
    "stumps": lambda seed: GradientBoostingClassifier(
        n_estimators=100, max_depth=2, learning_rate=0.08, subsample=0.7, max_features=0.4, random_state=seed
    ),
}


class Judgement(NamedTuple):
    """What a learner gets on some items, with a 95 % interval, beside guessing."""

    n: int
    accuracy: float
    low: float
    high: float
    chance: float

    @property
    def ratio(self) -> float:
        """Accuracy as a multiple of chance."""
        return self.accuracy / self.chance

    def __str__(self) -> str:
        return f"{self.accuracy:.3f} [{self.low:.3f}, {self.high:.3f}] = {self.ratio:.2f} × chance, n={self.n}"


def number(text: str) -> float:
    """The number that an option is, or the first number in it; NaN where it has none."""
    match = _NUMBER.search(text)
    if match is None or len(match[0]) > 24:
        return float("nan")
    try:
        return float(Fraction(match[0].replace(",", "").replace("−", "-")))
    except (ValueError, ZeroDivisionError, OverflowError):
        return float("nan")


def judge(items: Sequence[Item], learner: str, seed: int = 0) -> Judgement:
    """Accuracy of one learner, each item by what was learnt from other items."""
    rows = _table(items)
    sizes = np.array([len(item.choices) for item in items])
    owner = np.repeat(np.arange(len(items)), sizes)
    right = np.concatenate([[choice.correct for choice in item.choices] for item in items])
    scores = np.zeros(len(rows))
    for train, test in GroupKFold(_FOLDS, shuffle=True, random_state=seed).split(rows, right, owner):
        model = LEARNERS[learner](seed)
        model.fit(rows[train], right[train])  # type: ignore[attr-defined]
        scores[test] = model.predict_proba(rows[test])[:, 1]  # type: ignore[attr-defined]
    starts = np.cumsum(sizes) - sizes
    top = scores >= np.maximum.reduceat(scores, starts)[owner] - 1e-12
    credit = np.add.reduceat(top & right, starts) / np.add.reduceat(top, starts)
    low, high = stats.binomtest(round(float(credit.sum())), len(items)).proportion_ci(0.95, "wilson")
    return Judgement(len(items), float(credit.mean()), float(low), float(high), float((1 / sizes).mean()))


def _table(items: Sequence[Item]) -> Floats:
    offered = Counter(choice.text.strip().lower() for item in items for choice in item.choices)
    by_value = Counter(number(choice.text) for item in items for choice in item.choices)
    blocks = []
    for item in items:
        texts = [choice.text.strip() for choice in item.choices]
        values = np.array([number(text) for text in texts])
        reported = np.array(
            [[offered[text.lower()], by_value[value]] for text, value in zip(texts, values, strict=True)]
        )
        columns = [
            *np.log(reported).T, *_of_text(texts), *_of_question(item.question, texts, values), *_of_numbers(values),
            *_of_digits(texts),
        ]  # fmt: skip
        block = np.stack(columns, axis=1).astype(np.float64)
        beside = block - np.nanmean(np.where(np.isfinite(block), block, 0), axis=0)
        blocks.append(np.hstack([block, beside, np.full((len(texts), 1), len(texts))]))
    table: Floats = np.nan_to_num(np.concatenate(blocks), nan=-99.0, posinf=99.0, neginf=-99.0)
    return table


def _of_text(texts: Sequence[str]) -> list[Floats]:
    words = [set(re.findall(r"\w+", text.lower())) for text in texts]
    shared = np.array([[len(one & other) / max(len(one | other), 1) for other in words] for one in words])
    np.fill_diagonal(shared, 0)
    lengths = np.array([len(text) for text in texts], float)
    capital = np.array([text[:1].isupper() for text in texts], float)
    return [
        shared.mean(1), shared.max(1), lengths, stats.rankdata(lengths), capital,
        np.array([len(one) for one in words], float),
    ]  # fmt: skip


def _of_question(question: str, texts: Sequence[str], values: Floats) -> list[Floats]:
    known = [value for match in _NUMBER.finditer(question) if np.isfinite(value := number(match[0]))][:8]
    pairs = [(one, other) for at, one in enumerate(known) for other in known[at + 1 :]]
    made = {
        "same": known,
        "sum": [one + other for one, other in pairs],
        "difference": [abs(one - other) for one, other in pairs],
        "product": [one * other for one, other in pairs],
        "ratio": [a / b for one, other in pairs for a, b in ((one, other), (other, one)) if b],
        "multiple": [one * factor for one in known for factor in (0.5, 2, 3, 4, 10, 100, 0.1, 0.01)],
    }
    asked = set(re.findall(r"\w+", question.lower()))
    words = [re.findall(r"\w+", text.lower()) for text in texts]
    columns = [_among(values, listed) for listed in made.values()]
    columns.append(np.array([np.mean([word in asked for word in own]) if own else 0.0 for own in words]))
    return [*columns, np.full(len(values), len(known), float)]


def _among(values: Floats, listed: Sequence[float]) -> Floats:
    if not listed:
        return np.zeros(len(values))
    known = np.array(listed)
    is_near = np.abs(values[:, None] - known) <= 1e-6 * np.maximum(np.abs(known), 1e-9)
    return np.asarray(np.any(is_near, axis=1), np.float64)


def _of_numbers(values: Floats) -> list[Floats]:
    count = len(values)
    mask = np.isfinite(values)
    filled = np.where(mask, values, 0.0)
    size = np.log10(np.maximum(np.abs(filled), 1e-9))
    ranks = np.where(mask, stats.rankdata(filled) / count, np.nan)
    ratio = np.abs(size[:, None] - size)
    apart = np.abs(filled[:, None] - filled)
    np.fill_diagonal(apart, np.inf)
    relative = apart / np.maximum(np.maximum(np.abs(filled[:, None]), np.abs(filled)), 1e-9)
    near = np.sort(relative, axis=1)
    columns = [filled, size, ranks, np.abs(ranks - 0.55), near[:, 0], near[:, 1] if count > 2 else near[:, 0]]
    columns.append(np.median(np.where(np.isfinite(relative), relative, 0), axis=1))
    columns += [(np.abs(ratio - np.log10(by)) < 1e-6).sum(1) for by in (10, 100, 2, 3, 4, 5, 1.5)]
    columns += [(np.abs(apart - step) < 1e-9).sum(1) for step in (0.01, 0.1, 1, 2, 5, 10, 100)]
    columns.append((np.abs(filled[:, None] + filled) < 1e-12).sum(1))
    sums = filled[:, None] + filled
    upper = sums[np.triu_indices(count, 1)]
    columns.append((np.abs(upper[None] - filled[:, None]) < 1e-9).sum(1))
    columns.append((np.abs(upper[None] - 2 * filled[:, None]) < 1e-9).sum(1))
    columns.append(size - np.median(size))
    columns.append(np.full(count, np.ptp(size)))
    return [np.asarray(column, float) for column in columns]


def _of_digits(texts: Sequence[str]) -> list[Floats]:
    digits = [re.sub(r"\D", "", text) for text in texts]
    bags = [Counter(one) for one in digits]

    def off(one: str, other: str) -> int:
        return sum(a != b for a, b in zip(one, other, strict=True)) if len(one) == len(other) else 9

    differ = np.array([[off(one, other) for other in digits] for one in digits])
    swapped = np.array(
        [[a == b and one != other for b, other in zip(bags, digits, strict=True)]
         for a, one in zip(bags, digits, strict=True)]
    )  # fmt: skip
    first = np.array([int(one.lstrip("0")[:1] or 0) for one in digits], float)
    last = np.array([int(one[-1:] or 0) for one in digits], float)
    zeros = np.array([len(one) - len(one.rstrip("0")) for one in digits], float)
    same_start = (first[:, None] == first).sum(1)
    same_end = (last[:, None] == last).sum(1)
    long = np.array([len(one) for one in digits], float)
    near = [(differ == 1).sum(1), (differ == 2).sum(1), swapped.sum(1)]
    return [*near, first, last, zeros, same_start, same_end, long]
