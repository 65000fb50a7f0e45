"""Who may come in: personal links, each for one browser, and sessions that end by themselves."""

import sqlite3
from collections.abc import Callable
from hashlib import sha256
from secrets import token_urlsafe
from typing import NamedTuple, get_args

from eyetest.errors import DiskFull, Forbidden, InputError, nearest, param, short
from eyetest.review.project.database import ReviewDatabase
from eyetest.review.project.plan import Entered, Person, ReviewSession, Role

DAY = 86_400.0
IDLE = DAY / 2
LONGEST = 30 * DAY
"""A session ends after so many seconds without a call, and after so many in any case."""
LONGEST_NAME = 60
_TOUCHED = 60.0
"""That somebody is here is written down no more often than so."""
_TOKEN_BYTES = 32


class LogRow(NamedTuple):
    """One line of the log."""

    time: float
    what: str
    person: str
    where: str
    detail: str


class PersonRow(NamedTuple):
    """One person, as the admin sees them."""

    name: str
    role: Role
    invited: float
    seen: float | None
    revoked: bool
    decided: int
    waiting: int
    """Decisions that wait and that they could make."""


def hashed(secret: str) -> str:
    """What is kept of a secret."""
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


class ProjectPeople:
    """The people of a review, their links and sessions, and what was logged."""

    database: ReviewDatabase
    clock: Callable[[], float]

    def invite(self, name: str, role: Role = "reviewer", days: float = 30) -> str:
        """A link's token for somebody. Invited again, they get a new one: what they had before is dead."""
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
                (person, role, hashed(token), now + days * DAY, now),
            )
            _end_sessions(connection, person)
            write_log(connection, now, "invited", person, detail=role)
        return token

    def enter(self, token: str, device: str | None, where: str = "") -> Entered:
        """Follow a link. The first browser that does so is the only one that may, and knows itself by a cookie."""
        now, cookie = self.clock(), token_urlsafe(_TOKEN_BYTES)
        with self.database.write() as connection:
            row = connection.execute(
                "SELECT id, name, role, token_until, device FROM people WHERE token = ? AND NOT revoked",
                (hashed(token),),
            ).fetchone()
            if device is None or row is None or row[4] is None:
                device = token_urlsafe(_TOKEN_BYTES)  # never what a browser brings along
            if why := _why_not(row, hashed(device), now):
                write_log(connection, now, "refused", row[1] if row else "", where, why)
            else:
                connection.execute(
                    "UPDATE people SET device = ?, seen = ? WHERE id = ?", (hashed(device), now, row[0])
                )
                connection.execute("DELETE FROM sessions WHERE began < ? OR seen < ?", (now - LONGEST, now - IDLE))
                connection.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", (hashed(cookie), row[0], now, now))
                write_log(connection, now, "entered", row[1], where)
        if why:
            raise Forbidden(why)
        return Entered(cookie, device, _session(Person(*row[:3]), cookie))

    def session(self, cookie: str | None) -> ReviewSession | None:
        """Whose cookie it is; None where it is nobody's, or too old."""
        if not cookie:
            return None
        now = self.clock()
        with self.database.read() as connection:
            row = connection.execute(
                "SELECT p.id, p.name, p.role, s.began, s.seen FROM sessions s JOIN people p ON p.id = s.person "
                "WHERE s.cookie = ? AND NOT p.revoked",
                (hashed(cookie),),
            ).fetchone()
        if row is None or now > row[3] + LONGEST or now > row[4] + IDLE:
            return None
        if now > row[4] + _TOUCHED:
            self._touch(cookie, row[0], now)
        return _session(Person(*row[:3]), cookie)

    def _touch(self, cookie: str, person: int, now: float) -> None:
        """Write down that somebody is here; on a full disk they still may read."""
        try:
            with self.database.write(forced=False) as connection:
                connection.execute("UPDATE sessions SET seen = ? WHERE cookie = ?", (now, hashed(cookie)))
                connection.execute("UPDATE people SET seen = ? WHERE id = ?", (now, person))
        except DiskFull:
            pass

    def leave(self, cookie: str) -> None:
        """End a session."""
        with self.database.write() as connection:
            connection.execute("DELETE FROM sessions WHERE cookie = ?", (hashed(cookie),))

    def revoke(self, name: str) -> None:
        """End somebody's link and sessions, and free what they had begun. What they decided stays."""
        with self.database.write() as connection:
            person = person_named(connection, name)
            connection.execute(
                "UPDATE people SET revoked = 1, token = NULL, device = NULL WHERE id = ?", (person.id,)
            )
            connection.execute(
                "UPDATE slots SET state = 1, person = NULL WHERE person = ? AND state < 3", (person.id,)
            )
            _end_sessions(connection, person.name)
            write_log(connection, self.clock(), "revoked", person.name)

    def person(self, name: str) -> Person:
        """Somebody who was invited, by their name."""
        with self.database.read() as connection:
            return person_named(connection, name)

    def log(self, what: str, person: str | None = None, where: str = "", detail: str = "") -> None:
        """Write down what somebody tried."""
        with self.database.write() as connection:
            write_log(connection, self.clock(), what, person or "", where, detail)

    def logged(self, limit: int = 200) -> list[LogRow]:
        """The last lines of the log, the newest first."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT time, what, person, address, detail FROM log ORDER BY id DESC LIMIT ?", (limit,)
            ).fetchall()
        return [LogRow(*row) for row in rows]


def person_named(connection: sqlite3.Connection, name: str) -> Person:
    """Somebody by name; refused with the nearest where nobody is called so."""
    row = connection.execute("SELECT id, name, role FROM people WHERE name = ?", (name.strip(),)).fetchone()
    if row is None:
        names = [one for (one,) in connection.execute("SELECT name FROM people")]
        told = nearest(name, names) if names else "nobody was invited yet"
        raise InputError(f"nobody here is called {short(name)}; {told}")
    return Person(*row)


def write_log(
    connection: sqlite3.Connection, now: float, what: str, person: str, where: str = "", detail: str = ""
) -> None:
    """One line of the log, in the transaction of what it tells of."""
    words = [word[:500] for word in (what, person, where, detail)]
    connection.execute("INSERT INTO log (time, what, person, address, detail) VALUES (?, ?, ?, ?, ?)", (now, *words))


def checked_name(name: str, field: str = "name") -> str:
    """A name without spaces around it, that one line of a page can hold."""
    word = name.strip()
    if not word or len(word) > LONGEST_NAME or not word.isprintable():
        told = f"expected at most {LONGEST_NAME} characters that can be printed"
        raise InputError(f"{field}: found {short(name)}, {told}")
    return word


def _why_not(row: tuple[int, str, Role, float, str | None] | None, device: str, now: float) -> str:
    """Why somebody may not come in by a link; empty where they may."""
    if row is None:
        return "this link is not valid; ask for a new one"
    if row[3] < now:
        return "this link is too old; ask for a new one"
    return "" if row[4] in (None, device) else "this link is in use in another browser; ask for a new one"


def _end_sessions(connection: sqlite3.Connection, name: str) -> None:
    connection.execute("DELETE FROM sessions WHERE person = (SELECT id FROM people WHERE name = ?)", (name,))


def _session(person: Person, cookie: str) -> ReviewSession:
    """What pages need of a session. What forms send back follows from the cookie, and cannot be told without it."""
    return ReviewSession(person, hashed(f"csrf {cookie}"))
