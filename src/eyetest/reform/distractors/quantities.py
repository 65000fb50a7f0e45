"""Numbers as people write them, and other numbers in the same writing.

A gold of 1,200 beside 1349.5 gives itself away, so a distractor has the gold's signs, unit, separators and decimals,
and ends in as many noughts. None is so near that a metric would take it for right.
"""

import random
import re
from decimal import Decimal
from typing import Self

import msgspec

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
"""Relative difference below which two numbers count as the same: relaxed accuracy's five per cent, and a little."""
_STEPS = (0.12, 0.55)
"""The least and the largest step from one made-up number to the next, as a share."""


class WrittenNumber(msgspec.Struct, frozen=True):
    """A number with its writing: what stands before and after it, decimals, thousands commas."""

    value: Decimal
    before: str = ""
    after: str = ""
    decimals: int = 0
    is_grouped: bool = False
    bare_point: bool = False
    """Whether it is written .5 and not 0.5."""

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The quantity that a text is; None for one that has other numbers or words in it."""
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

    @property
    def form(self) -> tuple[str, str, int, bool]:
        """What two numbers share that can stand beside each other without one looking odd."""
        return self.before.strip().lower(), self.after.strip().lower(), self.decimals, self.value < 0

    @property
    def is_year(self) -> bool:
        """Whether it may be a year: four digits without anything else."""
        return not (self.before or self.after or self.decimals or self.is_grouped) and bool(
            _YEAR.fullmatch(str(self.value))
        )

    @property
    def noughts(self) -> int:
        """How many noughts it ends in, behind the point too."""
        digits = str(abs(int(self.value.scaleb(self.decimals))))
        return len(digits) - len(digits.rstrip("0")) if digits != "0" else 0

    def written(self, value: Decimal) -> str:
        """Another number in this writing."""
        digits = f"{abs(value):,.{self.decimals}f}" if self.is_grouped else f"{abs(value):.{self.decimals}f}"
        if self.bare_point:
            digits = digits.removeprefix("0")
        return f"{self.before}{'-' if value < 0 else ''}{digits}{self.after}"


def too_near(one: Decimal, other: Decimal) -> bool:
    """Whether a metric that allows five per cent could take one number for the other, in percent or as a share."""
    return any(
        abs(one - scaled) <= TOO_NEAR * max(abs(one), abs(scaled)) for scaled in (other, other * 100, other / 100)
    )


def ladder(gold: WrittenNumber, count: int, chance: random.Random) -> list[str]:
    """Made-up numbers around the gold, which is as likely to be their least as their largest or any between."""
    size = abs(gold.value)
    unit = Decimal(1).scaleb(gold.noughts - gold.decimals)
    while size < 4 * unit and unit > Decimal(1).scaleb(-gold.decimals):
        unit /= 10
    top = Decimal(100) if "%" in gold.after and size <= 100 else None
    lower = _walk(size, -unit, count, None, chance)
    higher = _walk(size, unit, count, top, chance)
    below = max(min(chance.randint(0, count), len(lower)), count - len(higher))
    values = [*lower[:below], *higher[: count - below]]
    return [gold.written(-value if gold.value < 0 else value) for value in values]


def _walk(size: Decimal, unit: Decimal, count: int, top: Decimal | None, chance: random.Random) -> list[Decimal]:
    """Numbers at growing distance from one, all above or all below it, each a whole number of units."""
    values: list[Decimal] = []
    last = size
    while len(values) < count:
        share = Decimal(chance.uniform(*_STEPS))
        step = last * (share if unit > 0 else share / (1 + share))
        last += unit * max(1, round(step / abs(unit)))
        if last < 0 or (top is not None and last > top):
            break
        if not any(too_near(last, other) for other in (size, *values)):
            values.append(last)
    return values
