"""The people of a review: personal links, each for one browser, and sessions that expire."""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from secrets import token_urlsafe
from typing import NamedTuple, get_args

from eyetest.errors import DiskFull, Forbidden, InputError, nearest, param, short
from eyetest.studio.database import LogRow, ReviewDatabase, write_log
from eyetest.studio.decisions import Person, ReviewSession, Role
from eyetest.studio.forms import checked_name

DAY = 86_400.0
VALID = 30 * DAY  # seconds for which a link is valid
IDLE, LONGEST = DAY / 2, 30 * DAY  # a session ends after so many seconds without a call, and after so many in total
_TOUCHED = 60.0  # least seconds between two updates of when a person was last seen
_ROWS = """
SELECT name, role, invited, seen, revoked, (SELECT count(*) FROM slots WHERE person = p.id AND state = 3),
  CASE WHEN revoked OR role = 'reader' THEN 0 ELSE (
    SELECT count(DISTINCT item) FROM slots WHERE person = p.id AND state = 2 OR state = 1
    AND adjudicates <= (p.role = 'admin')
    AND (person IS p.id OR item NOT IN (SELECT item FROM decisions WHERE person = p.id))
  ) END
FROM people AS p WHERE ?1 IS NULL OR id = ?1 ORDER BY id
"""


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
            write_log(connection, LogRow(now, "invited", person, "", role))
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
            write_log(connection, LogRow(now, what, name, address, why))
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
            ended = "UPDATE people SET revoked = 1, token = NULL, cookie = NULL WHERE id = ?"
            connection.execute(ended, (person.id,))
            freed = "UPDATE slots SET state = 1, person = NULL WHERE person = ? AND state < 3"
            connection.execute(freed, (person.id,))
            write_log(connection, LogRow(self._clock(), "revoked", person.name))

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
