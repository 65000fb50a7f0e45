"""Hardening in a recipe: remaining items become linked settings with shared ids, drafts while reviews are open."""

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from eyetest.benchmarks import Benchmark, BenchmarkWriter, is_benchmark
from eyetest.errors import InputError
from eyetest.filters.base import refuse_unused
from eyetest.harden.options import OptionAuthors, OptionSettings, grow_options
from eyetest.harden.options.writers import SCENES
from eyetest.records import REFINE, Item, Lineage, Manifest, Recipe, Stage, Verdict
from eyetest.records.recipe import HARDENINGS
from eyetest.store import replacing_file
from eyetest.store.handwritten import convert
from eyetest.studio.forms import edited

DRAFTS, OPTIONS_RECORD = "drafts", "options.json"  # settings under review; who wrote which options
_FOLDER = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
_TAKEN = ("benchmark", "run", "review", DRAFTS)
_NO_FOLDER = "its name becomes a folder: small letters, digits and -"


class Outcome(NamedTuple):
    """Result of a hardener: the benchmark, items for review, notes, and records by file name."""

    benchmark: Benchmark
    verdicts: Sequence[Verdict]
    notes: Sequence[str] = ()
    records: Mapping[str, msgspec.Struct] = {}


class Hardener(NamedTuple):
    """One way of hardening; ``refuse_missing`` checks requirements (image folder, settings)."""

    settings: type[msgspec.Struct]
    refuse_missing: Callable[[Path, Any], object]
    carry_out: Callable[[Benchmark, Path, Any, OptionAuthors | None], Outcome]


@cache
def hardeners() -> Mapping[str, Hardener]:
    """The ways of hardening, loaded when a recipe needs one."""
    from eyetest.harden.screenshot.taking import ScreenshotSettings, Studio, take_screenshots  # noqa: PLC0415

    def grown(benchmark: Benchmark, to: Path, settings: OptionSettings, authors: OptionAuthors | None) -> Outcome:
        made = grow_options(benchmark, to, settings, authors=authors, overwrite=True)
        told = "; ".join(f"{what} {count:,}" for what, count in made.record.outcomes.items())
        return Outcome(made.benchmark, made.verdicts, [f"options: {told}"], {OPTIONS_RECORD: made.record})

    def shot(benchmark: Benchmark, to: Path, settings: ScreenshotSettings, _: OptionAuthors | None) -> Outcome:
        taken = take_screenshots(benchmark, to, settings, overwrite=True)
        plainer = [f"screenshot: {count:,} set plainer, {reason}" for reason, count in taken.plainer.items()]
        return Outcome(taken.benchmark, taken.verdicts, plainer)

    return {
        "options": Hardener(OptionSettings, lambda images, settings: None, grown),
        "screenshot": Hardener(ScreenshotSettings, Studio, shot),
    }


def settings_of(stage: Stage) -> Any:
    """The settings of a harden stage; an unknown key is refused with the nearest one."""
    assert stage.harden is not None
    way = stage.harden.way
    return convert(stage.harden.settings, hardeners()[way].settings, f"the stage {stage.title}, {way}")


def check_hardening(stage: Stage, recipe: Recipe) -> None:
    """Refuse a harden stage that cannot work."""
    assert stage.harden is not None
    way = stage.harden.way
    refuse_unused(stage, f"harden {way}", ("writer", "checker") if way == "options" else ())
    settings_of(stage)
    if not _FOLDER.fullmatch(stage.title) or stage.title in _TAKEN:
        raise InputError(f"the stage {stage.title}: {_NO_FOLDER}; give it another")
    if stage.writer and stage.writer == stage.checker:
        raise InputError(f"the stage {stage.title}: {stage.writer} cannot check what it wrote itself; name another")
    ways = [one.harden.way for one in recipe.stages if one.harden is not None]
    if ways != sorted(set(ways), key=HARDENINGS.index):
        raise InputError(f"the stage {stage.title}: harden once each, first {' and then '.join(HARDENINGS)}")


def refuse_late_panels(stage: Stage, recipe: Recipe) -> None:
    """Refuse panels after hardening: a panel answers the input benchmark; harder items need a run of their own."""
    before = recipe.stages[: recipe.stages.index(stage)]
    if any(one.harden is not None for one in before) and (stage.filter or stage.grade or stage.panel):
        raise InputError(f"the stage {stage.title}: it comes after hardening; only review, select and harden may")


def refuse_missing(recipe: Recipe, benchmark: Benchmark) -> None:
    """Refuse missing requirements before any model is asked."""
    for stage in recipe.stages:
        if stage.harden is not None:
            hardeners()[stage.harden.way].refuse_missing(benchmark.images.root, settings_of(stage))


@dataclass
class LinkedSetting:
    """A benchmark made of the items left at some stage, in their present form."""

    stage: Stage
    benchmark: Benchmark
    items: dict[str, Item]


@dataclass
class Hardening:
    """The linked settings of a refinement, one after the other."""

    benchmark: Benchmark
    to: Path
    seed: int
    settings: list[LinkedSetting] = field(default_factory=list)

    def harden(
        self,
        stage: Stage,
        alive: Sequence[Item],
        authors: OptionAuthors | None,
        fixes: Mapping[str, Mapping[str, Any]],
    ) -> tuple[list[Verdict], Sequence[str]]:
        """Carry a stage out: verdicts and notes. Edits (``fixes``) are applied before a screenshot is drawn."""
        assert stage.harden is not None
        way = stage.harden.way
        drafts = self.to / DRAFTS
        mended = fixes if way == "screenshot" else {}
        before = [edited(item, mended.get(item.id, {})) for item in alive]
        last = self.settings[-1].benchmark if self.settings else self.benchmark
        source = self._write(drafts / f"before-{stage.title}", before, last, self._manifest("refined"))
        if (self.benchmark.path.parent / SCENES).is_file():  # a drawn world's, by which its options are written
            shutil.copyfile(self.benchmark.path.parent / SCENES, drafts / SCENES)
        outcome = hardeners()[way].carry_out(source, drafts / stage.title, settings_of(stage), authors)
        for name, record in outcome.records.items():
            with replacing_file(self.to / name) as file:
                file.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
        items = {item.id: item for item in outcome.benchmark}
        self.settings.append(LinkedSetting(stage, outcome.benchmark, items))
        open_ = {verdict.item: verdict for verdict in outcome.verdicts}
        return [_verdict(stage, item, items, open_) for item in alive], outcome.notes

    def current(self, item: Item) -> Item:
        """An item as in the last setting; unchanged where it is in none."""
        return self.settings[-1].items.get(item.id, item) if self.settings else item

    def shown(self, items: Mapping[str, Item]) -> tuple[dict[str, Item], dict[str, Benchmark]]:
        """Items as reviewers see them now, and the benchmark that holds the images of each."""
        told, homes = dict(items), dict.fromkeys(items, self.benchmark)
        for setting in self.settings:
            told |= setting.items
            homes |= dict.fromkeys(setting.items, setting.benchmark)
        return told, homes

    def mend(self, name: str, edits: Mapping[str, Any]) -> None:
        """Repair an item in the last setting, and in those before it that have the same options."""
        last = self.settings[-1].items[name]
        for setting in self.settings:
            item = setting.items.get(name)
            if item is not None and [one.text for one in item.choices] == [one.text for one in last.choices]:
                setting.items[name] = edited(item, edits)

    def write(self, kept: Sequence[str]) -> list[Benchmark]:
        """Write each setting with the items left in the end, beside the refined benchmark."""
        written = []
        for setting in self.settings:
            items = [setting.items[name] for name in kept]
            old = setting.benchmark.manifest
            manifest = msgspec.structs.replace(old, name=f"{self.benchmark.manifest.name}-{setting.stage.title}")
            written.append(self._write(self.to / setting.stage.title, items, setting.benchmark, manifest))
        return written

    def clear(self) -> None:
        """Remove the results of an earlier run with other verdicts."""
        for setting in self.settings:
            if is_benchmark(self.to / setting.stage.title):
                shutil.rmtree(self.to / setting.stage.title)

    def clear_drafts(self) -> None:
        """Remove drafts once no review is open."""
        shutil.rmtree(self.to / DRAFTS, ignore_errors=True)

    def _manifest(self, name: str) -> Manifest:
        old = self.benchmark.manifest
        made = Lineage(step=REFINE, source=f"{old.name} {old.version}", seed=self.seed)
        if self.settings:
            return self.settings[-1].benchmark.manifest
        counts = type(old.counts)()
        return msgspec.structs.replace(old, name=f"{old.name}-{name}", lineage=(*old.lineage, made), counts=counts)

    def _write(self, path: Path, items: Sequence[Item], source: Benchmark, manifest: Manifest) -> Benchmark:
        path.parent.mkdir(parents=True, exist_ok=True)
        manifest = msgspec.structs.replace(manifest, counts=type(manifest.counts)())
        with BenchmarkWriter(path, manifest, overwrite=True, gold_required=False) as writer:
            for item in items:
                writer.adopt(item, source)
            writer.adopt_tables(source)
        return Benchmark(path)


def _verdict(stage: Stage, item: Item, items: Mapping[str, Item], open_: Mapping[str, Verdict]) -> Verdict:
    """Outcome of an item: hardened, for review, or not hardenable."""
    said = open_.get(item.id)
    if said is not None:
        return msgspec.structs.replace(said, stage=stage.title)
    if item.id not in items:
        return Verdict(item=item.id, stage=stage.title, verdict="drop", reason="it could not be hardened")
    added = len(items[item.id].choices) - len(item.choices)
    reason = f"{added} options more" if added else ""
    return Verdict(item=item.id, stage=stage.title, verdict="keep", reason=reason)
