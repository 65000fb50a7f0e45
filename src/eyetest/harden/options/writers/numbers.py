"""Numbers in the gold's writing: near ones, slips of the pen and of the mind, and what other items ask for.

A slip that is made from the gold alone points at it (the one with a neighbour, the one with a tenfold), so slips are
made from any option. Which of the candidates an item is given is decided for the whole batch.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import permutations

from eyetest.harden.options.writers.base import Case, Cases, Propose
from eyetest.reform.distractors.moments import other_dates, other_times
from eyetest.reform.distractors.quantities import WrittenNumber
from eyetest.scoring.metrics.support.numbers import find_quantities, plain_text

FURTHEST = Decimal(5)
"""How many times smaller or larger than the gold a number may be and still be a plausible answer."""
SMALL = 5
"""Whole steps that are added before small numbers are compared: 0 and 3 are not infinitely far apart."""
_A_SIDE = 14
_FROM_POOL = 24
_RECURS = 3
"""How often a number must be offered in the benchmark to be taken over: one that is right elsewhere and was seen just
once would be known to be wrong here."""
_SLIPS = 5
_YEARS_AROUND = 15
_WRAPPED = re.compile(r"(?P<before>\s*\$+\s*|\s*\\\(\s*)(?P<text>[^$\\]+?)(?P<after>\s*\$+\s*|\s*\\\)\s*)")
_DIGITS = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?")
_MOST_DIGITS = 6
_QUESTION_NUMBERS = 4


class Numbers:
    """Proposes numbers, times, dates, and texts that differ in their numbers."""

    name = "number rule"
    summary = "numbers near the gold or from the question, in its writing; times, dates, formulas"
    place = 2

    def start(self, batch: Cases) -> Propose:
        """Collects the numbers of all items by their writing."""
        pool: dict[tuple[object, ...], list[Decimal]] = defaultdict(list)
        for case in batch.cases:
            for text in case.options:
                if (number := read_written(text)) is not None:
                    pool[_writing(number)].append(number.value)
        values = {
            form: sorted(value for value, times in Counter(known).items() if times >= _RECURS)
            for form, known in pool.items()
        }

        def propose(case: Case, chance: random.Random) -> Iterable[str]:
            number = read_written(case.gold)
            if number is not None:
                return _in_writing(case, number, values.get(_writing(number), []), chance)
            if case.kind.name == "time":
                return other_times(case.gold, 3 * case.need, chance)
            if case.kind.name == "date":
                return other_dates(case.gold, 3 * case.need, chance)
            return _changed_formulas(case, chance)

        return propose


def read_written(text: str) -> WrittenNumber | None:
    """The number that a text is, with formula signs around it taken for part of its writing."""
    match = _WRAPPED.fullmatch(text)
    number = WrittenNumber.read(match["text"] if match else text)
    if number is None or match is None:
        return number
    return WrittenNumber(
        value=number.value,
        before=match["before"] + number.before,
        after=number.after + match["after"],
        decimals=number.decimals,
        is_grouped=number.is_grouped,
        bare_point=number.bare_point,
    )


def _writing(number: WrittenNumber) -> tuple[object, ...]:
    """What numbers share that can be offered for each other."""
    return number.before.strip().lower(), number.after.strip().lower(), number.decimals


def _in_writing(case: Case, gold: WrittenNumber, pool: Sequence[Decimal], chance: random.Random) -> Iterator[str]:
    """Candidates on both sides of the gold, none that the question makes absurd."""
    options = [number for text in case.options if (number := read_written(text)) is not None]
    least, most = _bounds(case, gold, options)
    made: dict[Decimal, None] = {}
    for value in (
        *_slips(case, gold, options, chance),
        *_near(gold, options, chance),
        *_from_pool(gold, pool, chance),
    ):
        rounded = value.quantize(Decimal(1).scaleb(-gold.decimals))
        if least <= rounded <= most and rounded != gold.value:
            made[rounded] = None
    yield from map(gold.written, made)


def _bounds(case: Case, gold: WrittenNumber, options: Sequence[WrittenNumber]) -> tuple[Decimal, Decimal]:
    values = [number.value for number in options]
    least = Decimal("-Infinity") if min(values) < 0 else Decimal(0)
    if gold.is_year:
        return min(values) - _YEARS_AROUND, max(values) + _YEARS_AROUND
    is_share = "%" in gold.after or (case.kind.name == "number" and case.kind.form[-1] is True)
    return least, Decimal(100) if is_share and max(values) <= 100 else Decimal("Infinity")


def _near(gold: WrittenNumber, options: Sequence[WrittenNumber], chance: random.Random) -> Iterator[Decimal]:
    """Numbers around the gold, as round as it and its neighbours are, nearer ones more often."""
    fine = Decimal(1).scaleb(-gold.decimals)
    shift = float(SMALL * fine)
    size, sign = float(abs(gold.value)), -1 if gold.value < 0 else 1
    if gold.is_year:
        yield from (gold.value + step for step in range(-_YEARS_AROUND, _YEARS_AROUND + 1) if step)
        return
    widest = max(float(FURTHEST), *((float(abs(one.value)) + shift) / (size + shift) for one in options))
    for side in (-1, 1):
        for _ in range(_A_SIDE):
            unit = fine.scaleb(max(chance.choice(options).noughts - chance.choice((0, 0, 1)), 0))
            value = (size + shift) * widest ** (side * chance.random()) - shift
            yield sign * abs(round(Decimal(value) / unit) * unit)


def _from_pool(gold: WrittenNumber, pool: Sequence[Decimal], chance: random.Random) -> list[Decimal]:
    near = [value for value in pool if _is_plausible(value, gold)]
    return chance.sample(near, min(_FROM_POOL, len(near)))


def _is_plausible(value: Decimal, gold: WrittenNumber) -> bool:
    """Whether a number is of the gold's size and, where the gold has one, of its sign."""
    shift = SMALL * Decimal(1).scaleb(-gold.decimals)
    if (gold.value < 0 or abs(gold.value) > 4 * shift) and value * gold.value <= 0 and value != -gold.value:
        return False
    ratio = (abs(value) + shift) / (abs(gold.value) + shift)
    return 1 / FURTHEST <= ratio <= FURTHEST


def _slips(case: Case, gold: WrittenNumber, options: Sequence[WrittenNumber], chance: random.Random) -> list[Decimal]:
    """What comes of a wrong operation, a wrong unit, a lost sign, a slipped digit, from any of the options."""
    step = Decimal(1).scaleb(gold.noughts - gold.decimals)
    start = chance.choice(options).value
    made = [start + step, start - step, start * 2, start / 2]
    if case.kind.name != "count" and not gold.is_year:
        made += [start * 10, start / 10]
    if any(number.value < 0 for number in options):
        made.append(-start)
    digits = str(abs(start).quantize(Decimal(1).scaleb(-gold.decimals)))
    if len(digits) > 1:
        at = chance.randrange(len(digits) - 1)
        swapped = digits[:at] + digits[at + 1] + digits[at] + digits[at + 2 :]
        if digits[at : at + 2].isdigit() and not swapped.startswith("0"):
            made.append(Decimal(swapped).copy_sign(start))
    plausible = [value for value in made if _is_plausible(value, gold)]
    asked = [value for value in _from_question(case) if _is_plausible(value, gold)]
    return [*chance.sample(plausible, min(_SLIPS, len(plausible))), *asked[:_SLIPS]]


def _from_question(case: Case) -> Iterator[Decimal]:
    """The question's numbers as they are, and two of them added, taken away, multiplied, divided."""
    said = [Decimal(str(one.value)) for one in find_quantities(plain_text(case.item.question, lone_one=False))]
    numbers = list(dict.fromkeys(said))[:_QUESTION_NUMBERS]
    yield from numbers
    for one, other in permutations(numbers, 2):
        yield from (one + other, one - other, one * other)
        if other:
            yield one / other


def _changed_formulas(case: Case, chance: random.Random) -> Iterator[str]:
    """The gold, or an option of the same shape, with other numbers in it: fractions, pairs, terms of a formula."""
    shape = _DIGITS.sub("0", case.gold)
    alike = [text for text in case.options if _DIGITS.sub("0", text) == shape]
    if shape == case.gold or len(alike) < min(2, len(case.options)) or len(_DIGITS.findall(case.gold)) > _MOST_DIGITS:
        return
    for _ in range(8 * case.need):
        text = chance.choice(alike)
        spans = [match.span() for match in _DIGITS.finditer(text)]
        pool = [digits for other in alike for digits in _DIGITS.findall(other)]
        for start, end in sorted(chance.sample(spans, chance.randint(1, min(2, len(spans)))), reverse=True):
            text = text[:start] + _other_digits(text[start:end], pool, chance) + text[end:]
        yield text


def _other_digits(digits: str, pool: Sequence[str], chance: random.Random) -> str:
    alike = [other for other in pool if other != digits and len(other) == len(digits)]
    if alike and chance.random() < 0.5:
        return chance.choice(alike)
    number = WrittenNumber.read(digits)
    assert number is not None
    unit = Decimal(1).scaleb(-number.decimals)
    furthest = max(number.value / 2, 3 * unit)
    steps = max(1, round(furthest * Decimal(chance.uniform(0.2, 1)) / unit))
    return number.written(max(unit, number.value + unit * steps * chance.choice((-1, 1))))


WRITER = Numbers()
