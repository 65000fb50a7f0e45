"""A published number explained: the ways of counting that give it, and every point between it and our score."""

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import polars as pl

from eyetest.errors import InputError, short
from eyetest.measures.stats.chance import as_odd, exactly
from eyetest.results.reconcile import Account, Credit, Reconciled, Share, attribute, points

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
