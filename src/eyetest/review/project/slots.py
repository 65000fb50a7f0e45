"""Whose turn it is: each item has as many slots in a round as reviewers, and a slot is held by one person at a time.

All of these take part in a transaction of whoever calls them.
"""

import sqlite3
from collections.abc import Iterable, Sequence

import msgspec

from eyetest.errors import Forbidden
from eyetest.records import Decision
from eyetest.review.decisions import Decided, decide, standing
from eyetest.review.project.plan import SETTLES, Person, ReviewPlan, Round

LATER, OPEN, CLAIMED, DECIDED, CLOSED = range(5)
"""Later: the rounds before are not done. Closed: the item waits for nobody any more.

Queries write these as numbers: SQLite takes an index on the slots of one state only where the query says which.
"""
CLAIM = 1_800.0
"""Seconds for which a slot is nobody else's."""
_DECISION = msgspec.json.Decoder(Decision)


class Slot(msgspec.Struct, frozen=True):
    """One reviewer's place at one item in one round."""

    item: int
    round: int
    adjudicates: bool
    seat: int
    state: int
    since: float | None


_BEGUN = (
    "SELECT item, round, adjudicates, seat, state, since FROM slots WHERE person = ? AND state IN (1, 2) "
    "ORDER BY since LIMIT 1"
)
_FREE = (
    "SELECT item, round, adjudicates, seat, state, since FROM slots AS s WHERE state = 1 AND adjudicates = ?1 "
    "AND NOT EXISTS (SELECT 1 FROM decisions WHERE item = s.item AND person = ?2) AND (adjudicates OR NOT EXISTS "
    "(SELECT 1 FROM solved WHERE item = s.item AND person = ?2 AND round != s.round)) "
    "ORDER BY round, item, seat LIMIT 1"
)
"""Nobody gets an item of which they know from elsewhere in the review what others said, or what its gold is."""
_OWN = (
    "SELECT item, round, adjudicates, seat, state, since FROM slots WHERE item = ? AND round = ? AND person = ? "
    "AND state IN (1, 2, 3)"
)
_CLAIM = (
    "UPDATE slots SET state = 2, since = CASE WHEN person = ?1 AND state != 3 THEN since ELSE ?2 END, person = ?1, "
    "until = ?3 WHERE item = ?4 AND round = ?5 AND adjudicates = ?6 AND seat = ?7"
)
"""How long a slot has been open is told from the first time that its holder got it."""


_NOT_SETTLED = (
    "UPDATE items SET settled = 0 WHERE item = ? AND settled AND EXISTS (SELECT 1 FROM slots "
    "WHERE slots.item = items.id AND round = ? AND state IN (1, 2) AND NOT adjudicates)"
)
"""What was settled in one round of a recipe is open again in the next."""


def read_records(rows: Iterable[tuple[str]]) -> list[Decision]:
    """Decisions as they were kept."""
    return [_DECISION.decode(record) for (record,) in rows]


def decisions_on(connection: sqlite3.Connection, item: int) -> list[Decision]:
    """Everything that was said of an item, in order."""
    return read_records(connection.execute("SELECT record FROM decisions WHERE item = ? ORDER BY id", (item,)))


def add_slots(connection: sqlite3.Connection, plan: ReviewPlan, ids: Sequence[str], number: int | None) -> None:
    """The slots of some items in a round, or in all of them, where they have none yet; closed ones open again."""
    for one in plan.rounds:
        if number not in (None, one.number):
            continue
        state = LATER if plan.together and one.number > 1 else OPEN
        connection.executemany(
            "UPDATE slots SET state = ? WHERE state = 4 AND round = ? AND "
            "item = (SELECT id FROM items WHERE item = ?)",
            ((state, one.number, item) for item in ids),
        )
        connection.executemany(
            "INSERT OR IGNORE INTO slots SELECT id, ?, 0, ?, ?, NULL, NULL, NULL FROM items WHERE item = ?",
            ((one.number, seat, state, item) for item in ids for seat in range(1, one.reviewers + 1)),
        )
        if not plan.together:
            connection.executemany(_NOT_SETTLED, ((item, one.number) for item in ids))


def change_seats(connection: sqlite3.Connection, planned: Round) -> None:
    """As many slots at each item of a round as it has reviewers now; what was decided in stays."""
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
    """Hand somebody what they have begun, else the first slot that is free and that they may have.

    First comes what has to be settled, for those who may; then round by round, in the order of items.
    """
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
    """Hold a slot for somebody from now on."""
    connection.execute(_CLAIM, (person.id, now, now + CLAIM, *_key(slot)))


def slot_of(connection: sqlite3.Connection, person: Person, item: int, number: int) -> Slot:
    """Somebody's own slot at an item: one they hold or have decided in."""
    row = connection.execute(_OWN, (item, number, person.id)).fetchone()
    if row is None:
        raise Forbidden("this item is not yours in this round, or not any more: go on with the next")
    return _slot(row)


def mark_decided(connection: sqlite3.Connection, slot: Slot) -> None:
    """Say of a slot that it was decided in."""
    connection.execute(
        "UPDATE slots SET state = 3 WHERE item = ? AND round = ? AND adjudicates = ? AND seat = ?", _key(slot)
    )


def settle(connection: sqlite3.Connection, plan: ReviewPlan, item: int) -> None:
    """After a decision: open the next round of an item, or have somebody settle what reviewers disagree about."""
    said = decisions_on(connection, item)
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
    is_open = True
    for number, done in rows:
        is_open = outcome_in(plan, said, number).verdict == "review"
        _have_settled(connection, item, number, disputed=bool(done) and is_open)
    connection.execute("UPDATE items SET settled = ? WHERE id = ?", (not is_open, item))


def outcome_in(plan: ReviewPlan, said: Sequence[Decision], number: int) -> Decided:
    """What people came to about an item: in a round, or in all of them where they count together."""
    mine = said if plan.together else [one for one in said if one.round == number]
    return decide(mine, plan.votes(number), plan.agree)


def earlier(plan: ReviewPlan, said: Iterable[Decision], number: int) -> tuple[Decision, ...]:
    """What others decided about an item, for whoever settles it after a round."""
    words = (one for one in standing(said) if not one.adjudicates)
    return tuple(one for one in words if plan.together or one.round == number)


def _have_settled(connection: sqlite3.Connection, item: int, number: int, *, disputed: bool) -> None:
    """A slot for whoever settles it, while there is something to settle. One that was decided in stays."""
    if disputed:
        connection.execute(
            "INSERT OR IGNORE INTO slots VALUES (?, ?, 1, 1, ?, NULL, NULL, NULL)", (item, number, OPEN)
        )
    else:
        connection.execute(
            "DELETE FROM slots WHERE item = ? AND round = ? AND adjudicates AND state != ?", (item, number, DECIDED)
        )


def _key(slot: Slot) -> tuple[int, int, bool, int]:
    """What tells a slot from all others."""
    return slot.item, slot.round, slot.adjudicates, slot.seat


def last_word(connection: sqlite3.Connection, person: Person, slot: Slot) -> Decision | None:
    """What somebody last said in a slot and has not withdrawn."""
    rows = connection.execute(
        "SELECT record FROM decisions WHERE item = ? AND person = ? AND round = ? ORDER BY id",
        (slot.item, person.id, slot.round),
    )
    said = standing(one for one in read_records(rows) if one.adjudicates == slot.adjudicates)
    return said[-1] if said else None


def _slot(row: Sequence[object]) -> Slot:
    return msgspec.convert(dict(zip(Slot.__struct_fields__, row, strict=True)), Slot, strict=False)
