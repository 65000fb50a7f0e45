"""Read real replies with each cue switched off in turn: what changes, and whether it changes for the better."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, cast

from eyetest.records.tables import Letters, mark
from eyetest.scoring.rules import Reading
from eyetest.scoring.rules.cues import load_cues
from eyetest.scoring.rules.eyetest import EyetestRules
from tools.reading.replies import RealReply

LEAST = 3.0
"""A cue that changes fewer than so many of 10,000 real replies goes."""
_LABELS = {"refused": "refused", "ambiguous": "several", "cut off": "none", "unparsed": "none"}


class Cut(NamedTuple):
    """What switching a cue off does: replies of 10,000 that change; labelled ones that are lost or gained."""

    cue: str
    changed: float
    lost: int
    gained: int


def label(reading: Reading, reply: RealReply) -> str:
    """A reading in the words of the labels."""
    return _LABELS[reading.kind] if reading.index is None else mark(cast(Letters, reply.reply.letters), reading.index)


def is_right(reading: Reading, reply: RealReply) -> bool:
    """Whether a reading is the label, or defensible."""
    return label(reading, reply) in (reply.label, *reply.alternatives)


class SourceFigure(NamedTuple):
    """How replies of a source are read by the cues that help on the other sources."""

    source: str
    replies: int
    right: int
    wrong_option: int
    off: tuple[str, ...]


def leave_one_source_out(replies: Sequence[RealReply]) -> list[SourceFigure]:
    """Choose cues on all sources but one, and read that one with them.

    A cue is kept only where switching it off loses more labelled replies of the other sources than it gains, so a cue
    that was written for a source does not help to read it.
    """
    table = load_cues()
    whole = [is_right(EyetestRules(table).read(reply.reply), reply) for reply in replies]
    gains: dict[str, Counter[str]] = {}
    for name in (name for name in table.names if table.weights.get(name, 1) == 1):
        rules = EyetestRules(table.without(name))
        gains[name] = Counter()
        for reply, before in zip(replies, whole, strict=True):
            gains[name][reply.source] += before - is_right(rules.read(reply.reply), reply)
    figures = []
    for source in dict.fromkeys(reply.source for reply in replies):
        off = tuple(name for name, gain in gains.items() if gain.total() - gain[source] <= 0)
        rules = EyetestRules(table.without(*off))
        rows = [(rules.read(reply.reply), reply) for reply in replies if reply.source == source]
        right = [is_right(reading, reply) for reading, reply in rows]
        wrong = sum(reading.index is not None for (reading, _), fine in zip(rows, right, strict=True) if not fine)
        figures.append(SourceFigure(source, len(rows), sum(right), wrong, off))
    return figures


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
