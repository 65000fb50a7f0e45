"""A world whose flaws are known, in numbers: planted and found, leaked and measured, true skill and rankings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import counted
from eyetest.measures import MEASURES, Results, Settings
from eyetest.measures.stats.intervals import IntervalEstimate, wilson
from eyetest.measures.stats.ranking import CorrelationEstimate, spearman
from eyetest.pages.item_links import NOWHERE, ItemCount, ItemsAt, Query
from eyetest.pages.plots import bounded
from eyetest.records import Verdict
from eyetest.records.tables import Modality
from eyetest.runs import Run
from eyetest_world.demo.kinds import Answers, KindOutcome, Outcomes, PlainCount
from eyetest_world.flaws import FLAWS, Truth
from eyetest_world.grading import FLAGGED, Grade, Rankings, calibrations, grade, made_for, rankings
from eyetest_world.toy_models.cards import cards

BLIND: Modality = "no-image-guess"
SIGHTED: Modality = "image"
SUBSETS = 200
_COPY_STAGES = 2  # stages that look for duplicates: a recipe with more is graded by all flaws together


@dataclass(frozen=True)
class Tried:
    """A recipe that was carried out on the world, and its verdicts."""

    name: str
    title: str
    about: str
    verdicts: Sequence[Verdict]
    by_chance: float | None = None
    """Items that guessing alone would have it blame, on average; None where it keeps chance in check."""
    recipe: str = ""
    on_flawless: Sequence[Verdict] = ()
    """What it says of a world without flaws: whatever it blames there is good."""

    @property
    def lost(self) -> IntervalEstimate:
        """The share of flawless items that it would throw away or send to people."""
        blamed = {row.item for row in self.on_flawless if row.verdict in FLAGGED}
        return wilson(len(blamed), len({row.item for row in self.on_flawless}))


class FlawRecall(NamedTuple):
    """How much of one kind of flaw one recipe found."""

    looked_for: bool
    found: Sequence[str]
    planted: int
    recall: IntervalEstimate


class RecipeColumn(NamedTuple):
    """One recipe in the table of what was found; ``wrong``: flagged items without such a flaw."""

    tried: Tried
    recalls: Sequence[FlawRecall]
    flagged: Sequence[str]
    wrong: Sequence[str]
    precision: IntervalEstimate


@dataclass(frozen=True)
class WorldStory:
    """Everything the page tells is worked out from this."""

    benchmark: Benchmark
    truths: Sequence[Truth]
    tried: Sequence[Tried]  # the last one is the whole refinement
    kept: Sequence[str]
    runs: Sequence[Run]
    results: Results
    flawless: Results  # the same models on a world without flaws: their true skill
    calls: int
    seed: int = 0

    @property
    def whole(self) -> Tried:
        """The refinement that uses everything."""
        return self.tried[-1]

    @cached_property
    def graded(self) -> Grade:
        """How well the whole refinement found what was planted."""
        return grade(self.truths, self.whole.verdicts)

    @cached_property
    def flaws(self) -> list[str]:
        """Every kind of flaw that was planted."""
        planted = {flaw for truth in self.truths for flaw in truth.flaws}
        return [flaw for flaw in FLAWS if flaw in planted]

    @cached_property
    def sought(self) -> frozenset[str]:
        """The kinds of flaws that a filter of the whole refinement is made to find."""
        return frozenset().union(*(made_for(row.stage) for row in self.graded.stages)) & {*self.flaws}

    @cached_property
    def outcomes(self) -> Outcomes:
        """What became of each kind of flaw, and what plain counts find."""
        return Outcomes(Answers(self.benchmark, self.truths, self.results), self.whole.verdicts)

    @cached_property
    def kinds(self) -> list[KindOutcome]:
        """Each kind of flaw: what was found of it and by what, what was missed and why; those with a filter first."""
        stages = {item: row.stage for item, row in self.flagged.items()}
        for truth in self.truths:
            if truth.twin in self.flagged:
                stages.setdefault(truth.item, self.flagged[truth.twin].stage)
        ordered = sorted(self.flaws, key=lambda flaw: flaw not in self.sought)
        return [
            self.outcomes.kind(flaw, self.graded.items[flaw].found, stages, has_filter=flaw in self.sought)
            for flaw in ordered
        ]

    @cached_property
    def recall(self) -> IntervalEstimate:
        """The share that was found of the flaws that a filter is made to find."""
        kinds = [kind for kind in self.kinds if kind.has_filter]
        return wilson(sum(len(kind.found) for kind in kinds), sum(len(kind.planted) for kind in kinds))

    @cached_property
    def good_in_bands(self) -> dict[str, int]:
        """By band of those that stand out, how many items without a flaw are in it."""
        bands = self.outcomes.bands
        good = [bands[truth.item] for truth in self.truths if not truth.flaws and truth.item in bands]
        return {band: good.count(band) for band in self.outcomes.outer_bands}

    @cached_property
    def plain_counts(self) -> list[PlainCount]:
        """Each filter that has a plain count beside it, as many items flagged by both."""
        rows = []
        for column in self.columns():
            kinds = [flaw for flaw, recall in zip(self.flaws, column.recalls, strict=True) if recall.looked_for]
            counted_as = self.outcomes.by_plain_count(column.tried.name, len(column.flagged), kinds)
            if counted_as is None:
                continue
            wanted = [recall for recall in column.recalls if recall.looked_for]
            found, planted = sum(len(recall.found) for recall in wanted), sum(recall.planted for recall in wanted)
            label, hits = counted_as
            rows.append(PlainCount(column.tried.title, label, len(column.flagged), planted, found, hits))
        return rows

    @cached_property
    def flawless_items(self) -> str:
        """How large the world without flaws is, as text."""
        return counted(len({row.item for row in self.whole.on_flawless}), "item")

    @cached_property
    def flagged(self) -> dict[str, Verdict]:
        """The items that the whole refinement took out, with the verdict that did it."""
        return {row.item: row for row in self.whole.verdicts if row.verdict in FLAGGED}

    def planted(self, flaw: str = "") -> list[str]:
        """The items in which a kind of flaw was planted, or any."""
        return [truth.item for truth in self.truths if (flaw in truth.flaws if flaw else truth.flaws)]

    def columns(self) -> Iterator[RecipeColumn]:
        """Each recipe: what it found of each kind of flaw, and how much of what it blamed was to blame."""
        for tried in self.tried:
            graded = grade(self.truths, tried.verdicts)
            stages = {row.stage for row in graded.stages}
            sought = frozenset().union(*(made_for(stage) for stage in stages))
            recalls = [
                FlawRecall(row.flaw in sought, graded.items[row.flaw].found, row.planted, row.recall)
                for row in graded.flaws
            ]
            first = next(row.flaw for row in graded.flaws if row.flaw in sought)
            own = graded.items["" if len(stages) > _COPY_STAGES else first]
            wrong = sorted(own.flagged - own.right)
            precision = wilson(len(own.right), len(own.flagged))
            yield RecipeColumn(tried, recalls, sorted(own.flagged), wrong, precision)

    @cached_property
    def vision_models(self) -> pl.DataFrame:
        """Each vision model on the whole benchmark: gain, leakage, skill on flawless items, what leaked to it."""
        return self._measured(self.results)

    @cached_property
    def refined_vision_models(self) -> pl.DataFrame:
        """The same on the items that were kept."""
        of_kept, known = pl.col("item").is_in(list(self.kept)), self.results
        return self._measured(Results(known.scores.filter(of_kept), known.items.filter(of_kept), known.models))

    def _measured(self, results: Results) -> pl.DataFrame:
        gains = MEASURES["gain"].measure(results, Settings(seed=self.seed)).table.filter(_sees())
        skill = MEASURES["accuracy"].measure(_seen(self.flawless), Settings(seed=self.seed)).table
        names = dict(zip(bounded("accuracy"), bounded("skill"), strict=True))
        leaked = pl.col("model").replace_strict({name: card.leaked for name, card in cards().items()}, default=None)
        return gains.join(skill.select("model", *names).rename(names), on="model").with_columns(
            leaked.alias("leaked")
        )

    @cached_property
    def agreements(self) -> dict[str, CorrelationEstimate]:
        """Whether measures rank models as the truth does: leakage, and gain on all items and on those kept."""
        columns = {
            "leakage": (self.vision_models, "unclipped", "leaked"),
            "gain": (self.vision_models, "gain", "skill"),
            "gain_after": (self.refined_vision_models, "gain", "skill"),
        }
        return {
            name: spearman(table.get_column(measured).to_numpy(), table.get_column(true).to_numpy())
            for name, (table, measured, true) in columns.items()
        }

    @cached_property
    def rankings(self) -> Rankings:
        """Who is best: by the corrupted benchmark, by the refined one, by chance; each beside true skill."""
        seen = (pl.col("modality") == SIGHTED) & _sees()
        corrupted, flawless = (
            known.scores.filter(seen).select("item", pl.col("model").cast(pl.String), "score").collect()
            for known in (self.results, self.flawless)
        )
        return rankings(corrupted, flawless, self.kept, subsets=SUBSETS, seed=self.seed)

    @cached_property
    def doubts(self) -> Mapping[str, IntervalEstimate]:
        """How well the consensus of vision models tells each kind of flaw from everything else."""
        table = MEASURES["wrong-golds"].measure(_seen(self.results), Settings(seed=self.seed)).table
        return calibrations(self.truths, dict(table.select("item", "ratio").iter_rows()))


def _seen(known: Results) -> Results:
    """What was answered with the image."""
    return Results(known.scores.filter(pl.col("modality") == SIGHTED), known.items, known.models)


def _sees() -> pl.Expr:
    """Whether a row is about a vision model."""
    return pl.col("model").cast(pl.String).is_in([name for name, card in cards().items() if card.sees])


def planted_kind(flaw: str) -> str:
    """What a planted flaw is called among findings."""
    return f"planted {flaw}"


class WorldItems:
    """The items of a world by what was planted in them and what became of them."""

    def __init__(self, story: WorldStory, at: ItemsAt = NOWHERE) -> None:
        self._story, self.at = story, at

    def count(self, ids: Iterable[str]) -> ItemCount:
        """How many these are, and where they are shown."""
        items = frozenset(ids)
        query = self._queries.get(items)
        return self.at.named(sorted(items)) if query is None else self.at.count(len(items), query)

    @cached_property
    def _queries(self) -> Mapping[frozenset[str], Query]:
        story = self._story
        every = frozenset(truth.item for truth in story.truths)
        fallen = frozenset(item for item, row in story.flagged.items() if row.verdict in ("drop", "review"))
        ends = {"fallen": fallen, "kept": every - fallen}
        queries = {frozenset(items): Query(verdict=name) for name, items in ends.items()} | {every: Query()}
        for flaws in (story.flaws, *((flaw,) for flaw in story.flaws)):
            planted = frozenset(item for flaw in flaws for item in story.planted(flaw))
            kinds = tuple(map(planted_kind, flaws))
            for name, items in ends.items():
                queries.setdefault(planted & items, Query(findings=kinds, verdict=name))
            queries[planted] = Query(findings=kinds)
        return queries
