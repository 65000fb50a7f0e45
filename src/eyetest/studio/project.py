"""A review on disk, which several programs may have open: people and their links, their tasks and decisions."""

import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from threading import Lock
from typing import NamedTuple, Unpack, get_args

import msgspec

from eyetest.errors import DiskFull, Forbidden, InputError, damaged, nearest, param, short
from eyetest.records import Decision, DecisionKind, Item
from eyetest.store import replacing_file
from eyetest.store.urls import refuse_remote
from eyetest.studio import database as db
from eyetest.studio.database import FILE, SCHEMA, ReviewDatabase, Slot
from eyetest.studio.decisions import (
    DECIDES,
    DECISIONS,
    Decided,
    DecisionDetails,
    Person,
    ReviewPlan,
    ReviewSession,
    Role,
    Task,
    new_decisions,
    read_decisions,
)
from eyetest.studio.forms import check_decision, check_kind, checked_name, short_enough
from eyetest.studio.overview import (
    JudgedReview,
    PersonRow,
    ReviewOverview,
    ReviewProgress,
    judge_items,
    make_overview,
    people_rows,
    progress_of,
)
from eyetest.wording import counted

DAY = 86_400.0
IDLE, LONGEST = DAY / 2, 30 * DAY  # a session ends after so many seconds without a call, and after so many in total
_TOUCHED = 60.0  # least seconds between two updates of when a person was last seen
_TOKEN_BYTES = 32
_LONGEST_NONCE = 200
UNANSWERED = "answer the item first; its gold is shown afterwards"


class LogRow(NamedTuple):
    """One line of the log."""

    time: float
    what: str
    person: str
    where: str
    detail: str


class ReviewProject:
    """A folder with ``review.db``; made by `create` or `open`."""

    item_of: Callable[[str], Item | None] | None = None  # finds an item by id, to refuse impossible edits

    def __init__(self, folder: Path, plan: ReviewPlan, database: ReviewDatabase) -> None:
        self.folder, self.plan, self.database = folder, plan, database
        self.clock: Callable[[], float] = time.time
        self._lock = Lock()
        self._judged: tuple[object, JudgedReview] | None = None
        self._overview: tuple[JudgedReview, ReviewOverview] | None = None

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
            cls(folder, plan, database)._add(connection, items, None if plan.together else 1)
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

    def replan(self, plan: ReviewPlan) -> None:
        """Continue with another plan of a recipe: decisions stay; rounds may have other reviewers and forms."""
        with self.database.write() as connection:
            connection.execute("UPDATE meta SET value = ? WHERE key = 'plan'", (msgspec.json.encode(plan).decode(),))
            for planned in plan.rounds:
                db.change_seats(connection, planned)
            self.plan = plan
            for (item,) in connection.execute("SELECT DISTINCT item FROM decisions").fetchall():
                db.settle(connection, plan, item)

    # People: personal links, each for one browser, and sessions that expire.

    def invite(self, name: str, role: Role = "reviewer", days: float = 30) -> str:
        """Create a link's token for a person. A new invitation invalidates the earlier one."""
        person, token = checked_name(name), token_urlsafe(_TOKEN_BYTES)
        if role not in get_args(Role):
            raise InputError(f"{param('role')}: no role {short(role)}; {nearest(role, get_args(Role))}")
        if not 0 < days <= 3_650:
            raise InputError(f"{param('days')}: found {days}, expected more than 0 and at most 3,650")
        now = self.clock()
        with self.database.write() as connection:
            connection.execute(
                "INSERT INTO people (name, role, token, token_until, invited) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (name) DO UPDATE SET role = excluded.role, token = excluded.token, "
                "token_until = excluded.token_until, invited = excluded.invited, device = NULL, revoked = 0",
                (person, role, _hashed(token), now + days * DAY, now),
            )
            ended = "DELETE FROM sessions WHERE person = (SELECT id FROM people WHERE name = ?)"
            connection.execute(ended, (person,))
            self._write_log(connection, "invited", person, "", role)
        return token

    def enter(self, token: str, cookie: str | None, where: str = "") -> ReviewSession:
        """Follow a link. Only the first browser that does so is admitted; later it is recognised by its cookie."""
        now, new = self.clock(), token_urlsafe(_TOKEN_BYTES)  # never the cookie that a browser sends
        with self.database.write() as connection:
            row = connection.execute(
                "SELECT id, name, role, token_until, device FROM people WHERE token = ? AND NOT revoked",
                (_hashed(token),),
            ).fetchone()
            why = ""
            if row is None:
                why = "this link is not valid; ask for a new one"
            elif row[3] < now:
                why = "this link is too old; ask for a new one"
            elif row[4] not in (None, _hashed(cookie or "")):
                why = "this link is in use in another browser; ask for a new one"
            if why:
                self._write_log(connection, "refused", row[1] if row else "", where, why)
            else:
                changes = (
                    ("UPDATE people SET device = ?, seen = ? WHERE id = ?", (_hashed(new), now, row[0])),
                    ("DELETE FROM sessions WHERE person = ? OR seen < ?", (row[0], now - IDLE)),
                    ("INSERT INTO sessions VALUES (?, ?, ?, ?)", (_hashed(new), row[0], now, now)),
                )
                for change, values in changes:
                    connection.execute(change, values)
                self._write_log(connection, "entered", row[1], where)
        if why:
            raise Forbidden(why)
        return _session(Person(*row[:3]), new)

    def session(self, cookie: str | None) -> ReviewSession | None:
        """The session of a cookie; None where there is none, or it has expired."""
        if not cookie:
            return None
        now = self.clock()
        rows = self.database.rows(
            "SELECT p.id, p.name, p.role, s.began, s.seen FROM sessions s JOIN people p ON p.id = s.person "
            "WHERE s.cookie = ? AND NOT p.revoked",
            _hashed(cookie),
        )
        if not rows or now > rows[0][3] + LONGEST or now > rows[0][4] + IDLE:
            return None
        id_, name, role, _, seen = rows[0]
        if now > seen + _TOUCHED:
            with suppress(DiskFull), self.database.write(forced=False) as connection:  # who cannot write may read
                connection.execute("UPDATE sessions SET seen = ? WHERE cookie = ?", (now, _hashed(cookie)))
                connection.execute("UPDATE people SET seen = ? WHERE id = ?", (now, id_))
        return _session(Person(id_, name, role), cookie)

    def leave(self, cookie: str) -> None:
        """End a session."""
        with self.database.write() as connection:
            connection.execute("DELETE FROM sessions WHERE cookie = ?", (_hashed(cookie),))

    def revoke(self, name: str) -> None:
        """End a person's link and sessions, and free the slots they had claimed. Their decisions stay."""
        with self.database.write() as connection:
            person = _person_named(connection, name)
            for change in (
                "UPDATE people SET revoked = 1, token = NULL, device = NULL WHERE id = ?",
                "UPDATE slots SET state = 1, person = NULL WHERE person = ? AND state < 3",
                "DELETE FROM sessions WHERE person = ?",
            ):
                connection.execute(change, (person.id,))
            self._write_log(connection, "revoked", person.name)

    def person(self, name: str) -> Person:
        """A person who was invited, by name."""
        with self.database.read() as connection:
            return _person_named(connection, name)

    def log(self, what: str, person: str | None = None, where: str = "", detail: str = "") -> None:
        """Append a line to the log."""
        with self.database.write() as connection:
            self._write_log(connection, what, person or "", where, detail)

    def logged(self, limit: int = 200) -> list[LogRow]:
        """The last lines of the log, the newest first."""
        query = "SELECT time, what, person, address, detail FROM log ORDER BY id DESC LIMIT ?"
        return [LogRow(*row) for row in self.database.rows(query, limit)]

    def _write_log(self, connection: sqlite3.Connection, *words: str) -> None:
        """Write one line of the log (what, person, where, detail), in the transaction of its event."""
        cells = [word[:500] for word in (*words, "", "")[:4]]
        insert = "INSERT INTO log (time, what, person, address, detail) VALUES (?, ?, ?, ?, ?)"
        connection.execute(insert, (self.clock(), *cells))

    # Work: items are added, taken one by one, solved, decided and withdrawn.

    def add_items(self, ids: Iterable[str], round: int | None = None) -> int:  # noqa: A002 (a decision's own word)
        """Add items to the review, in a round or in all of them; returns how many are new."""
        with self.database.write() as connection:
            return self._add(connection, ids, round)

    def _add(self, connection: sqlite3.Connection, ids: Iterable[str], number: int | None) -> int:
        names, before = list(ids), connection.total_changes
        connection.executemany("INSERT OR IGNORE INTO items (item) VALUES (?)", ((name,) for name in names))
        added = connection.total_changes - before
        db.add_slots(connection, self.plan, names, number)
        return added

    def await_only(self, waiting: Mapping[int, Sequence[str]]) -> int:
        """Ask about exactly these items in these rounds; returns the number of slots that are new or open again."""
        with self.database.write() as connection:
            before = _unfinished(connection)
            kept = {(item, number) for number, ids in waiting.items() for item in ids}
            for number, ids in sorted(waiting.items()):
                self._add(connection, ids, number)
            slots = connection.execute(
                "SELECT DISTINCT i.id, i.item, s.round FROM slots s JOIN items i ON i.id = s.item "
                "WHERE s.state IN (0, 1, 2)"
            ).fetchall()
            connection.executemany(
                "UPDATE slots SET state = 4, person = NULL WHERE item = ? AND round = ? AND state IN (0, 1, 2)",
                [(id_, number) for id_, item, number in slots if (item, number) not in kept],
            )
            return len(_unfinished(connection) - before)

    def next_task(self, person: Person) -> Task | None:
        """A person's next task, reserved for half an hour. None where no task is available."""
        with self.database.write(forced=False) as connection:
            _refuse_idle(connection, person)
            slot = db.take_next(connection, person, self.clock())
            return None if slot is None else self._task(connection, person, slot)

    def task(self, person: Person, item: str, round: int) -> Task:  # noqa: A002
        """An item that a person has begun or decided about."""
        with self.database.read() as connection:
            return self._task(connection, person, db.slot_of(connection, person, _row(connection, item), round))

    def solve(self, person: Person, task: Task, answer: str) -> Task:
        """Answer an item before its gold is shown; the first answer stays. Empty: it cannot be answered."""
        with self.database.write() as connection:
            row = _row(connection, task.item)
            slot = db.slot_of(connection, person, row, task.round)
            values = (row, task.round, person.id, short_enough("answer", answer))
            connection.execute("INSERT OR IGNORE INTO solved VALUES (?, ?, ?, ?)", values)
            return self._task(connection, person, slot)

    def decide(
        self, person: Person, task: Task, kind: DecisionKind, *, nonce: str, **details: Unpack[DecisionDetails]
    ) -> Decision:
        """Store a person's decision. Sent twice with the same nonce it is one decision."""
        check_kind(kind)
        with self.database.write() as connection:
            if (before := _with_nonce(connection, person, nonce)) is not None:
                return before
            _refuse_idle(connection, person)
            slot = db.slot_of(connection, person, _row(connection, task.item), task.round)
            current = self._task(connection, person, slot)
            if current.unsolved:
                raise Forbidden(UNANSWERED)
            decision = self._decision(person, current, kind, details, slot)
            self._append(connection, person, slot, decision, nonce)
            return decision

    def undo(self, person: Person, item: str, round: int, nonce: str) -> Decision:  # noqa: A002
        """Withdraw a person's last decision about an item in a round, and reopen it for them."""
        with self.database.write() as connection:
            if (before := _with_nonce(connection, person, nonce)) is not None:
                return before
            slot = db.slot_of(connection, person, _row(connection, item), round)
            if db.last_decision(connection, person, slot) is None:
                raise InputError("there is nothing of yours to withdraw here")
            about = {"item": item, "round": round, "reviewer": person.name, "adjudicates": slot.adjudicates}
            decision = Decision(**about, time=self._now(), decision="undo")  # type: ignore[arg-type]
            self._append(connection, person, slot, decision, nonce)
            return decision

    def decisions(self, person: Person | None = None) -> list[Decision]:
        """All decisions, or those of one person, in order."""
        query = "SELECT record FROM decisions WHERE ?1 IS NULL OR person = ?1 ORDER BY id"
        return db.read_records(self.database.rows(query, person and person.id))

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

    def _task(self, connection: sqlite3.Connection, person: Person, slot: Slot) -> Task:
        (item,) = connection.execute("SELECT item FROM items WHERE id = ?", (slot.item,)).fetchone()
        decisions = db.decisions_on(connection, slot.item) if slot.adjudicates else ()
        solved = connection.execute(
            "SELECT answer FROM solved WHERE item = ? AND round = ? AND person = ?",
            (slot.item, slot.round, person.id),
        ).fetchone()
        return Task(
            item=item,
            round=slot.round,
            form=self.plan.form(slot.round, adjudicates=slot.adjudicates),
            adjudicates=slot.adjudicates,
            earlier=db.earlier(self.plan, decisions, slot.round),
            mine=db.last_decision(connection, person, slot),
            solved=solved[0] if solved else None,
        )

    def _decision(
        self, person: Person, task: Task, kind: DecisionKind, details: DecisionDetails, slot: Slot
    ) -> Decision:
        seconds = details.pop("seconds", None)
        if seconds is None and slot.since is not None and slot.state != db.DECIDED:
            seconds = self.clock() - slot.since
        decision = Decision(
            item=task.item,
            round=task.round,
            reviewer=person.name,
            time=self._now(),
            decision=kind,
            solved=task.solved or "",
            seconds=None if seconds is None else round(max(seconds, 0.0), 1),
            adjudicates=task.adjudicates,
            **{name: value for name, value in details.items() if value},  # type: ignore[arg-type]
        )
        item = self.item_of(task.item) if decision.edits and self.item_of else None
        return check_decision(decision, task.form, item)

    def _append(
        self, connection: sqlite3.Connection, person: Person, slot: Slot, decision: Decision, nonce: str
    ) -> None:
        record = msgspec.json.encode(decision).decode()
        connection.execute(
            "INSERT INTO decisions (item, round, person, nonce, record) VALUES (?, ?, ?, ?, ?)",
            (slot.item, slot.round, person.id, nonce, record),
        )
        if db.last_decision(connection, person, slot) is None:
            db.claim(connection, slot, person, self.clock())
        else:
            decided = "UPDATE slots SET state = 3 WHERE item = ? AND round = ? AND adjudicates = ? AND seat = ?"
            connection.execute(decided, slot[:4])
        db.settle(connection, self.plan, slot.item)

    def _now(self) -> str:
        return datetime.fromtimestamp(self.clock(), UTC).isoformat(timespec="seconds")

    # Decisions that were made in other tools.

    def add_decisions(self, decisions: Sequence[Decision], source: str) -> int:
        """Add the new decisions of another tool, all or none; returns how many. Unknown people become reviewers."""
        with self.database.write() as connection:
            known = db.read_records(connection.execute("SELECT record FROM decisions ORDER BY id"))
            fresh = new_decisions(known, decisions)
            for nonce, decision in fresh:
                role = "adjudicator" if decision.adjudicates else "reviewer"
                connection.execute(
                    "INSERT OR IGNORE INTO people (name, role, invited) VALUES (?, ?, ?)",
                    (decision.reviewer, role, self.clock()),
                )
                person = _person_named(connection, decision.reviewer)
                slot = self._seat(connection, person, decision)
                if decision.solved:
                    solved = (slot.item, slot.round, person.id, decision.solved)
                    connection.execute("INSERT OR IGNORE INTO solved VALUES (?, ?, ?, ?)", solved)
                timed = msgspec.structs.replace(decision, time=decision.time or self._now())
                self._append(connection, person, slot, timed, nonce)
            self._write_log(connection, "imported", "", source, counted(len(fresh), "decision"))
        return len(fresh)

    def _seat(self, connection: sqlite3.Connection, person: Person, decision: Decision) -> Slot:
        """A person's slot at an item: their own, else a free one, else an additional one."""
        item, about = _row(connection, decision.item), (decision.round, decision.adjudicates)
        own = [one for one in db.decisions_on(connection, item) if one.reviewer == person.name]
        if before := [one.round for one in own if (one.round, one.adjudicates) != about]:
            known = f"{short(person.name)} decided about item {short(decision.item)} in round {before[0]} already"
            later = "settle it" if decision.adjudicates else f"decide in round {decision.round}"
            raise InputError(f"{known}; another person has to {later}")
        rows = connection.execute(
            "SELECT seat, state, person FROM slots WHERE item = ? AND round = ? AND adjudicates = ? ORDER BY seat",
            (item, *about),
        ).fetchall()
        mine = [(seat, state) for seat, state, holder in rows if holder == person.id]
        free = [(seat, state) for seat, state, _ in rows if state in (db.LATER, db.OPEN)]
        one_more = (max((seat for seat, *_ in rows), default=0) + 1, db.OPEN)
        if not mine and not free:
            connection.execute(
                "INSERT INTO slots VALUES (?, ?, ?, ?, ?, NULL, NULL, NULL)", (item, *about, *one_more)
            )
        seat, state = (mine or free or [one_more])[0]
        slot = Slot(item, *about, seat, state, None)
        db.claim(connection, slot, person, self.clock())
        return slot

    def outcomes(self) -> dict[str, Decided]:
        """The outcome of each item, in the order of the queue."""
        return {item.item: item.outcome for item in self.judged().items}

    def judged(self) -> JudgedReview:
        """The outcome and the last decisions of each item, in the order of the queue; cached until that changes."""
        with self._lock, self.database.read() as connection:
            state = connection.execute(
                "SELECT (SELECT max(id) FROM decisions), (SELECT count(*) FROM items), (SELECT sum(round) FROM slots)"
            ).fetchone()
            key = (self.plan, *state)
            if self._judged is None or self._judged[0] != key:
                self._judged = (key, judge_items(connection, self.plan))
            return self._judged[1]

    def people(self, only: Person | None = None) -> list[PersonRow]:
        """All people who were invited, or one of them."""
        with self.database.read() as connection:
            return people_rows(connection, only)

    def progress(self) -> ReviewProgress:
        """Progress of rounds and persons."""
        decisions = self.judged().decisions
        with self.database.read() as connection:
            return progress_of(connection, decisions)

    def overview(self) -> ReviewOverview:
        """Progress, disagreement, agreement with intervals, reasons, and time per item."""
        judged, progress = self.judged(), self.progress()
        with self._lock:
            if self._overview is None or self._overview[0] is not judged:
                self._overview = (judged, make_overview(judged, self.plan, progress))
            return msgspec.structs.replace(self._overview[1], progress=progress)


def is_review(folder: Path) -> bool:
    """Whether a folder holds a review."""
    return (folder / FILE).is_file()


def decisions_in(
    folder: Path, known: Collection[str] | None = None, tell: Callable[[str], None] = lambda line: None
) -> dict[str, list[Decision]]:
    """Decisions by item: of the table beside a queue (``known`` items only) and of the review in that folder."""
    decisions = read_decisions(folder / DECISIONS, known)
    if not is_review(folder):
        return decisions
    with ReviewProject.open(folder) as project:
        every = project.decisions()
    ours = [decision for decision in every if known is None or decision.item in known]
    for decision in ours:
        decisions.setdefault(decision.item, []).append(decision)
    if fewer := len(every) - len(ours):
        tell(f"{counted(fewer, 'decision')} in {folder / FILE}: about items that are not in this benchmark")
    return decisions


def _with_nonce(connection: sqlite3.Connection, person: Person, nonce: str) -> Decision | None:
    if not nonce or len(nonce) > _LONGEST_NONCE:
        raise InputError(f"nonce: expected 1 to {_LONGEST_NONCE} characters")
    query = "SELECT record FROM decisions WHERE person = ? AND nonce = ?"
    return next(iter(db.read_records(connection.execute(query, (person.id, nonce)))), None)


def _refuse_idle(connection: sqlite3.Connection, person: Person) -> None:
    row = connection.execute("SELECT role FROM people WHERE id = ? AND NOT revoked", (person.id,)).fetchone()
    if row is None or row[0] not in DECIDES:
        raise Forbidden("a reader decides nothing" if row else "your invitation to this review was withdrawn")


def _row(connection: sqlite3.Connection, item: str) -> int:
    row: Sequence[int] | None = connection.execute("SELECT id FROM items WHERE item = ?", (item,)).fetchone()
    if row is None:
        raise InputError(f"no item {short(item)} in this review")
    return row[0]


def _unfinished(connection: sqlite3.Connection) -> set[tuple[int, ...]]:
    return set(connection.execute("SELECT item, round, adjudicates, seat FROM slots WHERE state IN (0, 1, 2)"))


def _person_named(connection: sqlite3.Connection, name: str) -> Person:
    row = connection.execute("SELECT id, name, role FROM people WHERE name = ?", (name.strip(),)).fetchone()
    if row is None:
        names = [known for (known,) in connection.execute("SELECT name FROM people")]
        hint = nearest(name, names) if names else "no reviewer was invited yet"
        raise InputError(f"no reviewer is called {short(name)}; {hint}")
    return Person(*row)


def _hashed(secret: str) -> str:
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def _session(person: Person, cookie: str) -> ReviewSession:
    """The session of a cookie. The token in forms is derived from the cookie and cannot be guessed without it."""
    return ReviewSession(person, _hashed(f"csrf {cookie}"), cookie)
