"""Judgements of findings and controls by a reader who did not know which is which, and precision by them."""

import csv
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from eyetest.measures.stats.intervals import IntervalEstimate, wilson

LABEL_ERROR = "label-error"
FINDING, CONTROL = "finding", "control"
DRAWN = {
    FINDING: "of this list",
    "without tasks": "of the list without tasks, and not of this one",
    CONTROL: "controls, at random from all others",
}
"""From where an item was drawn to be judged."""
FLAWED = ("gold wrong", "two right", "unanswerable", "same", "broken", "found")
SOUND = ("gold right", "variant", "different", "harmless", "sound", "not found")
UNKNOWN = "cannot tell"


class Judgement(NamedTuple):
    """A judged item, or two; all of a benchmark were shuffled together before."""

    benchmark: str
    kind: str
    """Of the finding; a control is compared with findings of its kind."""
    item: str
    drawn: str
    seen: str
    """``image``, or ``words`` where there was no image."""
    judgement: str


class Checked(NamedTuple):
    """Judgements of what was drawn in one way."""

    looked: int
    images: int
    """How many of them with their image."""
    kinds: dict[str, int]
    flawed: IntervalEstimate
    """Of those that could be judged."""


def read_judgements(file: Path) -> list[Judgement]:
    """Every judgement; an unknown word is refused."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = [Judgement(**row) for row in csv.DictReader(lines)]
    checked_words(rows, file)
    return rows


def checked_words(rows: Iterable[Judgement], source: Path) -> None:
    """Refuse unknown words."""
    for row in rows:
        if row.judgement not in (*FLAWED, *SOUND, UNKNOWN) or row.drawn not in DRAWN:
            raise ValueError(f"{source}: {row.benchmark}: {row.item}: {row.drawn}, {row.judgement}")


def checked(rows: Iterable[Judgement]) -> Checked:
    """How many of some items are flawed, with an interval."""
    looked = list(rows)
    kinds = Counter(row.judgement for row in looked)
    flawed = wilson(sum(kinds[kind] for kind in FLAWED), len(looked) - kinds[UNKNOWN])
    return Checked(len(looked), sum(row.seen == "image" for row in looked), dict(sorted(kinds.items())), flawed)
