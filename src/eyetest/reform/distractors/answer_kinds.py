"""The kind of an answer (number, color, text …), and how numbers are written."""

import re
from decimal import Decimal
from importlib.resources import files
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
    def is_year(self) -> bool:
        """Whether it may be a year: four digits and nothing else."""
        is_bare = not (self.before or self.after or self.decimals or self.is_grouped)
        return is_bare and _YEAR.fullmatch(str(self.value)) is not None

    def written(self, value: Decimal) -> str:
        """Another number in this format."""
        digits = f"{abs(value):,.{self.decimals}f}" if self.is_grouped else f"{abs(value):.{self.decimals}f}"
        if self.bare_point:
            digits = digits.removeprefix("0")
        return f"{self.before}{'-' if value < 0 else ''}{digits}{self.after}"


KindName = Literal[
    "yes-no", "either-or", "colour", "direction", "month", "weekday", "number word",
    "count", "year", "number", "text",
]  # fmt: skip


class KindLists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``answer_kinds.yaml``."""

    lists: dict[KindName, tuple[tuple[str, ...], ...]]
    alike: tuple[frozenset[str], ...]
    asked_for: dict[KindName, str]


_KNOWN = msgspec.yaml.decode(files(__package__).joinpath("answer_kinds.yaml").read_bytes(), type=KindLists)
LISTS, ALIKE = _KNOWN.lists, _KNOWN.alike
NUMERIC: tuple[KindName, ...] = ("count", "year", "number")
TWO_SIDED: tuple[KindName, ...] = ("yes-no", "either-or")  # kinds with exactly one wrong answer
_OPPOSITES = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
_ASKED_FOR = {kind: re.compile(pattern) for kind, pattern in _KNOWN.asked_for.items()}
_COUNTED = re.compile(r"\bhow many\b|\bnumber of\b|\bcount of\b")
_MOST_COUNTED = 30
_SHARES = re.compile(r"%|\bper ?cent|\bshare\b|\bproportion\b")
_ARTICLES = ("a", "an", "the")


class AnswerKind(msgspec.Struct, frozen=True):
    """A kind, and the closed list that an answer is of; answers of one kind are offered together."""

    name: KindName
    list: int = 0
    is_share: bool = False  # a number of which a share is asked, at most 100


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
                return AnswerKind(name, number)
    quantity = WrittenNumber.read(answer)
    return AnswerKind("text") if quantity is None else _number_kind(question, quantity)


def _number_kind(question: str, quantity: WrittenNumber) -> AnswerKind:
    asked = question.casefold()
    if quantity.is_year and asks_when(question):
        return AnswerKind("year")
    is_whole = not (quantity.before.strip() or quantity.after.strip() or quantity.decimals or quantity.is_grouped)
    if is_whole and 0 <= quantity.value <= _MOST_COUNTED and _COUNTED.search(asked):
        return AnswerKind("count")
    return AnswerKind("number", is_share=abs(quantity.value) <= 100 and _SHARES.search(asked) is not None)


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
    model = model.strip()
    if len(model) > 1 and model.isupper():
        return text.upper()
    return text[:1].upper() + text[1:] if model[:1].isupper() else text
