"""A published number explained: the ways of counting that give it, and every point between it and our score."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import polars as pl

from eyetest.errors import InputError, short
from eyetest.measures.stats.chance import as_odd, exactly
from eyetest.results.reconcile import (
    Account,
    CauseTotal,
    Credit,
    Share,
    attribute,
    exact_sum,
    pairs_of,
    points,
    totals,
)

_NUMBER = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?\s?(%?)")
_COUNT = re.compile(r"(\d{1,9})/(\d{1,9})")
_LEAST_CHANCE = 0.001  # guesses with a lower probability of such a deviation do not explain a number
_ZERO = Fraction(0)
GUESSERS = ("lmms-eval", "mmmu", "vlmevalkit")
"""Rule sets of tools that guess at random where they read nothing, where guessing is no departure."""
Categories = Mapping[str, Mapping[str, str]]  # by tag, each item's value


class Published(NamedTuple):
    """A printed number: ``54.0``, ``54 %``, ``0.540``, or as a count, ``698/1730``."""

    text: str
    value: Fraction
    step: Fraction  # the unit of its last digit; 0 for a count, which is exact

    def reached(self, score: Fraction) -> str:
        """How a score becomes the number: exact, rounded or cut off; empty where it does not."""
        if score == self.value:
            return "exact"
        if abs(score - self.value) <= self.step / 2:
            return "rounded"
        return "cut off" if self.value < score < self.value + self.step else ""


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
    average: str
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
        parts += [f"mean over {self.average}"] if self.average else []
        return ", ".join(parts)

    @property
    def departures(self) -> int:
        """The number of unusual choices; of two ways that give the number the more usual one is likelier."""
        native = "guessed" if self.rules in GUESSERS else "wrong"
        return (
            (self.rules not in ("eyetest", "given"))
            + (self.unread not in ("", native))
            + (self.errors == "wrong")
            + bool(self.average)
        )


def reckonings(accounts: Mapping[str, Account], categories: Categories, number: Published) -> list[Reckoning]:
    """Every way of counting; those that give the number first, then the nearest."""
    found = [
        _compared(Reckoning(rules, unread, errors, average, counted, mean), number)
        for rules, account in accounts.items()
        for unread, errors, counted in _countings(rules, account)
        for average, mean in _means(counted, {} if unread == "guessed" else categories)
    ]
    return sorted(
        found,
        key=lambda way: (
            not way.reached,
            *((way.departures, -(1.0 if way.chance is None else way.chance)) if way.reached else ()),
            abs(way.score - number.value),
            way.departures,
            way.words,
        ),
    )


def _countings(rules: str, account: Account) -> Iterator[tuple[str, str, Account]]:
    """How unread replies and failed calls may be counted."""
    credits_ = account.credits
    some_unread = any(credit.reader == "none" and not credit.failed for credit in credits_)
    can_guess = some_unread and any(_is_guessed(rules, credit) for credit in credits_)
    ways = [*(("wrong", "left out") if some_unread else ("",)), *(("guessed",) if can_guess else ())]
    errors = ("left out", "wrong") if any(credit.failed for credit in credits_) else ("",)
    for unread, failed in product(ways, errors):
        rows = tuple(
            _counted(rules, credit, unread, failed) if credit.failed or credit.reader == "none" else credit
            for credit in credits_
        )
        counted = account._replace(credits=rows)
        if counted.counted:
            yield unread, failed, counted


def _is_guessed(rules: str, credit: Credit) -> bool:
    """Whether a reply would be guessed; VLMEvalKit counts what it takes for a refusal as wrong."""
    is_refusal = rules == "vlmevalkit" and credit.kind == "refused"
    return credit.reader == "none" and not credit.failed and credit.options > 0 and not is_refusal


def _counted(rules: str, credit: Credit, unread: str, failed: str) -> Credit:
    """A failed or unread row, as one way counts it."""
    if credit.failed:
        return credit._replace(score=_ZERO if failed == "wrong" else None)
    if credit.score is None:
        return credit
    if unread == "guessed" and _is_guessed(rules, credit):
        golds = len((credit.gold or "").split())
        return credit._replace(score=_chance(golds, credit.options), reader="guess")
    return credit._replace(score=None if unread == "left out" else _ZERO)


@lru_cache(maxsize=1_000)
def _chance(golds: int, options: int) -> Fraction:
    """The chance of a guess; equal ones are one object, for fast sums."""
    return Fraction(golds, options)


def _means(account: Account, categories: Categories) -> Iterator[tuple[str, Fraction]]:
    """The mean over rows, and those over the means of categories."""
    yield "", account.score
    rows = [row for row in account.credits if row.score is not None]
    items, worth = [row.item for row in rows], {id(row.score): row.score or _ZERO for row in rows}
    scores = [id(row.score) for row in rows]
    for tag, values in categories.items():
        names = [*map(values.get, items)]
        sizes, alike = Counter(names), Counter(zip(names, scores, strict=True))
        means = exact_sum(worth[score] * Fraction(number, sizes[name]) for (name, score), number in alike.items())
        yield tag, means / len(sizes)


def _weights(account: Account, categories: Mapping[str, str]) -> list[tuple[Credit, Fraction]]:
    """The weight of each row where categories weigh the same."""
    rows = defaultdict[str, list[Credit]](list)
    for credit in account.credits:
        if credit.score is not None:
            rows[categories.get(credit.item, "")].append(credit)
    return [(credit, Fraction(1, len(rows) * len(part))) for part in rows.values() for credit in part]


def _compared(way: Reckoning, number: Published) -> Reckoning:
    """A way, with whether it gives the number."""
    if way.unread != "guessed":
        return way._replace(reached=number.reached(way.score))
    guesses = way.account.guesses
    chances = [float(chance) for chance in guesses]
    counted = way.account.counted
    sure = way.score * counted - sum(guesses)
    odds = exactly(chances)
    fitting = [hits for hits in range(len(guesses) + 1) if number.reached((sure + hits) / counted)]
    likely = max(fitting, key=odds.__getitem__, default=None)
    if likely is None or as_odd(likely, chances) < _LEAST_CHANCE:
        return way
    return way._replace(reached="by chance", chance=float(odds[fitting].sum()), guessed_right=likely)


class ExplainedNumber(NamedTuple):
    """A published number, the score of the likeliest way of counting, and every point in between."""

    number: Published
    a: Account
    ways: tuple[Reckoning, ...]
    shares: tuple[Share, ...]

    @property
    def gap(self) -> Fraction:
        """The published number minus ours."""
        return self.number.value - self.a.score

    @property
    def causes(self) -> list[CauseTotal]:
        """Each cause with its points, largest first."""
        return totals(self.shares)


def explained(
    ours: Account, accounts: Mapping[str, Account], categories: Categories, number: Published
) -> ExplainedNumber:
    """Attribute every point between our score and a published number."""
    ways = reckonings(accounts, categories, number)
    way = ways[0]
    shares = attribute(pairs_of(ours, way.account))
    if way.average:
        even = Fraction(1, way.account.counted)
        weighed = _weights(way.account, categories[way.average])
        moved = [(credit, (credit.score or 0) * (weight - even)) for credit, weight in weighed]
        shares += [Share("average", points, None, credit) for credit, points in moved if points]
    rest = number.value - way.score
    if way.chance is not None:
        chance = Fraction(way.guessed_right - sum(way.account.guesses), way.account.counted)
        shares.append(Share("chance", chance, None, None))
        rest -= chance
    if rest:
        shares.append(Share("rounding" if way.reached else "unexplained", rest, None, None))
    return ExplainedNumber(number, ours, tuple(ways), tuple(shares))


def categories_of(tags: Mapping[str, Mapping[str, str]], items: Sequence[str], most: int = 100) -> Categories:
    """The tags for a mean over categories: present on every item, with few values."""
    return {
        tag: values
        for tag, values in tags.items()
        if all(item in values for item in items) and 1 < len({values[item] for item in items}) <= most
    }


def ways_table(ways: Iterable[Reckoning], number: Fraction) -> pl.DataFrame:
    """One row per way of counting."""
    rows = [
        (way.words, float(way.score), way.reached, way.chance, points(way.score - number), way.account.counted)
        for way in ways
    ]
    schema = {"way": pl.String, "score": pl.Float64, "gives it": pl.String, "chance": pl.Float64, "off": pl.Float64}
    return pl.DataFrame(rows, schema=schema | {"counted": pl.Int64}, orient="row")
