"""The SQLite file of a review, which several programs and threads may have open; people, their links and sessions."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, NamedTuple, get_args

from eyetest.errors import DiskFull, EyetestError, Forbidden, InputError, nearest, param, short
from eyetest.studio.decisions import Person, ReviewSession, Role
from eyetest.studio.forms import checked_name

FILE = "review.db"
_LONGEST_CELL = 500  # characters of the log
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
  cookie TEXT UNIQUE, entered REAL, invited REAL NOT NULL, seen REAL, revoked INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE slots (
  item INTEGER NOT NULL REFERENCES items, round INTEGER NOT NULL, adjudicates INTEGER NOT NULL, seat INTEGER NOT NULL,
  state INTEGER NOT NULL DEFAULT 1, person INTEGER REFERENCES people, since REAL, until REAL,
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
"""Only hashes of links and cookies are stored. A slot is one reviewer's turn at one item in one round; its state is
1 open, 2 claimed, 3 decided. In ``solved``, round 0 marks people who know the decisions of others about an item.
"""

_DAY = 86_400.0
VALID = 30 * _DAY  # seconds for which a link is valid
IDLE, LONGEST = _DAY / 2, 30 * _DAY  # a session ends after so many seconds without a call, and after so many in total
_TOUCHED = 60.0  # least seconds between two updates of when a person was last seen
_ROWS = """
SELECT name, role, invited, seen, revoked, (SELECT count(*) FROM slots WHERE person = p.id AND state = 3),
  CASE WHEN revoked OR role = 'reader' THEN 0 ELSE (SELECT count(*) FROM (
    SELECT item FROM slots WHERE person = p.id AND state < 3 UNION
    SELECT item FROM slots AS s WHERE state = 1 AND adjudicates <= (p.role = 'admin')
    AND item NOT IN (SELECT item FROM decisions WHERE person = p.id) AND (adjudicates OR NOT EXISTS
      (SELECT 1 FROM solved WHERE item = s.item AND person = p.id AND round != s.round))
  )) END
FROM people AS p WHERE ?1 IS NULL OR id = ?1 ORDER BY id
"""


class LogRow(NamedTuple):
    """One line of the log."""

    time: float
    what: str
    person: str = ""
    address: str = ""
    detail: str = ""

    def write(self, connection: sqlite3.Connection) -> None:
        """Write the line, in the transaction of its event."""
        insert = "INSERT INTO log (time, what, person, address, detail) VALUES (?, ?, ?, ?, ?)"
        connection.execute(insert, (self.time, *(word[:_LONGEST_CELL] for word in self[1:])))


class ReviewDatabase:
    """Connections to the file: one for writing, shared by all threads, and one per thread for reading."""

    def __init__(self, path: Path) -> None:
        self.path, self._own = path, threading.local()
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
            for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
                connection.execute(f"PRAGMA {setting}")
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
                raise DiskFull(
                    f"{self.path}: no space on the disk; this was not stored, everything before is"
                ) from None
            if code & 0xFF == sqlite3.SQLITE_BUSY:
                raise EyetestError(f"{self.path}: another program has been writing for {_PATIENCE:.0f} s") from None
            raise InputError(f"{self.path}: {error}") from None
        except UnicodeEncodeError as error:
            text = short(error.object[max(0, error.start - 20) : error.end])
            raise InputError(f"{text} ends in a character that UTF-8 cannot encode") from None


class PersonRow(NamedTuple):
    """One person, as the admin sees them; ``waiting`` counts items that they could decide about."""

    name: str
    role: Role
    invited: float
    seen: float | None
    revoked: bool
    decided: int
    waiting: int


class People:
    """The people who were invited to a review."""

    def __init__(self, database: ReviewDatabase, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def invite(self, name: str, role: Role = "reviewer") -> str:
        """Create a link's token for a person. A new invitation ends the earlier one and its session."""
        person, token = checked_name(name), token_urlsafe(32)
        if role not in get_args(Role):
            raise InputError(f"{param('role')}: no role {short(role)}; {nearest(role, get_args(Role))}")
        now = self._clock()
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO people (name, role, token, token_until, invited) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (name) DO UPDATE SET role = excluded.role, token = excluded.token, "
                "token_until = excluded.token_until, invited = excluded.invited, cookie = NULL, revoked = 0",
                (person, role, _hashed(token), now + VALID, now),
            )
            LogRow(now, "invited", person, "", role).write(connection)
        return token

    def enter(self, token: str, cookie: str | None, address: str = "") -> ReviewSession:
        """Follow a link. Only the first browser that does so is admitted; later it is recognised by its cookie."""
        now, new = self._clock(), token_urlsafe(32)  # never the cookie that a browser sends
        with self._database.write() as connection:
            row = connection.execute(
                "SELECT id, name, role, token_until, cookie FROM people WHERE token = ? AND NOT revoked",
                (_hashed(token),),
            ).fetchone()
            why = ""
            if row is None:
                why = "this link is not valid; ask for a new one"
            elif row[3] < now:
                why = "this link is too old; ask for a new one"
            elif row[4] not in (None, _hashed(cookie or "")):
                why = "this link is in use in another browser; ask for a new one"
            else:
                begin = "UPDATE people SET cookie = ?, entered = ?2, seen = ?2 WHERE id = ?3"
                connection.execute(begin, (_hashed(new), now, row[0]))
            what, name = "refused" if why else "entered", row[1] if row else ""
            LogRow(now, what, name, address, why).write(connection)
        if why:
            raise Forbidden(why)
        return _session(Person(*row[:3]), new)

    def session(self, cookie: str | None) -> ReviewSession | None:
        """The session of a cookie; None where there is none, or it has expired."""
        now, hashed = self._clock(), _hashed(cookie or "")
        query = "SELECT id, name, role, entered, seen FROM people WHERE cookie = ? AND entered IS NOT NULL"
        rows = self._database.rows(query, hashed)
        if not cookie or not rows or now > rows[0][3] + LONGEST or now > rows[0][4] + IDLE:
            return None
        id_, name, role, _, seen = rows[0]
        if now > seen + _TOUCHED:
            with suppress(DiskFull), self._database.write(forced=False) as connection:  # who cannot write may read
                connection.execute("UPDATE people SET seen = ? WHERE cookie = ?", (now, hashed))
        return _session(Person(id_, name, role), cookie)

    def leave(self, cookie: str) -> None:
        """End a session. The browser may enter again by its link."""
        with self._database.write() as connection:
            connection.execute("UPDATE people SET entered = NULL WHERE cookie = ?", (_hashed(cookie),))

    def revoke(self, name: str) -> None:
        """End a person's link and session, and free the slots they had claimed. Their decisions stay."""
        with self._database.write() as connection:
            person = person_named(connection, name)
            connection.execute(
                "UPDATE people SET revoked = 1, token = NULL, cookie = NULL WHERE id = ?", (person.id,)
            )
            freed = "UPDATE slots SET state = 1, person = NULL WHERE person = ? AND state < 3"
            connection.execute(freed, (person.id,))
            LogRow(self._clock(), "revoked", person.name).write(connection)

    def named(self, name: str) -> Person:
        """A person who was invited, by name."""
        with self._database.read() as connection:
            return person_named(connection, name)

    def rows(self, only: Person | None = None) -> list[PersonRow]:
        """All people who were invited, or one of them."""
        rows = map(PersonRow._make, self._database.rows(_ROWS, only and only.id))
        return [row._replace(revoked=bool(row.revoked)) for row in rows]


def person_named(connection: sqlite3.Connection, name: str) -> Person:
    """A person who was invited, by name; refused with the nearest name."""
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
