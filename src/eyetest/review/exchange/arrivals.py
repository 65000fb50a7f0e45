"""Which decisions of a file are new: the same file, or the same decision in another, adds nothing a second time."""

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256

import msgspec

from eyetest.records import Decision

_WhoWhere = tuple[str, str, int, bool]


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
