"""What a reader saw who opened items, before any hint, and what share of a list is flawed by it."""

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from eyetest.measures.stats.intervals import IntervalEstimate, wilson

FLAWED = ("gold wrong", "two right", "unanswerable")
SOUND = "gold right"
UNKNOWN = "cannot tell"
DRAWN = {
    "queue": "of this list",
    "without tasks": "of the list without tasks, and not of this one",
    "control": "controls, at random from all others",
}
"""From where an item was drawn to be looked at."""
QUEUE = "queue"


class Judgement(NamedTuple):
    """One item as it was judged; all of a benchmark were shuffled together before anybody looked."""

    benchmark: str
    item: str
    drawn: str
    seen: str
    """``image``, or ``words`` where there was no image."""
    judgement: str


class Checked(NamedTuple):
    """What came of looking at items that were drawn in one way."""

    looked: int
    images: int
    """How many of them with their image."""
    kinds: dict[str, int]
    flawed: IntervalEstimate
    """Of those that could be judged."""


def read_judgements(file: Path) -> list[Judgement]:
    """Every judgement; a word that is none of ours is refused."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = [Judgement(**row) for row in csv.DictReader(lines)]
    for row in rows:
        if row.judgement not in (*FLAWED, SOUND, UNKNOWN) or row.drawn not in DRAWN:
            raise ValueError(f"{file}: {row.item}: {row.drawn}, {row.judgement}")
    return rows


def checked(rows: Iterable[Judgement]) -> Checked:
    """How many of some items are flawed, with an interval."""
    looked = list(rows)
    kinds = Counter(row.judgement for row in looked)
    flawed = wilson(sum(kinds[kind] for kind in FLAWED), len(looked) - kinds[UNKNOWN])
    return Checked(len(looked), sum(row.seen == "image" for row in looked), dict(sorted(kinds.items())), flawed)
