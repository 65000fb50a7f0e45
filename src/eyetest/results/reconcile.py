"""Why two scores of a run differ: every point of the gap, by item and cause, in exact fractions.

Changes of credit, and rows that only one side counts, come in both orders, whose shares are averaged. A published
number is explained by the ways of counting that give it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product, zip_longest
from typing import Literal, NamedTuple

import polars as pl

from eyetest.errors import InputError, short
from eyetest.measures.stats.chance import as_odd, exactly

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
        return sum(scores, Fraction(0)) / (len(scores) or 1)

    @property
    def groups(self) -> list[str]:
        """The models and conditions."""
        return list(dict.fromkeys(credit.group for credit in self.credits))


CAUSES = {
    "reading": "the same reply, read as another answer",
    "unread": "read by one, not by the other",
    "judge": "a judge model decided for one of them",
    "guess": "drawn at random where nothing was read",
    "errors": "a failed call: counted, left out, answered",
    "truncated": "one reply is the beginning of the other",
    "dropped": "the item is missing on one side",
    "duplicate": "the item has more rows on one side",
    "gold": "the sides hold different answers right",
    "replies": "other replies: not the same run",
    "metric": "same reading and gold, other credit",
    "unscored": "one gives the row no score",
    "chance": "guesses came out other than expected",
    "rounding": "the number has so few digits",
    "unexplained": "no known way of counting gives it",
}
OF_NO_ITEM = ("chance", "rounding", "unexplained")  # causes that belong to no row
_CUT = 20  # a shorter beginning may be another reply


Pair = tuple[Credit | None, Credit | None]
"""An answer on both sides; None where a side lacks it."""


def _by_question(a: Account, b: Account) -> list[tuple[list[Credit], list[Credit]]]:
    """The rows of both accounts by model and item; also by test, where both sides have several."""
    tested = all(len({credit.test for credit in account.credits}) > 1 for account in (a, b))
    rows = defaultdict[tuple[str, str, str], tuple[list[Credit], list[Credit]]](lambda: ([], []))
    for side, account in enumerate((a, b)):
        for credit in account.credits:
            rows[credit.group, credit.item, credit.test if tested else ""][side].append(credit)
    return [*rows.values()]


def paired_by_order(a: Account, b: Account) -> int:
    """How many questions have several replies on a side, which nothing but their order assigns to the other's."""
    return sum(all(rows) and max(map(len, rows)) > 1 for rows in _by_question(a, b))


def pairs_of(a: Account, b: Account) -> list[tuple[Pair, str]]:
    """Every row of both accounts once, with its counterpart, or alone and why; replies to one question in order."""
    return [
        (pair, "duplicate" if ours and theirs else "dropped")
        for ours, theirs in _by_question(a, b)
        for pair in zip_longest(ours, theirs)
    ]


def parts_of(a: Credit, b: Credit) -> list[tuple[str, Fraction]]:
    """The changes in a row that both count, by cause; one of reading and gold is shared evenly (Shapley)."""
    assert a.score is not None and b.score is not None  # noqa: PT018 (mypy reads both)
    change = b.score - a.score
    golds_differ = a.gold is not None and b.gold is not None and a.gold != b.gold
    if not golds_differ:
        return [(_read_cause(a, b), change)]
    if not (_explained(a) and _explained(b)):
        same = a.says_as(b) and (a.reading == b.reading or a.reading is None or b.reading is None)
        return [("gold" if same or not change else _read_cause(a, b), change)]
    crossed = Fraction(_is_right(b, a)) - Fraction(_is_right(a, b))
    read = (crossed + change) / 2
    parts = [(_read_cause(a, b), read), ("gold", change - read)]
    return [part for part in parts if part[1]] or [("gold", Fraction(0))]


def _is_right(read: Credit, by: Credit) -> bool:
    return read.reading is not None and read.reading in (by.gold or "").split()


def _explained(credit: Credit) -> bool:
    """Whether the score follows from the reading, or its absence, and a gold of letters."""
    known = credit.reading is not None or credit.reader == "none"
    letters = all(len(word) == 1 for word in (credit.gold or "").split())
    return known and letters and not credit.by_text and credit.score == int(_is_right(credit, credit))


def _read_cause(a: Credit, b: Credit) -> str:
    """Why the two sides read an answer differently."""
    if a.failed or b.failed:
        return "errors"
    if a.text is not None and b.text is not None and not a.says_as(b):
        shorter, longer = sorted((a.words or "", b.words or ""), key=len)
        is_cut = len(shorter) >= _CUT and longer.startswith(shorter)
        return "truncated" if is_cut or a.truncated or b.truncated else "replies"
    for reader, cause in (("guess", "guess"), ("judge", "judge"), ("none", "unread")):
        if (a.reader == reader) != (b.reader == reader) or (a.reader == reader == "guess"):
            return cause
    known = a.reading is not None and b.reading is not None
    if a.by_text or b.by_text or (known and a.reading == b.reading):
        return "metric"
    return "reading"


def left_out_cause(pair: Pair, alone: str) -> str:
    """Why only one side counts a row; ``alone``: why, if the other side has none."""
    a, b = pair
    other = b if a is not None and a.score is not None else a
    if other is None:
        return alone
    if any(side is not None and side.failed for side in pair):
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


class Reconciled(NamedTuple):
    """The gap between two scores, and its parts."""

    a: Account
    b: "Account | Published"
    shares: tuple[Share, ...]

    @property
    def gap(self) -> Fraction:
        """B minus A."""
        return self.b.score - self.a.score

    @property
    def causes(self) -> pl.DataFrame:
        """One row per cause, largest first; ``rows`` also counts those without effect, ``up`` those better in B."""
        moves: dict[str, list[Fraction]] = defaultdict(list)
        for share in self.shares:
            moves[share.cause].append(share.points)
        rows = [
            (
                cause,
                0 if cause in OF_NO_ITEM else len(moves[cause]),
                sum(move > 0 for move in moves[cause]),
                sum(move < 0 for move in moves[cause]),
                points(sum(moves[cause], Fraction(0))),
                meaning,
            )
            for cause, meaning in CAUSES.items()
            if cause in moves
        ]
        rows.sort(key=lambda row: -abs(row[4]))
        return pl.DataFrame(rows, schema=_CAUSE_TYPES, orient="row")


def reconciled(a: Account, b: Account) -> Reconciled:
    """Attribute every point between two accounts to a row."""
    for account in (a, b):
        if not account.counted:
            raise InputError(f"{account.name}: none of its {len(account.credits):,} rows has a score")
    return Reconciled(a, b, tuple(attribute(a, b)))


def attribute(a: Account, b: Account) -> list[Share]:
    """The contribution of each row to the gap; rows without a difference are left out."""
    pairs, n, m = pairs_of(a, b), a.counted, b.counted
    both = [(a.score, b.score) for (a, b), _ in pairs if a and b and a.score is not None and b.score is not None]
    moved = sum((after - before for before, after in both), Fraction(0))
    as_a, as_b = a.score + moved / n, b.score - moved / m  # the means with the credits of the other side
    per_row = (Fraction(1, n) + Fraction(1, m)) / 2
    shares = []
    for pair, why in pairs:
        ours, theirs = (credit if credit and credit.score is not None else None for credit in pair)
        if ours and theirs:
            parts = parts_of(ours, theirs) if _differs(ours, theirs) else []
            shares += [Share(cause, change * per_row, ours, theirs) for cause, change in parts]
        elif (alone := ours or theirs) and alone.score is not None:
            worth = ((alone.score - as_a) / m + (alone.score - as_b) / n) / 2
            shares.append(Share(left_out_cause(pair, why), -worth if ours else worth, *pair))
    return shares


def _differs(a: Credit, b: Credit) -> bool:
    """Whether the sides disagree about a row, even without effect."""
    if a.score != b.score:
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


def items_table(shares: Iterable[Share]) -> pl.DataFrame:
    """One row per item and cause; by cause, largest first."""
    order = {cause: place for place, cause in enumerate(CAUSES)}
    rows = [
        (share.item, (share.a or share.b or Credit("")).group, share.cause, points(share.points), *_both(share))
        for share in sorted(shares, key=lambda share: (order[share.cause], -abs(share.points), share.item))
        if share.item
    ]
    return pl.DataFrame(rows, schema=_ITEM_TYPES, orient="row")


def _both(share: Share) -> tuple[str | float | None, ...]:
    a, b = share.a, share.b
    return (
        *(credit and credit.shown for credit in (a, b)),
        *(None if credit is None or credit.score is None else float(credit.score) for credit in (a, b)),
        *(credit and credit.gold for credit in (a, b)),
        a and a.text,
        None if b is None or (a is not None and a.says_as(b)) else b.text,
    )


_NUMBER = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?\s?(%?)")
_COUNT = re.compile(r"(\d{1,9})/(\d{1,9})")
_LEAST_CHANCE = 0.001  # guesses with a lower probability of such a deviation do not explain a number
GUESSERS = ("lmms-eval", "mmmu", "vlmevalkit")
"""Rule sets of tools that guess at random where they read nothing, where guessing is no departure."""


class Published(NamedTuple):
    """A printed number: ``54.0``, ``54 %``, ``0.540``, or as a count, ``698/1730``."""

    text: str
    score: Fraction
    step: Fraction  # the unit of its last digit; 0 for a count, which is exact
    name: str = "published"
    counted: int = 0  # how many rows it is over is unknown

    def reached(self, score: Fraction) -> str:
        """How a score becomes the number: exact, rounded or cut off; empty where it does not."""
        if score == self.score:
            return "exact"
        if abs(score - self.score) <= self.step / 2:
            return "rounded"
        return "cut off" if self.score < score < self.score + self.step else ""


def read_published(text: str) -> Published | None:
    """The number in a word; None without one. A number above 1 is in percent."""
    word = text.strip()
    if count := _COUNT.fullmatch(word):
        right, number = int(count[1]), int(count[2])
        if not number or right > number:
            raise InputError(f"{short(text)} is no score: expected so many right of so many")
        return Published(word, Fraction(right, number), Fraction(0))
    if not (found := _NUMBER.fullmatch(word)):
        return None
    value, step = Fraction(f"{found[1]}.{found[2] or 0}"), Fraction(1, 10 ** len(found[2] or ""))
    if found[3] or value > 1:
        value, step = value / 100, step / 100
    if value > 1:
        raise InputError(f"{short(text)} is no score: expected one from 0 to 100")
    return Published(word, value, step)


class Reckoning(NamedTuple):
    """A way of counting, and its score."""

    rules: str
    unread: str
    errors: str
    account: Account
    score: Fraction
    reached: str = ""  # how it gives the published number; empty where it does not
    chance: float | None = None  # the probability that guesses give exactly that number
    guessed_right: int = 0

    @property
    def words(self) -> str:
        """The way, for display."""
        parts = [f"rules {self.rules}" if self.rules != "given" else "the scores that came along"]
        parts += [f"unread {self.unread}"] if self.unread else []
        parts += [f"failed calls {self.errors}"] if self.errors else []
        return ", ".join(parts)

    @property
    def departures(self) -> int:
        """The number of unusual choices; of two ways that give the number the more usual one is likelier."""
        native = "guessed" if self.rules in GUESSERS else "wrong"
        unusual_rules = self.rules not in ("eyetest", "given")
        return unusual_rules + (self.unread not in ("", native)) + (self.errors == "wrong")

    @property
    def guesses(self) -> list[Fraction]:
        """The expected score of each guessed reply."""
        rows = self.account.credits
        return [row.score for row in rows if row.reader == "guess" and row.score is not None]


def reckonings(accounts: Mapping[str, Account], number: Published) -> list[Reckoning]:
    """Every way of counting; those that give the number first, then the nearest."""
    found = [
        _compared(Reckoning(rules, unread, errors, counted, counted.score), number)
        for rules, account in accounts.items()
        for unread, errors, counted in _countings(rules, account)
    ]
    return sorted(
        found,
        key=lambda way: (
            not way.reached,
            *((way.departures, -(1.0 if way.chance is None else way.chance)) if way.reached else ()),
            abs(way.score - number.score),
            way.departures,
            way.words,
        ),
    )


def _countings(rules: str, account: Account) -> Iterator[tuple[str, str, Account]]:
    """How unread replies and failed calls may be counted."""
    credits_ = account.credits
    some_unread = any(credit.reader == "none" and not credit.failed for credit in credits_)
    can_guess = any(_is_guessed(rules, credit) for credit in credits_)
    ways = [*(("wrong", "left out") if some_unread else ("",)), *(("guessed",) if can_guess else ())]
    errors = ("left out", "wrong") if any(credit.failed for credit in credits_) else ("",)
    for unread, failed in product(ways, errors):
        counted = account._replace(credits=tuple(_counted(rules, credit, unread, failed) for credit in credits_))
        if counted.counted:
            yield unread, failed, counted


def _is_guessed(rules: str, credit: Credit) -> bool:
    """Whether a reply would be guessed; VLMEvalKit counts what it takes for a refusal as wrong."""
    is_refusal = rules == "vlmevalkit" and credit.kind == "refused"
    return credit.reader == "none" and not credit.failed and credit.options > 0 and not is_refusal


def _counted(rules: str, credit: Credit, unread: str, failed: str) -> Credit:
    """A row as one way counts it."""
    if credit.failed:
        return credit._replace(score=Fraction(0) if failed == "wrong" else None)
    if credit.score is None or credit.reader != "none":
        return credit
    if unread == "guessed" and _is_guessed(rules, credit):
        golds = len((credit.gold or "").split())
        return credit._replace(score=Fraction(golds, credit.options), reader="guess")
    return credit._replace(score=None if unread == "left out" else Fraction(0))


def _compared(way: Reckoning, number: Published) -> Reckoning:
    """A way, with whether it gives the number."""
    if way.unread != "guessed":
        return way._replace(reached=number.reached(way.score))
    chances = [float(chance) for chance in way.guesses]
    counted = way.account.counted
    sure = way.score * counted - sum(way.guesses)
    odds = exactly(chances)
    fitting = [hits for hits in range(len(chances) + 1) if number.reached((sure + hits) / counted)]
    likely = max(fitting, key=odds.__getitem__, default=None)
    if likely is None or as_odd(likely, chances) < _LEAST_CHANCE:
        return way
    return way._replace(reached="by chance", chance=float(odds[fitting].sum()), guessed_right=likely)


def explained(
    ours: Account, accounts: Mapping[str, Account], number: Published
) -> tuple[Reconciled, list[Reckoning]]:
    """Attribute every point between our score and a published number; and every way of counting, likeliest first."""
    ways = reckonings(accounts, number)
    way = ways[0]
    shares = attribute(ours, way.account)
    rest = number.score - way.score
    if way.chance is not None:
        chance = Fraction(way.guessed_right - sum(way.guesses), way.account.counted)
        shares.append(Share("chance", chance, None, None))
        rest -= chance
    if rest:
        shares.append(Share("rounding" if way.reached else "unexplained", rest, None, None))
    return Reconciled(ours, number, tuple(shares)), ways


def ways_table(ways: Iterable[Reckoning], number: Published) -> pl.DataFrame:
    """One row per way of counting."""
    rows = [
        (way.words, float(way.score), way.reached, way.chance, points(way.score - number.score), way.account.counted)
        for way in ways
    ]
    schema = {"way": pl.String, "score": pl.Float64, "gives it": pl.String, "chance": pl.Float64, "off": pl.Float64}
    return pl.DataFrame(rows, schema=schema | {"counted": pl.Int64}, orient="row")
