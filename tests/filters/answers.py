"""What panels say, written short: a digit or a word an answer, a list a seat, a list of seats an item."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from eyetest.filters import FILTERS, Evidence, FilterInput, Seat
from eyetest.records import Choice, Item, Stage, Verdict

Word = int | float | str | None
"""1 right, 0 wrong, another number the score, None not asked, a letter an option without a score, or a kind."""
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


def evidence(table: Table, tests: int | None = None, metric: str = "accuracy") -> Evidence:
    """Evidence of a table; the request of an answer says whose it is: ``item/seat/test``."""
    rows: list[dict[str, Any]] = []
    for item, of_seats in table.items():
        for seat, words in enumerate(of_seats):
            for test, word in enumerate(words):
                stated = int(word) if isinstance(word, str) and word.isdigit() else word
                if stated is None or stated == "-":
                    continue
                letter = stated if isinstance(stated, str) and stated not in KINDS else None
                number = 0.0 if isinstance(stated, str) else stated
                outcome, reading, score = KINDS.get(str(stated), ("answered", "chosen", number))
                row = {"item": item, "model": f"m{seat}", "order": 0, "sample": test, "outcome": outcome}
                row |= {"request": f"{item}/{seat}/{test}", "reading": reading, "choice": letter}
                rows.append(row | {"metric": metric, "score": score})
    first = next(iter(table.values()))
    longest = tests if tests is not None else max(len(words) for words in first)
    return Evidence(pl.DataFrame(rows, schema=_SCHEMA), seats(len(first)), longest)


def item(name: str, options: int = 4, gold: int | tuple[int, ...] = 0, **more: Any) -> Item:
    golds = (gold,) if isinstance(gold, int) else gold
    choices = tuple(Choice(f"option {place}", place in golds) for place in range(options))
    return Item(id=name, question=f"{name}?", choices=choices, **more)


def verdicts_on(stage: Stage, items: Sequence[Item], received: Evidence, **more: Any) -> list[Verdict]:
    """What a stage says, one verdict for each item; a panel has the recipe's size, unless stated otherwise."""
    more.setdefault("seats", [Seat(name) for name in received.seats])
    more.setdefault("size", len(received.seats))
    found = FilterInput(stage, items, received, **more)
    rows = list(FILTERS[stage.filter or stage.grade or ""].judge(found))
    assert [row.item for row in rows] == [one.id for one in items]
    assert {row.stage for row in rows} <= {stage.title}
    return rows


def judged(
    stage: Stage, table: Table, *, tests: int | None = None, metric: str = "accuracy", **more: Any
) -> dict[str, Verdict]:
    """What a stage says of a table, by item."""
    received = evidence(table, tests, metric)
    return {row.item: row for row in verdicts_on(stage, [item(name) for name in table], received, **more)}


def words(found: Mapping[str, Verdict]) -> dict[str, str]:
    return {name: row.verdict for name, row in found.items()}


def stage(**fields: Any) -> Stage:
    """A stage as a recipe writes it."""
    return msgspec.convert(fields, Stage)


def reported(verdict: Verdict) -> Any:
    """What evidence says."""
    return msgspec.json.decode(verdict.evidence) if verdict.evidence else {}
