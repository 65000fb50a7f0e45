"""Read real replies with each cue switched off in turn: what changes, and whether it changes for the better."""

from collections.abc import Sequence
from typing import NamedTuple

from eyetest.records.order import mark
from eyetest.scoring.rules import Reading
from eyetest.scoring.rules.cues import load_cues
from eyetest.scoring.rules.eyetest import EyetestRules
from tools.reading.replies import RealReply

LEAST = 3.0
"""A cue that changes fewer than so many of 10,000 real replies goes."""
_LABELS = {"refused": "refused", "ambiguous": "several", "unparsed": "none"}


class Cut(NamedTuple):
    """What switching a cue off does: replies of 10,000 that change; labelled ones that are lost or gained."""

    cue: str
    changed: float
    lost: int
    gained: int


def label(reading: Reading, reply: RealReply) -> str:
    """A reading in the words of the labels."""
    return _LABELS[reading.kind] if reading.index is None else mark(reply.reply.marks, reading.index)


def is_right(reading: Reading, reply: RealReply) -> bool:
    """Whether a reading is the label, or defensible."""
    return label(reading, reply) in (reply.label, *reply.alternatives)


def cut_each(replies: Sequence[RealReply], names: Sequence[str] = ()) -> list[Cut]:
    """What each cue is worth, those that change least first."""
    table = load_cues()
    whole = [EyetestRules(table).read(reply.reply) for reply in replies]
    cuts = []
    for name in names or table.names:
        rules = EyetestRules(table.without(name))
        changed = lost = gained = 0
        for reply, before in zip(replies, whole, strict=True):
            after = rules.read(reply.reply)
            if (after.kind, after.index) != (before.kind, before.index):
                changed += 1
                if reply.label:
                    lost += is_right(before, reply) and not is_right(after, reply)
                    gained += is_right(after, reply) and not is_right(before, reply)
        cuts.append(Cut(name, 10_000 * changed / len(replies), lost, gained))
    return sorted(cuts, key=lambda cut: cut.changed)
