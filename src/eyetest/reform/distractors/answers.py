"""Distractors for open answers: drawn in sets (`option_sets`) from answers that recur, or made around the key."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from math import ceil

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyetest.reform.annotation import ClassLabel
from eyetest.reform.distractors import plain
from eyetest.reform.distractors.answer_kinds import (
    ALIKE,
    LISTS,
    AnswerKind,
    WrittenNumber,
    in_case_of,
    kind_of,
    opposite,
    other_alternative,
)
from eyetest.reform.distractors.classes import by_hierarchy, name_classes, related
from eyetest.reform.distractors.number_sets import NumberPool, NumberQuestion, ask_number
from eyetest.reform.distractors.option_sets import HardOptions, SetRequest
from eyetest.reform.distractors.wordnet import find_wordnet
from eyetest.scoring.metrics.same_text import asks_when
from eyetest.text import Level, parse, same

Floats = NDArray[np.float32]
Kin = NDArray[np.bool_]
_MOST_TOGETHER = 600  # answers of which every two are compared
_LEAST_TOGETHER = 12  # different answers from which on questions that begin alike are a group of their own
_TIMES_IN_LIST = 4  # answers that come so often each, on average, are a list that needs no others beside it
_UNSEEN = 0.5  # A member of a list that is never gold counts as half a record: it may be offered, if seldom
_OFTEN = 4
_POOL = 10
_FAR = {"count": 10, "year": 30}  # from which difference on two numbers of a row are as far apart as can be
_UNKNOWN = 0.7  # how far apart answers are of which WordNet knows nothing
_OTHER_KIND = 3.0  # distance factor of answers of different kinds: offered together only if none else is left
_MARGIN = 3  # counts and years beyond the least and the largest gold that may be offered


class AnswerGroup:
    """Answers drawn from one another, by `name`, which all spellings share; `shown` writes one like the key."""

    def __init__(self, options: int, seed: int, name: Callable[[str], str], shown: Callable[[str, str], str]) -> None:
        self._options, self._seed, self._name, self._shown = options, seed, name, shown
        self._where: dict[str, tuple[Sequence[str], HardOptions, int]] = {}

    def add(self, names: Sequence[str], weights: Sequence[float], distance: Floats, kin: Kin) -> None:
        """Add answers that are drawn from one another."""
        request = SetRequest(options=self._options, pool=_POOL, weights=np.array(weights, np.float64), kin=kin)
        options = HardOptions(distance, request, self._seed)
        self._where |= {name: (names, options, number) for number, name in enumerate(names)}

    def draw(self, gold: str, is_right: Callable[[str], bool], chance: random.Random) -> list[str]:
        """Draw wrong answers beside a right one; none where it is not of the group."""
        if (name := self._name(gold)) not in self._where:
            return []
        names, options, number = self._where[name]
        drawn = options.draw(number, lambda other: is_right(self._shown(gold, names[other])), chance)
        return [self._shown(gold, names[other]) for other in drawn]


def list_group(kind: AnswerKind, golds: Counter[str], options: int, seed: int) -> AnswerGroup:
    """Members of a closed list, or of a row of whole numbers, near ones together."""
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
    kin = np.array([[entry == other or alike_colours(entry, (other,)) for other in members] for entry in members])
    group.add(members, weights, _list_distance(kind, members), kin)
    return group


def _list_distance(kind: AnswerKind, members: Sequence[str]) -> Floats:
    """Distances of members: cyclic for year and week, linear for numbers, else all equal."""
    if members[0].isdigit():
        values = np.array(members, np.float32)
        return np.asarray(np.minimum(np.abs(values[:, None] - values) / _FAR[kind.name], 1), np.float32)
    places = np.arange(len(members), dtype=np.float32)
    apart = np.abs(places[:, None] - places)
    if kind.name in ("month", "weekday"):
        return np.asarray(np.minimum(apart, len(members) - apart) / len(members))
    return apart / len(members) if kind.name == "count" else np.where(apart > 0, np.float32(0.5), np.float32(0))


def alike_colours(entry: str, others: Iterable[str]) -> bool:
    """Whether a colour is easily called by one of some other names."""
    return any(entry in alike and not alike.isdisjoint(others) for alike in ALIKE)


class TextPool:
    """Answers in words, by the first two words of the question; by one or none where these have too few answers."""

    def __init__(self, asked: Mapping[tuple[str, str], int], options: int, seed: int) -> None:
        self._options, self._seed = options, seed
        self._spelt: dict[str, str] = {}
        answers: dict[str, Counter[str]] = defaultdict(Counter)
        for (question, gold), count in asked.items():
            self._spelt.setdefault(plain(gold), gold)
            answers[" ".join(plain(question).split()[:2])][plain(gold)] += count
        rest: dict[str, Counter[str]] = defaultdict(Counter)
        for words in (1, 0):
            for beginning in [entry for entry, counts in answers.items() if not self._is_group(counts)]:
                rest[" ".join(beginning.split()[:words])] += answers.pop(beginning)
            answers |= {entry: answers[entry] + counts for entry, counts in rest.items()}
            rest = defaultdict(Counter)
        if "" in answers and len(answers[""]) < _LEAST_TOGETHER:
            answers[""] += Counter(dict.fromkeys(self._spelt, 0))
        self._answers = answers
        self._groups: dict[str, AnswerGroup] = {}

    def _is_group(self, counts: Counter[str]) -> bool:
        """Whether answers are enough to draw from: many different ones, or a few frequent ones."""
        recur = counts.total() >= _TIMES_IN_LIST * len(counts)
        return len(counts) >= (self._options if recur else _LEAST_TOGETHER)

    def draw(self, question: str, gold: str, is_right: Callable[[str], bool], chance: random.Random) -> list[str]:
        """Draw wrong answers beside a right one, which has to be known."""
        asked = plain(question).split()
        keys = (" ".join(asked[:words]) for words in (2, 1, 0))
        key = next((key for key in keys if plain(gold) in self._answers.get(key, ())), None)
        if key is None:
            return []
        if key not in self._groups:
            self._groups[key] = self._group(self._answers[key])
        return self._groups[key].draw(gold, is_right, chance)

    def _group(self, counts: Counter[str]) -> AnswerGroup:
        group = AnswerGroup(self._options, self._seed, plain, lambda gold, name: self._spelt[name])
        by_form = sorted(counts, key=lambda name: (*_form(self._spelt[name]), counts[name], name))
        size = max(ceil(len(by_form) / ceil(len(by_form) / _MOST_TOGETHER)), _LEAST_TOGETHER)
        for names in (by_form[first : first + size] for first in range(0, len(by_form), size)):
            spelt = [self._spelt[name] for name in names]
            wordnet = find_wordnet()
            classes = name_classes([ClassLabel(name=text) for text in spelt], wordnet)
            kin = related(classes, wordnet) | _contained(names)
            meant = by_hierarchy(classes, wordnet) if wordnet else np.full(kin.shape, np.nan, np.float32)
            distance = np.nan_to_num(meant, nan=_UNKNOWN) / 2 + _form_distance(spelt)
            is_math = np.array([parse(text).kind in ("number", "formula") and _form(text)[0] for text in spelt])
            distance += _OTHER_KIND * (is_math[:, None] != is_math)
            group.add(names, [counts[name] or _UNSEEN for name in names], distance.astype(np.float32), kin)
        return group


def _form(text: str) -> tuple[bool, bool, int]:
    """Surface form of an answer: digits, a capital, length."""
    return any(letter.isdigit() for letter in text), text[:1].isupper(), len(text.split())


def _form_distance(texts: Sequence[str]) -> Floats:
    digits, capital, words = (np.array(entry, np.float32) for entry in zip(*map(_form, texts), strict=True))
    length = np.log1p(np.array([len(text) for text in texts], np.float32))
    parts = ((digits, 0.4), (capital, 0.4), (np.log1p(words), 0.3), (length, 0.3))
    return np.asarray(np.sum([weight * np.abs(part[:, None] - part) for part, weight in parts], axis=0))


def _contained(names: Sequence[str]) -> Kin:
    """Which answers contain all words of others, and perhaps more."""
    words = [set(name.split()) for name in names]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(word for own in words for word in own))}
    has = np.zeros((len(names), len(numbers)), np.float32)
    for row, own in zip(has, words, strict=True):
        row[[numbers[word] for word in own]] = 1
    sizes = has.sum(axis=1)
    return np.asarray(has @ has.T >= np.minimum(sizes[:, None], sizes))


class OpenQuestion(msgspec.Struct, frozen=True, dict=True):
    """A question, its gold, and all right answers."""

    question: str
    gold: str
    right: tuple[str, ...] = ()
    type: str = ""  # type of question by the dataset

    @property
    def asks(self) -> str:
        """What questions with answers of one kind share: their type, and how the question itself begins."""
        last = re.split(r"(?<=[.!?])\s+", self.question.strip())[-1]
        return f"{'-'.join(plain(self.type).split())} {last}".strip()

    @cached_property
    def kind(self) -> AnswerKind:
        """Kind of the gold. Two alternatives with divided votes are words like others."""
        kind = kind_of(self.question, self.gold)
        if kind.name == "either-or" and self.is_right(other_alternative(self.question, self.gold)):
            return AnswerKind("text")
        return kind

    @property
    def number(self) -> NumberQuestion:
        """The question as one for a number, which its gold has to be."""
        return ask_number(self.question, WrittenNumber.known(self.gold), (), is_share=self.kind.form[-1] is True)

    @cached_property
    def _known(self) -> dict[str, tuple[str, set[str]]]:
        """Each right answer once: its comparison key, a spelling and its words."""
        return {
            wording: (answer, set(wording.split()))
            for answer in (self.gold, *self.right)
            if (wording := plain(answer))
        }

    def is_right(self, text: str) -> bool:
        """Whether a text equals a right answer, or part of it, or a number close to one."""
        wording = plain(text)
        words = set(wording.split())
        if wording in self._known or any(words <= theirs or words > theirs for _, theirs in self._known.values()):
            return True
        level = Level.VALUE if asks_when(self.question) else Level.RELAXED
        answers = [answer for answer, _ in self._known.values()]
        if any(same(text, answer, level) or same(answer, text, level) for answer in answers):
            return True
        return alike_colours(wording, self._known)


class AnswerDistractors:
    """Draws wrong answers for each question from all answers of a dataset."""

    def __init__(self, questions: Iterable[OpenQuestion], options: int, seed: int) -> None:
        self._count = options - 1
        counts: dict[AnswerKind, Counter[str]] = defaultdict(Counter)
        asked: Counter[tuple[str, str]] = Counter()
        numbers: list[NumberQuestion] = []
        for entry in questions:
            kind = entry.kind
            if kind.name == "text":
                asked[entry.asks, entry.gold] += 1
            elif kind.name == "number":
                numbers.append(entry.number)
            else:
                counts[kind][entry.gold] += 1
        self._groups: dict[AnswerKind, AnswerGroup] = {}
        for kind, golds in counts.items():
            if kind.name in LISTS or kind.name in ("count", "year"):
                self._groups[kind] = list_group(kind, golds, options, seed)
        self._pool = TextPool(asked, options, seed)
        self._numbers = NumberPool(numbers, options)

    def by_rule(self, asked: OpenQuestion, chance: random.Random) -> list[str]:
        """Distractors by the kind of the gold; none for names and other words."""
        kind = asked.kind
        if kind.name == "text":
            return []
        if kind.name == "yes-no":
            return [opposite(asked.gold)]
        if kind.name == "either-or":
            return [other_alternative(asked.question, asked.gold)]
        if kind.name == "number":
            return self._numbers.draw(asked.number, self._count, asked.is_right, chance)
        group = self._groups.get(kind)
        return group.draw(asked.gold, asked.is_right, chance) if group is not None else []

    def from_pool(self, asked: OpenQuestion, chance: random.Random) -> list[str]:
        """Right answers to other questions: those of the same kind, or in words to questions that begin alike."""
        if (group := self._groups.get(asked.kind)) is not None:
            return group.draw(asked.gold, asked.is_right, chance)
        return self._pool.draw(asked.asks, asked.gold, asked.is_right, chance)


def false_negatives(
    asked: Iterable[OpenQuestion], distractors: AnswerDistractors, chance: random.Random
) -> tuple[int, int]:
    """Count pool distractors, and those equal to one annotator's answer that was held out when they were drawn."""
    hits = total = 0
    for entry in asked:
        answers = entry.right
        held_back = chance.randrange(len(answers))
        others = [answer for position, answer in enumerate(answers) if position != held_back]
        known = OpenQuestion(entry.question, majority(others)[0], tuple(others), entry.type)
        drawn = distractors.from_pool(known, chance)
        total += len(drawn)
        hits += sum(plain(text) == plain(answers[held_back]) for text in drawn)
    return hits, total


def majority(answers: Sequence[str]) -> tuple[str, float]:
    """The most frequent answer, the first of several, and its share."""
    wording = [answer.strip() for answer in answers if answer.strip()]
    if not wording:
        return "", 0.0
    most, count = Counter(map(plain, wording)).most_common(1)[0]
    return next(answer for answer in wording if plain(answer) == most), count / len(wording)
