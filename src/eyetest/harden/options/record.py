"""Records of growing options: by item, and for the whole batch."""

from collections import Counter
from typing import Annotated, Literal

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.records.item import Seed
from eyetest.records.tables import USUAL_PROMPTS
from eyetest.reform.distractors.written import TurnedDown

OPTIONS_STEP = "options"
Outcome = Literal["grown", "short", "left alone"]
FOUND = "learners find the gold among numbers by rule"


class OptionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How options are grown."""

    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 10
    rounds: Annotated[int, msgspec.Meta(ge=1, le=9)] = 2  # how often a writer is asked for missing options
    open: bool = False  # whether questions without options get some, too
    seed: Seed = 0


class GrownItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Outcome of an item."""

    item: str
    outcome: Outcome
    before: int
    after: int
    reason: str = ""  # why it is left alone
    authors: dict[str, int] = {}
    turned_down: tuple[TurnedDown, ...] = ()
    position: int | None = None


class OptionsRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``options.json``."""

    eyetest: str
    benchmark: str
    fingerprint: str
    grown: str  # fingerprint of the result, before review
    settings: OptionSettings
    writer: str = ""
    checker: str = ""
    prompts: str = USUAL_PROMPTS  # what both were asked
    items: tuple[GrownItem, ...] = ()
    unread: dict[str, int] = {}  # replies of models in an unexpected form

    @property
    def outcomes(self) -> dict[str, int]:
        """Number of items grown, short, and left alone with the reason."""
        return dict(Counter(entry.reason or entry.outcome for entry in self.items).most_common())

    @property
    def turned_down(self) -> dict[str, int]:
        """Number of rejected proposals by reason."""
        reasons = (proposal.reason for entry in self.items for proposal in entry.turned_down)
        return dict(Counter(reasons).most_common())

    @property
    def authors(self) -> dict[str, int]:
        """Number of options by author."""
        total = sum((Counter(entry.authors) for entry in self.items), Counter[str]())
        return dict(total.most_common())
