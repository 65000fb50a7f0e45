"""What users write in short files: recipes (a paper's method), stopping rules, and suites of benchmarks.

A stopping rule counts hits: a model *answers* an item if enough of its samples hit, and the item *falls* under the
rule if enough models answer it.
"""

from collections.abc import Mapping, Sequence
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
KINDS = ("filter", "grade", "review", "select", "harden")
HARDENINGS = ("options", "screenshot")  # kinds of hardening, in the order in which they are applied
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


class Harden(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The remaining items become another benchmark that asks the same: exactly one way, with its settings."""

    options: dict[str, Any] | None = None
    screenshot: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if len([way for way in HARDENINGS if getattr(self, way) is not None]) != 1:
            raise ValueError(f"harden: say one of {' and '.join(HARDENINGS)}; each is a stage of its own")

    @property
    def way(self) -> str:
        """The name of the way."""
        return next(way for way in HARDENINGS if getattr(self, way) is not None)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the way."""
        settings: dict[str, Any] = getattr(self, self.way)
        return settings


class Stage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A step of a recipe: exactly one of ``filter``, ``grade``, ``review``, ``select`` and ``harden``."""

    filter: str | None = None
    grade: str | None = None
    review: Review | None = None
    select: Select | None = None
    harden: Harden | None = None
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
    writer: str | None = None  # the panel whose model writes options; an empty panel makes them by rule only
    checker: str | None = None  # the panel whose model checks them; not the writer
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
        return self.name or self.filter or self.grade or (self.harden.way if self.harden else self.kind)


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A paper's whole method as one short file."""

    about: str = ""
    panels: dict[str, Panel] = {}
    stages: tuple[Stage, ...] = ()
    form: str = ""  # the question for people about items that a stage leaves to them, where no review sets one
    rescale: dict[str, Literal["proportional"]] = {}  # by panel: thresholds are shares, for a panel of any size
    seed: int = 0

    @property
    def rounds(self) -> list[Review]:
        """The review form of each round; without a review stage, the one for items that others leave open."""
        reviews = [stage.review for stage in self.stages if stage.review] or [Review()]
        return [msgspec.structs.replace(review, form=review.form or self.form) for review in reviews]

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


SUITE_TAGS = ("dimension", "task", "dataset")  # the tags of a suite's tables, widest first
_Name = Annotated[str, msgspec.Meta(pattern=r"^([^\s/\\.][^/\\]*)?$", max_length=100)]


class TagNames(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which tag of a benchmark's items holds which tag of the suite."""

    dimension: str = "dimension"
    task: str = "task"
    dataset: str = "dataset"


class SuiteBenchmark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A benchmark of a suite: to be asked, or answered already."""

    bench: str = ""  # a benchmark folder, or any importable file
    runs: tuple[str, ...] = ()  # with the answers: nothing is asked, and ``bench`` is only needed for changed golds
    name: _Name = ""
    dimension: str = ""
    task: str = ""
    dataset: str = ""  # the dataset of all of its items, whatever their own tags say
    tags: TagNames = TagNames()
    metric: str | None = None
    limit: Count | None = None

    def __post_init__(self) -> None:
        if not self.bench and not self.runs:
            raise ValueError("say which benchmark is asked (bench), or where its answers are (runs)")
        if self.runs and self.limit:
            raise ValueError("limit is about what is asked; runs hold answers already")


class Suite(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Benchmarks, models, conditions, and which part of the answers is reported."""

    benchmarks: Annotated[tuple[SuiteBenchmark, ...], msgspec.Meta(min_length=1)]
    models: str | tuple[str, ...] | dict[str, Any] = ()  # a models.yaml, specs, or names with their specs
    title: str = ""
    conditions: str | tuple[str, ...] | dict[str, Any] = ()
    """Named conditions (``[image, no-image+cot]``), or values by axis (``{modality: image, shots: [none]}``)."""
    prompts: str = ""  # a name, or a file beside the suite
    samples: Count = 1
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    limit: Count | None = None
    by: tuple[str, ...] = ()  # tables of groups of models: model.size_b
    unseen: bool = False  # a model-oriented subset: no dataset that any of the models was trained on


def spelled_out(value: Any) -> Any:
    """A suite with every benchmark that is only a path as an entry of its own."""
    if not isinstance(value, Mapping) or not isinstance(value.get("benchmarks"), list | tuple):
        return value
    entries = [{"bench": entry} if isinstance(entry, str) else entry for entry in value["benchmarks"]]
    return {**value, "benchmarks": entries}
