"""What no option may be, whoever wrote it: right as well, said twice, or to be told from the gold without a look.

These need no model. A proposal that only looks different is mended: decimals, unit, capitals, formula signs and the
full stop are those of the options that are there.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Literal, get_args

from eyetest.harden.options.meanings import meaning, plainest, same_meaning
from eyetest.harden.options.writers.base import Case
from eyetest.harden.options.writers.numbers import read_written
from eyetest.probes.looks import case_of, form_of
from eyetest.probes.option_order import NOT_A_VALUE, is_tied
from eyetest.records import image_numbers
from eyetest.reform.distractors.answer_groups import alike_colours
from eyetest.reform.distractors.quantities import TOO_NEAR, WrittenNumber
from eyetest.scoring.metrics.support.texts import holds_phrase

Refused = Literal[
    "no text",
    "too long",
    "shows a picture",
    "speaks of other options",
    "says the same as the gold",
    "says the same as another option",
    "is an equal number",
    "is the same in another unit",
    "is too near the gold",
    "contains the gold or is part of it",
    "looks unlike the other options",
]
"""Why a proposal is turned down without asking anybody."""
REFUSED: tuple[Refused, ...] = get_args(Refused)
_LONGEST = 300
_LONGER, _SHORTER, _SPAN = 1.8, 0.5, 6
"""How much longer than the longest, or shorter than the shortest option a proposal may be, and letters beyond."""
_COUNTED = 30
"""Whole numbers up to here differ if they differ by one."""
_FORMULA = re.compile(r"^(\$+|\\\()(.*?)(\$+|\\\))$", re.DOTALL)
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?")
_FORMS = {"word": 0, "phrase": 1, "sentence": 2}


class Guard:
    """Looks at proposals for one item, and mends those that only look different."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._options = case.options
        self._number = read_written(case.gold)
        self._nested = any(
            _contains(one, other) for one, other in combinations(self._options, 2) if same_meaning(one, other) == ""
        )

    def mended(self, text: str) -> str:
        """The proposal in the writing of the options that are there."""
        text = " ".join(undressed_mark(text).split())
        if self._number is not None:
            return self._as_number(text)
        text = _dressed(text, self._options)
        cases = {case_of(option) for option in self._options}
        if len(cases) == 1 and case_of(text) not in cases and text:
            text = _in_case(text, cases.pop(), self._options)
        points = {option.rstrip().endswith(".") for option in self._options}
        if len(points) == 1 and text.endswith(".") not in points:
            text = text[:-1] if text.endswith(".") else f"{text}."
        return text

    def _as_number(self, text: str) -> str:
        """A number with the gold's decimals, signs and unit, where that changes nothing of what it says."""
        number, gold = read_written(text), self._number
        if number is None or gold is None:
            return text
        if number.after.strip() and plainest(number.after) != plainest(gold.after):
            return text
        if number.value != number.value.quantize(Decimal(1).scaleb(-gold.decimals)):
            return text
        return gold.written(number.value)

    def refusal(self, text: str) -> Refused | None:
        """Why a proposal cannot be an option; None where nothing speaks against it."""
        for why, holds in self._checks:
            if holds(text):
                return why
        return None

    @property
    def _checks(self) -> tuple[tuple[Refused, Callable[[str], bool]], ...]:
        gold = self._case.gold
        return (
            ("no text", lambda text: not text.strip() or text.strip().casefold() in NOT_A_VALUE),
            ("too long", lambda text: len(text) > max(_LONGEST, *(2 * len(option) for option in self._options))),
            ("shows a picture", lambda text: bool(image_numbers(text)) or "<image" in text.lower()),
            ("speaks of other options", is_tied),
            ("is the same in another unit", lambda text: same_meaning(text, gold) == "other unit"),
            ("is an equal number", lambda text: same_meaning(text, gold) == "equal numbers"),
            ("says the same as the gold", self._is_gold),
            ("says the same as another option", lambda text: any(same_meaning(text, one) for one in self._options)),
            ("is too near the gold", self._is_too_near),
            ("contains the gold or is part of it", lambda text: not self._nested and _contains(text, gold)),
            ("looks unlike the other options", self._is_unlike),
        )

    def _is_gold(self, text: str) -> bool:
        said, gold = plainest(text), plainest(self._case.gold)
        right = (self._case.gold, *self._case.item.references)
        return any(same_meaning(text, one) for one in right) or alike_colours(said, (gold,))

    def _is_too_near(self, text: str) -> bool:
        if _nearly_same_numbers(text, self._case.gold):
            return True
        one, gold = meaning(text), meaning(self._case.gold)
        if one.value is None or gold.value is None or (one.measures and gold.measures and one.factor != gold.factor):
            return False
        apart = abs(one.value - gold.value)
        if self._steps_count and apart >= 1:
            return False
        values = [other.value for text in self._case.present if (other := meaning(text)).value is not None]
        nearest = min((abs(value - gold.value) for value in values if value is not None), default=float("inf"))
        return apart < min(float(TOO_NEAR) * max(abs(one.value), abs(gold.value)), nearest / 2)

    @property
    def _steps_count(self) -> bool:
        """Whether one more or one less is another answer: years, counts, small whole numbers."""
        number = self._number
        if number is None or number.decimals:
            return False
        return number.is_year or self._case.kind.name == "count" or abs(number.value) <= _COUNTED

    def _is_unlike(self, text: str) -> bool:
        """Whether anybody could tell it from the options that are there without reading the question."""
        if self._number is not None:
            return not _written_alike(read_written(text), [read_written(one) for one in self._options])
        forms = [form_of(option) for option in self._options]
        form = form_of(text)
        if (form == "number") != ("number" in forms) and (form == "number" or set(forms) == {"number"}):
            return True
        reach = [_FORMS[one] for one in forms if one in _FORMS]
        if form in _FORMS and reach and not min(reach) - 1 <= _FORMS[form] <= max(reach) + 1:
            return True
        lengths = [len(option) for option in self._options]
        low, high = min(lengths) * _SHORTER - _SPAN, max(lengths) * _LONGER + _SPAN
        cases = {case_of(option) for option in self._options}
        return not low <= len(text) <= high or (len(cases) == 1 and case_of(text) not in {*cases, "none"})


def undressed_mark(text: str) -> str:
    """A proposal without the mark and the quotes that a writer may put around it."""
    bare = re.sub(r"^\s*(?:[-*•]|\(?[A-Ja-j1-9][.)]|\(?10[.)])\s+(?=\S)", "", text).strip()
    return bare[1:-1].strip() if len(bare) > 2 and bare[0] == bare[-1] and bare[0] in "\"'`“”" else bare


def _dressed(text: str, options: Sequence[str]) -> str:
    """A text with formula signs around it where all options have them, and without where none has."""
    matches = [_FORMULA.match(option.strip()) for option in options]
    own = _FORMULA.match(text)
    if all(matches) and own is None and matches[0] is not None:
        return f"{matches[0][1]}{text}{matches[0][3]}"
    return own[2].strip() if own and not any(matches) else text


def _in_case(text: str, case: str, options: Sequence[str]) -> str:
    if case == "upper":
        return text.upper()
    if case == "capital":
        return text[:1].upper() + text[1:]
    proper = any(word[:1].isupper() for option in options for word in option.split()[1:])
    return text if proper or text.isupper() else text[:1].lower() + text[1:]


def _written_alike(number: WrittenNumber | None, others: Sequence[WrittenNumber | None]) -> bool:
    if number is None:
        return False
    known = [other for other in others if other is not None]
    decimals = Counter(other.decimals for other in known)
    same_unit = any(plainest(number.after) == plainest(other.after) for other in known)
    same_sign = any(number.before.strip() == other.before.strip() for other in known)
    return same_unit and same_sign and number.decimals <= max(decimals) and number.decimals >= min(decimals)


def _nearly_same_numbers(one: str, other: str) -> bool:
    """Whether two formulas differ in nothing but numbers, and in none of them by as much as a metric would notice."""
    pairs = list(zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=False))
    if len(pairs) < 2 or _NUMBER.sub("0", one) != _NUMBER.sub("0", other):
        return False
    return all(map(_nearly_equal, *zip(*pairs, strict=True)))


def _nearly_equal(one: str, other: str) -> bool:
    first, second = float(one), float(other)
    if "." not in one + other and max(first, second) <= _COUNTED:
        return first == second
    return abs(first - second) <= float(TOO_NEAR) * max(first, second)


def _contains(one: str, other: str) -> bool:
    """Whether one text says all that another says, and more."""
    first, second = plainest(one).split(), plainest(other).split()
    if meaning(one).value is not None and meaning(other).value is not None:
        return False
    return holds_phrase(first, second) or holds_phrase(second, first)
