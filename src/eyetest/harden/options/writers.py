"""Options proposed without a model: numbers near the key, and recurring answers of other items.
Nothing is made from the key alone, since such distractors point at it; keys and distractors are taken equally often.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, ClassVar, Protocol

import msgspec

from eyetest.records import tag_word
from eyetest.reform.distractors.answer_kinds import LISTS, WrittenNumber, in_case_of
from eyetest.reform.distractors.answers import OpenQuestion
from eyetest.reform.distractors.number_sets import NumberPool, NumberQuestion, ask_number
from eyetest.reform.distractors.written import Case
from eyetest.registry import Registry
from eyetest.text import Level, same
from eyetest.text import normalized as key

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


_WRAPPED = re.compile(r"(?P<before>\s*\$+\s*|\s*\\\(\s*)(?P<text>[^$\\]+?)(?P<after>\s*\$+\s*|\s*\\\)\s*)")
_DIGITS = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?")
_MOST_DIGITS = 6


class Numbers:
    """Proposes numbers, and texts that differ in their numbers."""

    name = "number rule"
    checker = ""
    summary = "numbers near the gold or from the question, in its writing; formulas and dates with other numbers"
    place = 2

    def start(self, batch: Cases) -> Propose:
        """Learn from all items the format of keys, and how often they are numbers of their question."""
        asked = [number for case in batch.cases if (number := number_question(case)) is not None]
        pool = NumberPool(asked, max((len(case.options) + case.need for case in batch.cases), default=2))

        def propose(case: Case, chance: random.Random) -> Iterable[str]:
            if (number := number_question(case)) is not None:
                return pool.candidates(number, chance)
            return _changed_formulas(case, chance)

        return propose


def number_question(case: Case) -> NumberQuestion | None:
    """The item as a question for a number; None where its key is none."""
    if (key := read_written(case.gold)) is None:
        return None
    others = tuple(number for text in case.present if (number := read_written(text)) is not None)
    is_share = case.kind.name == "number" and case.kind.form[-1] is True
    return ask_number(case.item.question, key, others, is_share=is_share)


def read_written(text: str) -> WrittenNumber | None:
    """The number of a text; formula signs around it belong to its format."""
    match = _WRAPPED.fullmatch(text)
    number = WrittenNumber.read(match["text"] if match else text)
    if number is None or match is None:
        return number
    before, after = match["before"] + number.before, number.after + match["after"]
    return msgspec.structs.replace(number, before=before, after=after)


def _changed_formulas(case: Case, chance: random.Random) -> Iterator[str]:
    """Texts with other numbers, changed from an unoffered variant, so that the key is no nearer to it than others."""
    shape = _DIGITS.sub("0", case.gold)
    alike = [text for text in case.options if _DIGITS.sub("0", text) == shape]
    if shape == case.gold or len(alike) < min(2, len(case.options)) or len(_DIGITS.findall(case.gold)) > _MOST_DIGITS:
        return
    pool = [digits for other in alike for digits in _DIGITS.findall(other)]
    centres = [_changed(chance.choice(alike), pool, chance) for _ in range(2)]
    for _ in range(8 * case.need):
        yield _changed(chance.choice(centres), pool, chance)


def _changed(text: str, pool: Sequence[str], chance: random.Random) -> str:
    spans = [match.span() for match in _DIGITS.finditer(text)]
    for start, end in sorted(chance.sample(spans, chance.randint(1, min(2, len(spans)))), reverse=True):
        text = text[:start] + _other_digits(text[start:end], pool, chance) + text[end:]
    return text


def _other_digits(digits: str, pool: Sequence[str], chance: random.Random) -> str:
    alike = [other for other in pool if other != digits and len(other) == len(digits)]
    if alike and chance.random() < 0.5:
        return chance.choice(alike)
    number = WrittenNumber.known(digits)
    unit = Decimal(1).scaleb(-number.decimals)
    furthest = max(number.value / 2, 3 * unit)
    steps = max(1, round(furthest * Decimal(chance.uniform(0.2, 1)) / unit))
    return number.written(max(unit, number.value + unit * steps * chance.choice((-1, 1))))


# Tags in which benchmarks state a question's subject
_TYPES = ("question_type", "type", "task", "subject", "subfield", "category", "topic")
_LEAST = 12  # different answers from which on questions that ask alike are a pool
_OFFERED_IN = 1.5  # in how many items each of them is offered, on average, for it to be one
_OFFERED = 40
_LENGTHS = (1, 3, 7, 15)


class SameType:
    """Proposes options of questions of the same type."""

    name = "other items"
    checker = ""
    summary = "answers of the same kind that other items of the benchmark offer"
    place = 3

    def start(self, batch: Cases) -> Propose:
        """Group all options by what they answer."""
        pools = _pools(batch)

        def propose(case: Case, chance: random.Random) -> Iterable[str]:
            if read_written(case.gold) is not None:
                return ()
            kind = case.kind
            members = LISTS[kind.name][int(str(kind.form[0]))] if kind.name in LISTS and kind.form else ()
            listed = [in_case_of(case.gold, text) for text in members]
            pool = _pool_of(case, pools)
            return [*chance.sample(pool, min(_OFFERED, len(pool))), *chance.sample(listed, len(listed))]

        return propose


def _pools(batch: Cases) -> dict[Hashable, dict[str, str]]:
    pools: dict[Hashable, dict[str, str]] = defaultdict(dict)
    offered: Counter[Hashable] = Counter()
    for case in batch.cases:
        if read_written(case.gold) is None:
            for text in case.options:
                for group in _groups(case, text):
                    pools[group].setdefault(key(text), text)
                    offered[group] += 1
    return {group: pool for group, pool in pools.items() if offered[group] >= _OFFERED_IN * len(pool)}


def _groups(case: Case, text: str) -> Iterator[Hashable]:
    """Groups of an answer, the narrowest first."""
    kind = case.kind
    if kind.name != "text":
        yield kind
        return
    types = tuple(word for tag in _TYPES if (word := tag_word(case.item.tags.get(tag))) is not None)
    asks = " ".join(OpenQuestion(case.item.question, case.gold).asks.split()[:2]).casefold()
    form = any(map(str.isdigit, text)), text[:1].isupper(), sum(len(text.split()) > length for length in _LENGTHS)
    yield (types, asks, form)
    if types:
        yield (types, form)
    yield (asks, form)


def _pool_of(case: Case, pools: dict[Hashable, dict[str, str]]) -> list[str]:
    own = {key(text) for text in case.options}
    for group in _groups(case, case.gold):
        pool = pools.get(group, {})
        if len(pool) >= _LEAST:
            return [text for wording, text in pool.items() if wording not in own]
    return []


def measure_risk(batch: Cases, chance: random.Random) -> tuple[int, int]:
    """Count texts drawn from the pool as if keys were unknown, and those among them that equal the key."""
    pools = _pools(batch)
    gold_of: dict[Hashable, list[Case]] = defaultdict(list)
    for case in batch.cases:
        gold_of[key(case.gold)].append(case)
    hits = total = 0
    for case in batch.cases:
        pool = _pool_of(case, pools) if read_written(case.gold) is None else []
        if not pool:
            continue
        elsewhere = any(case.gold in other.options for other in gold_of[key(case.gold)] if other is not case)
        drawn = chance.sample([*pool, *([case.gold] if elsewhere else [])], min(case.need, len(pool)))
        total += len(drawn)
        hits += sum(same(text, case.gold, Level.UNITS) for text in drawn)
    return hits, total


WRITER = (Numbers(), SameType())
WRITERS: Registry[OptionWriter] = Registry("option writer", __name__, "WRITER", "option-writer")
