"""The SQLite file of a review, and the queries about slots, which run in the transaction of their caller."""

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from eyetest.errors import DiskFull, EyetestError, Forbidden, InputError, short
from eyetest.records import Decision
from eyetest.studio.decisions import SETTLES, Decided, Person, ReviewPlan, Round, decide, standing

FILE = "review.db"
_PATIENCE = 20.0  # seconds that a writer waits for another
_NO_SPACE = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_SHMSIZE,
)
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE items (id INTEGER PRIMARY KEY, item TEXT NOT NULL UNIQUE, settled INTEGER NOT NULL DEFAULT 0);
CREATE TABLE people (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, role TEXT NOT NULL, token TEXT UNIQUE, token_until REAL,
  device TEXT, invited REAL NOT NULL, seen REAL, revoked INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE sessions (
  cookie TEXT PRIMARY KEY, person INTEGER NOT NULL REFERENCES people, began REAL NOT NULL, seen REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE slots (
  item INTEGER NOT NULL REFERENCES items, round INTEGER NOT NULL, adjudicates INTEGER NOT NULL, seat INTEGER NOT NULL,
  state INTEGER NOT NULL, person INTEGER REFERENCES people, since REAL, until REAL,
  PRIMARY KEY (item, round, adjudicates, seat)
) WITHOUT ROWID;
CREATE INDEX open_slots ON slots (adjudicates, round, item, seat) WHERE state = 1;
CREATE INDEX claims ON slots (until) WHERE state = 2;
CREATE INDEX slots_of ON slots (person, state);
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, item INTEGER NOT NULL REFERENCES items, round INTEGER NOT NULL,
  person INTEGER NOT NULL REFERENCES people, nonce TEXT NOT NULL, record TEXT NOT NULL, UNIQUE (person, nonce)
);
CREATE INDEX decided ON decisions (item, person);
CREATE TABLE solved (
  item INTEGER NOT NULL, round INTEGER NOT NULL, person INTEGER NOT NULL, answer TEXT NOT NULL,
  PRIMARY KEY (item, round, person)
) WITHOUT ROWID;
CREATE TABLE log (
  id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, what TEXT NOT NULL, person TEXT NOT NULL,
  address TEXT NOT NULL, detail TEXT NOT NULL
);
CREATE TRIGGER decisions_stay BEFORE UPDATE ON decisions BEGIN SELECT RAISE(ABORT, 'decisions stay'); END;
CREATE TRIGGER decisions_kept BEFORE DELETE ON decisions BEGIN SELECT RAISE(ABORT, 'decisions stay'); END;
"""
"""Only hashes of links and cookies are stored. In ``solved``, round 0 letters who adjudicates an item."""
LATER, OPEN, CLAIMED, DECIDED, CLOSED = range(5)
"""States of a slot; numbers in queries, since SQLite uses a partial index only where a query names the state."""
CLAIM = 1_800.0  # seconds for which a slot is reserved
_DECISION = msgspec.json.Decoder(Decision)
_SLOT = "SELECT item, round, adjudicates, seat, state, since FROM slots AS s "
_BEGUN = _SLOT + "WHERE person = ? AND state IN (1, 2) ORDER BY since LIMIT 1"
_FREE = (
    "SELECT item, round, adjudicates, seat, state, since FROM slots AS s WHERE state = 1 AND adjudicates = ?1 "
    "AND NOT EXISTS (SELECT 1 FROM decisions WHERE item = s.item AND person = ?2) AND (adjudicates OR NOT EXISTS "
    "(SELECT 1 FROM solved WHERE item = s.item AND person = ?2 AND round != s.round)) "
    "ORDER BY round, item, seat LIMIT 1"
)  # an item is not offered to a person who knows from elsewhere in the review what others decided, or its gold
_OWN = _SLOT + "WHERE item = ? AND round = ? AND person = ? AND state IN (1, 2, 3)"
_CLAIM = (
    "UPDATE slots SET state = 2, since = CASE WHEN person = ?1 AND state != 3 THEN since ELSE ?2 END, person = ?1, "
    "until = ?3 WHERE item = ?4 AND round = ?5 AND adjudicates = ?6 AND seat = ?7"
)  # ``since`` is when its holder first got it
_NOT_SETTLED = (
    "UPDATE items SET settled = 0 WHERE item = ? AND settled AND EXISTS (SELECT 1 FROM slots "
    "WHERE slots.item = items.id AND round = ? AND state IN (1, 2) AND NOT adjudicates)"
)  # what was settled in one round of a recipe is open again in the next


class ReviewDatabase:
    """Connections to the file: one for writing, shared by all threads, and one per thread for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._own = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._writing, self._forced = threading.Lock(), True
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # links and cookies of people are in it
        try:
            self._writer = self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        with self._one_line():
            connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
            self._opened.append(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        return connection

    @contextmanager
    def write(self, *, forced: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction; if not ``forced``, it survives the end of the program, but not a power failure."""
        with self._writing, self._one_line():
            if forced != self._forced:
                self._writer.execute(f"PRAGMA synchronous = {'FULL' if forced else 'NORMAL'}")
                self._forced = forced
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """A consistent state for reading, which does not wait for a writer."""
        with self._one_line():
            connection = getattr(self._own, "connection", None)
            if connection is None:
                connection = self._own.connection = self._connect()
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("ROLLBACK")

    def rows(self, query: str, *values: object) -> list[Any]:
        """All rows that a query finds."""
        with self.read() as connection:
            return connection.execute(query, values).fetchall()

    def close(self) -> None:
        """Close all connections."""
        for connection in self._opened:
            connection.close()

    @contextmanager
    def _one_line(self) -> Iterator[None]:
        """Errors as one line that says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None) or 0
            if code in _NO_SPACE:
                full = "no space on the disk; this was not stored, everything before is"
                raise DiskFull(f"{self.path}: {full}") from None
            if code & 0xFF == sqlite3.SQLITE_BUSY:
                busy = f"another program has been writing for {_PATIENCE:.0f} s; try again"
                raise EyetestError(f"{self.path}: {busy}") from None
            raise InputError(f"{self.path}: {error}") from None
        except UnicodeEncodeError as error:
            text = short(error.object[max(0, error.start - 20) : error.end])
            raise InputError(f"{text} ends in a character that UTF-8 cannot encode") from None


class Slot(NamedTuple):
    """One reviewer's turn at one item in one round; the first four fields are its key."""

    item: int
    round: int
    adjudicates: bool
    seat: int
    state: int
    since: float | None


def read_records(rows: Iterable[tuple[str]]) -> list[Decision]:
    """Decisions from their stored records."""
    return [_DECISION.decode(record) for (record,) in rows]


def decisions_on(connection: sqlite3.Connection, item: int) -> list[Decision]:
    """All decisions about an item, in order."""
    return read_records(connection.execute("SELECT record FROM decisions WHERE item = ? ORDER BY id", (item,)))


def add_slots(connection: sqlite3.Connection, plan: ReviewPlan, ids: Sequence[str], number: int | None) -> None:
    """Add slots of some items in a round, or in all of them, where they have none; closed ones open again."""
    for round_ in plan.rounds:
        if number not in (None, round_.number):
            continue
        state = LATER if plan.together and round_.number > 1 else OPEN
        connection.executemany(
            "UPDATE slots SET state = ? WHERE state = 4 AND round = ? AND "
            "item = (SELECT id FROM items WHERE item = ?)",
            ((state, round_.number, item) for item in ids),
        )
        connection.executemany(
            "INSERT OR IGNORE INTO slots SELECT id, ?, 0, ?, ?, NULL, NULL, NULL FROM items WHERE item = ?",
            ((round_.number, seat, state, item) for item in ids for seat in range(1, round_.reviewers + 1)),
        )
        if not plan.together:
            connection.executemany(_NOT_SETTLED, ((item, round_.number) for item in ids))


def change_seats(connection: sqlite3.Connection, planned: Round) -> None:
    """Give each item of a round as many slots as it has reviewers now; slots with a decision stay."""
    connection.execute(
        "DELETE FROM slots WHERE round = ? AND seat > ? AND NOT adjudicates AND state != 3",
        (planned.number, planned.reviewers),
    )
    connection.executemany(
        "INSERT OR IGNORE INTO slots SELECT DISTINCT item, round, 0, ?, 1, NULL, NULL, NULL FROM slots "
        "WHERE round = ? AND NOT adjudicates AND state != 4",
        ((seat, planned.number) for seat in range(1, planned.reviewers + 1)),
    )


def take_next(connection: sqlite3.Connection, person: Person, now: float) -> Slot | None:
    """Claim the slot that a person has begun, else a free one: adjudication first, then by round and item."""
    connection.execute("UPDATE slots SET state = 1 WHERE state = 2 AND until < ?", (now,))
    row = connection.execute(_BEGUN, (person.id,)).fetchone()
    for adjudicates in (1, 0) if person.role in SETTLES else (0,):
        row = row or connection.execute(_FREE, (adjudicates, person.id)).fetchone()
    if row is None:
        return None
    slot = _slot(row)
    claim(connection, slot, person, now)
    if slot.adjudicates:
        connection.execute("INSERT OR IGNORE INTO solved VALUES (?, 0, ?, '')", (slot.item, person.id))
    return slot


def claim(connection: sqlite3.Connection, slot: Slot, person: Person, now: float) -> None:
    """Reserve a slot for a person from now on."""
    connection.execute(_CLAIM, (person.id, now, now + CLAIM, *slot[:4]))


def slot_of(connection: sqlite3.Connection, person: Person, item: int, number: int) -> Slot:
    """A person's own slot at an item: one they hold or have decided in."""
    row = connection.execute(_OWN, (item, number, person.id)).fetchone()
    if row is None:
        raise Forbidden("this item is not yours in this round, or not any more: continue with the next")
    return _slot(row)


def settle(connection: sqlite3.Connection, plan: ReviewPlan, item: int) -> None:
    """After a decision: open the next round of an item, or a slot for an adjudicator where reviewers disagree."""
    decisions = decisions_on(connection, item)
    rows = connection.execute(
        "SELECT round, min(state = 3) FROM slots WHERE item = ? AND NOT adjudicates AND state != 4 "
        "GROUP BY round ORDER BY round",
        (item,),
    ).fetchall()
    if plan.together:
        for number, done in rows:
            if not done:
                break
            opened = "UPDATE slots SET state = 1 WHERE item = ? AND round = ? AND state = 0"
            connection.execute(opened, (item, number + 1))
        rows = [(plan.rounds[-1].number, all(done for _, done in rows))] if rows else []
    add = "INSERT OR IGNORE INTO slots VALUES (?, ?, 1, 1, 1, NULL, NULL, NULL)"
    remove = "DELETE FROM slots WHERE item = ? AND round = ? AND adjudicates AND state != 3"
    is_open = True
    for number, done in rows:
        is_open = outcome_in(plan, decisions, number).verdict == "review"
        connection.execute(add if done and is_open else remove, (item, number))
    connection.execute("UPDATE items SET settled = ? WHERE id = ?", (not is_open, item))


def outcome_in(plan: ReviewPlan, decisions: Sequence[Decision], number: int) -> Decided:
    """The outcome of an item: in a round, or in all of them where they count together."""
    mine = decisions if plan.together else [decision for decision in decisions if decision.round == number]
    return decide(mine, plan.votes(number), plan.agree)


def earlier(plan: ReviewPlan, decisions: Iterable[Decision], number: int) -> tuple[Decision, ...]:
    """Decisions of others about an item, for its adjudicator after a round."""
    others = (one for one in standing(decisions) if not one.adjudicates)
    return tuple(one for one in others if plan.together or one.round == number)


def last_decision(connection: sqlite3.Connection, person: Person, slot: Slot) -> Decision | None:
    """A person's last decision in a slot that was not withdrawn."""
    rows = connection.execute(
        "SELECT record FROM decisions WHERE item = ? AND person = ? AND round = ? ORDER BY id",
        (slot.item, person.id, slot.round),
    )
    decisions = standing(one for one in read_records(rows) if one.adjudicates == slot.adjudicates)
    return decisions[-1] if decisions else None


def _slot(row: Sequence[Any]) -> Slot:
    return Slot(*row)._replace(adjudicates=bool(row[2]))
