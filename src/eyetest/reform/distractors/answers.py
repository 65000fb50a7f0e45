"""Distractors for open answers: by rule for yes-no questions, closed lists and numbers, else other answers."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import product

import msgspec

from eyetest.reform.distractors import plain
from eyetest.reform.distractors.answer_kinds import (
    ALIKE,
    LISTS,
    NUMERIC,
    AnswerKind,
    WrittenNumber,
    in_case_of,
    kind_of,
    opposite,
    other_alternative,
)
from eyetest.reform.distractors.neighbours import Neighbours
from eyetest.reform.distractors.number_sets import NumberPool, NumberQuestion
from eyetest.reform.distractors.wordnet import find_wordnet
from eyetest.scoring.metrics.same_text import asks_when
from eyetest.text import Level, parse, same

_LEAST_TOGETHER = 12  # different answers from which on questions that begin alike are a group of their own
_TIMES_IN_LIST = 4  # answers that come so often each, on average, are a list that needs no others beside it
_POOL = 10  # neighbours that distractors are drawn from, or twice the options


def alike_colours(entry: str, others: Iterable[str]) -> bool:
    """Whether a colour is easily called by one of some other names."""
    return any(entry in alike and not alike.isdisjoint(others) for alike in ALIKE)


class TextPool:
    """Answers in words, by the first two words of the question; by one or none where these have too few answers."""

    def __init__(self, asked: Mapping[tuple[str, str], int], options: int) -> None:
        self._options = options
        self._spelt: dict[str, str] = {}
        answers: dict[str, Counter[str]] = defaultdict(Counter)
        for (question, gold), count in asked.items():
            self._spelt.setdefault(plain(gold), gold)
            answers[" ".join(plain(question).split()[:2])][plain(gold)] += count
        for words in (1, 0):
            rest: dict[str, Counter[str]] = defaultdict(Counter)
            for beginning in [entry for entry, counts in answers.items() if not self._is_group(counts)]:
                rest[" ".join(beginning.split()[:words])] += answers.pop(beginning)
            answers |= {entry: answers[entry] + counts for entry, counts in rest.items()}
        if "" in answers and len(answers[""]) < _LEAST_TOGETHER:
            answers[""] += Counter(dict.fromkeys(self._spelt, 0))
        self._answers = answers
        self._groups: dict[str, Neighbours] = {}

    def _is_group(self, counts: Counter[str]) -> bool:
        """Whether answers are enough to draw from: many different ones, or a few frequent ones."""
        recur = counts.total() >= _TIMES_IN_LIST * len(counts)
        return len(counts) >= (self._options if recur else _LEAST_TOGETHER)

    def draw(self, question: str, gold: str, is_right: Callable[[str], bool], chance: random.Random) -> list[str]:
        """Draw wrong answers beside a right one, which has to be known."""
        key = self._key(question, gold)
        if key is None:
            return []
        if key not in self._groups:
            order = sorted(self._answers[key], key=lambda name: (*_form(self._spelt[name]), _path(name), name))
            times = {name: self._answers[key][name] for name in order}
            self._groups[key] = Neighbours(times, _say_both, self._options, max(_POOL, 2 * self._options))
        drawn = self._groups[key].draw(plain(gold), lambda name: is_right(self._spelt[name]), chance)
        return [self._spelt[name] for name in drawn]

    def _key(self, question: str, gold: str) -> str | None:
        asked = plain(question).split()
        keys = (" ".join(asked[:words]) for words in (2, 1, 0))
        return next((key for key in keys if plain(gold) in self._answers.get(key, ())), None)


def _form(text: str) -> tuple[bool, bool, bool, int]:
    """Surface form of an answer: a formula, digits, a capital, words."""
    has_digits = any(letter.isdigit() for letter in text)
    is_formula = has_digits and parse(text).kind in ("number", "formula")
    return is_formula, has_digits, text[:1].isupper(), min(len(text.split()), 4)


@cache
def _path(name: str) -> tuple[int, ...]:
    """Where WordNet has the commonest sense of an answer."""
    wordnet = find_wordnet()
    senses = wordnet.senses(name) if wordnet else ()
    return wordnet.path(senses[0]) if wordnet and senses else ()


def _say_both(name: str, other: str) -> bool:
    """Whether one answer holds all words of the other, or is a kind of it."""
    first, second = set(name.split()), set(other.split())
    if first <= second or second <= first:
        return True
    if (wordnet := find_wordnet()) is None:
        return False
    pairs = product(wordnet.senses(name), wordnet.senses(other))
    return any(one in wordnet.above(below) or below in wordnet.above(one) for one, below in pairs)


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
        return NumberQuestion(self.question, WrittenNumber.known(self.gold), self.kind)

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

    def __init__(self, questions: Iterable[OpenQuestion], options: int) -> None:
        self._count = options - 1
        lists: dict[AnswerKind, Counter[str]] = defaultdict(Counter)
        asked: Counter[tuple[str, str]] = Counter()
        numbers: list[NumberQuestion] = []
        for entry in questions:
            if entry.kind.name in NUMERIC:
                numbers.append(entry.number)
            elif entry.kind.name in LISTS:
                lists[entry.kind][plain(entry.gold)] += 1
            elif entry.kind.name == "text":
                asked[entry.asks, entry.gold] += 1
        self._lists = {
            kind: Neighbours(
                dict.fromkeys(map(plain, LISTS[kind.name][kind.list]), 0) | dict(times),
                lambda name, other: alike_colours(name, (other,)),
                options,
                max(_POOL, 2 * options),
            )
            for kind, times in lists.items()
        }
        self._texts = TextPool(asked, options)
        self._numbers = NumberPool(numbers, options)

    def by_rule(self, asked: OpenQuestion, chance: random.Random) -> list[str]:
        """Distractors by the kind of the gold; none for names and other words."""
        kind = asked.kind
        if kind.name == "yes-no":
            return [opposite(asked.gold)]
        if kind.name == "either-or":
            return [other_alternative(asked.question, asked.gold)]
        if kind.name in NUMERIC:
            return self._numbers.draw(asked.number, self._count, asked.is_right, chance)
        drawn = self._lists[kind].draw(plain(asked.gold), asked.is_right, chance) if kind in self._lists else []
        return [in_case_of(asked.gold, text) for text in drawn]

    def from_pool(self, asked: OpenQuestion, chance: random.Random) -> list[str]:
        """Right answers to other questions: those of the same kind, or in words to questions that begin alike."""
        if asked.kind in self._lists:
            return self.by_rule(asked, chance)
        return self._texts.draw(asked.asks, asked.gold, asked.is_right, chance)


def majority(answers: Sequence[str]) -> tuple[str, float]:
    """The most frequent answer, the first of several, and its share."""
    wording = [answer.strip() for answer in answers if answer.strip()]
    if not wording:
        return "", 0.0
    most, count = Counter(map(plain, wording)).most_common(1)[0]
    return next(answer for answer in wording if plain(answer) == most), count / len(wording)
