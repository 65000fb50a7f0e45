"""A review on disk, which several programs may have open: its plan, and the tasks and decisions of people."""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from eyetest.errors import Forbidden, InputError, counted, short
from eyetest.records import Decision
from eyetest.store import replacing_file
from eyetest.store.urls import refuse_remote
from eyetest.studio import decisions as made
from eyetest.studio.database import FILE, SCHEMA, People, ReviewDatabase, person_named
from eyetest.studio.decisions import DECIDES, Agreement, Decided, Person, ReviewPlan, Task, by_item, standing
from eyetest.studio.forms import short_enough
from eyetest.studio.soundness import read_record, record_text, refuse_damage, seal_items

CLAIM = 1_800.0  # seconds for which a slot is reserved
_LONGEST_NONCE = 200
UNANSWERED = "answer the item first; its gold is shown afterwards"
_BEGUN = "SELECT item, adjudicates, seat FROM slots WHERE person = ? AND state IN (1, 2) ORDER BY since LIMIT 1"
_OWN = "SELECT item, adjudicates, seat FROM slots WHERE item = ? AND person = ?"
_ADD = "INSERT OR IGNORE INTO slots (item, adjudicates, seat) VALUES (?, ?, ?)"
_SOLVED = "INSERT OR IGNORE INTO solved VALUES (?, ?, ?)"
_FREE = (
    "SELECT item, adjudicates, seat FROM slots AS s WHERE state = 1 AND adjudicates = ?1 "
    "AND NOT EXISTS (SELECT 1 FROM decisions WHERE item = s.item AND person = ?2) ORDER BY item, seat LIMIT 1"
)
_COUNTS = "SELECT sum(state = 3), sum(state != 3) FROM slots WHERE adjudicates = ?"
_CLAIM = (
    "UPDATE slots SET state = 2, since = CASE WHEN person = ?1 AND state != 3 THEN since ELSE ?2 END, person = ?1, "
    "until = ?3 WHERE item = ?4 AND adjudicates = ?5 AND seat = ?6"
)  # ``since`` is when its holder first got it


class Slot(NamedTuple):
    """One reviewer's turn at one item, or that of an admin who settles it."""

    item: int
    adjudicates: int
    seat: int


class DecisionCount(msgspec.Struct, frozen=True):
    """How many decisions are made, and how many are to be made."""

    made: int
    open: int


class ReviewProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a review: items by outcome (``review`` while it is open), and by the reason why they are dropped.

    ``stuck``: what waits for a person who was not invited yet.
    """

    items: int
    settled: int
    reviewing: DecisionCount
    disputes: DecisionCount  # settled by admins
    outcomes: Mapping[str, int]
    reasons: Mapping[str, int]
    stuck: str = ""


class ReviewProject:
    """A folder with ``review.db``; made by `create` or `open`."""

    def __init__(self, folder: Path, plan: ReviewPlan, database: ReviewDatabase) -> None:
        self.folder, self.plan, self.database = folder, plan, database
        self.clock: Callable[[], float] = time.time
        self.people = People(database, lambda: self.clock())  # noqa: PLW0108 (the clock may be set later)

    @classmethod
    def create(cls, folder: Path, plan: ReviewPlan, items: Iterable[str] = ()) -> "ReviewProject":
        """Create a review of some items, in this order."""
        refuse_remote(folder, "a review")
        if is_review(folder):
            raise InputError(f"{folder} holds a review already")
        folder.mkdir(parents=True, exist_ok=True)
        with (
            replacing_file(folder / FILE, overwrite=False) as new,
            closing(ReviewDatabase(new)) as database,
        ):
            with database.write() as connection:
                for statement in SCHEMA.split(";\n"):
                    connection.execute(statement)
                connection.execute("INSERT INTO meta VALUES ('plan', ?)", (record_text(plan),))
                cls(folder, plan, database)._add(connection, items)
            database.gather()
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> "ReviewProject":
        """Open the review in a folder."""
        refuse_remote(folder, "a review")
        if not is_review(folder):
            raise InputError(f"{folder} holds no review; begin one with eyetest review")
        with ExitStack() as opened:
            database = opened.enter_context(closing(ReviewDatabase(folder / FILE)))
            with database.read() as connection:
                refuse_damage(connection)
            if not database.rows("SELECT 1 FROM pragma_table_info('people') WHERE name = 'cookie'"):
                raise InputError(f"{database.path} is no review of this version; begin a new one with eyetest review")
            with database.read() as connection:
                (plan,) = connection.execute("SELECT value FROM meta WHERE key = 'plan'").fetchone() or ("",)
                project = cls(folder, read_record(plan, ReviewPlan), database)
            opened.pop_all()  # a file that could be read stays open
        return project

    def __enter__(self) -> "ReviewProject":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def keep_address(self, address: str) -> None:
        """Store the address of the server, so that links can be made from elsewhere."""
        with self.database.write() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('address', ?)", (address,))

    def link(self, token: str) -> str:
        """A personal link, at the address of the last server; without one if the review was never served."""
        rows = self.database.rows("SELECT value FROM meta WHERE key = 'address'")
        return f"{rows[0][0] if rows else ''}/enter/{token}"

    def extend(self, places: Sequence[str], *items: str) -> None:
        """Show what further places hold about the items, too; note how more ``items`` were chosen."""
        old = self.plan
        now = {"places": (*old.places, *places), "items": (*old.items, *items)}
        self.plan = msgspec.structs.replace(old, **{name: (*dict.fromkeys(words),) for name, words in now.items()})
        with self.database.write() as connection:
            connection.execute("UPDATE meta SET value = ? WHERE key = 'plan'", (record_text(self.plan),))

    # Work: items are added, taken one by one, solved and decided.

    def add_items(self, ids: Iterable[str]) -> int:
        """Add items to the review; returns the number of new slots."""
        with self.database.write() as connection:
            return self._add(connection, ids)

    def _add(self, connection: sqlite3.Connection, ids: Iterable[str]) -> int:
        names = list(ids)
        connection.executemany("INSERT OR IGNORE INTO items (item) VALUES (?)", ((name,) for name in names))
        rows = dict(connection.execute("SELECT item, id FROM items"))
        before, seats = connection.total_changes, range(1, self.plan.reviewers + 1)
        connection.executemany(_ADD, ((rows[name], 0, seat) for name in names for seat in seats))
        slots = connection.total_changes - before
        seal_items(connection)
        return slots

    def await_only(self, waiting: Collection[str]) -> int:
        """Ask about exactly these items; returns the number of slots that are new."""
        with self.database.write() as connection:
            added, kept = self._add(connection, waiting), set(waiting)
            others = [(id_,) for item, id_ in connection.execute("SELECT item, id FROM items") if item not in kept]
            connection.executemany("DELETE FROM slots WHERE item = ? AND state < 3 AND NOT adjudicates", others)
            return added

    def next_task(self, person: Person) -> Task | None:
        """A person's next task, reserved for half an hour. None where no task is available."""
        with self.database.write() as connection:
            _refuse_idle(connection, person)
            connection.execute("UPDATE slots SET state = 1 WHERE state = 2 AND until < ?", (self.clock(),))
            row = connection.execute(_BEGUN, (person.id,)).fetchone()
            for adjudicates in (1, 0) if person.role == "admin" else (0,):
                row = row or connection.execute(_FREE, (adjudicates, person.id)).fetchone()
            if row is None:
                return None
            slot = Slot(*row)
            self._claim(connection, slot, person)
            return self._task(connection, person, slot)

    def _claim(self, connection: sqlite3.Connection, slot: Slot, person: Person) -> None:
        now = self.clock()
        connection.execute(_CLAIM, (person.id, now, now + CLAIM, *slot))

    def task(self, person: Person, item: str) -> Task:
        """An item that a person has begun or decided about."""
        with self.database.read() as connection:
            return self._task(connection, person, _slot_of(connection, person, item))

    def solve(self, person: Person, task: Task, answer: str) -> Task:
        """Answer an item before its gold is shown; the first answer stays. Empty: it cannot be answered."""
        with self.database.write() as connection:
            slot = _slot_of(connection, person, task.item)
            connection.execute(_SOLVED, (slot.item, person.id, short_enough("answer", answer)))
            return self._task(connection, person, slot)

    def decide(self, person: Person, task: Task, decided: Decision, nonce: str) -> Decision:
        """Store a person's decision. Sent twice with the same nonce it is one decision."""
        if not nonce or len(nonce) > _LONGEST_NONCE:
            raise InputError(f"nonce: expected 1 to {_LONGEST_NONCE} characters")
        with self.database.write() as connection:
            if before := _read(connection, "WHERE person = ? AND nonce = ?", person.id, nonce):
                return before[0]
            _refuse_idle(connection, person)
            slot = _slot_of(connection, person, task.item)
            task = self._task(connection, person, slot)
            if task.unsolved:
                raise Forbidden(UNANSWERED)
            decision = msgspec.structs.replace(
                decided,
                item=task.item,
                reviewer=person.name,
                time=self._now(),
                solved=task.solved or "",
                adjudicates=task.adjudicates,
            )
            self._append(connection, person, slot, decision, nonce)
            return decision

    def _append(
        self, connection: sqlite3.Connection, person: Person, slot: Slot, decision: Decision, nonce: str
    ) -> None:
        connection.execute(
            "INSERT INTO decisions (item, person, nonce, record) VALUES (?, ?, ?, ?)",
            (slot.item, person.id, nonce, record_text(decision)),
        )
        decided = "UPDATE slots SET state = 3 WHERE item = ? AND adjudicates = ? AND seat = ?"
        connection.execute(decided, slot)
        self._settle(connection, slot.item)

    def _settle(self, connection: sqlite3.Connection, item: int) -> None:
        """After a decision: open a slot for an admin where all reviewers have decided and disagree."""
        decisions = _read(connection, "WHERE item = ? ORDER BY id", item)
        waiting = "SELECT 1 FROM slots WHERE item = ? AND state != 3 AND NOT adjudicates"
        if (
            connection.execute(waiting, (item,)).fetchone()
            or made.decide(decisions, self.plan.reviewers).verdict != "review"
        ):
            connection.execute("DELETE FROM slots WHERE item = ? AND adjudicates AND state != 3", (item,))
        else:
            connection.execute(_ADD, (item, 1, 1))

    def _task(self, connection: sqlite3.Connection, person: Person, slot: Slot) -> Task:
        (item,) = connection.execute("SELECT item FROM items WHERE id = ?", (slot.item,)).fetchone()
        decisions = _read(connection, "WHERE item = ? ORDER BY id", slot.item) if slot.adjudicates else ()
        query = "SELECT answer FROM solved WHERE item = ? AND person = ?"
        solved = connection.execute(query, (slot.item, person.id)).fetchone()
        form = self.plan.form
        own = _read(connection, "WHERE item = ? AND person = ? ORDER BY id", slot.item, person.id)
        mine = standing(one for one in own if one.adjudicates == slot.adjudicates)
        return Task(
            item=item,
            form=msgspec.structs.replace(form, solve=False) if slot.adjudicates else form,
            adjudicates=bool(slot.adjudicates),
            earlier=tuple(one for one in standing(decisions) if not one.adjudicates),
            mine=mine[-1] if mine else None,
            solved=solved[0] if solved else None,
        )

    def _now(self) -> str:
        return datetime.fromtimestamp(self.clock(), UTC).isoformat(timespec="seconds")

    def decisions(self, person: Person | None = None) -> list[Decision]:
        """All decisions, or those of one person, in order."""
        with self.database.read() as connection:
            return _read(connection, "WHERE ?1 IS NULL OR person = ?1 ORDER BY id", person and person.id)

    def ids(self) -> list[str]:
        """All items, in the order of the queue."""
        return [item for (item,) in self.database.rows("SELECT item FROM items ORDER BY id")]

    def waiting(self) -> list[str]:
        """Items that reviewers have open, in the order of the queue."""
        query = "SELECT item FROM items WHERE id IN (SELECT item FROM slots WHERE state = 1 AND NOT adjudicates)"
        return [item for (item,) in self.database.rows(f"{query} ORDER BY id")]

    # Decisions that were made in other tools.

    def add_decisions(self, decisions: Sequence[Decision]) -> int:
        """Add the new decisions of another tool, all or none; returns how many. Unknown people become reviewers."""
        with self.database.write() as connection:
            fresh = made.new_decisions(_read(connection, "ORDER BY id"), decisions)
            for nonce, decision in fresh:
                add = "INSERT OR IGNORE INTO people (name, role) VALUES (?, 'reviewer')"
                connection.execute(add, (decision.reviewer,))
                person = person_named(connection, decision.reviewer)
                slot = self._seat(connection, person, decision)
                if decision.solved:
                    connection.execute(_SOLVED, (slot.item, person.id, decision.solved))
                timed = msgspec.structs.replace(decision, time=decision.time or self._now())
                self._append(connection, person, slot, timed, nonce)
        return len(fresh)

    def _seat(self, connection: sqlite3.Connection, person: Person, decision: Decision) -> Slot:
        """Claim a person's slot at an item: their own, else an open one, else an additional one."""
        item, adjudicates = _row(connection, decision.item), decision.adjudicates
        own = _read(connection, "WHERE item = ? AND person = ? ORDER BY id", item, person.id)
        if any(one.adjudicates != adjudicates for one in own):
            known = f"{short(person.name)} decided about item {short(decision.item)} already"
            raise InputError(f"{known}; another person has to {'settle it' if adjudicates else 'decide'}")
        seats = connection.execute(
            "SELECT seat, state, person FROM slots WHERE item = ? AND adjudicates = ? ORDER BY seat",
            (item, adjudicates),
        ).fetchall()
        mine = [seat for seat, _, holder in seats if holder == person.id]
        free = [seat for seat, state, _ in seats if state == 1]
        slot = Slot(item, adjudicates, (mine or free or [max((seat for seat, *_ in seats), default=0) + 1])[0])
        connection.execute(_ADD, slot)
        self._claim(connection, slot, person)
        return slot

    # What has been decided.

    def outcomes(self) -> dict[str, Decided]:
        """The outcome of each item that was asked, in the order of the queue."""
        own = by_item(self.decisions())
        asked = self.database.rows("SELECT item FROM items WHERE id IN (SELECT item FROM slots) ORDER BY id")
        return {item: made.decide(own.get(item, ()), self.plan.reviewers) for (item,) in asked}

    def agreement(self) -> list[Agreement]:
        """How far reviewers decide alike."""
        return made.agreement_of(self.decisions())

    def progress(self) -> ReviewProgress:
        """Decisions that are made and open, and items by their outcome."""
        outcomes = self.outcomes().values()
        verdicts = Counter(one.verdict for one in outcomes)
        reviewing, disputes = (
            DecisionCount(made=number or 0, open=left or 0)
            for adjudicates in (0, 1)
            for number, left in self.database.rows(_COUNTS, adjudicates)
        )
        left, stuck = reviewing.open + disputes.open, ""
        if left and not any(row.waiting for row in self.people.rows()):
            again = "who decided about an item does not get it again; invite another reviewer or admin"
            stuck = f"{counted(left, 'decision')} cannot be made by the people who were invited: {again}"
        return ReviewProgress(
            items=len(outcomes),
            settled=len(outcomes) - verdicts["review"],
            reviewing=reviewing,
            disputes=disputes,
            outcomes=dict(verdicts.most_common()),
            reasons=dict(Counter(one.reason for one in outcomes if one.verdict == "drop").most_common()),
            stuck=stuck,
        )


def is_review(folder: Path) -> bool:
    """Whether a folder holds a review."""
    return (folder / FILE).is_file()


def decisions_in(folder: Path, known: Collection[str], tell: Callable[[str], None]) -> dict[str, list[Decision]]:
    """Decisions by item about ``known`` items: of a table in a folder and of its review."""
    own: list[Decision] = []
    if is_review(folder):
        with ReviewProject.open(folder) as project:
            own = project.decisions()
    ours = [decision for decision in own if decision.item in known]
    if fewer := len(own) - len(ours):
        tell(f"{counted(fewer, 'decision')} in {folder / FILE}: about items that are not in this benchmark")
    return by_item([*made.read_decisions(folder / made.DECISIONS, known), *ours])


def _read(connection: sqlite3.Connection, which: str, *values: Any) -> list[Decision]:
    """Stored decisions."""
    rows = connection.execute("SELECT record FROM decisions " + which, values)  # noqa: S608 (constants)
    return [read_record(record, Decision) for (record,) in rows]


def _slot_of(connection: sqlite3.Connection, person: Person, item: str) -> Slot:
    """A person's own slot at an item: one they hold or have decided in."""
    row = connection.execute(_OWN, (_row(connection, item), person.id)).fetchone()
    if row is None:
        raise Forbidden("this item is not yours, or not any more: continue with the next")
    return Slot(*row)


def _refuse_idle(connection: sqlite3.Connection, person: Person) -> None:
    row = connection.execute("SELECT role FROM people WHERE id = ? AND NOT revoked", (person.id,)).fetchone()
    if row is None or row[0] not in DECIDES:
        raise Forbidden("a reader decides nothing" if row else "your invitation to this review was withdrawn")


def _row(connection: sqlite3.Connection, item: str) -> int:
    row: Sequence[int] | None = connection.execute("SELECT id FROM items WHERE item = ?", (item,)).fetchone()
    if row is None:
        raise InputError(f"no item {short(item)} in this review")
    return row[0]
