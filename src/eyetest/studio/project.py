"""A review on disk, which several programs may have open: its plan, and the tasks and decisions of people."""

import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import msgspec

from eyetest.curate.selection import Quota, QuotaState
from eyetest.errors import Forbidden, InputError, counted, damaged, short
from eyetest.records import Decision, DecisionKind, Item
from eyetest.store import replacing_file
from eyetest.store.urls import refuse_remote
from eyetest.studio import decisions as made
from eyetest.studio import overview
from eyetest.studio.database import FILE, SCHEMA, LogRow, People, ReviewDatabase, person_named
from eyetest.studio.decisions import DECIDES, Decided, Person, ReviewPlan, Round, Task, by_item, standing
from eyetest.studio.forms import Form, check_decision, check_kind, short_enough
from eyetest.studio.overview import JudgedItem, ReviewOverview, ReviewProgress

QUOTA = "quota.json"  # of a recipe whose review ends when a selection can be made
CLAIM = 1_800.0  # seconds for which a slot is reserved
_LONGEST_NONCE = 200
UNANSWERED = "answer the item first; its gold is shown afterwards"
_DECISION = msgspec.json.Decoder(Decision)
_SLOT = "SELECT item, round, adjudicates, seat FROM slots AS s "
_BEGUN = _SLOT + "WHERE person = ? AND state IN (1, 2) ORDER BY since LIMIT 1"
_OWN = _SLOT + "WHERE item = ? AND round = ? AND person = ?"
_ADD = "INSERT OR IGNORE INTO slots (item, round, adjudicates, seat) VALUES (?, ?, ?, ?)"
_SOLVED = "INSERT OR IGNORE INTO solved VALUES (?, ?, ?, ?)"
_FREE = (
    "SELECT item, round, adjudicates, seat FROM slots AS s WHERE state = 1 AND adjudicates = ?1 "
    "AND NOT EXISTS (SELECT 1 FROM decisions WHERE item = s.item AND person = ?2) AND (adjudicates OR NOT EXISTS "
    "(SELECT 1 FROM solved WHERE item = s.item AND person = ?2 AND round != s.round)) "
    "ORDER BY round, item, seat LIMIT 1"
)  # an item is not offered to a person who knows from elsewhere in the review what others decided, or its gold
_CLAIM = (
    "UPDATE slots SET state = 2, since = CASE WHEN person = ?1 AND state != 3 THEN since ELSE ?2 END, person = ?1, "
    "until = ?3 WHERE item = ?4 AND round = ?5 AND adjudicates = ?6 AND seat = ?7"
)  # ``since`` is when its holder first got it


class Slot(NamedTuple):
    """One reviewer's turn at one item in one round."""

    item: int
    round: int
    adjudicates: int
    seat: int


class ReviewProject:
    """A folder with ``review.db``; made by `create` or `open`."""

    item_of: Callable[[str], Item | None] | None = None  # finds an item by id, to refuse impossible edits

    def __init__(self, folder: Path, plan: ReviewPlan, database: ReviewDatabase) -> None:
        self.folder, self.plan, self.database = folder, plan, database
        self.clock: Callable[[], float] = time.time
        self.people = People(database, lambda: self.clock())  # noqa: PLW0108 (the clock may be set later)
        self._lock = Lock()
        self._judged: tuple[object, list[JudgedItem]] = (None, [])

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
            database.write() as connection,
        ):
            for statement in SCHEMA.split(";\n"):
                connection.execute(statement)
            connection.execute("INSERT INTO meta VALUES ('plan', ?)", (msgspec.json.encode(plan).decode(),))
            cls(folder, plan, database)._add(connection, items)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> "ReviewProject":
        """Open the review in a folder."""
        refuse_remote(folder, "a review")
        if not is_review(folder):
            raise InputError(f"{folder} holds no review; begin one with eyetest review")
        with ExitStack() as opened:
            database = opened.enter_context(closing(ReviewDatabase(folder / FILE)))
            ((plan,),) = database.rows("SELECT value FROM meta WHERE key = 'plan'")
            if not database.rows("SELECT 1 FROM pragma_table_info('people') WHERE name = 'cookie'"):
                raise InputError(f"{database.path} is no review of this version; begin a new one with eyetest review")
            try:
                project = cls(folder, msgspec.json.decode(plan, type=ReviewPlan), database)
            except (msgspec.DecodeError, msgspec.ValidationError) as error:
                raise damaged(database.path, error) from None
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
            plan = msgspec.json.encode(self.plan).decode()
            connection.execute("UPDATE meta SET value = ? WHERE key = 'plan'", (plan,))

    def log(self, what: str, person: str = "", address: str = "", detail: str = "") -> None:
        """Append a line to the log."""
        with self.database.write() as connection:
            LogRow(self.clock(), what, person, address, detail).write(connection)

    def logged(self, limit: int = 200) -> list[LogRow]:
        """The last lines of the log, the newest first."""
        query = "SELECT time, what, person, address, detail FROM log ORDER BY id DESC LIMIT ?"
        return [LogRow(*row) for row in self.database.rows(query, limit)]

    # Work: items are added, taken one by one, solved, decided and withdrawn.

    def add_items(self, ids: Iterable[str], round: int = 1) -> int:  # noqa: A002 (a decision's own word)
        """Add items to a round of the review; returns the number of new slots."""
        with self.database.write() as connection:
            return self._add(connection, ids, round)

    def _add(self, connection: sqlite3.Connection, ids: Iterable[str], number: int = 1) -> int:
        names = list(ids)
        connection.executemany("INSERT OR IGNORE INTO items (item) VALUES (?)", ((name,) for name in names))
        rows = dict(connection.execute("SELECT item, id FROM items"))
        added = _open_round(connection, [rows[name] for name in names], self.plan.rounds[number - 1])
        if not self.plan.together:  # what was settled in one round of a recipe is open again in the next
            connection.executemany(
                "UPDATE items SET settled = 0 WHERE id = ? AND id IN "
                "(SELECT item FROM slots WHERE round = ? AND state < 3 AND NOT adjudicates)",
                [(rows[name], number) for name in names],
            )
        return added

    def await_only(self, waiting: Mapping[int, Sequence[str]]) -> int:
        """Ask about exactly these items in these rounds; returns the number of slots that are new."""
        with self.database.write() as connection:
            added = sum(self._add(connection, ids, number) for number, ids in sorted(waiting.items()))
            kept = {(item, number) for number, ids in waiting.items() for item in ids}
            slots = connection.execute(
                "SELECT DISTINCT i.id, i.item, s.round FROM slots s JOIN items i ON i.id = s.item WHERE s.state < 3"
            ).fetchall()
            connection.executemany(
                "DELETE FROM slots WHERE item = ? AND round = ? AND state < 3",
                [(id_, number) for id_, item, number in slots if (item, number) not in kept],
            )
            undecided = connection.execute(
                "SELECT id, item FROM items WHERE NOT settled AND id NOT IN (SELECT item FROM slots WHERE state < 3)"
            ).fetchall()
            names = {item for item, _ in kept}
            for id_, _ in (row for row in undecided if row[1] in names):
                self._settle(connection, id_)  # a dispute that waits again
            return added

    def quota(self) -> Quota | None:
        """The selection that the review is for, if it ends with that."""
        path = self.folder / QUOTA
        try:
            return msgspec.json.decode(path.read_bytes(), type=Quota) if path.is_file() else None
        except msgspec.DecodeError as error:
            raise damaged(path, error) from None

    def quota_state(self) -> QuotaState | None:
        """What that selection still needs, by the decisions so far."""
        if (quota := self.quota()) is None:
            return None
        known = decisions_in(self.folder, own=self.decisions())
        outcomes = {item: self.plan.outcome(own, quota.round) for item, own in known.items()}
        return quota.state(settled_tags(outcomes, self.plan.form(quota.round)))

    def refill(self) -> int:
        """Ask for items in place of those that were dropped, as far as a selection needs them; returns new slots."""
        quota, state = self.quota(), self.quota_state()
        return self.add_items(state.needed, quota.round) if quota and state and state.needed else 0

    def next_task(self, person: Person) -> Task | None:
        """A person's next task, reserved for half an hour. None where no task is available."""
        task = self._next_task(person)
        return self._next_task(person) if task is None and self.refill() else task

    def _next_task(self, person: Person) -> Task | None:
        with self.database.write(forced=False) as connection:
            _refuse_idle(connection, person)
            connection.execute("UPDATE slots SET state = 1 WHERE state = 2 AND until < ?", (self.clock(),))
            row = connection.execute(_BEGUN, (person.id,)).fetchone()
            for adjudicates in (1, 0) if person.role == "admin" else (0,):
                row = row or connection.execute(_FREE, (adjudicates, person.id)).fetchone()
            if row is None:
                return None
            slot = Slot(*row)
            self._claim(connection, slot, person)
            if slot.adjudicates:
                connection.execute(_SOLVED, (slot.item, 0, person.id, ""))
            return self._task(connection, person, slot)

    def _claim(self, connection: sqlite3.Connection, slot: Slot, person: Person) -> None:
        now = self.clock()
        connection.execute(_CLAIM, (person.id, now, now + CLAIM, *slot))

    def task(self, person: Person, item: str, round: int) -> Task:  # noqa: A002
        """An item that a person has begun or decided about."""
        with self.database.read() as connection:
            return self._task(connection, person, _slot_of(connection, person, item, round))

    def solve(self, person: Person, task: Task, answer: str) -> Task:
        """Answer an item before its gold is shown; the first answer stays. Empty: it cannot be answered."""
        with self.database.write() as connection:
            slot = _slot_of(connection, person, task.item, task.round)
            connection.execute(_SOLVED, (slot.item, slot.round, person.id, short_enough("answer", answer)))
            return self._task(connection, person, slot)

    def decide(self, person: Person, task: Task, kind: DecisionKind, *, nonce: str, **details: Any) -> Decision:
        """Store a person's decision. Sent twice with the same nonce it is one decision."""
        return self._record(person, (task.item, task.round), check_kind(kind), nonce, details)

    def undo(self, person: Person, item: str, round: int, nonce: str) -> Decision:  # noqa: A002
        """Withdraw a person's last decision about an item in a round, and reopen it for them."""
        return self._record(person, (item, round), "undo", nonce, {})

    def _record(
        self, person: Person, about: tuple[str, int], kind: DecisionKind, nonce: str, details: dict[str, Any]
    ) -> Decision:
        if not nonce or len(nonce) > _LONGEST_NONCE:
            raise InputError(f"nonce: expected 1 to {_LONGEST_NONCE} characters")
        with self.database.write() as connection:
            if before := _read(connection, "WHERE person = ? AND nonce = ?", person.id, nonce):
                return before[0]
            _refuse_idle(connection, person)
            slot = _slot_of(connection, person, *about)
            task = self._task(connection, person, slot)
            if kind == "undo" and task.mine is None:
                raise InputError("there is nothing of yours to withdraw here")
            if kind != "undo" and task.unsolved:
                raise Forbidden(UNANSWERED)
            decision = Decision(
                item=task.item,
                round=task.round,
                reviewer=person.name,
                time=self._now(),
                decision=kind,
                solved="" if kind == "undo" else task.solved or "",
                adjudicates=task.adjudicates,
                **{name: value for name, value in details.items() if value},
            )
            item = self.item_of(task.item) if decision.edits and self.item_of else None
            decision = check_decision(decision, task.form, item)
            self._append(connection, person, slot, decision, nonce)
            return decision

    def _append(
        self, connection: sqlite3.Connection, person: Person, slot: Slot, decision: Decision, nonce: str
    ) -> None:
        connection.execute(
            "INSERT INTO decisions (item, round, person, nonce, record) VALUES (?, ?, ?, ?, ?)",
            (slot.item, slot.round, person.id, nonce, msgspec.json.encode(decision).decode()),
        )
        if _last_decision(connection, person, slot) is None:
            self._claim(connection, slot, person)
        else:
            decided = "UPDATE slots SET state = 3 WHERE item = ? AND round = ? AND adjudicates = ? AND seat = ?"
            connection.execute(decided, slot)
        self._settle(connection, slot.item)

    def _settle(self, connection: sqlite3.Connection, item: int) -> None:
        """After a decision: open the next round of an item, or a slot for an admin where reviewers disagree."""
        plan, decisions = self.plan, _read(connection, "WHERE item = ? ORDER BY id", item)
        rounds = connection.execute(
            "SELECT round, min(state = 3) FROM slots WHERE item = ? AND NOT adjudicates GROUP BY 1 ORDER BY 1",
            (item,),
        ).fetchall()
        if plan.together and rounds:
            finished, done = dict(rounds), True
            for planned in plan.rounds:  # all seats of a round are taken before the next is open
                if _open_round(connection, [item], planned) or not finished.get(planned.number):
                    done = False
                    break
            rounds = [(plan.rounds[-1].number, done)]
        add = "INSERT OR IGNORE INTO slots (item, round, adjudicates, seat) VALUES (?, ?, 1, 1)"
        remove = "DELETE FROM slots WHERE item = ? AND round = ? AND adjudicates AND state != 3"
        is_open = True
        for number, done in rounds:
            is_open = plan.outcome(decisions, number).verdict == "review"
            connection.execute(add if done and is_open else remove, (item, number))
        connection.execute("UPDATE items SET settled = ? WHERE id = ?", (not is_open, item))

    def _task(self, connection: sqlite3.Connection, person: Person, slot: Slot) -> Task:
        (item,) = connection.execute("SELECT item FROM items WHERE id = ?", (slot.item,)).fetchone()
        decisions = _read(connection, "WHERE item = ? ORDER BY id", slot.item) if slot.adjudicates else ()
        query = "SELECT answer FROM solved WHERE item = ? AND round = ? AND person = ?"
        solved = connection.execute(query, (slot.item, slot.round, person.id)).fetchone()
        return Task(
            item=item,
            round=slot.round,
            form=self.plan.form(slot.round, adjudicates=bool(slot.adjudicates)),
            adjudicates=bool(slot.adjudicates),
            earlier=self.plan.earlier(decisions, slot.round),
            mine=_last_decision(connection, person, slot),
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

    def waiting(self) -> list[tuple[str, int, bool]]:
        """Open slots: items in the order of the queue, the round, and whether it is an adjudication."""
        rows = self.database.rows(
            "SELECT DISTINCT i.item, s.round, s.adjudicates FROM slots s JOIN items i ON i.id = s.item "
            "WHERE s.state = 1 ORDER BY s.adjudicates, s.round, s.item"
        )
        return [(item, number, bool(adjudicates)) for item, number, adjudicates in rows]

    # Decisions that were made in other tools.

    def add_decisions(self, decisions: Sequence[Decision], source: str = "") -> int:
        """Add the new decisions of another tool, all or none; returns how many. Unknown people become reviewers."""
        with self.database.write() as connection:
            fresh = made.new_decisions(_read(connection, "ORDER BY id"), decisions)
            for nonce, decision in fresh:
                add = "INSERT OR IGNORE INTO people (name, role, invited) VALUES (?, 'reviewer', ?)"
                connection.execute(add, (decision.reviewer, self.clock()))
                person = person_named(connection, decision.reviewer)
                slot = self._seat(connection, person, decision)
                if decision.solved:
                    connection.execute(_SOLVED, (slot.item, slot.round, person.id, decision.solved))
                timed = msgspec.structs.replace(decision, time=decision.time or self._now())
                self._append(connection, person, slot, timed, nonce)
            LogRow(self.clock(), "imported", "", source, counted(len(fresh), "decision")).write(connection)
        return len(fresh)

    def _seat(self, connection: sqlite3.Connection, person: Person, decision: Decision) -> Slot:
        """Claim a person's slot at an item: their own, else an open one, else an additional one."""
        item, about = _row(connection, decision.item), (decision.round, decision.adjudicates)
        own = _read(connection, "WHERE item = ? AND person = ? ORDER BY id", item, person.id)
        if before := [one.round for one in own if (one.round, one.adjudicates) != about]:
            known = f"{short(person.name)} decided about item {short(decision.item)} in round {before[0]} already"
            later = "settle it" if decision.adjudicates else f"decide in round {decision.round}"
            raise InputError(f"{known}; another person has to {later}")
        seats = connection.execute(
            "SELECT seat, state, person FROM slots WHERE item = ? AND round = ? AND adjudicates = ? ORDER BY seat",
            (item, *about),
        ).fetchall()
        mine = [seat for seat, _, holder in seats if holder == person.id]
        free = [seat for seat, state, _ in seats if state == 1]
        slot = Slot(item, *about, (mine or free or [max((seat for seat, *_ in seats), default=0) + 1])[0])
        connection.execute(_ADD, slot)
        self._claim(connection, slot, person)
        return slot

    # What has been decided.

    def outcomes(self) -> dict[str, Decided]:
        """The outcome of each item, in the order of the queue."""
        return {item.item: item.outcome for item in self.judged()}

    def judged(self) -> list[JudgedItem]:
        """The outcome and the last decisions of each item, in the order of the queue; cached until that changes."""
        with self._lock, self.database.read() as connection:
            state = connection.execute(
                "SELECT (SELECT max(id) FROM decisions), (SELECT count(*) FROM items), sum(round * item * item) "
                "FROM slots"
            ).fetchone()
            if self._judged[0] != (key := (self.plan, *state)):
                own = by_item(standing(_read(connection, "ORDER BY id")))
                reached = connection.execute(
                    "SELECT i.item, coalesce(max(s.round), 1) FROM items i LEFT JOIN slots s ON s.item = i.id "
                    "GROUP BY i.id ORDER BY i.id"
                )
                rows = [(item, number, own.get(item, [])) for item, number in reached]
                self._judged = (key, [JudgedItem(id_, self.plan.outcome(some, at), some) for id_, at, some in rows])
            return self._judged[1]

    def progress(self) -> ReviewProgress:
        """Progress of rounds."""
        judged, state = self.judged(), self.quota_state()
        with self.database.read() as connection:
            return overview.progress_of(connection, self.plan, judged, state.line if state else "")

    def overview(self) -> ReviewOverview:
        """Progress, disagreement, agreement with intervals, and reasons."""
        judged = self.judged()
        decisions = [decision for item in judged for decision in item.decisions]
        return ReviewOverview(
            self.progress(), overview.counts_of(judged), overview.agreement_rows(decisions, self.plan)
        )


def is_review(folder: Path) -> bool:
    """Whether a folder holds a review."""
    return (folder / FILE).is_file()


def settled_tags(outcomes: Mapping[str, Decided], form: Form) -> dict[str, Mapping[str, Any] | None]:
    """By item on which reviewers agreed: the tags that they gave it, or None where they dropped it."""
    return {
        item: None if outcome.verdict == "drop" else form.tags(outcome.labels) | dict(outcome.edits.get("tags", {}))
        for item, outcome in outcomes.items()
        if outcome.verdict != "review"
    }


def decisions_in(
    folder: Path,
    known: Collection[str] | None = None,
    tell: Callable[[str], None] = lambda line: None,
    own: Sequence[Decision] | None = None,
) -> dict[str, list[Decision]]:
    """Decisions by item about ``known`` items: of a table in a folder and of its review (``own``: those of it)."""
    if own is None:
        own = []
        if is_review(folder):
            with ReviewProject.open(folder) as project:
                own = project.decisions()
    ours = [decision for decision in own if known is None or decision.item in known]
    if fewer := len(own) - len(ours):
        tell(f"{counted(fewer, 'decision')} in {folder / FILE}: about items that are not in this benchmark")
    return by_item([*made.read_decisions(folder / made.DECISIONS, known), *ours])


def _read(connection: sqlite3.Connection, which: str, *values: Any) -> list[Decision]:
    """Stored decisions."""
    rows = connection.execute("SELECT record FROM decisions " + which, values)  # noqa: S608 (constants)
    return [_DECISION.decode(record) for (record,) in rows]


def _open_round(connection: sqlite3.Connection, items: Sequence[int], planned: Round) -> int:
    """Add the slots of a round that some items do not have; returns how many."""
    before, seats = connection.total_changes, range(1, planned.reviewers + 1)
    connection.executemany(_ADD, ((item, planned.number, 0, seat) for item in items for seat in seats))
    return connection.total_changes - before


def _last_decision(connection: sqlite3.Connection, person: Person, slot: Slot) -> Decision | None:
    """A person's last decision in a slot that was not withdrawn."""
    which = "WHERE item = ? AND round = ? AND person = ? ORDER BY id"
    rows = _read(connection, which, slot.item, slot.round, person.id)
    decisions = standing(decision for decision in rows if decision.adjudicates == slot.adjudicates)
    return decisions[-1] if decisions else None


def _slot_of(connection: sqlite3.Connection, person: Person, item: str, number: int) -> Slot:
    """A person's own slot at an item: one they hold or have decided in."""
    row = connection.execute(_OWN, (_row(connection, item), number, person.id)).fetchone()
    if row is None:
        raise Forbidden("this item is not yours in this round, or not any more: continue with the next")
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
