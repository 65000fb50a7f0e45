"""A recipe carried out: stage after stage, each item with a verdict at each stage it reaches.

What a stage needs to know is asked for the items that reached it. Everything follows from the journal and the
decisions of people, so that a refinement that was killed and run again ends in the same bytes.
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter, is_benchmark
from eyetest.benchmarks.folder import refuse_to_replace
from eyetest.curate.selection import CannotMeet
from eyetest.errors import InputError
from eyetest.recipes.funnel import Step, funnel, write_funnel
from eyetest.recipes.panels import Seated, told_of
from eyetest.recipes.reporting import refinement, still_blind
from eyetest.recipes.residual import Residual, asked_of_all, residual
from eyetest.recipes.selecting import refuse_hopeless, selected
from eyetest.recipes.sources import Source
from eyetest.records import Decision, Item, Lineage, Recipe, Stage, Verdict
from eyetest.reports import write_refine_page
from eyetest.reports.dataset_card import SAID, Records, card_of, read_said, write_card
from eyetest.review import DECISIONS, QUEUE, decide, read_decisions, write_queue
from eyetest.review.decisions import edited
from eyetest.screens import SCREENS, Case, Evidence
from eyetest.screens.difficulty import BAND
from eyetest.store.replacing import replacing_file
from eyetest.tabular.record_files import write_records
from eyetest.version import __version__

VERDICTS, FUNNEL, ABOUT, REPORT = "verdicts.parquet", "funnel.csv", "refine.json", "report.html"
BENCHMARK, RUN, REVIEW = "benchmark", "run", "review"


@dataclass
class Refined:
    """What a refinement came to."""

    stages: list[tuple[str, list[Verdict]]] = field(default_factory=list)
    kept: list[Item] = field(default_factory=list)
    waiting: list[Verdict] = field(default_factory=list)
    """Items that wait for people."""
    paused: str = ""
    """The stage that waits for people, if there is one; nothing after it was done."""
    residuals: list[Residual] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def verdicts(self) -> list[Verdict]:
        """All of them, stage by stage."""
        return [verdict for _, verdicts in self.stages for verdict in verdicts]


@dataclass
class Refining:
    """A benchmark, a recipe, who sits on its panels, and where their answers come from."""

    benchmark: Benchmark
    recipe: Recipe
    panels: Mapping[str, Seated]
    source: Source
    to: Path
    skip_review: bool = False

    def run(self) -> Refined:
        """Carry the recipe out and write what came of it."""
        self._items = {item.id: item for item in self.benchmark}
        self._seen = dict(self._items)
        decisions = read_decisions(self.to / REVIEW / DECISIONS, self._items.keys())
        for name, rows in decisions.items():
            for row in rows:
                edited(self._items[name], row.edits)  # what makes no sense is told before anybody is asked
        refuse_hopeless(self.recipe, list(self._items.values()))
        found = Refined(notes=list(self.source.notes))
        alive = list(self._items.values())
        heard: list[_Heard] = []
        for stage in self.recipe.stages:
            try:
                verdicts = self._stage(stage, alive, decisions, found, heard)
            except CannotMeet as error:
                raise self._explained(error, found) from None
            found.stages.append((stage.title, verdicts))
            found.waiting += [verdict for verdict in verdicts if verdict.verdict == "review"]
            alive = self._after(stage, alive, verdicts, decisions)
            if any(verdict.verdict == "fix" for verdict in verdicts):
                self.source.mend(self._mended())
            if stage.review is not None and any(verdict.verdict == "review" for verdict in verdicts):
                found.paused = stage.title
                break
        found.kept = [] if found.paused else alive
        self.source.mend(self._mended())
        found.residuals = self._residuals(heard, alive)
        found.notes += _stopped_notes(found.residuals)
        self._write(found)
        return found

    def _mended(self) -> list[Item]:
        """The items that people have changed, as far as models and golds are concerned."""
        now = {name: msgspec.structs.replace(item, tags=self._items[name].tags) for name, item in self._seen.items()}
        return [item for name, item in now.items() if item != self._items[name]]

    def _stage(
        self,
        stage: Stage,
        alive: Sequence[Item],
        decisions: Mapping[str, Sequence[Decision]],
        found: Refined,
        heard: list["_Heard"],
    ) -> list[Verdict]:
        if stage.review is not None:
            return [self._reviewed(stage, item, decisions.get(item.id, ())) for item in alive]
        evidence = self._hear(stage, alive, heard, found.notes)
        if stage.select is not None:
            return selected(stage, alive, evidence, self.recipe.seed, found.notes)
        seated = self.panels[stage.panel] if stage.panel else None
        stage = msgspec.structs.replace(stage, full_counts=True) if self.source.is_recorded else stage
        case = Case(
            stage,
            alive,
            evidence,
            seats=seated.seats if seated else (),
            size=seated.panel.size if seated else 0,
            judges=[seat.model for seat in self.panels[stage.judge].seats] if stage.judge else (),
            ask=None if self.source.is_recorded else self.source.ask,
            seed=self.recipe.seed,
            benchmark=self.benchmark,
        )
        verdicts = list(SCREENS[stage.screen or stage.grade or ""].judge(case))
        return [self._decided(verdict, decisions) for verdict in verdicts]

    def _hear(self, stage: Stage, alive: Sequence[Item], heard: list["_Heard"], notes: list[str]) -> Evidence:
        """What the stage's panel said; the held-out ones are listened to but not handed on."""
        if not stage.panel:
            return Evidence.nothing()
        seated = self.panels[stage.panel]
        name = stage.screen or stage.grade
        tests, size = seated.tests, seated.panel.size
        rule = SCREENS[name].rule(stage, len(seated.seats), size, tests) if name else None
        scores = self.source.hear(seated, alive, stage, rule)
        notes += [line for line in told_of(seated, scores) if line not in notes]
        evidence = Evidence(scores, [seat.model for seat in seated.everybody], tests)
        heard.append(_Heard(seated, evidence, list(alive)))
        return evidence.only([seat.model for seat in seated.seats])

    def _reviewed(self, stage: Stage, item: Item, decisions: Sequence[Decision]) -> Verdict:
        assert stage.review is not None
        found = decide(decisions, stage.review.reviewers)
        if found.verdict == "review" and self.skip_review:
            return Verdict(item=item.id, stage=stage.title, verdict="keep", reason="not reviewed")
        return Verdict(
            item=item.id, stage=stage.title, verdict=found.verdict, reason=found.reason, n=found.n, hits=found.agree
        )

    def _decided(self, verdict: Verdict, decisions: Mapping[str, Sequence[Decision]]) -> Verdict:
        """A verdict that was left to people, if they have given theirs."""
        if verdict.verdict != "review" or verdict.item not in decisions:
            return verdict
        found = decide(decisions[verdict.item], 1)
        who = "people" if found.verdict == "review" else "decided by a person"
        return msgspec.structs.replace(
            verdict, verdict=found.verdict, reason=f"{verdict.reason}; {who}: {found.reason}"
        )

    def _after(
        self,
        stage: Stage,
        alive: Sequence[Item],
        verdicts: Sequence[Verdict],
        decisions: Mapping[str, Sequence[Decision]],
    ) -> list[Item]:
        """The items that reach the next stage, with the band that a grade gave them and what reviewers mended."""
        left = []
        for item, verdict in zip(alive, verdicts, strict=True):
            band = msgspec.json.decode(verdict.evidence).get(BAND) if stage.grade and verdict.evidence else None
            now = msgspec.structs.replace(item, tags={**item.tags, stage.title: band}) if band else item
            if verdict.verdict == "fix" and item.id in decisions:
                reviewers = stage.review.reviewers if stage.review else 1
                now = edited(now, decide(decisions[item.id], reviewers).edits)
            self._seen[item.id] = now
            if verdict.verdict in ("keep", "fix"):
                left.append(now)
        return left

    def _residuals(self, heard: Sequence["_Heard"], left: Sequence[Item]) -> list[Residual]:
        """Blind accuracy on the items before the stage that heard it, and on those left at the end."""
        found = []
        for seated, evidence, before in heard:
            if seated.panel.sight not in ("blind", "blind-guess", "grey", "nothing"):
                continue
            mended = {item.id for item in self._mended()}.intersection(item.id for item in left)
            at_the_end = (
                Evidence(self.source.scores(seated, left), evidence.seats, evidence.tests) if mended else evidence
            )
            for who, seats in (("panel", seated.seats), ("held out", seated.held_out)):
                tests = asked_of_all(evidence, seats, before)
                for when, items, said in (("before", before, evidence), ("after", left, at_the_end)):
                    if seats and items:
                        found.append(residual((seated.name, who, when), said, tests, items))
        return found

    def _explained(self, error: CannotMeet, found: Refined) -> InputError:
        """Too few are left: where they went. What an earlier command came to stays as it is."""
        where = "; ".join(
            f"{step.stage}: {step.into:,} in, {step.keep + step.fix:,} kept" for step in _whole(self.funnel(found))
        )
        if (self.to / ABOUT).exists():
            return InputError(f"{error} ({where}); {self.to} keeps what was made before")
        self._write_verdicts(found)
        self._write_page(found)
        return InputError(f"{error} ({where}); {self.to / REPORT} shows them")

    def _write_verdicts(self, found: Refined) -> None:
        self.to.mkdir(parents=True, exist_ok=True)
        write_records(found.verdicts, Verdict, self.to / VERDICTS, overwrite=True)
        write_funnel(self.to / FUNNEL, self.funnel(found))

    def _write(self, found: Refined) -> None:
        self._write_verdicts(found)
        form = next((stage.review.form for stage in self.recipe.stages if stage.review), "")
        if kept := write_queue(self.to / REVIEW, found.waiting, self._items, self.benchmark, form):
            found.notes.append(
                f"{QUEUE} had been changed by hand: kept as {kept}; decisions are read from {DECISIONS}"
            )
        with replacing_file(self.to / ABOUT) as place:
            place.write_bytes(msgspec.json.format(msgspec.json.encode(self._about(found)), indent=2) + b"\n")
        if found.kept:
            self._write_benchmark(found)
            self._write_card()
        elif is_benchmark(self.to / BENCHMARK):
            shutil.rmtree(self.to / BENCHMARK)  # made by an earlier run out of other verdicts
        self._write_page(found)

    def _write_page(self, found: Refined) -> None:
        page = refinement(
            self.benchmark.manifest.name, self.recipe, self.panels, self._items, found.stages, found.kept
        )
        told = msgspec.structs.replace(
            page, paused=found.paused, blind=still_blind(found.residuals), notes=tuple(found.notes)
        )
        write_refine_page(told, self.benchmark, self.to / REPORT)

    def funnel(self, found: Refined) -> list[Step]:
        """The counts of every stage, in all and by tag, those that a grade gave among them."""
        return funnel(found.stages, self._seen)

    def _write_benchmark(self, found: Refined) -> None:
        old = self.benchmark.manifest
        stages = ", ".join(name for name, _ in found.stages)
        made = Lineage(step="refine", source=f"{old.name} {old.version}", note=stages, seed=self.recipe.seed)
        manifest = msgspec.structs.replace(
            old, name=f"{old.name}-refined", lineage=(*old.lineage, made), counts=type(old.counts)()
        )
        with BenchmarkWriter(self.to / BENCHMARK, manifest, overwrite=True, gold_required=False) as writer:
            for item in found.kept:
                writer.adopt(item, self.benchmark)

    def _write_card(self) -> None:
        refined = Benchmark(self.to / BENCHMARK)
        known = card_of(refined, read_said(self.to / SAID), Records(self.to / ABOUT, self.to / VERDICTS))
        write_card(known, refined, refined.path)

    def _about(self, found: Refined) -> dict[str, Any]:
        return {
            "eyetest": __version__,
            "benchmark": {"name": self.benchmark.manifest.name, "fingerprint": self.benchmark.manifest.fingerprint},
            "recipe": self.recipe.written_down(),
            "panels": {
                name: {
                    "seats": [seat.model for seat in seated.seats],
                    "held_out": [seat.model for seat in seated.held_out],
                }
                for name, seated in self.panels.items()
            },
            "recorded": self.source.is_recorded,
            "paused": found.paused,
            "residual_blind": [one._asdict() | {"accuracy": one.accuracy._asdict()} for one in found.residuals],
            "notes": found.notes,
        }


class _Heard(NamedTuple):
    """What a stage's panel said about the items that reached it."""

    seated: Seated
    evidence: Evidence
    items: list[Item]


def _stopped_notes(residuals: Sequence[Residual]) -> list[str]:
    """Where a panel's figure is of a part of its answers, which part, and how to get the whole."""
    parts = dict.fromkeys((one.panel, one.who, one.part) for one in residuals if one.part)
    return [
        f"what {panel} ({who}) still answers blind is told from {part}, which every item got; "
        "hold models out for a figure of others, or ask everything"
        for panel, who, part in parts
    ]


def _whole(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if not step.tag]


def refuse_foreign(to: Path) -> None:
    """Do not write into a folder that holds something else, or over a card that a person has changed."""
    ours = {VERDICTS, FUNNEL, BENCHMARK, RUN, REVIEW, ABOUT, REPORT, SAID}
    if to.exists() and not to.is_dir():
        raise InputError(f"{to} is a file; a refinement is a folder")
    foreign = (
        [e.name for e in to.iterdir() if e.name not in ours and not e.name.startswith(".")] if to.exists() else []
    )
    if foreign:
        raise InputError(f'{to} holds "{foreign[0]}", which is not part of a refinement; choose another place')
    read_said(to / SAID)
    if is_benchmark(to / BENCHMARK):
        refuse_to_replace(to / BENCHMARK, overwrite=True)
