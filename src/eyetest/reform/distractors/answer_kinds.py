"""What kind of thing an answer is, and with which other answers it can stand side by side."""

import re
from typing import Literal

import msgspec

from eyetest.reform.distractors.moments import is_date, is_time
from eyetest.reform.distractors.quantities import WrittenNumber
from eyetest.reform.distractors.words import plain
from eyetest.scoring.metrics.relaxed import asks_when

KindName = Literal[
    "yes-no",
    "either-or",
    "colour",
    "direction",
    "month",
    "weekday",
    "count",
    "year",
    "number",
    "date",
    "time",
    "text",
]


def _words(text: str, joint: str = " ") -> tuple[str, ...]:
    return tuple(text.replace(",", joint) for text in text.split())


_MONTHS = _words("january february march april may june july august september october november december")
_WEEKDAYS = _words("monday tuesday wednesday thursday friday saturday sunday")
LISTS: dict[KindName, tuple[tuple[str, ...], ...]] = {
    "colour": (
        _words("red blue green yellow orange purple pink brown black white gray"),
        _words("red,white black,white blue,white red,black blue,yellow brown,white green,yellow red,blue", " and "),
    ),
    "direction": (
        _words("left right up down"),
        _words("north south east west northeast northwest southeast southwest"),
        _words("top,left top,right bottom,left bottom,right"),
        _words("upper,left upper,right lower,left lower,right"),
        _words("top bottom middle left right"),
    ),
    "month": (_MONTHS, tuple(month[:3] for month in _MONTHS)),
    "weekday": (_WEEKDAYS, tuple(day[:3] for day in _WEEKDAYS)),
    "count": (_words("zero one two three four five six seven eight nine ten eleven twelve"),),
}
"""Answers that are one of a few: lists of which one is offered with others of the same list."""
ALIKE = tuple(
    frozenset(names.split())
    for names in (
        "gray grey silver",
        "tan beige brown cream",
        "gold yellow orange",
        "maroon red",
        "violet purple pink magenta",
        "navy blue teal turquoise cyan",
        "cream white",
    )
)
"""Colours that one person calls by one name and another by another."""
TWO_SIDED: tuple[KindName, ...] = ("yes-no", "either-or")
"""Kinds of which there is one wrong answer and no more."""
_OPPOSITES = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
_ASKED_FOR: dict[KindName, re.Pattern[str]] = {
    "colour": re.compile(r"\b(?:colou?r|hue|shade)"),
    "month": re.compile(r"\b(?:month|when|date|time|period)"),
    "weekday": re.compile(r"\b(?:day|weekday|when|date|time)\b"),
}
"""What a question must ask for: an orange is a fruit as well, and May may be a name."""
_COUNTED = re.compile(r"\bhow many\b|\bnumber of\b|\bcount of\b")
_MOST_COUNTED = 30
_SHARES = re.compile(r"%|\bper ?cent|\bshare\b|\bproportion\b")
_ARTICLES = ("a", "an", "the")


class AnswerKind(msgspec.Struct, frozen=True):
    """A kind, and what answers of that kind must share to be offered together."""

    name: KindName
    form: tuple[object, ...] = ()


def kind_of(question: str, answer: str) -> AnswerKind:
    """The kind of an answer to a question."""
    said = plain(answer)
    if said in _OPPOSITES:
        return AnswerKind("yes-no")
    if other_alternative(question, answer):
        return AnswerKind("either-or")
    for name, lists in LISTS.items():
        if name in _ASKED_FOR and not _ASKED_FOR[name].search(question.casefold()):
            continue
        for number, members in enumerate(lists):
            if said in members or (number == 0 and name == "colour" and any(said in alike for alike in ALIKE)):
                return AnswerKind(name, (number, _case(answer)))
    if (quantity := WrittenNumber.read(answer)) is not None:
        return _number_kind(question, quantity)
    if is_time(answer):
        return AnswerKind("time")
    return AnswerKind("date" if is_date(answer) else "text")


def _number_kind(question: str, quantity: WrittenNumber) -> AnswerKind:
    asked = question.casefold()
    if quantity.is_year and asks_when(question):
        return AnswerKind("year")
    is_whole = quantity.form == ("", "", 0, False) and not quantity.is_grouped
    if is_whole and quantity.value <= _MOST_COUNTED and _COUNTED.search(asked):
        return AnswerKind("count")
    is_share = abs(quantity.value) <= 100 and _SHARES.search(asked) is not None
    return AnswerKind("number", (*quantity.form, is_share))


def opposite(answer: str) -> str:
    """No for yes and false for true, in the same letters."""
    return in_case_of(answer, _OPPOSITES[plain(answer)])


def other_alternative(question: str, answer: str) -> str:
    """The other of two alternatives that a question names, of which the answer is one: "red or blue?".

    A noun that both share is left out as it is in the answer: "new" to "an old car or a new car?".
    """
    words = re.findall(r"[\w'-]+", question)
    said = plain(answer).split()
    size = len(said)
    for at in (place for place, word in enumerate(words) if word.casefold() == "or"):
        left, right = words[:at], words[at + 1 :]
        if right and right[0].casefold() in _ARTICLES:
            right = right[1:]
        if len(right) > size and left and right[size].casefold() == left[-1].casefold():
            left = left[:-1]
        pair = left[len(left) - size :], right[:size]
        one, other = (plain(" ".join(side)).split() for side in pair)
        if len(one) == len(other) == size > 0 and one != other and said in (one, other):
            return in_case_of(answer, " ".join(pair[said == one]))
    return ""


def in_case_of(model: str, text: str) -> str:
    """A text in capitals as another one is."""
    case = _case(model)
    return text.upper() if case == "upper" else text[:1].upper() + text[1:] if case == "capital" else text


def _case(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text.isupper():
        return "upper"
    return "capital" if text[:1].isupper() else "lower"
