"""What growing options came to: item by item, and for the whole batch."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.records.item import Seed
from eyetest.reform.distractors.written import TurnedDown

OPTIONS_STEP = "options"
"""The step in the lineage of items that were given options."""
Outcome = Literal["grown", "short", "left alone"]
LeftAlone = Literal[
    "has enough options",
    "no gold",
    "several golds",
    "pictures in options",
    "options tied to their order or letters",
    "only two answers are possible",
    "the gold speaks of other options",
    "an open question",
    "an open question with too few distractors",
    "nothing to offer",
]


class OptionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How options are grown."""

    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 10
    rounds: Annotated[int, msgspec.Meta(ge=1, le=9)] = 2
    """How often a writer is asked for what is still missing."""
    open: bool = False
    """Whether questions without options get some, too."""
    seed: Seed = 0


class GrownItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What happened to one item."""

    item: str
    outcome: Outcome
    before: int
    after: int
    reason: LeftAlone | Literal[""] = ""
    authors: dict[str, int] = {}
    """How many of its new options each wrote."""
    turned_down: tuple[TurnedDown, ...] = ()
    rank: int | None = None
    """How many options are smaller than a gold that is a number among numbers."""
    position: int | None = None
    """Where the gold stands, from 0."""


class ProbeFigures(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How well one learner tells golds without any picture."""

    view: str
    learner: str
    n: int
    accuracy: float
    null_mean: float
    null_sd: float
    p: float


class PoolRisk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a text of another item would have been right here, with its interval at 95 %."""

    hits: int
    drawn: int
    low: float
    high: float


class OptionsRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``options.json``."""

    eyetest: str
    benchmark: str
    fingerprint: str
    """Of the benchmark that was given."""
    grown: str
    """The fingerprint of what was made of it, before people looked at it."""
    settings: OptionSettings
    writer: str = ""
    checker: str = ""
    items: tuple[GrownItem, ...] = ()
    unread: dict[str, int] = {}
    """Replies of models that were not what they were asked for."""
    pool_risk: PoolRisk | None = None
    probes_before: tuple[ProbeFigures, ...] = ()
    probes_after: tuple[ProbeFigures, ...] = ()

    @property
    def outcomes(self) -> dict[str, int]:
        """How many items were grown, are short, were left alone and why."""
        return _counted(one.reason or one.outcome for one in self.items)

    @property
    def turned_down(self) -> dict[str, int]:
        """How many proposals were turned down, by reason."""
        return _counted(told.reason for one in self.items for told in one.turned_down)

    @property
    def authors(self) -> dict[str, int]:
        """How many options each wrote."""
        total: dict[str, int] = {}
        for one in self.items:
            for author, count in one.authors.items():
                total[author] = total.get(author, 0) + count
        return dict(sorted(total.items(), key=lambda pair: -pair[1]))

    def places(self, which: Literal["rank", "position"]) -> dict[int, list[int]]:
        """By number of options: how many golds have each rank, or stand at each position."""
        counts: dict[int, list[int]] = {}
        for one in self.items:
            at = one.rank if which == "rank" else one.position
            if at is not None and one.outcome != "left alone":
                counts.setdefault(one.after, [0] * one.after)[at] += 1
        return dict(sorted(counts.items()))


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(names).most_common())
