"""Whether the file of a review holds what was written: SQLite itself checks the structure, but no content.

Each record in it ends with its checksum, the list of items has one, and what several tables say must agree.
"""

import sqlite3
from hashlib import sha256
from typing import Any, TypeVar

import msgspec

from eyetest.errors import EyetestError
from eyetest.records import Decision
from eyetest.store.files import sealed, unsealed_json

Record = TypeVar("Record")
REPAIR = "restore it from a copy, or put it aside and begin the review anew"


class DamagedRecord(EyetestError):  # noqa: N818 (it says what it is)
    """What is wrong with the file, whose name is added by who has opened it."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"is damaged: {reason}; {REPAIR}")


_SEALED = {
    "items": "SELECT id, item FROM items ORDER BY id",
    "people": "SELECT id, name, role, revoked FROM people ORDER BY id",
}
"""Tables that have a checksum, by its key: what is verified of them."""
_DECISIONS = """
SELECT d.record, i.item, p.name, EXISTS (SELECT 1 FROM slots WHERE item = d.item AND person = d.person AND state = 3)
FROM decisions AS d LEFT JOIN items AS i ON i.id = d.item LEFT JOIN people AS p ON p.id = d.person
"""
_UNDECIDED = """
SELECT i.item FROM slots AS s LEFT JOIN items AS i ON i.id = s.item
WHERE s.state NOT IN (1, 2, 3)
  OR s.state = 3 AND NOT EXISTS (SELECT 1 FROM decisions WHERE item = s.item AND person = s.person)
"""


def record_text(record: Any) -> str:
    """A record as it is stored: compact JSON that ends with its checksum."""
    return sealed(record).decode()


def read_record(text: object, kind: type[Record]) -> Record:
    """A stored record; refused where its checksum does not fit."""
    if not isinstance(text, str):
        raise DamagedRecord(f"{type(text).__name__} where a record should be")
    try:
        return msgspec.json.decode(unsealed_json(text.encode()), type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise DamagedRecord(str(error)) from None


def seal_items(connection: sqlite3.Connection) -> None:
    """Store the checksum of all items, whenever some were added."""
    _seal(connection, "items")


def seal_people(connection: sqlite3.Connection) -> None:
    """Store the checksum of all people, whenever they may have changed."""
    _seal(connection, "people")


def _seal(connection: sqlite3.Connection, table: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (table, _digest(connection, table)))


def refuse_damage(connection: sqlite3.Connection) -> None:
    """Raise where the file does not hold what was written."""
    (structure,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if structure != "ok":
        raise DamagedRecord(" ".join(structure.split()))
    for table in _SEALED:
        stored_digest = connection.execute("SELECT value FROM meta WHERE key = ?", (table,)).fetchone()
        if stored_digest is not None and stored_digest[0] != _digest(connection, table):
            raise DamagedRecord(f"its {table} are not those that were stored")
    if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise DamagedRecord("a row is about an item or a person that is not there")
    for text, item, person, is_in_slot in connection.execute(_DECISIONS):
        decision = read_record(text, Decision)
        if (decision.item, decision.reviewer) != (item, person):
            raise DamagedRecord(
                f"a decision about {decision.item} by {decision.reviewer} stands at {item} by {person}"
            )
        if not is_in_slot:
            raise DamagedRecord(f"the decision about {item} by {person} counts as not made")
    undecided_slot = connection.execute(_UNDECIDED).fetchone()
    if undecided_slot is not None:
        raise DamagedRecord(f"a decision about {undecided_slot[0]} is missing")


def _digest(connection: sqlite3.Connection, table: str) -> str:
    digest = sha256()
    for row in connection.execute(_SEALED[table]):
        digest.update(msgspec.json.encode(row))
    return digest.hexdigest()[:24]
