"""What people do in a review: take the next item, answer it, decide, withdraw."""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Unpack

import msgspec

from eyetest.errors import Forbidden, InputError, short
from eyetest.records import Decision, DecisionKind, Item
from eyetest.review.checks import check_decision, check_kind, short_enough
from eyetest.review.decisions import Decided
from eyetest.review.project import slots
from eyetest.review.project.database import ReviewDatabase
from eyetest.review.project.plan import DECIDES, DecisionDetails, Person, ReviewPlan, Task
from eyetest.review.project.slots import Slot

_LONGEST_NONCE = 200
UNANSWERED = "answer the item first; its gold is shown afterwards"


class ProjectWork:
    """Items, slots and decisions of a review."""

    database: ReviewDatabase
    clock: Callable[[], float]
    plan: ReviewPlan
    item_of: Callable[[str], Item | None] | None = None
    """Where items are at hand: edits that make no sense of one are refused before they are kept."""

    def add_items(self, ids: Iterable[str], round: int | None = None) -> int:  # noqa: A002 (a decision's own word)
        """Ask people about more items, in a round or in all of them; gives how many are new."""
        with self.database.write() as connection:
            return self._add(connection, ids, round)

    def _add(self, connection: sqlite3.Connection, ids: Iterable[str], number: int | None) -> int:
        names = list(ids)
        before = connection.total_changes
        connection.executemany("INSERT OR IGNORE INTO items (item) VALUES (?)", ((name,) for name in names))
        added = connection.total_changes - before
        slots.add_slots(connection, self.plan, names, number)
        return added

    def await_only(self, waiting: Mapping[int, Sequence[str]]) -> int:
        """Ask about these items in these rounds and no others; gives how many slots are new or open again.

        What was decided stays. So a refinement that was run again hands over what waits now.
        """
        with self.database.write() as connection:
            before = _unfinished(connection)
            kept = {(item, number) for number, ids in waiting.items() for item in ids}
            for number, ids in sorted(waiting.items()):
                self._add(connection, ids, number)
            gone = [
                (id_, number)
                for id_, item, number in connection.execute(
                    "SELECT DISTINCT i.id, i.item, s.round FROM slots s JOIN items i ON i.id = s.item "
                    "WHERE s.state IN (0, 1, 2)"
                )
                if (item, number) not in kept
            ]
            connection.executemany(
                "UPDATE slots SET state = 4, person = NULL WHERE item = ? AND round = ? AND state IN (0, 1, 2)", gone
            )
            return len(_unfinished(connection) - before)

    def next_task(self, person: Person) -> Task | None:
        """What somebody is to look at next: theirs for half an hour. None where nothing waits that they may have."""
        with self.database.write(forced=False) as connection:
            self._refuse_idle(connection, person)
            slot = slots.take_next(connection, person, self.clock())
            return None if slot is None else self._task(connection, person, slot)

    def task(self, person: Person, item: str, round: int) -> Task:  # noqa: A002
        """An item that somebody has begun or decided about."""
        with self.database.read() as connection:
            slot = slots.slot_of(connection, person, self._row(connection, item), round)
            return self._task(connection, person, slot)

    def solve(self, person: Person, task: Task, answer: str) -> Task:
        """Answer an item before its gold is shown; the first answer stays. Empty: it cannot be answered."""
        with self.database.write() as connection:
            row = self._row(connection, task.item)
            slot = slots.slot_of(connection, person, row, task.round)
            told = (row, task.round, person.id, short_enough("answer", answer))
            connection.execute("INSERT OR IGNORE INTO solved VALUES (?, ?, ?, ?)", told)
            return self._task(connection, person, slot)

    def decide(
        self, person: Person, task: Task, kind: DecisionKind, *, nonce: str, **said: Unpack[DecisionDetails]
    ) -> Decision:
        """Keep somebody's decision. Sent twice with the same nonce it is one decision."""
        check_kind(kind)
        with self.database.write() as connection:
            if (before := self._before(connection, person, nonce)) is not None:
                return before
            self._refuse_idle(connection, person)
            slot = slots.slot_of(connection, person, self._row(connection, task.item), task.round)
            current = self._task(connection, person, slot)
            if current.unsolved:
                raise Forbidden(UNANSWERED)
            decision = self._said(person, current, kind, said, slot)
            self._append(connection, person, slot, decision, nonce)
            return decision

    def undo(self, person: Person, item: str, round: int, nonce: str) -> Decision:  # noqa: A002
        """Withdraw what somebody last decided about an item in a round; it is theirs again."""
        with self.database.write() as connection:
            if (before := self._before(connection, person, nonce)) is not None:
                return before
            slot = slots.slot_of(connection, person, self._row(connection, item), round)
            if slots.last_word(connection, person, slot) is None:
                raise InputError("there is nothing of yours to withdraw here")
            about = {"item": item, "round": round, "reviewer": person.name, "adjudicates": slot.adjudicates}
            decision = Decision(**about, time=self._now(), decision="undo")  # type: ignore[arg-type]
            self._append(connection, person, slot, decision, nonce)
            return decision

    def decisions(self, person: Person | None = None) -> list[Decision]:
        """Everything that was decided, by everybody or by one, in order."""
        with self.database.read() as connection:
            if person is None:
                return slots.read_records(connection.execute("SELECT record FROM decisions ORDER BY id"))
            mine = "SELECT record FROM decisions WHERE person = ? ORDER BY id"
            return slots.read_records(connection.execute(mine, (person.id,)))

    def outcome(self, item: str) -> Decided:
        """What people came to about an item: in all rounds, or in the last that it reached."""
        with self.database.read() as connection:
            row = self._row(connection, item)
            (number,) = connection.execute("SELECT max(round) FROM slots WHERE item = ?", (row,)).fetchone()
            return slots.outcome_in(self.plan, slots.decisions_on(connection, row), number or 1)

    def ids(self) -> list[str]:
        """All items, in the order of the queue."""
        with self.database.read() as connection:
            return [item for (item,) in connection.execute("SELECT item FROM items ORDER BY id")]

    def _task(self, connection: sqlite3.Connection, person: Person, slot: Slot) -> Task:
        (item,) = connection.execute("SELECT item FROM items WHERE id = ?", (slot.item,)).fetchone()
        said = slots.decisions_on(connection, slot.item) if slot.adjudicates else ()
        solved = connection.execute(
            "SELECT answer FROM solved WHERE item = ? AND round = ? AND person = ?",
            (slot.item, slot.round, person.id),
        ).fetchone()
        return Task(
            item=item,
            round=slot.round,
            form=self.plan.form(slot.round, adjudicates=slot.adjudicates),
            adjudicates=slot.adjudicates,
            earlier=slots.earlier(self.plan, said, slot.round),
            mine=slots.last_word(connection, person, slot),
            solved=solved[0] if solved else None,
        )

    def _said(self, person: Person, task: Task, kind: DecisionKind, said: DecisionDetails, slot: Slot) -> Decision:
        """What somebody says, as it is kept."""
        seconds = said.get("seconds")
        if seconds is None and slot.since is not None and slot.state != slots.DECIDED:
            seconds = self.clock() - slot.since
        decision = Decision(
            item=task.item,
            round=task.round,
            reviewer=person.name,
            time=self._now(),
            decision=kind,
            reason=said.get("reason", ""),
            edits=dict(said.get("edits") or {}),
            comment=said.get("comment", ""),
            labels=dict(said.get("labels") or {}),
            solved=task.solved or "",
            seconds=None if seconds is None else round(max(seconds, 0.0), 1),
            adjudicates=task.adjudicates,
        )
        return check_decision(
            decision, task.form, self.item_of(task.item) if decision.edits and self.item_of else None
        )

    def _append(
        self, connection: sqlite3.Connection, person: Person, slot: Slot, decision: Decision, nonce: str
    ) -> None:
        record = msgspec.json.encode(decision).decode()
        connection.execute(
            "INSERT INTO decisions (item, round, person, nonce, record) VALUES (?, ?, ?, ?, ?)",
            (slot.item, slot.round, person.id, nonce, record),
        )
        if slots.last_word(connection, person, slot) is None:
            slots.claim(connection, slot, person, self.clock())
        else:
            slots.mark_decided(connection, slot)
        slots.settle(connection, self.plan, slot.item)

    def _before(self, connection: sqlite3.Connection, person: Person, nonce: str) -> Decision | None:
        """What came with this nonce already."""
        if not nonce or len(nonce) > _LONGEST_NONCE:
            raise InputError(f"nonce: expected 1 to {_LONGEST_NONCE} characters")
        query = "SELECT record FROM decisions WHERE person = ? AND nonce = ?"
        return next(iter(slots.read_records(connection.execute(query, (person.id, nonce)))), None)

    def _refuse_idle(self, connection: sqlite3.Connection, person: Person) -> None:
        """Refuse whoever decides nothing, or nothing any more."""
        row = connection.execute("SELECT role FROM people WHERE id = ? AND NOT revoked", (person.id,)).fetchone()
        if row is None or row[0] not in DECIDES:
            raise Forbidden("you may look, and decide nothing" if row else "you were asked to leave this review")

    def _row(self, connection: sqlite3.Connection, item: str) -> int:
        row: Sequence[int] | None = connection.execute("SELECT id FROM items WHERE item = ?", (item,)).fetchone()
        if row is None:
            raise InputError(f"no item {short(item)} in this review")
        return row[0]

    def _now(self) -> str:
        return datetime.fromtimestamp(self.clock(), UTC).isoformat(timespec="seconds")


def _unfinished(connection: sqlite3.Connection) -> set[tuple[int, ...]]:
    return set(connection.execute("SELECT item, round, adjudicates, seat FROM slots WHERE state IN (0, 1, 2)"))
