"""Why two scores of a run differ: every point of the gap, by item and cause, in exact fractions.

Changes of credit, and rows that only one side counts, come in both orders, whose shares are averaged.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from typing import Literal, NamedTuple

import polars as pl

from eyetest.errors import InputError

Reader = Literal["rules", "judge", "guess", "none", "unknown"]
"""What decided the reading: rules, a model, chance, nothing (the reply stayed unread), or unknown."""


class Credit(NamedTuple):
    """An answer as one side counts it. ``score`` is None where the side leaves it out of its mean."""

    item: str
    group: str = ""  # the model and the condition
    text: str | None = None
    failed: bool = False  # whether the call failed or was blocked
    truncated: bool = False
    reading: str | None = None  # an option's letter or a text; None where nothing was read or it is unknown
    reader: Reader = "unknown"
    gold: str | None = None
    score: Fraction | None = None
    options: int = 0
    test: str = ""  # which of several tests of the item: template, order, letters, sample
    kind: str = ""  # why nothing was read: refused, ambiguous, cut off or unparsed
    by_text: bool = False  # whether a metric compared texts, so that equal readings may have partial scores

    @property
    def words(self) -> str | None:
        """The reply with spaces normalised, to compare two tools' files; None if unknown."""
        return None if self.text is None else " ".join(self.text.split())

    def says_as(self, other: "Credit") -> bool:
        """Whether both have the same reply, but for spaces."""
        return self.text == other.text or self.words == other.words

    @property
    def shown(self) -> str:
        """The reading, for display."""
        if self.failed:
            return "failed"
        if self.reading is not None:
            return f"{self.reading} (guessed)" if self.reader == "guess" else self.reading
        if self.reader in ("none", "guess"):
            return (self.kind or "unread") if self.reader == "none" else "guessed"
        if self.gold is not None and self.score is not None and self.score in (0, 1):
            return self.gold if self.score else f"not {self.gold}"
        return "–"


class Account(NamedTuple):
    """All rows of a side."""

    name: str
    credits: tuple[Credit, ...]

    @property
    def counted(self) -> int:
        """How many rows the mean is over."""
        return sum(credit.score is not None for credit in self.credits)

    @property
    def score(self) -> Fraction:
        """The exact mean over the counted rows; 0 where there is none."""
        scores = [credit.score for credit in self.credits if credit.score is not None]
        return exact_sum(scores) / len(scores) if scores else Fraction(0)

    @property
    def guesses(self) -> list[Fraction]:
        """The score of each guessed reply."""
        return [row.score for row in self.credits if row.reader == "guess" and row.score is not None]

    def only(self, group: str) -> "Account":
        """The rows of one model and condition."""
        return self._replace(credits=tuple(credit for credit in self.credits if credit.group == group))


def exact_sum(scores: Iterable[Fraction]) -> Fraction:
    """A sum of fractions, counted by object, not by value: rows share a few, and hashing a fraction is slow."""
    there = list(scores)
    worth = {id(score): score for score in there}
    below = math.lcm(*(score.denominator for score in worth.values()))
    above = (
        number * worth[score].numerator * (below // worth[score].denominator)
        for score, number in Counter(map(id, there)).items()
    )
    return Fraction(sum(above), below)


CAUSES = {
    "reading": "the same reply, read as another answer",
    "unread": "read by one, not by the other",
    "judge": "a judge model decided for one of them",
    "guess": "drawn at random where nothing was read",
    "errors": "a failed call: counted, left out, answered",
    "truncated": "one reply is the beginning of the other",
    "wrong id": "the reply stands under another item",
    "dropped": "the item is missing on one side",
    "duplicate": "the item has more rows on one side",
    "gold": "the sides hold different answers right",
    "replies": "other replies: not the same run",
    "metric": "same reading and gold, other credit",
    "unscored": "one gives the row no score",
    "average": "categories of any size weigh the same",
    "chance": "guesses came out other than expected",
    "rounding": "the number has so few digits",
    "unexplained": "no known way of counting gives it",
}
OF_NO_ITEM = ("chance", "rounding", "unexplained")  # causes that belong to no row
_DISTINCT = 12  # shorter replies, such as a letter, occur under many items and identify none
_CUT = 20  # a shorter beginning may be another reply


class Pair(NamedTuple):
    """An answer on both sides; None where a side lacks it, ``why`` says what is known of that."""

    a: Credit | None
    b: Credit | None
    why: str = ""


def pairs_of(a: Account, b: Account) -> list[Pair]:
    """Every row of both accounts once: with its counterpart, or alone."""
    tested = all(any(credit.test for credit in account.credits) for account in (a, b))
    rows = defaultdict[tuple[str, str, str], tuple[list[Credit], list[Credit]]](lambda: ([], []))
    for side, account in enumerate((a, b)):
        for credit in account.credits:
            rows[credit.group, credit.item, credit.test if tested else ""][side].append(credit)
    return _moved([pair for ours, theirs in rows.values() for pair in _matched(ours, theirs)])


def _matched(ours: list[Credit], theirs: list[Credit]) -> list[Pair]:
    """Rows of an item: those with the same text together, the others in the order of the files."""
    if len(ours) == len(theirs) == 1:
        return [Pair(ours[0], theirs[0])]
    same, ours, theirs = _alike(ours, theirs)
    both = min(len(ours), len(theirs))
    pairs = [*same, *(Pair(row, other) for row, other in zip(ours[:both], theirs[:both], strict=True))]
    alone = "duplicate" if pairs else "dropped"
    return [
        *pairs,
        *(Pair(row, None, alone) for row in ours[both:]),
        *(Pair(None, row, alone) for row in theirs[both:]),
    ]


def _alike(ours: Sequence[Credit], theirs: Sequence[Credit]) -> tuple[list[Pair], list[Credit], list[Credit]]:
    """Pairs of rows with the same text, and the rest of both sides."""
    by_words: dict[str | None, list[Credit]] = defaultdict(list)
    for credit in theirs:
        by_words[credit.words].append(credit)
    pairs, left = [], []
    for credit in ours:
        if by_words[credit.words]:
            pairs.append(Pair(credit, by_words[credit.words].pop(0)))
        else:
            left.append(credit)
    taken = Counter(id(pair.b) for pair in pairs)
    return pairs, left, [credit for credit in theirs if not taken[id(credit)]]


def _moved(pairs: list[Pair]) -> list[Pair]:
    """The same pairs, noting where a side's exact text is under another item on the other side."""
    odd = [pair.why == "dropped" or bool(pair.a and pair.b and not pair.a.says_as(pair.b)) for pair in pairs]
    if not any(odd):
        return pairs
    homes = [_homes(pair.a for pair in pairs), _homes(pair.b for pair in pairs)]

    def elsewhere(credit: Credit | None, side: int) -> bool:
        key = (credit.group, credit.words) if credit else ("", None)
        home = homes[side].get(key)
        return credit is not None and home is not None and home != credit.item and bool(homes[1 - side].get(key))

    return [
        pair._replace(why="wrong id") if is_odd and (elsewhere(pair.a, 1) or elsewhere(pair.b, 0)) else pair
        for pair, is_odd in zip(pairs, odd, strict=True)
    ]


def _homes(credits_: Iterable[Credit | None]) -> dict[tuple[str, str | None], str]:
    """The item of each text that occurs under one item only."""
    items: dict[tuple[str, str | None], str] = {}
    for credit in credits_:
        if credit is None or credit.failed or len(credit.words or "") < _DISTINCT:
            continue
        key = (credit.group, credit.words)
        items[key] = credit.item if items.get(key, credit.item) == credit.item else ""
    return items


CreditPart = tuple[str, Fraction]  # a cause, and its change of a row's credit


def parts_of(a: Credit, b: Credit, why: str = "") -> list[CreditPart]:
    """The changes in a row that both count; a change of reading and gold is shared evenly (Shapley)."""
    assert a.score is not None and b.score is not None  # noqa: PT018 (mypy reads both)
    change = b.score - a.score
    golds_differ = a.gold is not None and b.gold is not None and a.gold != b.gold
    if not golds_differ:
        return [(_read_cause(a, b, why), change)]
    if not (_explained(a) and _explained(b)):
        same = a.says_as(b) and (a.reading == b.reading or a.reading is None or b.reading is None)
        return [("gold" if same or not change else _read_cause(a, b, why), change)]
    crossed = Fraction(_is_right(b, a)) - Fraction(_is_right(a, b))
    read = (crossed + change) / 2
    parts = [(_read_cause(a, b, why), read), ("gold", change - read)]
    return [part for part in parts if part[1]] or [("gold", Fraction(0))]


def _is_right(read: Credit, by: Credit) -> bool:
    return read.reading is not None and read.reading in (by.gold or "").split()


def _explained(credit: Credit) -> bool:
    """Whether the score follows from the reading, or its absence, and a gold of letters."""
    known = credit.reading is not None or credit.reader == "none"
    letters = all(len(word) == 1 for word in (credit.gold or "").split())
    return known and letters and not credit.by_text and credit.score == int(_is_right(credit, credit))


def _read_cause(a: Credit, b: Credit, why: str) -> str:
    """Why the two sides read an answer differently."""
    if a.failed or b.failed:
        return "errors"
    if a.text is not None and b.text is not None and not a.says_as(b):
        return _reply_cause(a, b, why)
    for reader, cause in (("guess", "guess"), ("judge", "judge"), ("none", "unread")):
        if (a.reader == reader) != (b.reader == reader) or (a.reader == reader == "guess"):
            return cause
    known = a.reading is not None and b.reading is not None
    if a.by_text or b.by_text or (known and a.reading == b.reading):
        return "metric"
    return "reading"


def _reply_cause(a: Credit, b: Credit, why: str) -> str:
    """Why the replies differ."""
    if why == "wrong id":
        return why
    shorter, longer = sorted((a.words or "", b.words or ""), key=len)
    is_cut = len(shorter) >= _CUT and longer.startswith(shorter)
    return "truncated" if is_cut or a.truncated or b.truncated else "replies"


def left_out_cause(pair: Pair) -> str:
    """Why only one side counts a row."""
    other = pair.b if pair.a is not None and pair.a.score is not None else pair.a
    if other is None:
        return pair.why or "dropped"
    if any(side is not None and side.failed for side in (pair.a, pair.b)):
        return "errors"
    return "unread" if other.reader == "none" and other.reading is None else "unscored"


class Share(NamedTuple):
    """The contribution of a row to the gap, by a cause."""

    cause: str
    points: Fraction  # in shares of 1: 0.01 is one percentage point
    a: Credit | None
    b: Credit | None

    @property
    def item(self) -> str:
        """The item of the row."""
        return (self.a or self.b or Credit("")).item


class CauseTotal(NamedTuple):
    """The total of a cause."""

    cause: str
    rows: int  # rows on which the sides differ by it, also without effect
    up: int  # rows with more credit in B than in A
    down: int
    points: Fraction


class Reconciled(NamedTuple):
    """Two accounts, the gap between their scores, and its parts."""

    a: Account
    b: Account
    shares: tuple[Share, ...]

    @property
    def gap(self) -> Fraction:
        """B minus A."""
        return self.b.score - self.a.score

    @property
    def causes(self) -> list[CauseTotal]:
        """Each cause with its points, largest first."""
        return totals(self.shares)


def reconciled(a: Account, b: Account) -> Reconciled:
    """Attribute every point between two accounts to a row."""
    for account in (a, b):
        if not account.counted:
            raise InputError(f"{account.name}: none of its {len(account.credits):,} rows has a score")
    return Reconciled(a, b, tuple(attribute(pairs_of(a, b))))


def attribute(pairs: Sequence[Pair]) -> list[Share]:
    """The contribution of each row to the gap; rows without a difference are left out."""
    both = [pair for pair in pairs if _is_counted(pair.a) and _is_counted(pair.b)]
    alone = [pair for pair in pairs if _is_counted(pair.a) != _is_counted(pair.b)]
    changed, added = _weights(both, alone)
    shares = []
    for pair in both:
        assert pair.a is not None
        assert pair.b is not None
        if _differs(pair.a, pair.b):
            parts = parts_of(pair.a, pair.b, pair.why)
            shares += [Share(cause, changed(change), pair.a, pair.b) for cause, change in parts]
    for pair in alone:
        credit, sign = (pair.b, 1) if _is_counted(pair.b) else (pair.a, -1)
        assert credit is not None and credit.score is not None  # noqa: PT018 (mypy reads both)
        shares.append(Share(left_out_cause(pair), sign * added(credit.score), pair.a, pair.b))
    return shares


def totals(shares: Iterable[Share]) -> list[CauseTotal]:
    """The total of each cause."""
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


def _weights(
    both: Sequence[Pair], alone: Sequence[Pair]
) -> tuple[Callable[[Fraction], Fraction], Callable[[Fraction], Fraction]]:
    """The weights of a change of credit, and of the score of a row that B adds, in the gap."""
    only_a = [pair.a for pair in alone if _is_counted(pair.a)]
    only_b = [pair.b for pair in alone if _is_counted(pair.b)]
    n, m = len(both) + len(only_a), len(both) + len(only_b)
    per_row = (Fraction(1, n) + Fraction(1, m)) / 2
    as_a = (_total(only_a) + _total(pair.b for pair in both)) / n
    as_b = (_total(only_b) + _total(pair.a for pair in both)) / m
    return cache(lambda change: change * per_row), cache(lambda score: ((score - as_a) / m + (score - as_b) / n) / 2)


def _total(credits_: Iterable[Credit | None]) -> Fraction:
    return exact_sum(credit.score for credit in credits_ if credit is not None and credit.score is not None)


def _is_counted(credit: Credit | None) -> bool:
    return credit is not None and credit.score is not None


def _differs(a: Credit, b: Credit) -> bool:
    """Whether the sides disagree about a row, even without effect."""
    if a.score is not b.score and a.score != b.score:
        return True
    known = a.reading is not None or a.reader == "none", b.reading is not None or b.reader == "none"
    return all(known) and a.reading != b.reading and not (a.by_text or b.by_text)


_CAUSE_TYPES = {"cause": pl.String, **dict.fromkeys(("rows", "up", "down"), pl.Int64)}
_CAUSE_TYPES |= {"points": pl.Float64, "meaning": pl.String}
_ITEM_TYPES = {
    "item": pl.String,
    "group": pl.String,
    "cause": pl.String,
    "points": pl.Float64,
    **{f"{side}_{name}": kind for name, kind in (("read", pl.String), ("score", pl.Float64)) for side in "ab"},
    **{f"{side}_{name}": pl.String for name in ("gold", "reply") for side in "ab"},
}


def points(share: Fraction) -> float:
    """A share of 1 in points."""
    return float(share * 100)


def causes_table(causes: Iterable[CauseTotal]) -> pl.DataFrame:
    """One row per cause."""
    rows = [(of.cause, of.rows, of.up, of.down, points(of.points), CAUSES[of.cause]) for of in causes]
    return pl.DataFrame(rows, schema=_CAUSE_TYPES, orient="row")


def items_table(shares: Iterable[Share]) -> pl.DataFrame:
    """One row per item and cause; by cause, largest first."""
    order = {cause: place for place, cause in enumerate(CAUSES)}
    rows = [
        (share.item, (share.a or share.b or Credit("")).group, share.cause, points(share.points), *_both(share))
        for share in sorted(shares, key=lambda share: (order[share.cause], -abs(share.points), share.item))
        if share.item
    ]
    return pl.DataFrame(rows, schema=_ITEM_TYPES, orient="row")


def groups_table(groups: Sequence[tuple[str, Reconciled]]) -> pl.DataFrame:
    """One row per model and condition: both scores, the gap, and the points of each cause."""
    found = [(name, gap, {cause.cause: cause.points for cause in gap.causes}) for name, gap in groups]
    causes = [cause for cause in CAUSES if any(cause in by for _, _, by in found)]
    rows = [
        {"group": name, "a": float(gap.a.score), "b": float(gap.b.score), "gap": points(gap.gap)}
        | {cause: points(by.get(cause, Fraction(0))) for cause in causes}
        for name, gap, by in found
    ]
    return pl.DataFrame(rows).sort("gap", "group") if rows else pl.DataFrame()


def _both(share: Share) -> tuple[str | float | None, ...]:
    a, b = share.a, share.b
    return (
        *(credit and credit.shown for credit in (a, b)),
        *(None if credit is None or credit.score is None else float(credit.score) for credit in (a, b)),
        *(credit and credit.gold for credit in (a, b)),
        a and a.text,
        None if b is None or (a is not None and a.says_as(b)) else b.text,
    )
