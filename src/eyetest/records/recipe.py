"""What users write in short files: recipes (a paper's method) and stopping rules.

A stopping rule counts hits: a model *answers* an item if enough of its samples hit, and the item *falls* under the
rule if enough models answer it.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec

from eyetest.records.tables import (
    USUAL_PROMPTS,
    Ask,
    Condition,
    Cut,
    History,
    Letters,
    Method,
    Modality,
    Operator,
    Shots,
    VerdictKind,
)
from eyetest.redaction import plain_settings

__all__ = ["Panel", "Recipe", "Review", "Select", "Stage", "StoppingRule", "Tally"]

Count = Annotated[int, msgspec.Meta(ge=1)]
KINDS = ("filter", "grade", "review", "select")
VERDICTS, FUNNEL, ABOUT, REPORT = "verdicts.parquet", "funnel.csv", "refine.json", "report.html"
BENCHMARK, RUN, REVIEW = "benchmark", "run", "review"
AXES = ("modality", "ask", "shots", "letters", "method", "history", "prompts")  # of a panel's condition


class Panel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Models that are asked together, under one condition."""

    size: Count
    modality: Modality = "image"
    ask: Ask = "direct"
    shots: Shots = "none"
    letters: Letters = "upper"
    method: Method = "generate"
    history: History = "gold"
    prompts: str = USUAL_PROMPTS  # a name or file; in a refinement's record, its label
    samples: Count = 1
    orders: Count = 1  # orders of the options for each question; the first is as written
    sampling: dict[str, Any] = {}  # sent with each call: a temperature, where samples are to differ
    held_out: Annotated[int, msgspec.Meta(ge=0)] = 0  # models beyond ``size`` that do not count, for an honest score
    models: tuple[str, ...] = ()  # by default all of models.yaml

    @property
    def condition(self) -> Condition:
        """The condition under which they are asked."""
        return Condition(**{axis: getattr(self, axis) for axis in AXES})


class Review(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """People review every item."""

    reviewers: Count = 1
    form: str = ""  # the question for reviewers; written into the queue


class Select(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which of the remaining items are selected."""

    per: str = ""  # a tag: each of its values has a quota. Without it there is one quota for all.
    count: Count | None = None
    total: Count | None = None  # instead of ``count``: the items of all quotas together
    fraction: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None  # instead of either: the share of all items
    balance: tuple[str, ...] = ()  # tags over which each quota is spread evenly, later ones within earlier ones
    proportional: tuple[str, ...] = ()  # tags over which it is spread as in the pool, within ``balance``
    short: Literal["refuse", "keep-all"] = "refuse"  # where there are too few: refuse, or keep all

    def __post_init__(self) -> None:
        sizes = (self.count, self.total, self.fraction)
        if sum(size is not None for size in sizes) != 1:
            raise ValueError("select: say one of count (of each quota), total (of all together) and fraction")
        if twice := [name for name in self.tags if self.tags.count(name) > 1]:
            raise ValueError(f'select: "{twice[0]}" is named {self.tags.count(twice[0])} times')

    @property
    def tags(self) -> tuple[str, ...]:
        """Every tag that it uses."""
        return (*((self.per,) if self.per else ()), *self.balance, *self.proportional)


class Stage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A step of a recipe: exactly one of ``filter``, ``grade``, ``review`` and ``select``."""

    filter: str | None = None
    grade: str | None = None
    review: Review | None = None
    select: Select | None = None
    name: str = ""
    panel: str | None = None
    right: dict[str, Cut] = {}  # by metric, the cut for right answers, default 1; ``any`` for the others
    answers: Cut | None = None  # on a model's right samples: whether it answers the item. Default: at least one.
    keep: dict[str, Cut] = {}
    bands: dict[str, tuple[int, int]] = {}
    drop: tuple[str, ...] = ()
    rate: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None  # accepted share of good items among rejected ones
    cluster: str = ""  # the tag whose values say which items may be right together; by default found from the items
    probe: str | None = None
    task: str = ""  # a tag that names tasks, for a filter that may report how good models are at each
    people: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """The share of items that people answer right: no larger share of golds can be wrong."""
    judge: str | None = None
    then: VerdictKind | None = None  # the verdict on an item that does not pass, where a filter leaves it open
    full_counts: bool = False  # ask all models, also where the verdict is settled: counts are used later

    def __post_init__(self) -> None:
        kinds = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            given = " and ".join(kinds) or "none of them"
            raise ValueError(f"a stage is one of {', '.join(KINDS)}; found {given}")

    @property
    def kind(self) -> str:
        """The name of the step."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def title(self) -> str:
        """Its name in verdicts."""
        return self.name or self.filter or self.grade or self.kind


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A paper's whole method as one short file."""

    about: str = ""
    panels: dict[str, Panel] = {}
    stages: tuple[Stage, ...] = ()
    form: str = ""  # the question for people about items that a stage leaves to them, where no review sets one
    seed: int = 0

    @property
    def reviewing(self) -> Review:
        """The review of the recipe; without a review stage, of items that others leave open."""
        review = next((stage.review for stage in self.stages if stage.review), Review())
        return msgspec.structs.replace(review, form=review.form or self.form)

    def written_down(self) -> "Recipe":
        """The recipe for files and pages: no sampling settings that could be a key."""
        panels = {
            name: msgspec.structs.replace(panel, sampling=plain_settings(panel.sampling))
            for name, panel in self.panels.items()
        }
        return msgspec.structs.replace(self, panels=panels)


_WORDS: dict[Operator, str] = {
    ">": "more than", ">=": "at least", "<=": "at most", "<": "fewer than", "==": "exactly",
}  # fmt: skip
_HIT_ONCE = Cut(op=">=", value=1)


class Tally(msgspec.Struct, frozen=True):
    """The state of a model on an item: samples that hit, and samples of unknown result."""

    hits: int = 0
    unknown: int = 0


class StoppingRule(msgspec.Struct, frozen=True, kw_only=True):
    """``more than 5 of 10 samples, at least 3 of 4 models``."""

    answers: Cut = _HIT_ONCE
    samples: int = 1
    falls: Cut = _HIT_ONCE
    models: int = 1

    @property
    def text(self) -> str:
        """The rule as text."""
        models = f"{_WORDS[self.falls.op]} {self.falls.value:g} of {self.models} models"
        samples = f"{_WORDS[self.answers.op]} {self.answers.value:g} of {self.samples} samples, "
        return (samples if self.samples > 1 else "") + models

    def model_answers(self, tally: Tally) -> bool | None:
        """Whether a model answers the item; None while that is open."""
        return _settled(self.answers, tally.hits, tally.hits + tally.unknown)

    def verdict(self, tallies: Sequence[Tally]) -> bool | None:
        """Whether the item falls under the rule; None while that is open."""
        known = [self.model_answers(tally) for tally in tallies]
        return _settled(self.falls, known.count(True), known.count(True) + known.count(None))

    def decisions_needed(self, tallies: Sequence[Tally]) -> int:
        """How many more models have to be decided, at best, before the verdict is."""
        known = [self.model_answers(tally) for tally in tallies]
        return _fewest(self.falls, known.count(True), known.count(None))

    def samples_needed(self, tally: Tally) -> int:
        """How many more samples of a model are needed, at best, before the model is decided."""
        return _fewest(self.answers, tally.hits, tally.unknown)


def _settled(cut: Cut, least: int, most: int) -> bool | None:
    sides = {cut.holds(count) for count in range(least, most + 1)}
    return sides.pop() if len(sides) == 1 else None


def _fewest(cut: Cut, hits: int, unknown: int) -> int:
    """The smallest number of results that can settle a cut, at best."""
    for more in range(unknown + 1):
        if any(_settled(cut, hits + new, hits + new + unknown - more) is not None for new in range(more + 1)):
            return more
    return unknown
