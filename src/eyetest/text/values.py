"""Values of short texts (``parse``) and their equality at a ``Level`` (``same``)."""

import re
from collections.abc import Callable
from enum import IntEnum
from functools import lru_cache
from typing import Literal

import msgspec

from eyetest.text.expressions import is_formula, read_expression, same_expression, value_of
from eyetest.text.folding import LONGEST, composed, english_joiners, normalized, telling_words
from eyetest.text.intervals import Tokens
from eyetest.text.numbers import NumberReading, Quantity, agrees, counted, in_base_units, read_measure, unit_of
from eyetest.text.tex import parsable_tex


class Level(IntEnum):
    """How much two texts may differ and still be equal."""

    NORMALIZED = 1
    """The same text but for case, outer punctuation, typesetting, a first article and idle blanks (`normalized`)."""
    VALUE = 2
    """The same value, however written. Units are not converted; one may be missing, as may a percent sign."""
    UNITS = 3
    """The same value after conversion of units: 10 kg is 10000 g, 20 °C is 68 °F."""
    RELAXED = 4
    """Numbers within five per cent of the reference, after conversion of units; a reference of 0 has to be met."""


Kind = Literal["letter", "time", "date", "number", "formula", "list", "words"]
Compare = Callable[[Quantity, Quantity], bool]


class Value(msgspec.Struct, frozen=True):
    """The value of a short text. Fields that do not belong to its kind are empty."""

    kind: Kind
    text: str
    letter: str = ""
    number: Quantity | None = None
    """The number, with its unit, or instead the thing counted; a fraction or percentage too."""
    label: str = ""
    """The name of the number: ``x`` of ``x = 5``."""
    moment: tuple[int, ...] = ()
    """A date as year, month and day, 0 for what is missing; a time as seconds and hours on the clock (12 or 24)."""
    expression: Tokens | None = None
    parts: tuple[str, ...] = ()


TOLERANCE = 0.05
_ROUNDING = 1e-9
_MOST_PARTS = 20
_LETTER = re.compile(r"(?:(?i:option|choice|answer) )?(?:\(([A-Z])\)|\[([A-Z])\]|([A-Z])[).:]?)\.?")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DATE = re.compile(
    r"(?P<iso>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})|(?P<one>\d{1,2})([-/.])(?P<two>\d{1,2})\5(?P<end>\d{4})"
    rf"|(?:(?:(?P<before>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?)?{_MONTH}\.?(?: (?P<day>\d{{1,2}})(?:st|nd|rd|th)?)?"
    r"(?:,? (?P<year>\d{4}))?)",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(\d{1,2})(?::([0-5]\d)(?::([0-5]\d))?)?(?: ?(?:([ap])\.? ?m\b\.?|(o'?clock)|(h\b)(?: ?[0-5]\d)?))?",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"\s*[;,]\s*(?:and\s+|&\s+)?|\s+(?:and|&)\s+")
_ENCLOSED = re.compile(r"(?:\$|\\\(|\\left)*\\?[(\[{].*[)\]}](?:\$|\\\))*", re.DOTALL)
_DECADE = re.compile(r"\d{3}0'?s")
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])(\d+),(\d+)(?![\d.,])")


def same(text: str, reference: str, level: Level = Level.VALUE, numbers: Compare | None = None) -> bool:
    """Whether two short texts are equal. ``numbers`` decides in place of the level whether two numbers agree."""
    if normalized(text) == normalized(reference):
        return True
    if level == Level.NORMALIZED or max(len(text), len(reference)) > LONGEST:
        return False
    return _same_value(parse(text), parse(reference), level, numbers or _COMPARE[level])


@lru_cache(maxsize=50_000)
def parse(text: str) -> Value:
    """The value of a short text; a text too long for an answer is words."""
    text = english_joiners(parsable_tex(text.strip()))
    plain = normalized(text)
    if len(text) > LONGEST or not text or _DECADE.fullmatch(plain):
        return Value("words", plain)
    bare = composed(text)
    expression = read_expression(text)
    if letter := _LETTER.fullmatch(bare):
        return Value("letter", plain, letter[1] or letter[2] or letter[3], expression=expression)
    if moment := _date(bare):
        return Value("date", plain, moment=moment)
    if moment := _time(bare):
        return Value("time", plain, moment=moment, expression=expression if moment[0] >= 3600 else None)
    if measure := read_measure(text):
        return Value("number", plain, number=_number(measure), label=measure.label, expression=expression)
    parts = () if _ENCLOSED.fullmatch(text) else tuple(_SEPARATOR.split(text))
    parts = parts if 1 < len(parts) <= _MOST_PARTS else ()
    kind: Kind = "formula" if is_formula(expression) else "list" if parts else "words"
    return Value(kind, plain, expression=expression, parts=parts)


def _number(measure: NumberReading) -> Quantity:
    quantity = measure.quantity
    tail = "" if quantity.percent else counted(measure.tail)
    return msgspec.structs.replace(quantity, unit=unit_of(measure.tail) or quantity.unit or tail)


def _date(text: str) -> tuple[int, ...]:
    """Year, month and day, 0 for what is missing; empty for another text. 03/04 is the fourth of March."""
    match = _DATE.fullmatch(text)
    if not match:
        return ()
    year, month, day = match["iso"] or match["end"] or match["year"], match["m"], match["d"] or match["day"]
    if match["month"]:
        month, day = str(_MONTHS.index(match["month"][:3].lower()) + 1), day or match["before"]
    elif match["one"]:
        month, day = match["one"], match["two"]
        if match[5] == "." or int(month) > 12:
            month, day = day, month
    numbers = tuple(int(number or 0) for number in (year, month, day))
    return numbers if 1 <= numbers[1] <= 12 and numbers[2] <= 31 else ()


def _time(text: str) -> tuple[int, ...]:
    """Seconds since midnight, and 12 where half of the day is given, else 24; empty for another text."""
    match = _TIME.fullmatch(text)
    if not match or int(match[1]) > 23 or not (match[2] or match[4] or match[5]):
        return ()
    hour = int(match[1])
    if match[4]:
        if not 1 <= hour <= 12:
            return ()
        hour = hour % 12 + 12 * (match[4].lower() == "p")
    return hour * 3600 + int(match[2] or 0) * 60 + int(match[3] or 0), 12 if match[4] else 24


def _same_value(one: Value, other: Value, level: Level, numbers: Compare) -> bool:  # noqa: PLR0911 (one a kind)
    if one.kind == other.kind and one.kind in ("letter", "date"):
        return (one.letter, one.moment) == (other.letter, other.moment)
    if one.kind == other.kind == "time":
        (given, halves), (time, clock) = sorted((one.moment, other.moment), key=lambda moment: moment[1])
        may_be_pm = halves != clock and 3600 <= time < 13 * 3600  # 3:05 may be 3:05 pm, but is not 15:05
        return time % 43200 == given % 43200 if may_be_pm else time == given
    if one.number and other.number:
        return numbers(one.number, other.number) and not (one.label and other.label and one.label != other.label)
    if one.expression and other.expression and not {one.kind, other.kind} <= {"words", "list"}:
        if same_expression(one.expression, other.expression):
            return True
        first, second = (_computed(value) for value in (one, other))
        if level == Level.RELAXED and first and second:
            return numbers(first, second)
    if _same_decimal_comma(one, other, numbers):
        return True
    if one.parts and len(one.parts) == len(other.parts):
        return all(same(part, wanted, level, numbers) for part, wanted in zip(one.parts, other.parts, strict=True))
    if "words" in (one.kind, other.kind):
        return telling_words(one.text) == telling_words(other.text) != ()
    return False


def _computed(value: Value) -> Quantity | None:
    if value.number or not value.expression:
        return value.number
    computed = value_of(value.expression) if value.kind == "formula" else None
    return Quantity(computed[0], unit=counted(computed[1])) if computed else None


def _same_decimal_comma(one: Value, other: Value, numbers: Compare) -> bool:
    """Whether one text is a number and the other, read as a list, is that number with a decimal comma."""
    value, listed = (one, other) if one.number else (other, one)
    if not value.number or not listed.parts or not _DECIMAL_COMMA.search(listed.text):
        return False
    measure = read_measure(_DECIMAL_COMMA.sub(r"\1.\2", listed.text))
    if measure is None:
        return False
    number = _number(measure)
    return numbers(value.number, number) if value is one else numbers(number, value.number)


def equal_numbers(one: Quantity, reference: Quantity, slack: float = 0.0, *, convert: bool = False) -> bool:
    """Whether two numbers agree up to a difference, in the same unit or after conversion; 12% is 12 and 0.12."""
    value, target = one.value, reference.value
    if one.percent != reference.percent and (one.unit or reference.unit):
        return False
    if not agrees(one.unit, reference.unit):
        value, measured = in_base_units(value, one.unit)
        target, wanted = in_base_units(target, reference.unit)
        if not convert or measured != wanted:
            return False
        slack *= abs(target / reference.value) if reference.value else 1.0
    scales = (1.0,) if one.percent == reference.percent else (1.0, 0.01 if one.percent else 100.0)
    return any(abs(value * scale - target) <= slack + _ROUNDING * abs(target) for scale in scales)


_COMPARE: dict[Level, Compare] = {
    Level.VALUE: equal_numbers,
    Level.UNITS: lambda one, other: equal_numbers(one, other, convert=True),
    Level.RELAXED: lambda one, other: equal_numbers(one, other, TOLERANCE * abs(other.value), convert=True),
}
