"""Options proposed without a model: numbers near the key, and keys of other items.
Nothing is made from the key alone, since such distractors point at it.
"""

import random
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol

import msgspec

from eyetest.harden.options.fitting import FACTORS, LEAST_ITEMS, question_numbers, simple_results
from eyetest.reform.distractors.answer_kinds import WrittenNumber
from eyetest.reform.distractors.number_sets import NumberPool, NumberQuestion
from eyetest.reform.distractors.written import Case
from eyetest.registry import Registry

Propose = Callable[[Case, random.Random], Iterable[str]]


SCENES = "truth.parquet"
"""Table beside a synthetic benchmark with what each image shows (columns item, kind, scene and others)."""


class Cases(msgspec.Struct, frozen=True):
    """All items that need options, and the scene table's row of each item of a synthetic benchmark."""

    cases: Sequence[Case]
    truth: dict[str, dict[str, Any]] = {}


class OptionWriter(Protocol):
    """A way to propose options without a model. ``name`` becomes the author of its proposals."""

    name: ClassVar[str]
    summary: ClassVar[str]
    checker: ClassVar[str]  # what has already checked that a proposal is wrong; empty: nothing
    place: ClassVar[int]  # order of writers; the first that proposes anything for an item writes for it

    def start(self, batch: Cases) -> Propose:
        """Scan the batch once, and return the function that proposes texts for a case, the best first."""


_WRAPPED = re.compile(
    r"(?P<before>\s*+\$++\s*+|\s*+\\\(\s*+)(?P<text>(?:[^\s$\\]++|\s++(?=[^\s$\\]))+)"
    r"(?P<after>\s*+\$++\s*+|\s*+\\\)\s*+)"
)


_POWER = re.compile(
    r"(?<![a-zA-Z])(?:[cdkm]?m|ft|in|s|units?|inch|inches|feet|meters?|metres?)\}?(?P<power>\^\{?[2-4]\}?\s*+\$*+\s*+)$"
)
"""A unit with an exponent, whose digit is none of the number."""


class Numbers:
    """Proposes numbers."""

    name = "number rule"
    checker = ""
    summary = "numbers near the gold, golds of other items, and results from the question's numbers, in its writing"
    place = 2

    def start(self, batch: Cases) -> Propose:
        """Learn from all items which numbers are keys."""
        asked = [number for case in batch.cases if (number := number_question(case)) is not None]
        pool = NumberPool(asked, max((len(case.options) + case.need for case in batch.cases), default=2))

        def propose(case: Case, chance: random.Random) -> Iterable[str]:
            number = number_question(case)
            if number is None:
                return ()
            proposals = pool.candidates(number, chance)
            if len(asked) >= LEAST_ITEMS and proposals:  # else nothing corrects how often results are offered
                odds = sum(proposals.values()) / len(proposals)
                proposals |= {text: odds for text in _question_results(number) if text not in proposals}
            return proposals

        return propose


def _question_results(asked: NumberQuestion) -> list[str]:
    """Numbers of the question, results of one operation on two of them and simple multiples, in the key's writing."""
    numbers = question_numbers(asked.question)
    values = {*numbers, *simple_results(numbers), *(number * factor for number in numbers for factor in FACTORS)}
    largest = 10 * max(abs(number) for number in asked.options)
    steps = [
        round(value / float(asked.unit)) for value in sorted(values) if abs(value) / float(asked.unit) <= largest
    ]
    return [asked.key.written(asked.unit * step) for step in asked.in_reach(steps).tolist()]


def number_question(case: Case) -> NumberQuestion | None:
    """The item as a question for a number; None where its key is none."""
    if (key := read_written(case.gold)) is None:
        return None
    others = [number for text in case.present if (number := read_written(text)) is not None]
    return NumberQuestion(case.item.question, key, case.kind, others)


def read_written(text: str) -> WrittenNumber | None:
    """The number of a text; formula signs around it and the exponent of its unit belong to its format."""
    if power := _POWER.search(text):
        number = read_written(text[: power.start("power")])
        return number and msgspec.structs.replace(number, after=number.after + power["power"])
    match = _WRAPPED.fullmatch(text)
    number = WrittenNumber.read(match["text"] if match else text)
    if number is None or match is None:
        return number
    before, after = match["before"] + number.before, number.after + match["after"]
    return msgspec.structs.replace(number, before=before, after=after)


WRITER = Numbers()
WRITERS: Registry[OptionWriter] = Registry("option writer", __name__, "WRITER", "option-writer")
