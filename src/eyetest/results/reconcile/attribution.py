"""A gap between two means taken apart, exactly: what each row adds to it, and what each cause.

Rows that both sides count move a mean by what their credit changes; rows that only one side counts move it by how far
they lie from the mean of the others. Which comes first would matter, so both orders are taken and averaged: then
swapping the sides changes the signs and nothing else. All of it is done in fractions, so that the parts sum to the
gap and not to something near it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from eyetest.errors import InputError
from eyetest.results.reconcile.causes import CAUSES, OF_NO_ITEM, Pair, left_out_cause, pairs_of, parts_of
from eyetest.results.reconcile.credits import Account, Credit, exact_sum


class Share(NamedTuple):
    """What one row adds to the gap, by one cause."""

    cause: str
    points: Fraction
    """In shares of 1: 0.01 is one point of a percentage."""
    a: Credit | None
    b: Credit | None

    @property
    def item(self) -> str:
        """Which item the row is about."""
        there = self.a or self.b
        return "" if there is None else there.item


class CauseTotal(NamedTuple):
    """What one cause comes to."""

    cause: str
    rows: int
    """Rows on which the sides differ by it, also where that changes no score."""
    up: int
    """Those for which B has more than A."""
    down: int
    points: Fraction


class Reconciled(NamedTuple):
    """Two accounts, the gap between their scores, and what it is made of."""

    a: Account
    b: Account
    shares: tuple[Share, ...]

    @property
    def gap(self) -> Fraction:
        """B less A."""
        return self.b.score - self.a.score

    @property
    def causes(self) -> list[CauseTotal]:
        """Each cause with its points; those that move most come first."""
        return totals(self.shares)


def reconciled(a: Account, b: Account) -> Reconciled:
    """Every point between two accounts, on its row."""
    for account in (a, b):
        if not account.counted:
            raise InputError(f"{account.name}: none of its {len(account.credits):,} rows has a score")
    return Reconciled(a, b, tuple(attribute(pairs_of(a, b))))


def attribute(pairs: Sequence[Pair]) -> list[Share]:
    """What each row adds to the gap; rows on which nothing differs are left out."""
    both = [pair for pair in pairs if _is_counted(pair.a) and _is_counted(pair.b)]
    alone = [pair for pair in pairs if _is_counted(pair.a) != _is_counted(pair.b)]
    weigh = _Weights(both, alone)
    shares = []
    for pair in both:
        assert pair.a is not None
        assert pair.b is not None
        if _differs(pair.a, pair.b):
            parts = parts_of(pair.a, pair.b, pair.why)
            shares += [Share(cause, weigh.change(change), pair.a, pair.b) for cause, change in parts]
    shares += [Share(left_out_cause(pair), weigh.presence(pair), pair.a, pair.b) for pair in alone]
    return shares


def totals(shares: Iterable[Share]) -> list[CauseTotal]:
    """What each cause comes to."""
    moved: dict[str, Counter[Fraction]] = defaultdict(Counter)
    for share in shares:
        moved[share.cause][share.points] += 1
    order = list(CAUSES)
    found = [
        CauseTotal(
            cause,
            0 if cause in OF_NO_ITEM else counts.total(),
            sum(number for points, number in counts.items() if points > 0),
            sum(number for points, number in counts.items() if points < 0),
            sum((points * number for points, number in counts.items()), Fraction(0)),
        )
        for cause, counts in moved.items()
    ]
    return sorted(found, key=lambda total: (-abs(total.points), order.index(total.cause)))


class _Weights:
    """By how much a row moves the gap; equal rows are worked out once."""

    def __init__(self, both: Sequence[Pair], alone: Sequence[Pair]) -> None:
        only_a = [pair.a for pair in alone if _is_counted(pair.a)]
        only_b = [pair.b for pair in alone if _is_counted(pair.b)]
        n, m = len(both) + len(only_a), len(both) + len(only_b)
        self._change = (Fraction(1, n) + Fraction(1, m)) / 2
        self._n, self._m = n, m
        self._as_a = (_total(only_a) + _total(pair.b for pair in both)) / n
        self._as_b = (_total(only_b) + _total(pair.a for pair in both)) / m
        self._known: dict[tuple[bool, Fraction], Fraction] = {}

    def change(self, change: Fraction) -> Fraction:
        """Of a row that both count."""
        key = (True, change)
        if key not in self._known:
            self._known[key] = change * self._change
        return self._known[key]

    def presence(self, pair: Pair) -> Fraction:
        """Of a row that one side counts: how far it lies from the mean that it joins or leaves."""
        is_b = _is_counted(pair.b)
        credit = pair.b if is_b else pair.a
        assert credit is not None
        assert credit.score is not None
        key = (False, credit.score)
        if key not in self._known:
            score = credit.score
            self._known[key] = ((score - self._as_a) / self._m + (score - self._as_b) / self._n) / 2
        return self._known[key] if is_b else -self._known[key]


def _total(credits_: Iterable[Credit | None]) -> Fraction:
    return exact_sum(credit.score for credit in credits_ if credit is not None and credit.score is not None)


def _is_counted(credit: Credit | None) -> bool:
    return credit is not None and credit.score is not None


def _differs(a: Credit, b: Credit) -> bool:
    """Whether the sides disagree about a row, be it without effect."""
    if a.score is not b.score and a.score != b.score:
        return True
    known = a.reading is not None or a.reader == "nobody", b.reading is not None or b.reader == "nobody"
    return all(known) and a.reading != b.reading and not (a.by_text or b.by_text)
