"""The kind of an answer (number, date, color, text …), and how numbers, dates and times are written and varied."""

import random
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from importlib.resources import files
from itertools import accumulate
from typing import Literal, Self

import msgspec

from eyetest.reform.distractors import plain
from eyetest.scoring.metrics.same_text import asks_when

_CURRENCY = r"(?:us|ca|au|hk)?[$€£¥₹₩]|rs\.?"
_NEARLY = r"about|around|over|under|nearly|almost|approximately|approx\.?|at least|at most|more than|less than|up to"
_WRITTEN = re.compile(
    rf"(?P<before>(?:(?:{_NEARLY}|[~<>≤≥≈])\s?)?)(?P<minus>[-−–]?)(?P<sign>(?:(?:{_CURRENCY})\s?)?)(?P<plus>[-−–+]?)"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?P<after>[^\d]{0,24})",
    re.IGNORECASE,
)
_YEAR = re.compile(r"1[5-9]\d\d|20\d\d")
_MOST_DIGITS = 18
TOO_NEAR = Decimal("0.051")
"""Relative difference below which two numbers count as equal: relaxed accuracy's five per cent, with a margin."""


class WrittenNumber(msgspec.Struct, frozen=True):
    """A number with its format: prefix, suffix, decimals, thousands commas."""

    value: Decimal
    before: str = ""
    after: str = ""
    decimals: int = 0
    is_grouped: bool = False
    bare_point: bool = False  # written .5, not 0.5

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The quantity of a text; None for one with other numbers or words."""
        match = _WRITTEN.fullmatch(text.strip())
        if match is None or len(match["digits"]) > _MOST_DIGITS or (match["minus"] and match["plus"]):
            return None
        digits = match["digits"]
        value = Decimal(digits.replace(",", ""))
        return cls(
            value=-value if (match["minus"] or match["plus"]) in ("-", "−", "–") else value,
            before=match["before"] + match["sign"],
            after=match["after"],
            decimals=len(digits.partition(".")[2]),
            is_grouped="," in digits,
            bare_point=digits.startswith("."),
        )

    @classmethod
    def known(cls, text: str) -> Self:
        """Read a text that is known to be a quantity."""
        number = cls.read(text)
        assert number is not None
        return number

    @property
    def form(self) -> tuple[str, str, int, bool]:
        """Format that two numbers must share to stand side by side unobtrusively."""
        return self.before.strip().lower(), self.after.strip().lower(), self.decimals, self.value < 0

    @property
    def is_year(self) -> bool:
        """Whether it may be a year: four digits and nothing else."""
        return not (self.before or self.after or self.decimals or self.is_grouped) and bool(
            _YEAR.fullmatch(str(self.value))
        )

    def written(self, value: Decimal) -> str:
        """Another number in this format."""
        digits = f"{abs(value):,.{self.decimals}f}" if self.is_grouped else f"{abs(value):.{self.decimals}f}"
        if self.bare_point:
            digits = digits.removeprefix("0")
        return f"{self.before}{'-' if value < 0 else ''}{digits}{self.after}"


_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(\s?[ap]\.?m\.?)?|(\d{1,2})(\s?[ap]\.?m\.?|\s?o'?clock)", re.IGNORECASE)
_HALF_DAY, _DAY = 12 * 60, 24 * 60
_WRITINGS = (
    "%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y",
    "%B %d", "%b %d", "%d %B", "%d %b", "%B %Y", "%b %Y",
)  # fmt: skip
_SOME_YEAR = " 2001"
_LEADING_NOUGHT = re.compile(r"\b0\d")
_LONGEST_DATE = len("September 30, 2000")
_FARTHEST = 9  # the most days or months from one made-up date to the next


def other_times(text: str, count: int, chance: random.Random) -> list[str]:
    """Times from all around the clock, as fine as the given one: to half an hour if that is on one."""
    match = _CLOCK.fullmatch(text.strip())
    assert match is not None
    hour, minute = int(match[1] or match[4]), int(match[2] or 0)
    grain = next(step for step in (60, 30, 15, 5, 1) if minute % step == 0)
    has_halves = bool(match[3] or match[5]) or hour <= 12
    length = _HALF_DAY if has_halves else _DAY
    times = []
    for step in chance.sample(range(1, length // grain), min(count, length // grain - 1)):
        moved = (hour * 60 + minute + step * grain) % length
        shown = moved // 60 or (12 if has_halves else 0)
        times.append(
            f"{shown:0{len(match[1])}d}:{moved % 60:02d}{match[3] or ''}" if match[1] else f"{shown}{match[5]}"
        )
    return times


def other_dates(text: str, count: int, chance: random.Random) -> list[str]:
    """Dates around the given one, which is equally likely at any place in their order."""
    read = _read(text.strip())
    assert read is not None
    day, writing = read
    unit = timedelta(days=1 if "%d" in writing else 31)
    below = chance.randint(0, count)
    steps = [list(accumulate(chance.randint(1, _FARTHEST) for _ in range(some))) for some in (below, count - below)]
    start = day.replace(day=15) if unit.days > 1 else day
    moved = [*(start - step * unit for step in steps[0]), *(start + step * unit for step in steps[1])]
    is_padded = _LEADING_NOUGHT.search(text) is not None or (max(day.day, day.month) > 9 and "/" not in text)
    return [_written(other, writing, is_padded=is_padded) for other in moved]


def _read(text: str) -> tuple[date, str] | None:
    if len(text) > _LONGEST_DATE or not any(letter.isdigit() for letter in text):
        return None
    for writing in _WRITINGS:
        has_year = "%Y" in writing
        try:
            moment = datetime.strptime(
                text if has_year else text + _SOME_YEAR, writing if has_year else f"{writing} %Y"
            )
        except ValueError:
            continue
        return moment.date(), writing
    return None


def _written(day: date, writing: str, *, is_padded: bool) -> str:
    """A date in a format, its numbers with a leading zero or without."""
    for sign, number in (("%d", day.day), ("%m", day.month)):
        writing = writing.replace(sign, f"{number:02d}" if is_padded else str(number))
    return day.strftime(writing)


KindName = Literal[
    "yes-no", "either-or", "colour", "direction", "month", "weekday",
    "count", "year", "number", "date", "time", "text",
]  # fmt: skip


class KindLists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``answer_kinds.yaml``."""

    lists: dict[KindName, tuple[tuple[str, ...], ...]]
    alike: tuple[frozenset[str], ...]
    asked_for: dict[KindName, str]


_KNOWN = msgspec.yaml.decode(files(__package__).joinpath("answer_kinds.yaml").read_bytes(), type=KindLists)
LISTS, ALIKE = _KNOWN.lists, _KNOWN.alike
TWO_SIDED: tuple[KindName, ...] = ("yes-no", "either-or")  # kinds with exactly one wrong answer
_OPPOSITES = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
_ASKED_FOR = {kind: re.compile(pattern) for kind, pattern in _KNOWN.asked_for.items()}
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
    words = plain(answer)
    if words in _OPPOSITES:
        return AnswerKind("yes-no")
    if other_alternative(question, answer):
        return AnswerKind("either-or")
    for name, lists in LISTS.items():
        if name in _ASKED_FOR and not _ASKED_FOR[name].search(question.casefold()):
            continue
        for number, members in enumerate(lists):
            if words in members or (number == 0 and name == "colour" and any(words in alike for alike in ALIKE)):
                return AnswerKind(name, (number, _case(answer)))
    if (quantity := WrittenNumber.read(answer)) is not None:
        return _number_kind(question, quantity)
    if _CLOCK.fullmatch(answer.strip()):
        return AnswerKind("time")
    return AnswerKind("text" if _read(answer.strip()) is None else "date")


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
    """No for yes and false for true, in the same case."""
    return in_case_of(answer, _OPPOSITES[plain(answer)])


def other_alternative(question: str, answer: str) -> str:
    """The other of two alternatives in a question ("red or blue?"), of which the answer is one, no shared noun."""
    words = re.findall(r"[\w'-]+", question)
    answered = plain(answer).split()
    size = len(answered)
    for at in (number for number, word in enumerate(words) if word.casefold() == "or"):
        left, right = words[:at], words[at + 1 :]
        if right and right[0].casefold() in _ARTICLES:
            right = right[1:]
        if len(right) > size and left and right[size].casefold() == left[-1].casefold():
            left = left[:-1]
        pair = left[len(left) - size :], right[:size]
        first, second = (plain(" ".join(side)).split() for side in pair)
        if len(first) == len(second) == size > 0 and first != second and answered in (first, second):
            return in_case_of(answer, " ".join(pair[answered == first]))
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
