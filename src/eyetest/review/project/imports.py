"""Decisions that people made elsewhere: what is given out, and which of what comes back is new."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

import msgspec

from eyetest.errors import InputError, short
from eyetest.records import Decision
from eyetest.review.project import slots
from eyetest.review.project.database import ReviewDatabase
from eyetest.review.project.people import write_log
from eyetest.review.project.plan import Person
from eyetest.review.project.slots import Slot
from eyetest.wording import counted

_WhoWhere = tuple[str, str, int, bool]


class ProjectImports:
    """What a review hands to other tools, and takes back from them."""

    database: ReviewDatabase
    clock: Callable[[], float]
    _append: Callable[..., None]
    _row: Callable[[sqlite3.Connection, str], int]
    _now: Callable[[], str]

    def waiting(self) -> list[tuple[str, int, bool]]:
        """What nobody has begun: items in the order of the queue, the round, and whether it is to be settled."""
        with self.database.read() as connection:
            rows = connection.execute(
                "SELECT DISTINCT i.item, s.round, s.adjudicates FROM slots s JOIN items i ON i.id = s.item "
                "WHERE s.state = ? ORDER BY s.adjudicates, s.round, s.item",
                (slots.OPEN,),
            ).fetchall()
        return [(item, number, bool(adjudicates)) for item, number, adjudicates in rows]

    def add_decisions(self, decisions: Sequence[Decision], source: str) -> int:
        """Keep what is new of the decisions that another tool gave back, all or nothing; gives how many that are.

        Whoever is not known here becomes a reviewer without a link. A decision without a time is made now.
        """
        with self.database.write() as connection:
            known = slots.read_records(connection.execute("SELECT record FROM decisions ORDER BY id"))
            fresh = arrivals(known, decisions)
            for name, decision in fresh:
                person = self._known_person(connection, decision)
                slot = self._seat(connection, person, decision)
                told = msgspec.structs.replace(decision, time=decision.time or self._now())
                if decision.solved:
                    solved = (slot.item, slot.round, person.id, decision.solved)
                    connection.execute("INSERT OR IGNORE INTO solved VALUES (?, ?, ?, ?)", solved)
                self._append(connection, person, slot, told, name)
            write_log(connection, self.clock(), "imported", "", source, counted(len(fresh), "decision"))
        return len(fresh)

    def _known_person(self, connection: sqlite3.Connection, decision: Decision) -> Person:
        role = "adjudicator" if decision.adjudicates else "reviewer"
        connection.execute(
            "INSERT OR IGNORE INTO people (name, role, invited) VALUES (?, ?, ?)",
            (decision.reviewer, role, self.clock()),
        )
        row = connection.execute("SELECT id, name, role FROM people WHERE name = ?", (decision.reviewer,)).fetchone()
        return Person(*row)

    def _seat(self, connection: sqlite3.Connection, person: Person, decision: Decision) -> Slot:
        """Somebody's place at an item: theirs, else a free one, else one more than was planned."""
        item, about = self._row(connection, decision.item), (decision.round, decision.adjudicates)
        said = [one for one in slots.decisions_on(connection, item) if one.reviewer == person.name]
        if before := [one.round for one in said if (one.round, one.adjudicates) != about]:
            told = f"{short(person.name)} decided about item {short(decision.item)} in round {before[0]} already"
            later = "settle it" if decision.adjudicates else f"decide in round {decision.round}"
            raise InputError(f"{told}; somebody else has to {later}")
        rows = connection.execute(
            "SELECT seat, state, person FROM slots WHERE item = ? AND round = ? AND adjudicates = ? ORDER BY seat",
            (item, *about),
        ).fetchall()
        mine = [(seat, state) for seat, state, holder in rows if holder == person.id]
        free = [(seat, state) for seat, state, _ in rows if state in (slots.LATER, slots.OPEN)]
        one_more = (max((seat for seat, *_ in rows), default=0) + 1, slots.OPEN)
        if not mine and not free:
            connection.execute(
                "INSERT INTO slots VALUES (?, ?, ?, ?, ?, NULL, NULL, NULL)", (item, *about, *one_more)
            )
        seat, state = (mine or free or [one_more])[0]
        slot = Slot(item, *about, seat, state, None)
        slots.claim(connection, slot, person, self.clock())
        return slot


def arrivals(known: Sequence[Decision], read: Iterable[Decision]) -> list[tuple[str, Decision]]:
    """What was read and is not known yet, each with a name that it has in every file it could come from.

    A decision with a time is the same if all of it is. Of those without, which follow each other, those are known
    that somebody said last, in the same order.
    """
    timed, rest = Counter(map(_content, known)), Counter[bytes]()
    fresh, untimed = [], dict[_WhoWhere, list[Decision]]()
    for one in read:
        if not one.time:
            untimed.setdefault(_who_where(one), []).append(one)
            continue
        rest[_content(one)] += 1
        if rest[_content(one)] > timed[_content(one)]:
            fresh.append((_name(one, rest[_content(one)]), one))
    said: dict[_WhoWhere, list[Decision]] = {}
    for one in (*known, *(decision for _, decision in fresh)):
        said.setdefault(_who_where(one), []).append(one)
    for key, words in untimed.items():
        before = [_content(_timeless(one)) for one in said.get(key, ())]
        now = [_content(_timeless(one)) for one in words]
        lengths = range(min(len(before), len(now)), -1, -1)
        again = next(length for length in lengths if before[len(before) - length :] == now[:length])
        fresh += [(_name(one, len(before) + index), one) for index, one in enumerate(words[again:], 1)]
    return fresh


def _who_where(decision: Decision) -> _WhoWhere:
    return decision.reviewer, decision.item, decision.round, decision.adjudicates


def _timeless(decision: Decision) -> Decision:
    return msgspec.structs.replace(decision, time="", seconds=None)


def _content(decision: Decision) -> bytes:
    return msgspec.json.encode(decision, order="deterministic")


def _name(decision: Decision, occurrence: int) -> str:
    return sha256(b"%d %b" % (occurrence, _content(decision))).hexdigest()[:32]
