"""A recipe: a paper's whole method as one short file. A key that is not known is refused, with the nearest one."""

from typing import Annotated, Any, Literal

import msgspec

from eyetest.records.settings import Cut
from eyetest.records.tables import Ask, Condition, History, Marks, Method, Shots, Sight, VerdictKind
from eyetest.redaction import plain_settings

Count = Annotated[int, msgspec.Meta(ge=1)]
KINDS = ("screen", "grade", "review", "select", "harden")
HARDENINGS = ("options", "screenshot")
"""What can be made harder, in the order in which it has to be done."""
VERDICTS, FUNNEL, ABOUT, REPORT = "verdicts.parquet", "funnel.csv", "refine.json", "report.html"
BENCHMARK, RUN, REVIEW = "benchmark", "run", "review"
"""What stands in the folder of a refinement."""
OWN_AXES = ("sight", "ask", "shots", "marks", "method", "history")
"""On which axes a model may be asked otherwise than its panel."""


class Panel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Models that are asked together; ``models`` may give one of them a condition of its own."""

    size: Count
    sight: Sight = "image"
    ask: Ask = "direct"
    shots: Shots = "none"
    marks: Marks = "upper"
    method: Method = "generate"
    history: History = "gold"
    trials: Count = 1
    orders: Count = 1
    """In how many orders of the options each question is put; the first is as written."""
    sampling: dict[str, Any] = {}
    """What is sent with each call: a temperature, where trials are to differ."""
    held_out: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Models beyond ``size`` that answer too but have no say: what they still get blind is the honest figure."""
    models: dict[str, dict[str, Any]] = {}

    def condition(self, model: str = "") -> Condition:
        """How the panel, or one of its models, is asked."""
        axes = {axis: getattr(self, axis) for axis in OWN_AXES}
        return msgspec.convert(axes | self.models.get(model, {}), Condition)


class Review(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """People look at every item."""

    reviewers: Count = 1
    form: str = ""
    """What they are asked; written into the queue."""


class Select(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which of the remaining items are taken."""

    per: str = ""
    """A tag: each of its values has a quota. Without it there is one quota for all."""
    values: tuple[str, ...] = ()
    """Only these values of ``per``. One that no item has is a quota that cannot be met."""
    count: Count | None = None
    """The items of each quota."""
    total: Count | None = None
    """Instead of ``count``: the items of all quotas together."""
    fraction: Annotated[float, msgspec.Meta(gt=0, le=1)] | None = None
    """Instead of either: the share of all items."""
    share: Literal["even", "proportional"] = "even"
    """How ``total`` is spread over the quotas: alike, or in proportion to what there is of each."""
    balance: tuple[str, ...] = ()
    """Tags over whose values each quota is spread as evenly as the pool allows; a later tag inside an earlier one."""
    proportional: tuple[str, ...] = ()
    """Tags over whose values it is spread in proportion to the pool, inside those of ``balance``."""
    short: Literal["refuse", "keep-all"] = "refuse"
    """What to do where there are too few: refuse, or keep all there are."""
    by: Literal["lot", "information"] = "lot"
    """Which items go first: drawn by lot, or those that tell the panel's models apart best."""

    def __post_init__(self) -> None:
        sizes = (self.count, self.total, self.fraction)
        if sum(size is not None for size in sizes) != 1:
            raise ValueError("select: say one of count (of each quota), total (of all together) and fraction")
        if self.share == "proportional" and not (self.per and self.count is None):
            raise ValueError("select: share says how a total is spread over the values of per; give both")
        if self.values and not self.per:
            raise ValueError("select: values are those of a tag; name it with per")
        for names in (self.tags, self.values):
            if twice := [name for name in names if names.count(name) > 1]:
                raise ValueError(f'select: "{twice[0]}" is named {names.count(twice[0])} times')

    @property
    def tags(self) -> tuple[str, ...]:
        """Every tag that it looks at."""
        return (*((self.per,) if self.per else ()), *self.balance, *self.proportional)


class Harden(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The items that are left become another benchmark that asks the same: exactly one way, with its settings."""

    options: dict[str, Any] | None = None
    """More options (``eyetest harden options``)."""
    screenshot: dict[str, Any] | None = None
    """Everything in one picture (``eyetest harden screenshot``)."""

    def __post_init__(self) -> None:
        if len([way for way in HARDENINGS if getattr(self, way) is not None]) != 1:
            raise ValueError(f"harden: say one of {' and '.join(HARDENINGS)}; each is a stage of its own")

    @property
    def way(self) -> str:
        """Which of them it is."""
        return next(way for way in HARDENINGS if getattr(self, way) is not None)

    @property
    def settings(self) -> dict[str, Any]:
        """What is said of it."""
        settings: dict[str, Any] = getattr(self, self.way)
        return settings


class Stage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One step of a recipe: exactly one of ``screen``, ``grade``, ``review``, ``select`` and ``harden``."""

    screen: str | None = None
    grade: str | None = None
    review: Review | None = None
    select: Select | None = None
    harden: Harden | None = None
    name: str = ""
    panel: str | None = None
    right: dict[str, Cut] = {}
    """By metric, from which score on an answer counts as right; ``any`` for the others. 1 if nothing is said."""
    best_cut: tuple[str, ...] = ()
    """Metrics whose cut-off is chosen from the panel's scores instead: the one that tells its models apart best."""
    answers: Cut | None = None
    """Over a model's right trials: whether the model answers the item. At least one if nothing is said."""
    keep: dict[str, Cut] = {}
    bands: dict[str, tuple[int, int]] = {}
    drop: tuple[str, ...] = ()
    """Bands whose items go."""
    rate: Annotated[float, msgspec.Meta(gt=0, lt=1)] | None = None
    """The share of good items among those that a test may throw out."""
    probe: str | None = None
    task: str = ""
    """The tag that says of which task an item is, for a screen that learns how good models are at each; ``task`` if
    nothing is said."""
    judge: str | None = None
    """The panel that judges."""
    writer: str | None = None
    """The panel whose model writes options; where nobody sits on it they are made by rule alone."""
    checker: str | None = None
    """The panel whose model checks them: another one than wrote them."""
    then: VerdictKind | None = None
    """What becomes of an item that does not pass, where a screen leaves it open."""
    min_answers: Count | None = None
    """So many answers are enough; without it, an item whose verdict missing answers could change goes to people."""
    full_counts: bool = False
    """Ask everybody, also where the verdict is settled: counts are used later."""

    def __post_init__(self) -> None:
        kinds = [kind for kind in KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            given = " and ".join(kinds) or "none of them"
            raise ValueError(f"a stage is one of {', '.join(KINDS)}; found {given}")

    @property
    def kind(self) -> str:
        """Which of them it is."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def title(self) -> str:
        """What verdicts call it."""
        return self.name or self.screen or self.grade or (self.harden.way if self.harden else self.kind)


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A paper's whole method as one short file."""

    about: str = ""
    panels: dict[str, Panel] = {}
    stages: tuple[Stage, ...] = ()
    form: str = ""
    """What people are asked about items that a stage leaves to them, where no review says otherwise."""
    rescale: dict[str, Literal["proportional"]] = {}
    """By panel: thresholds are shares, so that a panel of another size may take its place."""
    seed: int = 0

    @property
    def rounds(self) -> list[Review]:
        """How people are asked in each round; where no stage asks them, about what the others leave to them."""
        reviews = [stage.review for stage in self.stages if stage.review] or [Review()]
        return [msgspec.structs.replace(one, form=one.form or self.form) for one in reviews]

    def written_down(self) -> "Recipe":
        """As it may stand in files and on pages: nothing of its sampling settings that could be a key."""
        panels = {
            name: msgspec.structs.replace(panel, sampling=plain_settings(panel.sampling))
            for name, panel in self.panels.items()
        }
        return msgspec.structs.replace(self, panels=panels)
