"""Answers that can stand side by side: members of a list, values in one writing, names asked for alike."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from math import ceil

import numpy as np
from numpy.typing import NDArray

from eyetest.reform.annotation import ClassLabel
from eyetest.reform.distractors.answer_kinds import ALIKE, LISTS, AnswerKind, in_case_of
from eyetest.reform.distractors.kinship import by_hierarchy, name_classes, related
from eyetest.reform.distractors.option_sets import HardOptions, SetRequest
from eyetest.reform.distractors.quantities import TOO_NEAR, WrittenNumber
from eyetest.reform.distractors.wordnet import find_wordnet
from eyetest.reform.distractors.words import plain

Floats = NDArray[np.float32]
Kin = NDArray[np.bool_]
_MOST_TOGETHER = 600
"""Answers of which every two are compared."""
_LEAST_TOGETHER = 12
"""Different answers from which on questions that begin alike are a group of their own."""
_TIMES_IN_LIST = 4
"""Answers that come so often each, on average, are a list that needs no others beside it."""
_UNSEEN = 0.5
"""A member of a list that is nobody's gold counts as half a record: it may be offered, if seldom."""
_OFTEN = 4
_POOL = 10
_FAR = {"count": 10, "year": 30}
"""From which difference on two numbers of a row are as far apart as can be."""
_TOO_FAR = 1.0
"""Powers of ten between two values from which on one is no plausible alternative to the other."""
_UNKNOWN = 0.7
"""How far apart answers are of which WordNet knows nothing."""
_MARGIN = 3
"""Counts and years beyond the least and the largest gold that may be offered."""


class AnswerGroup:
    """Answers that are drawn from one another.

    ``name`` is what all spellings of an answer share, ``shown`` how it is written beside a gold.
    """

    def __init__(self, options: int, seed: int, name: Callable[[str], str], shown: Callable[[str, str], str]) -> None:
        self._options, self._seed, self._name, self._shown = options, seed, name, shown
        self._where: dict[str, tuple[Sequence[str], HardOptions, int]] = {}

    def add(self, names: Sequence[str], weights: Sequence[float], distance: Floats, kin: Kin) -> None:
        """Answers that are drawn from one another."""
        request = SetRequest(options=self._options, pool=_POOL, weights=np.array(weights, np.float64), kin=kin)
        options = HardOptions(distance, request, self._seed)
        self._where |= {name: (names, options, number) for number, name in enumerate(names)}

    def draw(self, gold: str, is_right: Callable[[str], bool], chance: random.Random) -> list[str]:
        """Wrong answers beside a right one; none where it is not of the group."""
        if (name := self._name(gold)) not in self._where:
            return []
        names, options, number = self._where[name]
        drawn = options.draw(number, lambda other: is_right(self._shown(gold, names[other])), chance)
        return [self._shown(gold, names[other]) for other in drawn]


def list_group(kind: AnswerKind, golds: Counter[str], options: int, seed: int) -> AnswerGroup:
    """Members of a closed list, or of a row of whole numbers, nearer ones together."""
    counts = Counter[str]()
    for gold, count in golds.items():
        counts[plain(gold)] += count
    if kind.name in LISTS and kind.form:
        members = list(dict.fromkeys((*LISTS[kind.name][int(str(kind.form[0]))], *counts)))
    else:
        numbers = [int(gold) for gold in counts]
        row = range(max(min(numbers) - _MARGIN, 0), max(numbers) + _MARGIN + 1)
        members = [str(number) for number in row] if len(row) <= _MOST_TOGETHER else sorted(counts, key=int)
    seen = [member for member in members if counts[member]]
    if counts.total() >= _OFTEN * len(seen) and len(seen) >= 2 * options:
        members = seen
    group = AnswerGroup(options, seed, plain, in_case_of)
    weights = [counts[member] or _UNSEEN for member in members]
    group.add(members, weights, _list_distance(kind, members), _same_colours(members))
    return group


def _list_distance(kind: AnswerKind, members: Sequence[str]) -> Floats:
    """How far members are from each other: round the year or the week, along a row of numbers, or all alike."""
    if members[0].isdigit():
        values = np.array(members, np.float32)
        return np.asarray(np.minimum(np.abs(values[:, None] - values) / _FAR[kind.name], 1), np.float32)
    places = np.arange(len(members), dtype=np.float32)
    apart = np.abs(places[:, None] - places)
    if kind.name in ("month", "weekday"):
        return np.asarray(np.minimum(apart, len(members) - apart) / len(members))
    return apart / len(members) if kind.name == "count" else np.where(apart > 0, np.float32(0.5), np.float32(0))


def alike_colours(one: str, others: Iterable[str]) -> bool:
    """Whether people would call a colour by one of some other names."""
    return any(one in alike and not alike.isdisjoint(others) for alike in ALIKE)


def _same_colours(members: Sequence[str]) -> Kin:
    return np.array([[one == other or alike_colours(one, (other,)) for other in members] for one in members])


def number_group(golds: Counter[str], options: int, seed: int) -> AnswerGroup | None:
    """Values in one writing, near ones together, none within five per cent of another; None for too few."""
    counts = Counter[str]()
    for gold, count in golds.items():
        counts[_value_name(gold)] += count
    if len(counts) < 2 * options:
        return None
    group = AnswerGroup(options, seed, _value_name, _in_writing_of)
    decimals = next(iter(quantity for gold in golds if (quantity := WrittenNumber.read(gold)))).decimals
    for names in _cut(sorted(counts, key=Decimal), 2 * options):
        values = np.array(names, np.float64)
        size = np.log10(np.abs(values) + 10.0**-decimals)
        noughts = np.array([WrittenNumber(Decimal(name), decimals=decimals).noughts for name in names])
        apart = np.abs(size[:, None] - size)
        distance = apart + 0.1 * np.abs(noughts[:, None] - noughts)
        largest = np.maximum(np.abs(values[:, None]), np.abs(values))
        kin = np.abs(values[:, None] - values) <= float(TOO_NEAR) * largest
        group.add(names, [counts[name] for name in names], distance.astype(np.float32), kin | (apart > _TOO_FAR))
    return group


def _value_name(text: str) -> str:
    quantity = WrittenNumber.read(text)
    assert quantity is not None
    return f"{quantity.value:f}"


def _in_writing_of(gold: str, value: str) -> str:
    quantity = WrittenNumber.read(gold)
    assert quantity is not None
    return quantity.written(Decimal(value))


class TextPool:
    """Answers in words, drawn with answers to questions that begin alike.

    Questions that begin with the same two words are a group if they have enough different answers, else those with
    the same first word, else all.
    """

    def __init__(self, asked: Mapping[tuple[str, str], int], options: int, seed: int) -> None:
        self._options, self._seed = options, seed
        self._spelt: dict[str, str] = {}
        answers: dict[str, Counter[str]] = defaultdict(Counter)
        for (question, gold), count in asked.items():
            self._spelt.setdefault(plain(gold), gold)
            answers[_beginning(question, 2)][plain(gold)] += count
        rest: dict[str, Counter[str]] = defaultdict(Counter)
        for words in (1, 0):
            for beginning in [one for one, counts in answers.items() if not self._is_group(counts)]:
                rest[" ".join(beginning.split()[:words])] += answers.pop(beginning)
            answers |= {one: answers[one] + counts for one, counts in rest.items()}
            rest = defaultdict(Counter)
        if "" in answers and len(answers[""]) < _LEAST_TOGETHER:
            answers[""] += Counter(dict.fromkeys(self._spelt, 0))
        self._answers = answers
        self._groups: dict[str, AnswerGroup] = {}

    def _is_group(self, counts: Counter[str]) -> bool:
        """Whether answers are enough to draw from: many different ones, or a few that come again and again."""
        recur = counts.total() >= _TIMES_IN_LIST * len(counts)
        return len(counts) >= (self._options if recur else _LEAST_TOGETHER)

    def draw(self, question: str, gold: str, is_right: Callable[[str], bool], chance: random.Random) -> list[str]:
        """Wrong answers beside a right one, which has to be known."""
        keys = (_beginning(question, words) for words in (2, 1, 0))
        key = next((key for key in keys if plain(gold) in self._answers.get(key, ())), None)
        if key is None:
            return []
        if key not in self._groups:
            self._groups[key] = self._group(self._answers[key])
        return self._groups[key].draw(gold, is_right, chance)

    def _group(self, counts: Counter[str]) -> AnswerGroup:
        group = AnswerGroup(self._options, self._seed, plain, lambda gold, name: self._spelt[name])
        by_form = sorted(counts, key=lambda name: (*_form(self._spelt[name]), counts[name], name))
        for names in _cut(by_form, _LEAST_TOGETHER):
            spelt = [self._spelt[name] for name in names]
            wordnet = find_wordnet()
            classes = name_classes([ClassLabel(name=text) for text in spelt], wordnet)
            kin = related(classes, wordnet) | _contained(names)
            meant = by_hierarchy(classes, wordnet) if wordnet else np.full(kin.shape, np.nan, np.float32)
            distance = np.nan_to_num(meant, nan=_UNKNOWN) / 2 + _form_distance(spelt)
            group.add(names, [counts[name] or _UNSEEN for name in names], distance.astype(np.float32), kin)
        return group


def _beginning(question: str, words: int) -> str:
    return " ".join(plain(question).split()[:words])


def _form(text: str) -> tuple[bool, bool, int]:
    """What anybody sees of an answer before reading it: digits in it, a capital, how long it is."""
    return any(letter.isdigit() for letter in text), text[:1].isupper(), len(text.split())


def _form_distance(texts: Sequence[str]) -> Floats:
    digits, capital, words = (np.array(one, np.float32) for one in zip(*map(_form, texts), strict=True))
    length = np.log1p(np.array([len(text) for text in texts], np.float32))
    parts = ((digits, 0.4), (capital, 0.4), (np.log1p(words), 0.3), (length, 0.3))
    return np.asarray(np.sum([weight * np.abs(part[:, None] - part) for part, weight in parts], axis=0))


def _contained(names: Sequence[str]) -> Kin:
    """Which answers say all that others say, and perhaps more."""
    words = [set(name.split()) for name in names]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(word for own in words for word in own))}
    has = np.zeros((len(names), len(numbers)), np.float32)
    for row, own in zip(has, words, strict=True):
        row[[numbers[word] for word in own]] = 1
    sizes = has.sum(axis=1)
    return np.asarray(has @ has.T >= np.minimum(sizes[:, None], sizes))


def _cut(names: Sequence[str], least: int) -> Iterator[Sequence[str]]:
    """Neighbours together, as many as can be compared."""
    size = max(ceil(len(names) / ceil(len(names) / _MOST_TOGETHER)), least)
    yield from (names[first : first + size] for first in range(0, len(names), size))
