r"""Numbers and lists of numbers, compared by what they say and not by how they are written.

*Which number an answer gives.* The first one in the last ``<answer>…``, ``\boxed{…}`` or behind the last
``answer is``. Else the last one that directly follows ``is``, ``are``, ``equals``, ``=`` or ``≈`` (with at most
``about`` or the like between). Else the last number of the text. A bare ``one`` is a number only in a text
without another one. Spellings that are read: ``support/numbers.py``.

What is only a part, of ``18\pi``, ``8\sqrt{5}-6``, ``1:3`` or ``6 to 8``, is not the number. Where the answer ends
with such a formula and it comes to a number, that number is compared: ``3 + 5`` is 8.

*When it is right.* It differs from the gold by at most half a unit of the last decimal that counts: as many as
the tag ``precision`` says, else as many as the gold shows. A gold without decimals, a fraction, and the tag
``answer_type: integer`` ask for the very number (``12.0`` is 12, ``12.4`` is not). With a percent sign on one
side only, the other side may be written either way: 12% is 12 and 0.12. Units are not converted; 5 km is not 5 m,
while a unit that is missing or that we do not know does not matter. The tag ``unit`` stands in for one that the
gold does not show.

*Lists.* A gold that is nothing but two or more numbers (``[2014, 2016]``, ``0.32, 0.67``) asks for the same numbers
in the same order: those of the answer's last bracket, else of what it states, else all of them.
"""

import re
from collections.abc import Sequence

import msgspec

from eyetest.scoring.metrics.base import BestReference, Context
from eyetest.scoring.metrics.same_text import exact
from eyetest.scoring.metrics.support.conclusion import final_answers, stated
from eyetest.scoring.metrics.support.numbers import (
    READ,
    Quantity,
    find_quantities,
    is_part,
    plain_text,
    unit_name,
    unit_of,
)
from eyetest.scoring.metrics.support.whole_answers import read_whole, value_of

_COMES_NEXT = re.compile(
    r"(?:\b(?:is|are|was|were|equals|equal to|be)|[=≈:])[ *~$\\(]*(?:(?:about|approximately|"
    r"approx\.?|roughly|around|exactly|only|just|equal to|a total of) ?)?[ *~≈$\\(]*$",
    re.IGNORECASE,
)
_CUE_LENGTH = 40
_BRACKET = re.compile(r"[\[({]([^\[\](){}]{1,2000})[\])}]")
_INTERVAL = re.compile(r"\[[^\[\](){}]{3,100}\)|\([^\[\](){}]{3,100}\]")
_UNIT_TAIL = re.compile(r"(?: ?[^\W\d][^\s,;:]{0,20}| ?(?:[°%/^²³·*]|-(?=[a-z]))[^\s,;:]{0,10}){0,4}[ .$)}\]]*")
_LEAD = re.compile(r"(?:[A-Za-z]{1,3} ?[=≈:] ?|[~≈≤≥<>$€£¥({\[ ])*")
_BETWEEN = re.compile(r"[\s,;]*(?:and\b)?[\s,;]*")
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
_DIGIT = re.compile("[0-9]")
_ROUNDING = 1e-9


def read_number(text: str) -> Quantity | None:
    """The number that a text is, with or without a unit; None where it is something else (``Figure 5``)."""
    return measure[0] if (measure := read_measure(text)) else None


def read_measure(text: str) -> tuple[Quantity, str] | None:
    """The number that a text is, and the words behind it."""
    plain = plain_text(text)
    quantities = find_quantities(plain)
    if len(quantities) != 1:
        return None
    quantity = quantities[0]
    if not _LEAD.fullmatch(plain[: quantity.start]) or _ORDINAL.match(plain, quantity.end):
        return None
    if is_part(plain, quantity) or not _UNIT_TAIL.fullmatch(plain, quantity.end):
        return None
    return quantity, plain[quantity.end :].strip(" .$)}]")


def read_numbers(text: str) -> list[Quantity]:
    """The numbers of a text that is nothing but a list of them; none where it is something else."""
    plain = plain_text(text).strip(" .")
    if _INTERVAL.fullmatch(plain):
        return []
    plain = plain.strip(" .[](){}")
    quantities = find_quantities(plain)
    edges = [0, *(edge for quantity in quantities for edge in (quantity.start, quantity.end)), len(plain)]
    gaps = (plain[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True))
    return quantities if len(quantities) > 1 and all(map(_BETWEEN.fullmatch, gaps)) else []


class _Given(msgspec.Struct, frozen=True):
    """A number that an answer gives, in the text in which it stands."""

    plain: str
    quantity: Quantity
    announced: bool
    """Whether something before it says so; else it is only the last number of the text."""


def final_number(text: str) -> Quantity | None:
    """The number that an answer gives, or what the formula comes to that it gives."""
    given = _given(text)
    return _computed(text) if given is None or is_part(given.plain, given.quantity) else given.quantity


def announces_number(text: str) -> bool:
    """Whether an answer says of a number that it is the answer, or what something *is*."""
    given = _given(text)
    return given is not None and given.announced


def _given(text: str) -> _Given | None:
    plain, quantities = _quantities(text)
    if (conclusion := stated(plain)) and (concluded := find_quantities(conclusion)):
        return _Given(conclusion, concluded[0], True)
    for quantity in reversed(quantities):
        if _COMES_NEXT.search(plain[max(0, quantity.start - _CUE_LENGTH) : quantity.start]):
            return _Given(plain, quantity, True)
    return _Given(plain, quantities[-1], False) if quantities else None


def _computed(text: str) -> Quantity | None:
    for said in final_answers(text) if _DIGIT.search(text) else ():
        whole = read_whole(said)
        if whole and (computed := value_of(whole)):
            value, unit = computed
            return Quantity(value, 0.0, False, False, unit_of(unit), 0, 0)
    return None


def _quantities(text: str) -> tuple[str, list[Quantity]]:
    plain = plain_text(text, lone_one=False)
    quantities = find_quantities(plain)
    if quantities:
        return plain, quantities
    plain = plain_text(text)
    return plain, find_quantities(plain)


def _lists(text: str) -> list[list[Quantity]]:
    """The lists an answer may mean, the likeliest first."""
    plain, everything = _quantities(text)
    concluded = stated(plain) or ""
    lists = (_bracketed(concluded), find_quantities(concluded), _bracketed(plain), everything)
    return [numbers for numbers in lists if len(numbers) > 1]


def _bracketed(plain: str) -> list[Quantity]:
    brackets = [numbers for inner in _BRACKET.findall(plain) if len(numbers := find_quantities(inner)) > 1]
    return brackets[-1] if brackets else []


def same_number(answer: Quantity, gold: Quantity, context: Context) -> bool:
    """Whether the answer is the gold, as far as the gold is precise."""
    unit = gold.unit or unit_name(str(context.tags.get("unit") or ""))
    if answer.unit and unit and answer.unit != unit:
        return False
    precision = context.tags.get("precision")
    allowed = gold.step / 2 if gold.decimals else 0.0
    if context.tags.get("answer_type") == "integer":
        allowed = 0.0
    elif isinstance(precision, int | float) and 0 <= precision <= 15:
        allowed = 0.5 * 10.0**-precision
    scales = [1.0] if answer.percent == gold.percent else [1.0, 0.01 if answer.percent else 100.0]
    slack = allowed + _ROUNDING * abs(gold.value)
    return any(abs(answer.value * scale - gold.value) <= slack for scale in scales)


def _same_numbers(answer: Sequence[Quantity], gold: Sequence[Quantity], context: Context) -> bool:
    pairs = zip(answer, gold, strict=False)
    return len(answer) == len(gold) and all(same_number(one, other, context) for one, other in pairs)


def matches_number(answer: str, reference: str, context: Context) -> bool | None:
    """Whether an answer gives the number or list that the reference is; None where the reference is neither."""
    if gold := read_number(reference):
        said = final_number(answer)
        return said is not None and same_number(said, gold, context)
    if golds := read_numbers(reference):
        lists = _lists(answer)
        return bool(lists) and not _INTERVAL.search(answer[-READ:]) and _same_numbers(lists[0], golds, context)
    return None


def number(answer: str, reference: str, context: Context) -> float:
    """1 for the same number or list. A reference that is neither, or tagged as text, is matched exactly."""
    matched = None if context.tags.get("answer_type") == "text" else matches_number(answer, reference, context)
    return exact(answer, reference, context) if matched is None else float(matched)


METRICS = (BestReference("number", "the same number or list of numbers, however written", number),)
