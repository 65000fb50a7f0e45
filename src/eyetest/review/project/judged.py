"""What every item of a review has come to, kept at hand: decisions are only ever added, so only new ones are read."""

import sqlite3
from collections.abc import Sequence
from threading import Lock
from typing import Literal, NamedTuple, get_args

from eyetest.records import Decision
from eyetest.review.decisions import Decided
from eyetest.review.project.plan import ReviewPlan
from eyetest.review.project.slots import outcome_in, read_records

ItemState = Literal["agreed", "adjudicated", "disputed", "begun", "untouched"]
STATES: tuple[ItemState, ...] = get_args(ItemState)
_Key = tuple[str, int, str, bool]
_REACHED = """
SELECT i.item, coalesce(max(s.round), 1) FROM items i LEFT JOIN slots s ON s.item = i.id GROUP BY i.id ORDER BY i.id
"""


class JudgedItem(NamedTuple):
    """An item with what it has come to, and every last word on it."""

    item: str
    outcome: Decided
    said: Sequence[Decision]

    @property
    def state(self) -> ItemState:
        """How far it is."""
        if any(one.adjudicates for one in self.said):
            return "adjudicated"
        if self.outcome.verdict != "review":
            return "agreed"
        if self.outcome.disputed:
            return "disputed"
        return "begun" if self.said else "untouched"


class JudgedReview(NamedTuple):
    """All items in the order of the queue, and all last words in the order in which people first said something."""

    items: Sequence[JudgedItem]
    said: Sequence[Decision]
    decisions: int
    """How many were ever made."""


class JudgedItems:
    """Reads what was decided since it last looked, and judges the items anew that this is about."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._plan: ReviewPlan | None = None
        self._forget()

    def _forget(self) -> None:
        self._last = self._count = 0
        self._words: dict[_Key, list[Decision]] = {}
        self._keys: dict[str, list[_Key]] = {}
        self._judged: dict[str, tuple[int, JudgedItem]] = {}

    def look(self, connection: sqlite3.Connection, plan: ReviewPlan) -> JudgedReview:
        """How everything stands by now."""
        with self._lock:
            if plan is not self._plan:
                self._forget()
                self._plan = plan
            changed = self._read(connection)
            reached = connection.execute(_REACHED).fetchall()
            items = [self._item(item, number, plan, anew=item in changed) for item, number in reached]
            said = [words[-1] for words in self._words.values() if words]
            return JudgedReview(items, said, self._count)

    def _read(self, connection: sqlite3.Connection) -> set[str]:
        """Take in what is new, as `standing` would; gives the items that it is about."""
        rows = connection.execute(
            "SELECT id, record FROM decisions WHERE id > ? ORDER BY id", (self._last,)
        ).fetchall()
        fresh = read_records((record,) for _, record in rows)
        for one in fresh:
            key = (one.item, one.round, one.reviewer, one.adjudicates)
            if key not in self._words:
                self._words[key] = []
                self._keys.setdefault(one.item, []).append(key)
            if one.decision != "undo":
                self._words[key].append(one)
            elif self._words[key]:
                self._words[key].pop()
        if rows:
            self._last, self._count = rows[-1][0], self._count + len(rows)
        return {one.item for one in fresh}

    def _item(self, item: str, number: int, plan: ReviewPlan, *, anew: bool) -> JudgedItem:
        before = self._judged.get(item)
        if before is not None and before[0] == number and not anew:
            return before[1]
        said = tuple(words[-1] for key in self._keys.get(item, ()) if (words := self._words[key]))
        judged = JudgedItem(item, outcome_in(plan, said, number), said)
        self._judged[item] = (number, judged)
        return judged
