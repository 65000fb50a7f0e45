"""One side of a reconciliation: every row that a tool had, what it read there, and what it counted it as."""

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Literal, NamedTuple

Reader = Literal["rules", "judge", "guess", "nobody", "unknown"]
"""Who decided what a reply says: rules, a model, chance, nobody (the reply stayed unread), or we are not told."""


class Credit(NamedTuple):
    """One answer as one side counts it. ``score`` is None where the side leaves it out of its mean."""

    item: str
    group: str = ""
    """Who answered, and how it was asked."""
    text: str | None = None
    failed: bool = False
    """Whether there is no reply: the call failed or was blocked."""
    truncated: bool = False
    reading: str | None = None
    """What was read: an option's letter or a text; None where nothing was, or where the side does not say."""
    reader: Reader = "unknown"
    gold: str | None = None
    score: Fraction | None = None
    options: int = 0
    test: str = ""
    """Which of several tests of the item it is: template, order, marks, trial."""
    kind: str = ""
    """Why nothing was read, in one word: refused, ambiguous, unparsed."""
    by_text: bool = False
    """Whether a metric compared texts, so that the same reading can be worth something in between."""

    @property
    def words(self) -> str | None:
        """The reply with its spaces evened, as two tools' files have to agree on it; None where it is not known."""
        return None if self.text is None else " ".join(self.text.split())

    def says_as(self, other: "Credit") -> bool:
        """Whether both have the same reply, but for spaces."""
        return self.text == other.text or self.words == other.words

    @property
    def said(self) -> str:
        """What this side read, for people."""
        if self.failed:
            return "failed"
        if self.reading is not None:
            return f"{self.reading} (guessed)" if self.reader == "guess" else self.reading
        if self.reader in ("nobody", "guess"):
            return (self.kind or "unread") if self.reader == "nobody" else "guessed"
        if self.gold is not None and self.score is not None and self.score in (0, 1):
            return self.gold if self.score else f"not {self.gold}"
        return "–"


class Account(NamedTuple):
    """All rows of one side."""

    name: str
    credits: tuple[Credit, ...]
    notes: tuple[str, ...] = ()

    @property
    def counted(self) -> int:
        """How many rows the mean is over."""
        return sum(credit.score is not None for credit in self.credits)

    @property
    def score(self) -> Fraction:
        """The mean over the rows that are counted, exactly; 0 where there is none."""
        scores = [credit.score for credit in self.credits if credit.score is not None]
        return exact_sum(scores) / len(scores) if scores else Fraction(0)

    @property
    def guesses(self) -> list[Fraction]:
        """What each reply that was guessed for counts."""
        return [one.score for one in self.credits if one.reader == "guess" and one.score is not None]

    def only(self, group: str) -> "Account":
        """What is about one model and condition."""
        return self._replace(credits=tuple(credit for credit in self.credits if credit.group == group))


def exact_sum(scores: Iterable[Fraction]) -> Fraction:
    """A sum of fractions. Objects are counted, not values: rows share a few, and hashing a fraction takes long."""
    there = list(scores)
    worth = {id(score): score for score in there}
    below = math.lcm(*(score.denominator for score in worth.values()))
    above = (
        number * worth[one].numerator * (below // worth[one].denominator)
        for one, number in Counter(map(id, there)).items()
    )
    return Fraction(sum(above), below)
