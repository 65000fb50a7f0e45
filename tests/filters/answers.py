"""What panels say, written short: a digit or a word an answer, a list a seat, a list of seats an item."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from eyetest.filters import FILTERS, Evidence, FilterInput, Seat
from eyetest.records import Choice, Item, Stage, Verdict

Word = int | float | str | None
"""1 right, 0 wrong, another number the score itself, None not asked, or a kind: ``failed``, ``refused`` …"""
Table = Mapping[str, Sequence[Sequence[Word] | str]]
KINDS: dict[str, tuple[str, str | None, float | None]] = {
    "failed": ("failed", None, None),
    "blocked": ("blocked", None, 0.0),
    "refused": ("answered", "refused", 0.0),
    "ambiguous": ("answered", "ambiguous", 0.0),
    "unparsed": ("answered", "unparsed", 0.0),
}
_SCHEMA: dict[str, type[pl.DataType]] = {
    **{"item": pl.String, "model": pl.String, "order": pl.Int64, "sample": pl.Int64},
    **dict.fromkeys(("request", "outcome", "reading", "choice", "metric"), pl.String),
    "score": pl.Float64,
}


def seats(number: int) -> list[str]:
    return [f"m{place}" for place in range(number)]


def request(item: str, seat: int, test: int) -> str:
    """A request by which a test can see whose answer a verdict rests on."""
    return f"{item}/{seat}/{test}"


class NamedEvidence(Evidence):
    """Evidence that remembers its items, also those without answers."""

    names: list[str]


def evidence(table: Table, tests: int | None = None, metric: str = "accuracy") -> NamedEvidence:
    """Evidence of a table."""
    rows: list[dict[str, Any]] = []
    for item, of_seats in table.items():
        for seat, words in enumerate(of_seats):
            for test, word in enumerate(words):
                stated = int(word) if isinstance(word, str) and word.isdigit() else word
                if stated is None or stated == "-":
                    continue
                outcome, reading, score = KINDS[stated] if isinstance(stated, str) else ("answered", "chosen", stated)
                row = {"item": item, "model": f"m{seat}", "order": 0, "sample": test, "outcome": outcome}
                rows.append(
                    row | {"request": request(item, seat, test), "reading": reading, "metric": metric, "score": score}
                )
    first = next(iter(table.values()))
    longest = tests if tests is not None else max(len(words) for words in first)
    received = NamedEvidence(pl.DataFrame(rows, schema=_SCHEMA), seats(len(first)), longest)
    received.names = list(table)
    return received


def item(name: str, options: int = 4, gold: int | tuple[int, ...] = 0, **more: Any) -> Item:
    golds = (gold,) if isinstance(gold, int) else gold
    choices = tuple(Choice(f"option {place}", place in golds) for place in range(options))
    return Item(id=name, question=f"{name}?", choices=choices, **more)


def case(stage: Stage, received: NamedEvidence, **more: Any) -> FilterInput:
    """A stage before a panel that has as many seats as the recipe says, unless stated otherwise."""
    more.setdefault("items", [item(name) for name in received.names])
    more.setdefault("seats", [Seat(name) for name in received.seats])
    more.setdefault("size", len(received.seats))
    return FilterInput(stage, evidence=received, **more)


def judged(stage: Stage, received: NamedEvidence, **more: Any) -> dict[str, Verdict]:
    """What a stage says, by item; one verdict for each, in the items' order."""
    found = case(stage, received, **more)
    rows = list(FILTERS[stage.filter or stage.grade or ""].judge(found))
    assert [row.item for row in rows] == [one.id for one in found.items]
    assert {row.stage for row in rows} <= {stage.title}
    return {row.item: row for row in rows}


def judge(rule: Stage, items: Sequence[Item], received: Evidence, **more: Any) -> list[Verdict]:
    """The verdicts of a stage on items by all that was received, from as many seats as the recipe says."""
    seats = more.pop("seats", None) or [Seat(name) for name in received.seats]
    return list(FILTERS[rule.filter or ""].judge(FilterInput(rule, items, received, seats, len(seats), **more)))


def words(found: Mapping[str, Verdict]) -> dict[str, str]:
    return {name: row.verdict for name, row in found.items()}


def stage(**fields: Any) -> Stage:
    """A stage as a recipe writes it."""
    return msgspec.convert(fields, Stage)


def reported(verdict: Verdict) -> Any:
    """What evidence says."""
    return msgspec.json.decode(verdict.evidence) if verdict.evidence else {}
