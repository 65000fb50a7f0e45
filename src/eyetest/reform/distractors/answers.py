"""Distractors for open answers, by rule where the answer's kind has one, or from the dataset's other answers.

Whatever recurs is drawn in sets (`option_sets`): counts, years, colours, values, names. So a frequent answer is a
distractor as often as its golds need, and of numbers the gold is no more often the largest than luck has it. What
does not recur is made up around the gold.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import msgspec

from eyetest.reform.distractors.answer_groups import AnswerGroup, TextPool, alike_colours, list_group, number_group
from eyetest.reform.distractors.answer_kinds import LISTS, AnswerKind, kind_of, opposite, other_alternative
from eyetest.reform.distractors.moments import other_dates, other_times
from eyetest.reform.distractors.quantities import WrittenNumber, ladder
from eyetest.reform.distractors.words import plain
from eyetest.scoring.metrics.base import Context
from eyetest.scoring.metrics.relaxed import relaxed

_TRIES = 20


class OpenQuestion(msgspec.Struct, frozen=True, dict=True):
    """A question, the answer that becomes the gold, and all that are right."""

    question: str
    gold: str
    right: tuple[str, ...] = ()
    type: str = ""
    """Of which type of question the dataset says that it is."""

    @property
    def asks(self) -> str:
        """What tells questions with answers of one kind: their type, and how the question itself begins."""
        last = re.split(r"(?<=[.!?])\s+", self.question.strip())[-1]
        return f"{'-'.join(plain(self.type).split())} {last}".strip()

    @cached_property
    def kind(self) -> AnswerKind:
        """What kind of thing the gold is. Two alternatives that people are divided about are words like others."""
        kind = kind_of(self.question, self.gold)
        if kind.name == "either-or" and self.is_right(other_alternative(self.question, self.gold)):
            return AnswerKind("text")
        return kind

    @cached_property
    def _known(self) -> dict[str, tuple[str, set[str]]]:
        """Each right answer once: as it is compared, with a spelling and its words."""
        return {said: (answer, set(said.split())) for answer in (self.gold, *self.right) if (said := plain(answer))}

    def is_right(self, text: str) -> bool:
        """Whether a text says the same as a right answer, or part of it, or a number that is as good as one."""
        said = plain(text)
        words = set(said.split())
        if said in self._known or any(words <= theirs or words > theirs for _, theirs in self._known.values()):
            return True
        if any(letter.isdigit() for letter in said):
            context = Context(question=self.question)
            for answer, _ in self._known.values():
                if relaxed(text, answer, context) or relaxed(answer, text, context):
                    return True
        return alike_colours(said, self._known)


class AnswerDistractors:
    """Knows all answers of a dataset, and draws wrong ones for each of its questions."""

    def __init__(self, questions: Iterable[OpenQuestion], options: int, seed: int) -> None:
        self._count = options - 1
        counts: dict[AnswerKind, Counter[str]] = defaultdict(Counter)
        asked: Counter[tuple[str, str]] = Counter()
        for one in questions:
            kind = one.kind
            if kind.name == "text":
                asked[one.asks, one.gold] += 1
            else:
                counts[kind][one.gold] += 1
        self._groups: dict[AnswerKind, AnswerGroup] = {}
        for kind, golds in counts.items():
            if kind.name in LISTS or kind.name in ("count", "year"):
                self._groups[kind] = list_group(kind, golds, options, seed)
            elif kind.name == "number" and (group := number_group(golds, options, seed)) is not None:
                self._groups[kind] = group
        self._pool = TextPool(asked, options, seed)

    def by_rule(self, asked: OpenQuestion, chance: random.Random) -> list[str]:
        """Distractors that follow from what kind of thing the gold is; none for names and other words."""
        kind = asked.kind
        if kind.name == "text":
            return []
        if kind.name == "yes-no":
            return [opposite(asked.gold)]
        if kind.name == "either-or":
            return [other_alternative(asked.question, asked.gold)]
        group = self._groups.get(kind)
        drawn = group.draw(asked.gold, asked.is_right, chance) if group is not None else []
        if len(drawn) < self._count and kind.name in ("number", "time", "date"):
            return _made_up(asked, kind, self._count, chance)
        return drawn

    def from_pool(self, asked: OpenQuestion, chance: random.Random) -> list[str]:
        """Right answers to other questions: those of the same kind, or in words to questions that begin alike."""
        if (group := self._groups.get(asked.kind)) is not None:
            return group.draw(asked.gold, asked.is_right, chance)
        return self._pool.draw(asked.asks, asked.gold, asked.is_right, chance)


def _made_up(asked: OpenQuestion, kind: AnswerKind, count: int, chance: random.Random) -> list[str]:
    """Distractors around a gold that nothing else in the dataset is like."""
    make: Callable[[], list[str]]
    if kind.name == "time":
        make = lambda: other_times(asked.gold, count, chance)  # noqa: E731
    elif kind.name == "date":
        make = lambda: other_dates(asked.gold, count, chance)  # noqa: E731
    else:
        quantity = WrittenNumber.read(asked.gold)
        assert quantity is not None
        make = lambda: ladder(quantity, count, chance)  # noqa: E731
    made: list[str] = []
    for _ in range(_TRIES):
        made = [text for text in dict.fromkeys(make()) if not asked.is_right(text)]
        if len(made) == count:
            break
    return made


def false_negatives(
    asked: Iterable[OpenQuestion], distractors: AnswerDistractors, chance: random.Random
) -> tuple[int, int]:
    """How many of how many distractors from the pool one more person would have called right.

    Of each question that several people answered, one person's answer is held back, distractors are drawn as if the
    others had been asked alone, and those that this person said are counted.
    """
    hits = total = 0
    for one in asked:
        answers = one.right
        held_back = chance.randrange(len(answers))
        others = [answer for position, answer in enumerate(answers) if position != held_back]
        known = OpenQuestion(one.question, majority(others)[0], tuple(others), one.type)
        drawn = distractors.from_pool(known, chance)
        total += len(drawn)
        hits += sum(plain(text) == plain(answers[held_back]) for text in drawn)
    return hits, total


def majority(answers: Sequence[str]) -> tuple[str, float]:
    """The answer that most people gave, the first of them where several did, and the share that gave it."""
    said = [answer.strip() for answer in answers if answer.strip()]
    if not said:
        return "", 0.0
    most, count = Counter(map(plain, said)).most_common(1)[0]
    return next(answer for answer in said if plain(answer) == most), count / len(said)
