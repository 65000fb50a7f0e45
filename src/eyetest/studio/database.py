"""The SQLite file of a review, which several programs and threads may have open."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from eyetest.errors import DiskFull, EyetestError, InputError, short

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


class LogRow(NamedTuple):
    """One line of the log."""

    time: float
    what: str
    person: str = ""
    address: str = ""
    detail: str = ""


def write_log(connection: sqlite3.Connection, row: LogRow) -> None:
    """Write one line of the log, in the transaction of its event."""
    cells = [word[:_LONGEST_CELL] for word in row[1:]]
    insert = "INSERT INTO log (time, what, person, address, detail) VALUES (?, ?, ?, ?, ?)"
    connection.execute(insert, (row.time, *cells))


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
