"""The SQLite file of a review, which several programs and threads may have open; people, their links and sessions."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, NamedTuple, get_args

from eyetest.errors import DiskFull, EyetestError, Forbidden, InputError, heading, nearest, short
from eyetest.studio.decisions import Person, ReviewSession, Role
from eyetest.studio.forms import checked_name
from eyetest.studio.soundness import REPAIR, DamagedRecord, seal_people

FILE = "review.db"
_PATIENCE = 20.0  # seconds that a writer waits for another
_SETTINGS = (
    "journal_mode = WAL",
    "wal_autocheckpoint = 1",  # all is in the one file soon, since SQLite ignores the damaged end of the other
    "synchronous = FULL",
    "foreign_keys = ON",
)
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NO_SPACE = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_SHMSIZE,
)
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE items (id INTEGER PRIMARY KEY, item TEXT NOT NULL UNIQUE);
CREATE TABLE people (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, role TEXT NOT NULL, token TEXT UNIQUE, token_until REAL,
  cookie TEXT UNIQUE, entered REAL, revoked INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE slots (
  item INTEGER NOT NULL REFERENCES items, adjudicates INTEGER NOT NULL, seat INTEGER NOT NULL,
  state INTEGER NOT NULL DEFAULT 1, person INTEGER REFERENCES people, since REAL, until REAL,
  PRIMARY KEY (item, adjudicates, seat)
) WITHOUT ROWID;
CREATE INDEX open_slots ON slots (adjudicates, item, seat) WHERE state = 1;
CREATE INDEX claims ON slots (until) WHERE state = 2;
CREATE INDEX slots_of ON slots (person, state);
CREATE TABLE decisions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, item INTEGER NOT NULL REFERENCES items,
  person INTEGER NOT NULL REFERENCES people, nonce TEXT NOT NULL, record TEXT NOT NULL, UNIQUE (person, nonce)
);
CREATE INDEX decided ON decisions (item, person);
CREATE TABLE solved (
  item INTEGER NOT NULL, person INTEGER NOT NULL, answer TEXT NOT NULL, PRIMARY KEY (item, person)
) WITHOUT ROWID;
CREATE TRIGGER decisions_stay BEFORE UPDATE ON decisions BEGIN SELECT RAISE(ABORT, 'decisions stay'); END;
CREATE TRIGGER decisions_kept BEFORE DELETE ON decisions BEGIN SELECT RAISE(ABORT, 'decisions stay'); END;
"""
"""Only hashes of links and cookies are stored. A slot is one reviewer's turn at one item, or an admin's who settles
it; its state is 1 open, 2 claimed, 3 decided.
"""

VALID = 30 * 86_400.0  # seconds for which a link is valid
SESSION = 86_400 / 2  # seconds from entering to the end of a session
_ROWS = """
SELECT name, role, revoked, (SELECT count(*) FROM slots WHERE person = p.id AND state = 3),
  CASE WHEN revoked OR role = 'reader' THEN 0 ELSE (SELECT count(*) FROM (
    SELECT item FROM slots WHERE person = p.id AND state < 3 UNION
    SELECT item FROM slots WHERE state = 1 AND adjudicates <= (p.role = 'admin')
    AND item NOT IN (SELECT item FROM decisions WHERE person = p.id)
  )) END
FROM people AS p WHERE ?1 IS NULL OR id = ?1 ORDER BY id
"""


class ReviewDatabase:
    """Connections to the file: one for writing, shared by all threads, and one per thread for reading."""

    def __init__(self, path: Path) -> None:
        self.path, self._own = path, threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._writing = threading.Lock()
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
            for setting in _SETTINGS:
                connection.execute(f"PRAGMA {setting}")
        return connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction, which is on the disk when it ends."""
        with self._writing, self._one_line():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                seal_people(self._writer)
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

    def gather(self) -> None:
        """Move everything into the one file, so that it may be renamed: closing alone hides that this has failed."""
        with self._writing, self._one_line():
            self._writer.execute("PRAGMA journal_mode = DELETE")

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
            if code & 0xFF in _DAMAGED:
                raise InputError(f"{self.path} is damaged: {error}; {REPAIR}") from None
            raise InputError(f"{self.path}: {error}") from None
        except UnicodeDecodeError as error:
            raise InputError(f"{self.path} is damaged: {error}; {REPAIR}") from None
        except DamagedRecord as error:
            raise InputError(f"{self.path} {error}") from None
        except UnicodeEncodeError as error:
            text = short(error.object[max(0, error.start - 20) : error.end])
            raise InputError(f"{text} ends in a character that UTF-8 cannot encode") from None


class PersonRow(NamedTuple):
    """One person, as the admin sees them; ``waiting`` counts items that they could decide about."""

    name: str
    role: Role
    revoked: bool
    decided: int
    waiting: int


class People:
    """The people who were invited to a review."""

    def __init__(self, database: ReviewDatabase, clock: Callable[[], float]) -> None:
        self._database, self._clock = database, clock

    def invite(self, name: str, role: str = "reviewer") -> str:
        """Create a link's token for a person. A new invitation ends the earlier one and its session."""
        person, token = checked_name(name), token_urlsafe(32)
        if role not in get_args(Role):
            raise InputError(f"{heading('role')}: no role {short(role)}; {nearest(role, get_args(Role))}")
        with self._database.write() as connection:
            connection.execute(
                "INSERT INTO people (name, role, token, token_until) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (name) DO UPDATE SET role = excluded.role, token = excluded.token, "
                "token_until = excluded.token_until, cookie = NULL, revoked = 0",
                (person, role, _hashed(token), self._clock() + VALID),
            )
        return token

    def enter(self, token: str, cookie: str | None) -> ReviewSession:
        """Follow a link. Only the first browser that does so is admitted; later it is recognised by its cookie."""
        now, new = self._clock(), token_urlsafe(32)  # never the cookie that a browser sends
        with self._database.write() as connection:
            row = connection.execute(
                "SELECT id, name, role, token_until, cookie FROM people WHERE token = ? AND NOT revoked",
                (_hashed(token),),
            ).fetchone()
            if row is None:
                raise Forbidden("this link is not valid; ask for a new one")
            if row[3] < now:
                raise Forbidden("this link is too old; ask for a new one")
            if row[4] not in (None, _hashed(cookie or "")):
                raise Forbidden("this link is in use in another browser; ask for a new one")
            begin = "UPDATE people SET cookie = ?, entered = ? WHERE id = ?"
            connection.execute(begin, (_hashed(new), now, row[0]))
        return _session(Person(*row[:3]), new)

    def session(self, cookie: str | None) -> ReviewSession | None:
        """The session of a cookie; None where there is none, or it has expired."""
        query = "SELECT id, name, role FROM people WHERE cookie = ? AND entered >= ?"
        rows = self._database.rows(query, _hashed(cookie or ""), self._clock() - SESSION)
        return _session(Person(*rows[0]), cookie) if cookie and rows else None

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
