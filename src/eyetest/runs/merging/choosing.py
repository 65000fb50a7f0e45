"""Which of several rows about one thing counts: the best of them, and where the best differ, as the user said."""

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

Preference = Literal["first", "newest"]
"""``first``: what the run says that was named first, or was there. ``newest``: what was answered last."""
PREFERENCES: tuple[Preference, ...] = get_args(Preference)
NOTHING, FAILED, ANSWERED = 0, 1, 2
"""How good a row is; a better one makes the others give way."""

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Claims(NamedTuple):
    """Rows about things, those about one thing side by side, in the order in which runs were named."""

    thing: Numbers
    rank: NDArray[np.int8]
    content: NDArray[np.uint64]
    """A hash of what a row says."""
    time: NDArray[np.float64]


class ChosenRows(NamedTuple):
    """What was chosen, a row for each thing."""

    rows: Numbers
    differs: Mask
    """Of which things the best rows say different things."""
    latest: NDArray[np.float64]
    """When the last of the best rows came."""
    gave_way: Mask
    """Of which things a failure gave way to an answer."""


def choose(claims: Claims, prefer: Preference | None) -> ChosenRows:
    """The row that counts of each thing; the first where rows say the same."""
    thing, rank = claims.thing, claims.rank
    if not len(thing):
        return ChosenRows(np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0), np.zeros(0, bool))
    starts = heads(thing)
    best, worst = np.maximum.reduceat(rank, starts), np.minimum.reduceat(rank, starts)
    rows = np.flatnonzero(rank == np.repeat(best, np.diff(np.append(starts, len(thing)))))
    starts = heads(thing[rows])
    content = claims.content[rows]
    differs = np.minimum.reduceat(content, starts) != np.maximum.reduceat(content, starts)
    differs &= best == ANSWERED
    chosen = rows[starts]
    if prefer == "newest" and differs.any():
        by_time = rows[np.lexsort((-claims.time[rows], thing[rows]))]
        chosen = np.where(differs, by_time[starts], chosen)
    latest = np.maximum.reduceat(claims.time[rows], starts)
    return ChosenRows(chosen, differs, latest, (best == ANSWERED) & (worst < best) & (worst > NOTHING))


def heads(values: NDArray[np.generic]) -> Numbers:
    """Where values begin that are the same up to the next."""
    is_new = np.ones(len(values), bool)
    is_new[1:] = values[1:] != values[:-1]
    return np.flatnonzero(is_new)
