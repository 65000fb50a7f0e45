"""Image-free features of options and questions relative to the item's other options; none depends on positions."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.preprocessing import normalize

from eyetest.benchmarks.options import without_letters
from eyetest.records import PLACEHOLDER, Item

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Number = TypeVar("Number", NDArray[np.float64], NDArray[np.int64])
Columned = TypeVar("Columned", NDArray[np.float64], NDArray[np.float32])

BUCKETS = 600  # hashed columns for option words, and as many for crosses: the Gram matrix is solved fast
_MOST_CROSSED = 12  # words of an option, and of a question, that are crossed: a long text says no more than its start

_TOKEN = re.compile(r"[a-z]+|\d+(?:\.\d+)?|[^\sa-z\d]")
_WORD = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")
_NUMBER = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:\s{0,9}/\s{0,9}\d+(?:\.\d+)?)?")
_UNIT_LETTERS = 12  # with more letters beside it a number is part of a sentence
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")
_OTHER = re.compile(r"\D")
_LEAST_NUMBERS = 3
_NUMBERS_SPELT = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen twenty thirty "
    "forty fifty hundred thousand million once twice half"
)
_NUMBER_WORDS = frozenset(_NUMBERS_SPELT.split())
_CUES: dict[str, re.Pattern[str]] = {
    "all of the above": re.compile(r"\b(all|both|each) of (the above|these|them|the other)|\ball (the )?above\b"),
    "none of the above": re.compile(r"\b(none|neither)\b|\bnot (given|listed|here)\b|\bno (correct|right) "),
    "cannot tell": re.compile(r"\b(cannot|can't|unknown|unclear|not enough|insufficient|undetermined|n/?a|nan)\b"),
    "negation": re.compile(r"\b(not|no|never|nor|without|un\w+able)\b|n't\b"),
    "only": re.compile(r"\b(only|solely|just|exclusively|merely)\b"),
    "absolute": re.compile(r"\b(always|never|all|every|must|entirely|completely|any)\b"),
    "hedge": re.compile(r"\b(may|might|could|can|some|sometimes|often|usually|generally|likely|about|most)\b"),
    "yes": re.compile(r"^\W*(yes|true|correct)\b"),
    "no": re.compile(r"^\W*(no|false|incorrect)\b"),
    "because": re.compile(r"\b(because|due to|since|therefore|so that|in order to)\b"),
    "article first": re.compile(r"^\W*(a|an|the)\b"),
    "and": re.compile(r"\band\b|&"),
    "or": re.compile(r"\bor\b"),
    "image": re.compile(r"<image>"),
}  # fmt: skip


class Options:
    """The options of one item in alphabetical order, and which of them is the gold."""

    def __init__(self, item: Item) -> None:
        texts = [PLACEHOLDER.sub("<image>", choice.text).strip() for choice in item.choices]
        # "A." or a bare letter, where every option has its own, would show its position
        is_bare = all(text.upper() == chr(ord("A") + index) for index, text in enumerate(texts))
        texts = [""] * len(texts) if is_bare else list(without_letters(texts))
        order = sorted(range(len(texts)), key=lambda i: texts[i])
        self.texts = [texts[i] for i in order]
        self.order = order  # the place of each as written
        self.gold = order.index(item.gold[0])
        self.values = np.array([number_of(text) for text in self.texts], np.float64)  # NaN for other texts

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def numeric(self) -> bool:
        """Whether most options are numbers."""
        return bool(2 * np.isfinite(self.values).sum() > len(self))


def number_of(text: str) -> float | None:
    """The number of an option, with or without a unit; None for a sentence with a number."""
    if not any(letter.isdigit() for letter in text) or sum(map(str.isalpha, text)) > _UNIT_LETTERS:
        return None
    number = max((match[0] for match in _NUMBER.finditer(text)), key=len)
    top, _, bottom = number.replace(",", "").replace("−", "-").replace(" ", "").partition("/")
    try:
        value = float(top) / (float(bottom) if bottom else 1.0)
    except (ValueError, ZeroDivisionError):
        return None
    return value if math.isfinite(value) else None


def decimals(text: str) -> int:
    """The number of digits after the decimal point."""
    match = re.search(r"\d\.(\d+)", text)
    return len(match[1]) if match else 0


MEASURES: dict[str, Callable[[str], float]] = {
    "length": lambda text: math.log1p(len(text)),
    "words": lambda text: math.log1p(len(text.split())),
    "word length": lambda text: len(text) / max(len(text.split()), 1),
    "digits": lambda text: float(sum(map(str.isdigit, text))),
    "digit share": lambda text: sum(map(str.isdigit, text)) / max(len(text), 1),
    "capitals": lambda text: sum(map(str.isupper, text)) / max(len(text), 1),
    "punctuation": lambda text: float(sum(not c.isalnum() and not c.isspace() for c in text)),
    "decimals": lambda text: float(decimals(text)),
    "trailing zeros": lambda text: float(len(digits := _OTHER.sub("", text)) - len(digits.rstrip("0"))),
    "capitalised": lambda text: float(text[:1].isupper()),
    "full stop": lambda text: float(text.endswith(".")),
    "brackets": lambda text: float(text.count("(") + text.count("[")),
    "commas": lambda text: float(text.count(",")),
    "minus": lambda text: float(text.startswith(("-", "−", "$-", "–"))),
    "formula": lambda text: float(sum(text.count(sign) for sign in "\\^_=$")),
    "fraction": lambda text: float("/" in text),
}


class OptionTable:
    """Options of many items as one table: rows are options, items follow one another."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items
        self.options = [Options(item) for item in items]
        self.counts: Ints = np.array([len(one) for one in self.options])
        self.starts: Ints = np.concatenate([[0], np.cumsum(self.counts)[:-1]]).astype(np.int64)
        self.owner: Ints = np.repeat(np.arange(len(items)), self.counts)
        self.gold: Ints = self.starts + np.array([one.gold for one in self.options])
        self.numeric = np.array([one.numeric for one in self.options])
        self.texts = [text for one in self.options for text in one.texts]
        self.tokens = [frozenset(_TOKEN.findall(text.lower())) for text in self.texts]
        self.words = [dict.fromkeys(_WORD.findall(text.lower())) for text in self.texts]
        questions = (PLACEHOLDER.sub(" ", item.question).lower() for item in items)
        self.asked = [dict.fromkeys(_WORD.findall(question)) for question in questions]

    def __len__(self) -> int:
        return len(self.items)

    def changed(self, values: Floats, change: Callable[[Floats], Floats]) -> Floats:
        """A column made of another; ``change`` gets the options of several items, a line per item."""
        column = np.zeros(len(values))
        for n in np.unique(self.counts):
            rows = self.starts[self.counts == n][:, None] + np.arange(n)
            column[rows] = change(values[rows])
        return column

    def relative(self, values: Floats) -> list[Floats]:
        """A measure relative to the other options: deviation, rank, distance from the middle, alone at an end."""
        changes: tuple[Callable[[Floats], Floats], ...] = (
            _centred,
            _ranks,
            lambda v: _centred(np.abs(_ranks(v))),
            lambda v: _alone(v, v.max(-1, keepdims=True)),
            lambda v: _alone(v, v.min(-1, keepdims=True)),
            _shared,
        )
        return [self.changed(values, change) for change in changes]

    def spread(self, by_item: Number) -> Number:
        """A value of each item, on each of its rows."""
        return by_item[self.owner]

    def centred(self, rows: Columned) -> Columned:
        """Columns less their mean over the item's options, in their precision."""
        counts = self.counts.reshape(-1, *[1] * (rows.ndim - 1)).astype(rows.dtype)
        means = np.add.reduceat(rows, self.starts, axis=0) / counts
        return np.subtract(rows, means[self.owner])


def surface_columns(table: OptionTable) -> Floats:
    """Appearance of options relative to the other options of their item."""
    columns: list[Floats] = []
    for measure in MEASURES.values():
        columns += table.relative(np.array([measure(text) for text in table.texts]))
    lowered = [text.lower() for text in table.texts]
    cues = [[bool(pattern.search(text)) for text in lowered] for pattern in _CUES.values()]
    cues.append([not _NUMBER_WORDS.isdisjoint(tokens) for tokens in table.tokens])
    columns += [table.changed(np.array(shown, dtype=float), _centred) for shown in cues]
    return np.column_stack([*columns, *_overlaps(table, lowered), *_numbers(table)])


def _overlaps(table: OptionTable, lowered: Sequence[str]) -> Iterator[Floats]:
    """Overlap of each option with the others: distractors are often derived from the gold."""
    pieces = [frozenset(text[i : i + 3] for i in range(max(len(text) - 2, 1))) for text in lowered]
    for sets in (table.tokens, pieces):
        mean, nearest = np.zeros(len(sets)), np.zeros(len(sets))
        for start, n in zip(table.starts, table.counts, strict=True):
            alike = in_common(sets[start : start + n])
            mean[start : start + n] = alike.sum(1) / (n - 1)
            nearest[start : start + n] = alike.max(1)
        yield from table.relative(np.round(mean, 9))
        yield from table.relative(np.round(nearest, 9))
    words = [_WORD.findall(text) or [""] for text in lowered]
    shapes = [_LETTERS.sub("a", _DIGITS.sub("0", text)) for text in lowered]
    for texts in (shapes, [own[0] for own in words], [own[-1] for own in words]):
        yield table.changed(np.unique(texts, return_inverse=True)[1].astype(float), _shared)


def in_common(bags: Sequence[Set[str]]) -> Floats:
    """Jaccard similarity of each two bags of words or letters, 0 with itself."""
    alike = np.zeros((len(bags), len(bags)))
    for i, bag in enumerate(bags):
        for j in range(i):
            common = len(bag & bags[j])
            alike[i, j] = alike[j, i] = common / max(len(bag) + len(bags[j]) - common, 1)
    return alike


def _numbers(table: OptionTable) -> Iterator[Floats]:
    """Position of a number among the item's numbers: in the middle, at an end, twice or ten times another."""
    values = np.concatenate([one.values for one in table.options])
    yield table.changed(np.isfinite(values).astype(float), _centred)
    placed = np.zeros((len(_number_columns(np.arange(3.0))), len(values)))
    for start, n in zip(table.starts, table.counts, strict=True):
        where = start + np.flatnonzero(np.isfinite(values[start : start + n]))
        if len(where) >= _LEAST_NUMBERS:
            placed[:, where] = _number_columns(values[where])
    yield from placed


def _number_columns(values: Floats) -> list[Floats]:
    rank = _ranks(values)
    off = np.abs(values - np.median(values))
    spread = float(np.median(off)) or float(off.max()) or 1.0
    apart = np.abs(values[:, None] - values)
    np.fill_diagonal(apart, np.inf)
    size = np.log10(np.maximum(np.abs(values), 1e-12))
    powers = np.abs(size[:, None] - size)
    whole = values == np.round(values)
    return [
        rank,
        _centred(np.abs(rank)),
        _alone(values, values.max()),
        _alone(values, values.min()),
        _centred(np.minimum(off / spread, 5.0)),
        _centred(size),
        _centred(np.minimum(apart.min(1) / spread, 5.0)),
        _centred((np.abs(powers - math.log10(2)) < 1e-6).sum(1).astype(float)),  # twice another, or half of it
        _centred((np.abs(powers - 1) < 1e-6).sum(1).astype(float)),
        _centred((values[:, None] == -values).sum(1).astype(float)),
        _centred(whole.astype(float)),
        _centred((whole & (np.abs(np.fmod(values, 2)) == 1)).astype(float)),
    ]


def context_matrix(table: OptionTable) -> Floats:
    """Features of an item's options as a whole: they separate no options, but show when a cue applies."""
    numbers = np.array([np.isfinite(one.values).mean() for one in table.options])
    length = np.array([math.log1p(sum(map(len, one.texts)) / len(one)) for one in table.options])
    return table.spread(np.column_stack([table.counts, numbers, length]))


def question_columns(table: OptionTable) -> Floats:
    """How much of an option is in the question, and what of it no other option has."""
    common_share, own = np.zeros(len(table.texts)), np.zeros(len(table.texts))
    for item, (start, n) in enumerate(zip(table.starts, table.counts, strict=True)):
        uses = Counter(word for row in table.words[start : start + n] for word in row)
        for row in range(start, start + n):
            common = table.words[row].keys() & table.asked[item].keys()
            common_share[row] = len(common) / max(len(table.words[row]), 1)
            own[row] = sum(uses[word] == 1 for word in common)
    return np.column_stack([*table.relative(np.round(common_share, 9)), *table.relative(own)])


def hashed_words(table: OptionTable) -> NDArray[np.float32]:
    """Words of each text, and their pairs with words of its question, hashed into columns."""
    asked = [list(words)[-_MOST_CROSSED:] for words in table.asked]
    words = [list(words)[:_MOST_CROSSED] for words in table.words]
    pairs = [
        [f"{word} {other}" for word in own for other in asked[item]]
        for own, item in zip(words, table.owner.tolist(), strict=True)
    ]
    hasher = FeatureHasher(BUCKETS, input_type="string", dtype=np.float32)
    blocks = [normalize(hasher.transform(part), copy=False) for part in (words, pairs)]
    return np.asarray(sparse.hstack(blocks).toarray(), np.float32)


def _centred(values: Floats) -> Floats:
    return np.asarray(values - values.mean(-1, keepdims=True))


def _ranks(values: Floats) -> Floats:
    """Ranks from −½ to ½, ties at their mean."""
    order = np.sign(values[..., :, None] - values[..., None, :]).sum(-1)
    return np.asarray(order / (2.0 * max(values.shape[-1] - 1, 1)))


def _alone(values: Floats, value: Floats) -> Floats:
    """Which option alone has the value; none where several have it."""
    same = values == value
    return np.asarray(_centred(same.astype(float)) * (same.sum(-1, keepdims=True) == 1))


def _shared(values: Floats) -> Floats:
    """Share of the item's options with the same value."""
    return _centred((values[..., :, None] == values[..., None, :]).mean(-1))
