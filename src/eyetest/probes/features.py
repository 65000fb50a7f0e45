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
_NUMBER = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:\s*/\s*\d+(?:\.\d+)?)?")
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
        self.gold = order.index(item.gold[0])
        self.tokens = [Counter(_TOKEN.findall(text.lower())) for text in self.texts]
        self.values = [number_of(text) for text in self.texts]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def numeric(self) -> bool:
        """Whether most options are numbers."""
        return 2 * sum(value is not None for value in self.values) > len(self)


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
        self.tokens = [tokens for one in self.options for tokens in one.tokens]

    def __len__(self) -> int:
        return len(self.items)

    def blocks(self) -> Iterator[Ints]:
        """Rows of all items with equally many options, one item per line, for vectorised work."""
        for n in np.unique(self.counts):
            yield self.starts[self.counts == n][:, None] + np.arange(n)

    def spread(self, by_item: Number) -> Number:
        """A value of each item, on each of its rows."""
        return by_item[self.owner]

    def centred(self, rows: Columned) -> Columned:
        """OptionColumns less their mean over the item's options, in their precision."""
        counts = self.counts.reshape(-1, *[1] * (rows.ndim - 1)).astype(rows.dtype)
        means = np.add.reduceat(rows, self.starts, axis=0) / counts
        return np.subtract(rows, means[self.owner])


class OptionColumns:
    """Named columns over the rows of a table, filled block by block."""

    def __init__(self, table: OptionTable) -> None:
        self.table = table
        self.blocks = list(table.blocks())
        self.columns: dict[str, Floats] = {}

    def fill(self, name: str, values: Floats, change: Callable[[Floats], Floats]) -> None:
        """A column made of another; ``change`` gets one line of options per item."""
        column = np.zeros(len(values))
        for rows in self.blocks:
            column[rows] = change(values[rows])
        self.columns[name] = column

    def relative(self, name: str, values: Floats) -> None:
        """A measure relative to the other options: deviation, rank, distance from the middle, alone at an end."""
        self.fill(name, values, _centred)
        self.fill(f"{name}: rank", values, _ranks)
        self.fill(f"{name}: off middle", values, lambda v: _centred(np.abs(_ranks(v))))
        self.fill(f"{name}: most", values, lambda v: _alone(v, v.max(-1, keepdims=True)))
        self.fill(f"{name}: least", values, lambda v: _alone(v, v.min(-1, keepdims=True)))
        self.fill(f"{name}: shared", values, _shared)

    def matrix(self) -> Floats:
        """All columns side by side."""
        return np.column_stack(list(self.columns.values()))


def surface_columns(table: OptionTable) -> OptionColumns:
    """Appearance of options relative to the other options of their item."""
    columns = OptionColumns(table)
    for name, measure in MEASURES.items():
        columns.relative(name, np.array([measure(text) for text in table.texts]))
    lowered = [text.lower() for text in table.texts]
    for name, pattern in _CUES.items():
        columns.fill(name, np.array([bool(pattern.search(text)) for text in lowered], dtype=float), _centred)
    words = [not _NUMBER_WORDS.isdisjoint(tokens) for tokens in table.tokens]
    columns.fill("number word", np.array(words, dtype=float), _centred)
    _add_overlaps(columns, lowered)
    _add_numbers(columns)
    return columns


def _add_overlaps(columns: OptionColumns, lowered: Sequence[str]) -> None:
    """Overlap of each option with the others: distractors are often derived from the gold."""
    table = columns.table
    pieces = [frozenset(text[i : i + 3] for i in range(max(len(text) - 2, 1))) for text in lowered]
    for kind, sets in {"tokens": [frozenset(tokens) for tokens in table.tokens], "pieces": pieces}.items():
        mean, nearest = np.zeros(len(sets)), np.zeros(len(sets))
        for start, n in zip(table.starts, table.counts, strict=True):
            alike = in_common(sets[start : start + n])
            mean[start : start + n] = alike.sum(1) / (n - 1)
            nearest[start : start + n] = alike.max(1)
        columns.relative(f"{kind} in common", np.round(mean, 9))
        columns.relative(f"{kind} in the nearest", np.round(nearest, 9))
    words = [_WORD.findall(text) or [""] for text in lowered]
    shapes = [_LETTERS.sub("a", _DIGITS.sub("0", text)) for text in lowered]
    kinds = {"shape": shapes, "first word": [w[0] for w in words], "last word": [w[-1] for w in words]}
    for name, values in kinds.items():
        columns.fill(f"{name}: shared", np.unique(values, return_inverse=True)[1].astype(float), _shared)


def in_common(bags: Sequence[Set[str]]) -> Floats:
    """Jaccard similarity of each two bags of words or letters, 0 with itself."""
    alike = np.zeros((len(bags), len(bags)))
    for i, bag in enumerate(bags):
        for j in range(i):
            common = len(bag & bags[j])
            alike[i, j] = alike[j, i] = common / max(len(bag) + len(bags[j]) - common, 1)
    return alike


def _add_numbers(columns: OptionColumns) -> None:
    """Position of a number among the item's numbers: in the middle, at an end, twice or ten times another."""
    table = columns.table
    values = np.array([math.nan if v is None else v for one in table.options for v in one.values])
    columns.fill("number", np.isfinite(values).astype(float), _centred)
    added = {f"number: {name}": np.zeros(len(values)) for name in _number_columns(np.arange(3.0))}
    for start, n in zip(table.starts, table.counts, strict=True):
        where = start + np.flatnonzero(np.isfinite(values[start : start + n]))
        if len(where) >= _LEAST_NUMBERS:
            for name, column in _number_columns(values[where]).items():
                added[f"number: {name}"][where] = column
    columns.columns.update(added)


def _number_columns(values: Floats) -> dict[str, Floats]:
    rank = _ranks(values)
    off = np.abs(values - np.median(values))
    spread = float(np.median(off)) or float(off.max()) or 1.0
    apart = np.abs(values[:, None] - values)
    np.fill_diagonal(apart, np.inf)
    size = np.log10(np.maximum(np.abs(values), 1e-12))
    powers = np.abs(size[:, None] - size)
    whole = values == np.round(values)
    return {
        "rank": rank,
        "off middle": _centred(np.abs(rank)),
        "most": _alone(values, values.max()),
        "least": _alone(values, values.min()),
        "from centre": _centred(np.minimum(off / spread, 5.0)),
        "size": _centred(size),
        "nearest": _centred(np.minimum(apart.min(1) / spread, 5.0)),
        "doubles": _centred((np.abs(powers - math.log10(2)) < 1e-6).sum(1).astype(float)),
        "tenfold": _centred((np.abs(powers - 1) < 1e-6).sum(1).astype(float)),
        "opposite": _centred((values[:, None] == -values).sum(1).astype(float)),
        "whole": _centred(whole.astype(float)),
        "odd": _centred((whole & (np.abs(np.fmod(values, 2)) == 1)).astype(float)),
    }


def context_matrix(table: OptionTable) -> Floats:
    """Features of an item's options as a whole: they separate no options, but show when a cue applies."""
    numbers = np.array([sum(v is not None for v in one.values) / len(one) for one in table.options])
    length = np.array([math.log1p(sum(map(len, one.texts)) / len(one)) for one in table.options])
    return table.spread(np.column_stack([table.counts, numbers, length]))


def question_columns(table: OptionTable) -> OptionColumns:
    """How much of an option is in the question, and what of it no other option has."""
    columns = OptionColumns(table)
    asked = [frozenset(_WORD.findall(PLACEHOLDER.sub(" ", item.question).lower())) for item in table.items]
    common_share, own = np.zeros(len(table.texts)), np.zeros(len(table.texts))
    words = [frozenset(_WORD.findall(text.lower())) for text in table.texts]
    for item, (start, n) in enumerate(zip(table.starts, table.counts, strict=True)):
        uses = Counter(word for row in words[start : start + n] for word in row)
        for row in range(start, start + n):
            common = words[row] & asked[item]
            common_share[row] = len(common) / max(len(words[row]), 1)
            own[row] = sum(uses[word] == 1 for word in common)
    columns.relative("in the question", np.round(common_share, 9))
    columns.relative("only one in the question", own)
    return columns


def hashed_words(table: OptionTable) -> NDArray[np.float32]:
    """Words of each text, and their pairs with words of its question, hashed into columns."""
    asked = [
        list(dict.fromkeys(_WORD.findall(PLACEHOLDER.sub(" ", item.question).lower())))[-_MOST_CROSSED:]
        for item in table.items
    ]
    words = [list(dict.fromkeys(_WORD.findall(text.lower())))[:_MOST_CROSSED] for text in table.texts]
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
