"""Carry out a recipe: each item has a verdict at each stage it reaches. All follows from the journal and review
decisions, so a run that is killed and started again ends in the same bytes.
"""

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.benchmarks.folder import FACTS, write_items
from eyetest.benchmarks.tags import TagMaps
from eyetest.curate.pooling import BENCHMARK_TAG
from eyetest.curate.selection import CannotMeet, candidate, select
from eyetest.errors import InputError, as_stored, counted, listed
from eyetest.filters import FILTERS, Evidence, Filter, FilterInput
from eyetest.filters.hits import BAND
from eyetest.pages.item_links import NOWHERE, ItemsAt
from eyetest.prompts.sets import Prompts, load_prompts
from eyetest.recipes.loading import refuse_hopeless, refuse_others
from eyetest.recipes.panels import (
    AnswerSource,
    EarlierAnswers,
    Live,
    Seated,
    answer_notes,
    asked_of_all,
    residual,
    small_panel_notes,
)
from eyetest.records import (
    BLIND_MODALITIES,
    REFINE,
    Item,
    Recipe,
    Stage,
    Verdict,
    VerdictKind,
)
from eyetest.records.recipe import ABOUT, BENCHMARK, FUNNEL, REPORT, REVIEW, RUN, VERDICTS
from eyetest.records.tables import USUAL_PROMPTS
from eyetest.reports.dataset_card import card_of, read_facts, write_card
from eyetest.reports.refinements import (
    NOT_REVIEWED,
    Members,
    RefinedFrom,
    RefinedItems,
    RefinementRecord,
    Residual,
    write_refine_page,
)
from eyetest.store import write_file, write_json
from eyetest.studio.decisions import Decided, decide, standing, with_people
from eyetest.studio.forms import edited, load_form
from eyetest.studio.project import decisions_in
from eyetest.tabular.record_files import write_records
from eyetest.tabular.table import sheet_text
from eyetest.version import __version__

KINDS: tuple[VerdictKind, ...] = ("keep", "drop", "fix", "review")
FUNNEL_COLUMNS = ("stage", "into", *KINDS)


@dataclass
class Refined:
    """Result of a refinement."""

    stages: list[tuple[str, list[Verdict]]] = field(default_factory=list)
    kept: list[Item] = field(default_factory=list)
    waiting: list[Verdict] = field(default_factory=list)  # items that wait for people
    paused: str = ""  # the stage that waits for people, if there is one; nothing after it was done
    residuals: list[Residual] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def verdicts(self) -> list[Verdict]:
        """All verdicts, stage by stage."""
        return [verdict for _, verdicts in self.stages for verdict in verdicts]


@dataclass
class Refining:
    """A benchmark, a recipe, its panels, and the source of their answers."""

    benchmark: Benchmark
    recipe: Recipe
    panels: Mapping[str, Seated]
    source: AnswerSource
    to: Path
    skip_review: bool = False
    items_at: ItemsAt = NOWHERE  # where the numbers of its page lead
    prompts: Prompts = field(default_factory=load_prompts)
    tags: TagMaps | None = None  # tags of items that are made of others

    def run(self) -> Refined:
        """Carry out the recipe and write the result."""
        self._items = {item.id: self._tagged(item) for item in self.benchmark}
        self._seen = dict(self._items)
        notes = [
            *self.source.notes,
            *(self.tags.notes() if self.tags else ()),
            *small_panel_notes(self.recipe, self.panels),
        ]
        labels = dict.fromkeys((*(seated.panel.prompts for seated in self.panels.values()), self.prompts.roles))
        if own := [label for label in labels if label != USUAL_PROMPTS]:
            notes.append(f"asked with the prompts {listed(own)}")
        decisions = decisions_in(self.to / REVIEW, self._items.keys(), notes.append)
        self._decisions, self._form = decisions, load_form(self.recipe.reviewing.form)
        for name, rows in decisions.items():
            for row in standing(rows):
                edited(self._items[name], row.edits)  # refuse invalid input before any model is asked
        refuse_hopeless(self.recipe, list(self._items.values()))
        refined = Refined(notes=notes)
        alive = list(self._items.values())
        self._used: dict[str, set[str]] = {}  # by item, the requests that verdicts rest on
        self._answers: list[tuple[Seated, Evidence, list[Item]]] = []  # by stage, with the items that reached it
        for stage in self.recipe.stages:
            try:
                verdicts = self._stage(stage, alive, refined.notes)
            except CannotMeet as error:
                counts = funnel(refined.stages)
                kept = [f"{one['stage']}: {one['into']:,} in, {one['keep'] + one['fix']:,} kept" for one in counts]
                where = "; ".join(kept)
                raise InputError(f"{error} ({where})") from None
            waiting = [verdict for verdict in verdicts if verdict.verdict == "review"]
            refined.stages.append((stage.title, verdicts))
            refined.waiting += waiting
            alive = self._after(stage, alive, verdicts)
            if any(verdict.verdict == "fix" for verdict in verdicts):
                self.source.apply_edits(self._edited())
            if stage.review is not None and waiting:
                refined.paused = stage.title
                break
        refined.kept = [] if refined.paused else alive
        self.source.apply_edits(self._edited())
        refined.residuals = self._residuals(alive)
        refined.notes += _stopped_notes(refined.residuals)
        self._write(refined)
        return refined

    def _tagged(self, item: Item) -> Item:
        """An item with the tags that are made of others, perhaps only for its source."""
        pooled = item.tags.get(BENCHMARK_TAG) if self.benchmark.manifest.sources else None
        return self.tags.tagged(item, str(pooled or self.benchmark.manifest.name)) if self.tags else item

    def _edited(self) -> list[Item]:
        """The items that reviewers changed in what models see or in golds."""
        now = {name: msgspec.structs.replace(item, tags=self._items[name].tags) for name, item in self._seen.items()}
        return [item for name, item in now.items() if item != self._items[name]]

    def _stage(self, stage: Stage, alive: Sequence[Item], notes: list[str]) -> list[Verdict]:
        if stage.review is not None:
            return [self._reviewed(stage, item) for item in alive]
        if stage.select is not None:
            return _selected(stage, alive, self.recipe.seed, notes)
        chosen = FILTERS[stage.filter or stage.grade or ""]
        removed, evidence = self._collect(stage, chosen, alive, notes)
        seated = self.panels[stage.panel] if stage.panel else None
        live = self.source if isinstance(self.source, Live) else None
        case = FilterInput(
            stage if live else msgspec.structs.replace(stage, full_counts=True),
            self._together(alive, removed),
            evidence,
            seats=seated.seats if seated else (),
            size=seated.panel.size if seated else 0,
            judges=[seat.model for seat in self.panels[stage.judge].seats] if stage.judge else (),
            ask=live.ask if live else None,
            prompts=self.prompts,
            seed=self.recipe.seed,
            benchmark=self.benchmark,
            notes=notes,
        )
        reached = {item.id for item in alive}
        verdicts = [verdict for verdict in chosen.judge(case) if verdict.item in reached]
        for verdict in verdicts:
            self._used.setdefault(verdict.item, set()).update(verdict.responses)
        return [self._decided(stage, verdict) for verdict in verdicts]

    def _together(self, alive: Sequence[Item], removed: Sequence[Item]) -> list[Item]:
        """The items that reached a stage and those that were removed before it, in the benchmark's order."""
        judged = {item.id: item for item in (*alive, *removed)}
        return [judged[name] for name in self._items if name in judged]

    def _collect(
        self, stage: Stage, chosen: Filter, alive: Sequence[Item], notes: list[str]
    ) -> tuple[Sequence[Item], Evidence]:
        """Removed items to learn from, and the answers of the panel; those of held-out models are not passed on."""
        if not stage.panel:
            return (), Evidence()
        seated = self.panels[stage.panel]
        rule = chosen.rule(stage, len(seated.seats), seated.panel.size, seated.tests)
        scores = self.source.collect(seated, alive, stage, rule)
        notes += [line for line in answer_notes(seated, scores) if line not in notes]
        removed: Sequence[Item] = ()
        if chosen.learns:
            removed, earlier_scores = self._earlier(seated, alive)
            scores = pl.concat([scores, earlier_scores])
        if removed:
            together = counted(len(alive) + len(removed), "item")
            notes.append(f"{stage.title} learns from {together}; earlier stages removed {len(removed):,} of them")
        evidence = Evidence(scores, seated.models, seated.tests)
        self._answers.append((seated, evidence, list(alive)))
        if not seated.held_out:
            return removed, evidence
        deciding = [seat.model for seat in seated.seats]
        return removed, Evidence(scores.filter(pl.col("model").is_in(deciding)), deciding, seated.tests)

    def _earlier(self, seated: Seated, alive: Sequence[Item]) -> EarlierAnswers:
        """Items that earlier stages removed and the panel's answers to them; nothing more is asked about them."""
        reached = {item.id for item in alive}
        removed = [item for name, item in self._seen.items() if name not in reached]
        return self.source.earlier(seated, removed, self._used)

    def _outcome(self, stage: Stage, item: str) -> Decided:
        """What people decided about an item."""
        return decide(self._decisions.get(item, ()), stage.review.reviewers if stage.review else 1)

    def _reviewed(self, stage: Stage, item: Item) -> Verdict:
        decided = self._outcome(stage, item.id)
        if decided.verdict == "review" and self.skip_review:
            return Verdict(item=item.id, stage=stage.title, verdict="keep", reason=NOT_REVIEWED)
        fields = {"verdict": decided.verdict, "reason": decided.reason, "n": decided.n, "hits": decided.agree}
        return Verdict(item=item.id, stage=stage.title, **fields)  # type: ignore[arg-type]

    def _decided(self, stage: Stage, verdict: Verdict) -> Verdict:
        """The decision of reviewers on a verdict that was left to them, if any."""
        if verdict.verdict != "review" or not (decided := self._outcome(stage, verdict.item)).n:
            return verdict
        reason = with_people(verdict.reason, decided)
        return msgspec.structs.replace(verdict, verdict=decided.verdict, reason=reason)

    def _after(self, stage: Stage, alive: Sequence[Item], verdicts: Sequence[Verdict]) -> list[Item]:
        """The items that reach the next stage, with the band of a grade and the edits of reviewers."""
        left = []
        for item, verdict in zip(alive, verdicts, strict=True):
            band = msgspec.json.decode(verdict.evidence).get(BAND) if stage.grade and verdict.evidence else None
            now = msgspec.structs.replace(item, tags={**item.tags, stage.title: band}) if band else item
            now = self._seen[item.id] = edited(now, self._edits(stage, verdict))
            if verdict.verdict in ("keep", "fix"):
                left.append(now)
        return left

    def _edits(self, stage: Stage, verdict: Verdict) -> dict[str, Any]:
        """Edits of an item by reviewers at a stage; their answers to its form become tags."""
        if verdict.verdict != "fix" and (verdict.verdict != "keep" or stage.review is None):
            return {}
        decided = self._outcome(stage, verdict.item)
        edits = dict(decided.edits) if verdict.verdict == "fix" else {}
        tags = self._form.tags(decided.labels)
        return edits | {"tags": {**tags, **edits.get("tags", {})}} if tags else edits

    def _residuals(self, left: Sequence[Item]) -> list[Residual]:
        """Blind accuracy on the items before the stage that measured it, and on those left at the end."""
        residuals = []
        edited_left = {item.id for item in self._edited()}.intersection(item.id for item in left)
        for seated, evidence, before in self._answers:
            if seated.panel.modality not in (*BLIND_MODALITIES, "nothing"):
                continue
            at_the_end = evidence
            if edited_left:
                at_the_end = Evidence(self.source.scores(seated, left), evidence.seats, evidence.tests)
            for who, members in (("panel", seated.seats), ("held out", seated.held_out)):
                asked = asked_of_all(evidence, members, before)
                for when, items, answers in (("before", before, evidence), ("after", left, at_the_end)):
                    if members and items:
                        residuals.append(residual((seated.name, who, when), answers, asked, items))
        return residuals

    def _write(self, refined: Refined) -> None:
        self.to.mkdir(parents=True, exist_ok=True)
        write_records(refined.verdicts, Verdict, self.to / VERDICTS, overwrite=True)
        write_file(self.to / FUNNEL, sheet_text(FUNNEL_COLUMNS, ([*row.values()] for row in funnel(refined.stages))))
        write_json(self.to / ABOUT, self._record(refined))
        if refined.kept:
            self._write_benchmark(refined)
        elif is_benchmark(self.to / BENCHMARK):
            shutil.rmtree(self.to / BENCHMARK)  # made by an earlier run out of other verdicts
        self._write_page(refined)

    def _write_page(self, refined: Refined) -> None:
        answers = None if isinstance(self.source, Live) or refined.paused else self.source.answers
        shown = RefinedItems(self._items, refined.kept, [self.benchmark], answers)
        write_refine_page(self._record(refined), refined.stages, shown, self.to / REPORT, self.items_at)

    def _write_benchmark(self, refined: Refined) -> None:
        """Write the items that are left, with their card."""
        old, stages = self.benchmark.manifest, ", ".join(name for name, _ in refined.stages)
        manifest = old.derived(REFINE, stages, name=f"{old.name}-refined", seed=self.recipe.seed)
        written = write_items(self.to / BENCHMARK, refined.kept, self.benchmark, manifest, overwrite=True)
        known = card_of(written, read_facts(self.to / FACTS), self.to)
        write_card(known, written.path, written.path)

    def _record(self, refined: Refined) -> RefinementRecord:
        about = self.benchmark.manifest
        return RefinementRecord(
            eyetest=__version__,
            benchmark=RefinedFrom(about.name, about.fingerprint, as_stored(str(self.benchmark.path.resolve()))),
            recipe=self.recipe.written_down(),
            panels={
                name: Members(*(tuple(seat.model for seat in seats) for seats in (seated.seats, seated.held_out)))
                for name, seated in self.panels.items()
            },
            recorded=not isinstance(self.source, Live),
            paused=refined.paused,
            residual_blind=tuple(refined.residuals),
            notes=tuple(refined.notes),
        )


def _selected(stage: Stage, items: Sequence[Item], seed: int, notes: list[str]) -> list[Verdict]:
    assert stage.select is not None
    chosen = select([candidate(item) for item in items], stage.select, seed)
    for tag, count in chosen.untagged.items():
        notes.append(f"{stage.title}: {counted(count, 'item')} without the tag {tag}")
    for unmet in chosen.unmet:
        notes.append(f"{stage.title}: {counted(unmet.asked - unmet.left, 'item')} fewer than asked of {unmet.quota}")
    taken, verdicts = set(chosen.ids), []
    for item in items:
        verdict: VerdictKind = "keep" if item.id in taken else "drop"
        reason = "taken" if item.id in taken else "not needed for its quota"
        verdicts.append(Verdict(item=item.id, stage=stage.title, verdict=verdict, reason=reason, seed=seed))
    return verdicts


def _stopped_notes(residuals: Sequence[Residual]) -> list[str]:
    """Notes on panels whose figure covers a part of their answers: which part, and how to get the whole."""
    parts = dict.fromkeys((found.panel, found.who, found.part) for found in residuals if found.part)
    return [
        f"what {panel} ({who}) still answers blind is measured on {part}, which every item got; "
        "hold models out for a figure of others, or ask everything"
        for panel, who, part in parts
    ]


def funnel(stages: Sequence[tuple[str, Sequence[Verdict]]]) -> list[dict[str, Any]]:
    """Counts of every stage: its name, the items that reached it, and how many got each verdict."""
    counts = [(stage, Counter(verdict.verdict for verdict in verdicts)) for stage, verdicts in stages]
    return [
        {"stage": stage, "into": found.total()} | {kind: found[kind] for kind in KINDS} for stage, found in counts
    ]


def refuse_foreign(to: Path) -> None:
    """Refuse to write into a folder that holds something else, or over an edited card."""
    refuse_others(to, "a refinement", {VERDICTS, FUNNEL, BENCHMARK, RUN, REVIEW, ABOUT, REPORT, FACTS}, BENCHMARK)
    read_facts(to / FACTS)
