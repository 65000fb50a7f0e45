"""The one file of a review: SQLite with a write-ahead log, for several threads and processes at once."""

import sqlite3
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eyetest.errors import DiskFull, EyetestError, InputError, short

FILE = "review.db"
VERSION = 1
_PATIENCE = 20.0
"""Seconds that a writer waits for another."""
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_SHMSIZE)
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
"""A slot is one reviewer's place at one item in one round. Of links and cookies only hashes are kept.

Whoever settles an item has seen what others said: in ``solved`` that is round 0.
"""


class FairLock:
    """A lock that is handed on in the order in which threads came, so that nobody is passed over by the others."""

    def __init__(self) -> None:
        self._guard, self._waiting, self._busy = threading.Lock(), deque[threading.Lock](), False

    @contextmanager
    def mine(self) -> Iterator[None]:
        """Wait for one's turn, and hand it on."""
        turn = threading.Lock()
        with self._guard:
            if self._busy:
                turn.acquire()
                self._waiting.append(turn)
            self._busy = True
        try:
            turn.acquire()  # at once, or when whoever was before hands it on
            yield
        finally:
            with self._guard:
                if turn in self._waiting:  # interrupted while it waited
                    self._waiting.remove(turn)
                elif self._waiting:
                    self._waiting.popleft().release()
                else:
                    self._busy = False


class ReviewDatabase:
    """Connections to the file: one for writing, of which a thread has to wait, and one a thread for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._own = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._turns, self._forced = FairLock(), True
        try:
            self._writer = self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        with self._told():
            connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
            self._opened.append(connection)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        return connection

    @contextmanager
    def write(self, *, forced: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is kept or none, also if the machine stops the moment after.

        What is not ``forced`` to the disk outlives the program, but perhaps not the machine: whose turn it is, say.
        """
        with self._turns.mine(), self._told():
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
        """What is kept, as it was at the first question; nobody has to wait for whoever writes."""
        with self._told():
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

    def close(self) -> None:
        """Close all connections."""
        for connection in self._opened:
            connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._line(error) from None
        except UnicodeEncodeError as error:
            told = short(error.object[max(0, error.start - 20) : error.end])
            raise InputError(f"{told} ends in what UTF-8 cannot say") from None

    def _line(self, error: sqlite3.Error) -> EyetestError:
        code = getattr(error, "sqlite_errorcode", None)
        if code in _NO_ROOM:
            return DiskFull(f"{self.path}: no room on the disk; nothing was kept of this, everything before is there")
        if code is not None and code & 0xFF == sqlite3.SQLITE_BUSY:
            return EyetestError(f"{self.path}: another program has been writing for {_PATIENCE:.0f} s; try again")
        return InputError(f"{self.path}: {error}")


def check_version(database: ReviewDatabase) -> None:
    """Refuse a file that another version wrote, or that is none of ours."""
    with database.read() as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        made = f"version {version}" if version else "no version"
        raise InputError(f"{database.path}: {made} of a review, expected {VERSION}; it was made by another eyetest")
