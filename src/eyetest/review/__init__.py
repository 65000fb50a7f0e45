"""What people are asked, and what they decided.

In: items that a stage sends to people, with its evidence. Out: a queue that any spreadsheet opens, and decisions read
back from the table that people filled in. Decisions are only ever appended.
"""

from eyetest.review.checks import edited
from eyetest.review.decisions import (
    Agreed,
    Decided,
    Rounds,
    decide,
    read_decisions,
    standing,
    votes_table,
    with_people,
)
from eyetest.review.queue import DECISIONS, QUEUE, write_queue

__all__ = [
    "DECISIONS",
    "QUEUE",
    "Agreed",
    "Decided",
    "Rounds",
    "decide",
    "edited",
    "read_decisions",
    "standing",
    "votes_table",
    "with_people",
    "write_queue",
]
