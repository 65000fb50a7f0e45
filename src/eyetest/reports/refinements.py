"""What a refinement leaves on record (``refine.json`` and its verdicts), which pages and cards are made from."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import polars as pl
import yaml

from eyetest.errors import InputError, damaged
from eyetest.pages.item_links import FIGURE, reason_kind
from eyetest.records import Recipe, Stage
from eyetest.wording import typed

_MOST_REASONS = 8
_KEPT = ("keep", "fix")
NOT_REVIEWED = "not reviewed"


class Records(NamedTuple):
    """The files of a refinement that a card rests on."""

    about: Path
    verdicts: Path


class RefinedFrom(msgspec.Struct, frozen=True):
    """The benchmark that was refined."""

    name: str
    fingerprint: str
    path: str = ""
    """Where it was, for whoever looks at its items later."""


class Members(msgspec.Struct, frozen=True):
    """Who sat on a panel."""

    seats: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()


class Interval(msgspec.Struct, frozen=True):
    """A share and how far it can be trusted."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0


class Residual(msgspec.Struct, frozen=True):
    """Mean blind accuracy of some models on some items."""

    panel: str
    who: str
    when: str
    accuracy: Interval
    models: int
    answers: int = 0
    asked: int = 0
    """Answers an item that it rests on, and how many there would be had asking not stopped early; 0 if not known."""

    @property
    def part(self) -> str:
        """Which of the panel's answers these are, where they are not all."""
        if not self.answers:
            return f"none of {self.asked} answers an item"
        return f"the first {self.answers} of {self.asked} answers an item" if self.answers < self.asked else ""


class RefinementRecord(msgspec.Struct, frozen=True):
    """``refine.json``."""

    eyetest: str
    benchmark: RefinedFrom
    recipe: Recipe
    panels: dict[str, Members]
    recorded: bool = False
    paused: str = ""
    """The stage that waits for people, if there is one."""
    residual_blind: tuple[Residual, ...] = ()
    notes: tuple[str, ...] = ()


class Fall(NamedTuple):
    """Items that went at a stage for the same reason."""

    items: int
    verdict: str
    reason: str


class StageOutcome(NamedTuple):
    """What one stage did."""

    stage: Stage
    into: int
    counts: dict[str, int]
    falls: list[Fall]
    unreviewed: int

    @property
    def left(self) -> int:
        """Items that reached the next stage."""
        return sum(self.counts.get(kind, 0) for kind in _KEPT)


class RefinementHistory(NamedTuple):
    """Everything a card tells of a refinement."""

    about: RefinementRecord
    outcomes: list[StageOutcome]

    @property
    def into(self) -> int:
        """Items that went in."""
        return self.outcomes[0].into if self.outcomes else 0

    @property
    def recipe_text(self) -> str:
        """The recipe as a file that repeats it, less its words, which stand above it."""
        return recipe_yaml(msgspec.structs.replace(self.about.recipe, about=""))

    @property
    def unreviewed(self) -> int:
        """Items that passed a review stage that nobody held."""
        return sum(outcome.unreviewed for outcome in self.outcomes)

    @property
    def waiting(self) -> int:
        """Items that wait for people, and so are not in the benchmark."""
        return sum(outcome.counts.get("review", 0) for outcome in self.outcomes)

    @property
    def left_blind(self) -> list[Residual]:
        """What is still answered blind at the end, by panel, those that had no say first."""
        return sorted(self._blind("after").values(), key=lambda one: (one.who != "held out", one.panel))

    def before(self, after: Residual) -> Residual | None:
        """What the same models answered blind before anything fell."""
        return self._blind("before").get((after.panel, after.who))

    def _blind(self, when: str) -> dict[tuple[str, str], Residual]:
        """By panel and kind of seat; where a panel was heard at several stages, what it said first."""
        told = [one for one in self.about.residual_blind if one.when == when and one.accuracy.value is not None]
        return {(one.panel, one.who): one for one in reversed(told)}

    @property
    def command(self) -> str:
        """What repeats it, given the same models or answers."""
        seated = {name: (*who.seats, *who.held_out) for name, who in self.about.panels.items()}
        words = ["--answers", "RUN"] if self.about.recorded else ["--models", "models.yaml"]
        for name, models in seated.items():
            words += ["--panel", f"{name}={','.join(models)}"] if models else []
        out = sorted({model for who in self.about.panels.values() for model in who.held_out})
        words += ["--hold-out", ",".join(out)] if out else []
        words += ["--skip-review"] if self.unreviewed else []
        return f"$ eyetest refine BENCH --recipe recipe.yaml {typed(*words)} --to refined"


def recipe_yaml(recipe: Recipe) -> str:
    """A recipe as a file that people read."""
    return yaml.safe_dump(msgspec.to_builtins(recipe), sort_keys=False, allow_unicode=True, width=100)


def read_refinement(records: Records) -> RefinementHistory:
    """A refinement from its files."""
    try:
        record = msgspec.json.decode(records.about.read_bytes(), type=RefinementRecord)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise InputError(f"{records.about} is not what a refinement writes: {error}") from None
    try:
        frame = pl.read_parquet(records.verdicts, columns=["stage", "verdict", "reason"])
    except (pl.exceptions.PolarsError, OSError) as error:
        raise damaged(records.verdicts, error) from None
    return RefinementHistory(record, list(_outcomes(record.recipe, frame)))


def _outcomes(recipe: Recipe, verdicts: pl.DataFrame) -> Iterator[StageOutcome]:
    for stage in recipe.stages:
        mine = verdicts.filter(pl.col("stage") == stage.title)
        if mine.is_empty():
            continue
        counts = Counter(mine["verdict"].to_list())
        reasons = Counter(mine.filter(~pl.col("verdict").is_in(_KEPT)).select("verdict", "reason").rows())
        unreviewed = mine.filter((pl.col("verdict") == "keep") & (pl.col("reason") == NOT_REVIEWED)).height
        yield StageOutcome(stage, mine.height, dict(counts), _falls(reasons), unreviewed)


def _falls(reasons: Counter[tuple[str, str]]) -> list[Fall]:
    """Reasons that differ in their figures alone are one, told with the range of each figure."""
    kinds: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for (verdict, reason), count in reasons.items():
        kinds.setdefault((verdict, reason_kind(reason)), []).append((reason, count))
    falls = [
        Fall(sum(count for _, count in told), verdict, together([reason for reason, _ in told]))
        for (verdict, _), told in kinds.items()
    ]
    falls.sort(key=lambda fall: (-fall.items, fall))
    shown, rest = falls[:_MOST_REASONS], falls[_MOST_REASONS:]
    for verdict in sorted({fall.verdict for fall in rest}):
        many = [fall.items for fall in rest if fall.verdict == verdict]
        shown.append(Fall(sum(many), verdict, f"{len(many)} other reasons"))
    return shown


def together(reasons: Sequence[str]) -> str:
    """Reasons of one kind as one: ``15 to 19 of 32 to 40 blind answers right``."""
    columns = zip(*(FIGURE.findall(reason) for reason in reasons), strict=True)
    first, *parts = FIGURE.split(reasons[0])
    return first + "".join(f"{_range(column)}{part}" for column, part in zip(columns, parts, strict=True))


def _range(figures: Sequence[str]) -> str:
    ordered = sorted(set(figures), key=lambda figure: (float(figure.replace(",", "")), figure))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
