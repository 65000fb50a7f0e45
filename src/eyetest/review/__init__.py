"""Review by people: what they are asked and what they decide."""

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
from eyetest.review.forms import edited
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
