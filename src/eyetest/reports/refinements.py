"""Records of a refinement (``refine.json`` and its verdicts), and the page about it."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl
import yaml

from eyetest.benchmarks import Benchmark
from eyetest.errors import typed
from eyetest.measures import Results
from eyetest.measures.gain import WITH_IMAGE
from eyetest.pages.item_links import FIGURE, NOWHERE, ItemCount, ItemsAt, Query, reason_kind
from eyetest.pages.item_view import Album, lot, show_verdict
from eyetest.pages.page import write_page
from eyetest.records import Item, Recipe, Stage, Verdict, VerdictKind
from eyetest.records.recipe import ABOUT, VERDICTS
from eyetest.reports.report import Material, laid_out
from eyetest.runs.stored import one_line_if_damaged, scan_table
from eyetest.store import read_json

_MOST_REASONS = 8
_KEPT = ("keep", "fix")
NOT_REVIEWED = "not reviewed"
_HELD_OUT = "held out"


class RefinedFrom(msgspec.Struct, frozen=True):
    """The benchmark that was refined."""

    name: str
    fingerprint: str
    path: str = ""


class Members(msgspec.Struct, frozen=True):
    """Models of a panel."""

    seats: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()


class Interval(msgspec.Struct, frozen=True):
    """A share and its interval."""

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
    """Answers per item, and how many without early stopping; 0 if not known."""

    @property
    def part(self) -> str:
        """Which part of the panel's answers this is, if not all."""
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
    paused: str = ""  # stage that waits for reviewers, if any
    residual_blind: tuple[Residual, ...] = ()
    notes: tuple[str, ...] = ()


Fall = tuple[int, str, str]  # items dropped at a stage for one reason: their number, verdict, and reason


class StageOutcome(NamedTuple):
    """Result of a stage."""

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
    """Contents of a card about a refinement."""

    about: RefinementRecord
    outcomes: list[StageOutcome] = []  # noqa: RUF012 (never changed)

    @property
    def into(self) -> int:
        """Items that went in."""
        return self.outcomes[0].into if self.outcomes else 0

    @property
    def recipe_text(self) -> str:
        """The recipe as a file that repeats it, without its description."""
        return recipe_yaml(msgspec.structs.replace(self.about.recipe, about=""))

    @property
    def unreviewed(self) -> int:
        """Items that passed a review stage that was not held."""
        return sum(outcome.unreviewed for outcome in self.outcomes)

    @property
    def waiting(self) -> int:
        """Items that wait for review, and so are not in the benchmark."""
        return sum(outcome.counts.get("review", 0) for outcome in self.outcomes)

    @property
    def left_blind(self) -> list[Residual]:
        """Blind accuracy at the end, by panel, held-out models first."""
        return sorted(self._blind("after").values(), key=lambda residual: (residual.who != _HELD_OUT, residual.panel))

    def before(self, after: Residual) -> Residual | None:
        """Blind accuracy of the same models before any item was dropped."""
        return self._blind("before").get((after.panel, after.who))

    def _blind(self, when: str) -> dict[tuple[str, str], Residual]:
        """By panel and kind of seat; of a panel asked at several stages, its first answers."""
        known = (of for of in self.about.residual_blind if of.when == when and of.accuracy.value is not None)
        return {(residual.panel, residual.who): residual for residual in reversed(list(known))}

    @property
    def command(self) -> str:
        """The command that repeats it, given the same models or answers."""
        seated = {name: (*who.seats, *who.held_out) for name, who in self.about.panels.items()}
        words = ["--answers", "RUN"] if self.about.recorded else ["--models", "models.yaml"]
        for name, models in seated.items():
            words += ["--panel", f"{name}={','.join(models)}"] if models else []
        out = sorted({model for who in self.about.panels.values() for model in who.held_out})
        words += ["--hold-out", ",".join(out)] if out else []
        words += ["--skip-review"] if self.unreviewed else []
        return f"$ eyetest refine BENCH --recipe recipe.yaml {typed(*words)} --to refined"


def recipe_yaml(recipe: Recipe) -> str:
    """A recipe as readable YAML."""
    return yaml.safe_dump(msgspec.to_builtins(recipe), sort_keys=False, allow_unicode=True, width=100)


def read_refinement(folder: Path) -> RefinementHistory:
    """A refinement from its files."""
    record = read_json(folder / ABOUT, RefinementRecord, "run eyetest refine again")
    with one_line_if_damaged(folder / VERDICTS):
        table = scan_table(folder / VERDICTS, "run eyetest refine again")
        frame = table.select("stage", "verdict", "reason").collect()
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
    """Merge reasons that differ in their figures alone, with the range of each figure."""
    kinds: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for (verdict, reason), count in reasons.items():
        kinds.setdefault((verdict, reason_kind(reason)), []).append((reason, count))
    falls = [
        (sum(count for _, count in same), verdict, together([reason for reason, _ in same]))
        for (verdict, _), same in kinds.items()
    ]
    falls.sort(key=lambda fall: (-fall[0], fall))
    shown, rest = falls[:_MOST_REASONS], falls[_MOST_REASONS:]
    for verdict in sorted({fall[1] for fall in rest}):
        many = [fall[0] for fall in rest if fall[1] == verdict]
        shown.append((sum(many), verdict, f"{len(many)} other reasons"))
    return shown


def together(reasons: Sequence[str]) -> str:
    """Reasons of one kind as one: ``15 to 19 of 32 to 40 blind answers right``."""
    columns = zip(*(FIGURE.findall(reason) for reason in reasons), strict=True)
    first, *parts = FIGURE.split(reasons[0])
    return first + "".join(f"{_range(column)}{part}" for column, part in zip(columns, parts, strict=True))


def _range(figures: Sequence[str]) -> str:
    ordered = sorted(set(figures), key=lambda figure: (float(figure.replace(",", "")), figure))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


_FALLEN: Mapping[VerdictKind, tuple[str, str]] = {"drop": ("bad", "Dropped"), "review": ("suspect", "For review")}
_SHOWN = 6
Verdicts = Sequence[tuple[str, Sequence[Verdict]]]


class RefinedItems(NamedTuple):
    """Items of a refinement: those that went in, by id, those that are left, the benchmarks with their images, and
    recorded answers, if any, by the golds from before and by those that count now.
    """

    into: Mapping[str, Item]
    kept: Sequence[Item]
    benchmarks: Sequence[Benchmark]
    answers: tuple[Results, Results] | None = None


def ranking_shift(
    before: Material, gone: Collection[str], now: Results | None = None
) -> tuple[str, pl.DataFrame] | None:
    """Scores with the image and shared ranks on all items, and (by the golds of ``now``) without those ``gone``; and
    a sentence on whether the order changes. None where fewer than two models can be ranked.
    """
    if before.is_answered and not {way[0] for way in before.usual_ways.values()} <= set(WITH_IMAGE):
        return None
    after = now or before.results
    kept = after.scores.filter(~pl.col("item").cast(pl.String).is_in(list(gone)))
    sides = {"before": before, "after": Material(replace(after, scores=kept), before.settings)}
    tables, keys = [], ["model"]
    for when, material in sides.items():
        ranks, scores = material.known("ranks"), material.known("accuracy")
        if ranks is None or scores is None:
            return None
        keys = [name for name in ("benchmark", "model") if name in ranks.columns]
        score = {f"score {when}{end}": pl.col(f"accuracy{end}") * 100 for end in ("", "_low", "_high")}
        ends = {"": "tie", "_low": "rank_low", "_high": "rank_high"}
        rank = {f"rank {when}{end}": pl.col(name).cast(pl.Int64) for end, name in ends.items()}
        shared = ranks.select(*keys, pl.col("rank").alias(when), **rank)
        tables.append(shared.join(scores.select(*keys, **score), on=keys, how="left", maintain_order="left"))
    table = tables[0].join(tables[1], on=keys, how="left", maintain_order="left")
    moved, others = (
        table.filter(pl.col(left) != pl.col(right)).height
        for left, right in (("before", "after"), ("rank before", "rank after"))
    )
    changes = "changes" if moved else "does not change"
    sentence = (
        f"The order of models {changes}: {moved:,} of {len(table):,} have another place by score, {others:,} another "
        "shared rank. On fewer items fewer differences are significant, and more models share a rank."
    )
    names = [f"{what} {when}{end}" for what in ("score", "rank") for when in sides for end in ("", "_low", "_high")]
    return sentence, table.select(*keys, *names)


def write_refine_page(
    record: RefinementRecord, stages: Verdicts, refined: RefinedItems, to: Path, at: ItemsAt = NOWHERE
) -> None:
    """Write the page; ``at`` is the target of its links."""
    items, kept, album = refined.into, refined.kept, Album(*refined.benchmarks)
    rank = None
    if refined.answers is not None:
        rank = ranking_shift(
            Material(refined.answers[0]), items.keys() - {item.id for item in kept}, refined.answers[1]
        )
    history, into = RefinementHistory(record), Query(stage=stages[0][0] if stages else "")
    left = at.count(len(kept), Query(verdict="kept"))
    blind = [residual for residual in record.residual_blind if residual.accuracy.value is not None]
    most = max((residual.accuracy.high or residual.accuracy.value or 0.0 for residual in blind), default=1.0)
    contents = {
        "record": record,
        "at": at,
        "into": at.count(len(items), into),
        "left": left,
        "removed": at.count(len(items) - len(kept), Query(verdict="fallen")),
        "compared": [(before, after) for after in history.left_blind if (before := history.before(after))][:1],
        "ranking": rank and (rank[0], laid_out(rank[1], digits=1)),
        "reasons": list(_reasons(stages, at)),
        "stages": [_stage(*stage, items, album, at) for stage in stages],
        "blind": blind,
        "blind_top": min(1.0, most * 1.15) or 1.0,
        "recipe": recipe_yaml(record.recipe),
        "album": album.images,
    }
    write_page("refine.html.j2", contents, to, overwrite=True)


def _reasons(stages: Verdicts, at: ItemsAt) -> Iterator[tuple[str, str, ItemCount, str]]:
    """What became of items: verdict, stage, how many, and why, the most first."""
    for name, verdicts in stages:
        found = Counter((row.verdict, row.reason) for row in verdicts if row.verdict != "keep")
        for number, verdict, reason in _falls(Counter({(str(kind), why): n for (kind, why), n in found.items()})):
            whole = number == sum(n for (kind, _), n in found.items() if kind == verdict)
            query = Query(stage=name, verdict=verdict)
            yield verdict, name, at.count(number, query) if whole else ItemCount(number), reason


def _stage(
    name: str, verdicts: Sequence[Verdict], items: Mapping[str, Item], album: Album, at: ItemsAt
) -> dict[str, Any]:
    """A stage of the page; by verdict: its colour, its word, number of items removed, some of them."""
    kinds: tuple[VerdictKind, ...] = ("drop", "fix", "review", "keep")
    numbers = Counter(verdict.verdict for verdict in verdicts)
    counts = {kind: at.count(numbers[kind], Query(stage=name, verdict=kind)) for kind in kinds}
    groups = []
    for kind, words in _FALLEN.items():
        removed = [verdict for verdict in verdicts if verdict.verdict == kind]
        sample = sorted(removed, key=lambda verdict: lot(verdict.item))[:_SHOWN]
        if sample:
            shown = [show_verdict(verdict, items[verdict.item], album) for verdict in sample]
            groups.append((*words, counts[kind], shown))
    into = at.count(len(verdicts), Query(stage=name))
    return {"name": name, "into": into, "counts": list(counts.items()), "groups": groups}
