"""What a writer is: it proposes wrong options for an item, out of what it knows of the whole benchmark."""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Protocol

import msgspec

from eyetest.records import Item
from eyetest.reform.distractors.answer_kinds import AnswerKind, kind_of
from eyetest.world.flaws import Truth

Propose = Callable[["Case", random.Random], Iterable[str]]


class Case(msgspec.Struct, frozen=True, dict=True):
    """An item that needs options: its gold, the wrong options it keeps, and how many more are wanted."""

    item: Item
    gold: str
    present: tuple[str, ...] = ()
    need: int = 0

    @property
    def kind(self) -> AnswerKind:
        """What kind of thing the gold is."""
        return kind_of(self.item.question, self.gold)

    @property
    def options(self) -> tuple[str, ...]:
        """The gold, and what is wrong beside it."""
        return self.gold, *self.present


class Cases(msgspec.Struct, frozen=True):
    """All items that need options, and for a drawn world what its pictures show."""

    cases: Sequence[Case]
    truth: dict[str, Truth] = {}


class OptionWriter(Protocol):
    """One way to propose options without a model. ``name`` becomes the author of what it writes."""

    name: ClassVar[str]
    summary: ClassVar[str]
    place: ClassVar[int]
    """Writers are asked in this order; the first that has anything to say about an item writes for it."""

    def start(self, batch: Cases) -> Propose:
        """Looks through the batch once, and gives what proposes texts for each case, the best first."""
