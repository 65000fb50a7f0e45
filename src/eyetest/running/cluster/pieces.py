"""What is left of a plan, cut into pieces that one worker carries out; and what it tells of them."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyetest.measures.stats.sets import set_labels
from eyetest.models import Surroundings
from eyetest.records import Asked, Condition, ModelEntry, StoppingRule
from eyetest.running.ledger import Left
from eyetest.running.limits import Budget, Limits
from eyetest.running.progress import Progress

Rows = NDArray[np.int64]
"""Calls of a plan, by their number."""
_PIECES_A_WORKER = 16
"""So many at least, so that the last ones to end do not keep the others waiting."""
_MOST_CALLS = 400
"""The most in one piece, apart from those that share a picture: less is lost when its worker dies."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is told once."""

    version: str
    benchmark: str
    run: str
    entries: dict[str, ModelEntry]
    conditions: tuple[Condition, ...]
    own: dict[str, dict[str, Any]]
    trials: int
    sampling: dict[str, Any]
    seed: int
    limits: Limits
    """For this worker alone: its share of the calls in flight; what all may spend is the driver's to count."""
    patience: Surroundings
    retry_failed: bool
    weighs: bool
    """Whether anybody is asked for likelihoods."""
    rule: StoppingRule | None = None
    hit: Any = None
    looks_refused: Any = None


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Some calls about some items."""

    model: str
    """Who is asked; empty for a panel, which asks whom the rule says."""
    turn: int
    positions: list[int]
    """Where the items stand in the benchmark."""
    requests: list[str]
    """The calls to make; of a panel those that its items share."""
    said: dict[Asked, str]
    """What was said to earlier turns of these items."""
    losses: int
    """How often a worker was lost so far: answers are read anew from the run when it was."""


class Told(msgspec.Struct, kw_only=True):
    """How a worker is doing: all that it has done so far."""

    counts: dict[str, Counter[str]] = {}
    numbers: dict[str, float] = {}
    in_flight: dict[str, int] = {}
    waiting: dict[str, str] = {}
    abandoned: dict[str, str] = {}
    last_error: str = ""
    not_asked: list[str] = []
    """Requests of a piece that were not answered."""
    fault: str = ""
    """What keeps the worker from going on, for people."""

    @property
    def done(self) -> int:
        """Calls that are over."""
        return sum(self.counts.get("outcomes", {}).values())


COUNTED = ("outcomes", "failures", "retries")
NUMBERS = ("refused", "saved", "tokens_in", "tokens_out", "money")


def told_of(progress: Progress, **more: Any) -> Told:
    """What a worker tells of its own progress."""
    return Told(
        counts={name: Counter(getattr(progress, name)) for name in COUNTED},
        numbers={name: getattr(progress, name) for name in NUMBERS},
        in_flight=dict(progress.in_flight),
        waiting=dict(progress.waiting),
        abandoned=dict(progress.abandoned),
        last_error=progress.last_error,
        **more,
    )


class Portion:
    """A piece as the driver knows it, by the numbers of its calls."""

    def __init__(self, rows: Rows, groups: Rows, losses: int = 0) -> None:
        """``groups``: of each call, what it must not be parted from. ``losses``: how many workers died at it."""
        self.rows, self.groups, self.losses = rows, groups, losses
        self.held = (0, 0.0)
        """Tokens and money that are set aside for it while it is under way."""

    def settle(self, budget: Budget) -> None:
        """It is over: what was set aside for it is free; what it took has been told."""
        budget.settle(self.held, (0, 0.0))
        self.held = (0, 0.0)

    def keep(self, wanted: NDArray[np.bool_]) -> "Portion":
        """Some of its calls."""
        return Portion(self.rows[wanted], self.groups[wanted], self.losses)

    def cut(self, at: int) -> tuple["Portion", "Portion"]:
        """Its first calls, and the others."""
        first = np.arange(len(self.rows)) < at
        return self.keep(first), self.keep(~first)

    @property
    def ends(self) -> Rows:
        """After how many calls it could be cut."""
        return np.flatnonzero(np.append(self.groups[1:] != self.groups[:-1], bool(len(self.groups)))) + 1


def by_picture(left: Left, groups: Rows, model: int, workers: int) -> Iterator[Portion]:
    """What is left to ask one model, those that failed before last. ``groups``: of each item, its picture."""
    for rows in left.calls(model):
        yield from _cut(rows, groups[left.ledger.items[rows]], workers)


def by_panel(left: Left, groups: Rows, workers: int) -> Iterator[Portion]:
    """Items that something is left of, with all their calls. Those that share a request are not parted."""
    ledger = left.ledger
    together = _connected(ledger.items, ledger.codes, groups)
    is_left = np.zeros(len(groups), bool)
    for some in left.calls():
        is_left[ledger.items[some]] = True
    rows = np.flatnonzero(is_left[ledger.items])
    rows = rows[np.argsort(together[ledger.items[rows]], kind="stable")]
    yield from _cut(rows, together[ledger.items[rows]], workers)


def _connected(items: Rows, codes: Rows, groups: Rows) -> Rows:
    """Of each item the first of those that it is bound to: by a picture, or by requests that are the same."""
    several = np.bincount(codes)[codes] > 1
    pictures = np.unique(groups, return_inverse=True)[1]
    labels = set_labels(len(groups), (np.arange(len(groups)), pictures), (items[several], codes[several]))
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], np.int64)


def _cut(rows: Rows, groups: Rows, workers: int) -> Iterator[Portion]:
    most = int(min(_MOST_CALLS, max(1, len(rows) // (workers * _PIECES_A_WORKER))))
    whole = Portion(rows, groups)
    start = 0
    for end in whole.ends.tolist():
        if end - start >= most or end == len(rows):
            yield Portion(rows[start:end], groups[start:end])
            start = end


def add_told(progress: Progress, before: Told, now: Told) -> tuple[int, float]:
    """Count what a worker did since it was last heard; gives the tokens and the money of it."""
    for name in COUNTED:
        counter: Counter[str] = getattr(progress, name)
        counter.update(now.counts.get(name, {}))
        counter.subtract(before.counts.get(name, {}))
        setattr(progress, name, +counter)
    grown = {name: now.numbers.get(name, 0) - before.numbers.get(name, 0) for name in NUMBERS}
    for name, more in grown.items():
        setattr(progress, name, getattr(progress, name) + more)
    progress.last_error = now.last_error or progress.last_error
    return int(grown["tokens_in"] + grown["tokens_out"]), grown["money"]


def fit(
    portion: Portion,
    most: tuple[NDArray[np.int64], NDArray[np.float64]],
    room: tuple[float, float, float],
    *,
    anywhere: bool = False,
) -> int:
    """How many of a portion's first calls fit into what may be spent (calls, tokens, money), cut where it may be."""
    tokens, money = (np.cumsum(values) for values in most)
    ends = np.arange(1, len(portion.rows) + 1) if anywhere else portion.ends
    fits = (ends <= room[0]) & (tokens[ends - 1] <= room[1]) & (money[ends - 1] <= room[2])
    return int(ends[fits][-1]) if fits.any() else 0
