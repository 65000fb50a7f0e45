"""Hardening in a recipe: remaining items become linked settings with shared ids, drafts while reviews are open."""

import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from eyetest.benchmarks import Benchmark, is_benchmark
from eyetest.benchmarks.folder import refuse_to_replace, write_items
from eyetest.errors import InputError
from eyetest.harden.options.growing import grow_options
from eyetest.harden.options.record import OptionSettings, OptionsRecord
from eyetest.harden.options.writers import SCENES
from eyetest.records import REFINE, Item, Recipe, Stage, Verdict
from eyetest.reform.distractors.written import OptionAuthors
from eyetest.store import write_json
from eyetest.store.handwritten import convert
from eyetest.store.urls import refuse_remote
from eyetest.studio.forms import edited

DRAFTS, OPTIONS_RECORD = "drafts", "options.json"  # settings under review; who wrote which options


class Outcome(NamedTuple):
    """Result of a hardener: the benchmark, items for review, notes, and the record of new options."""

    benchmark: Benchmark
    verdicts: Sequence[Verdict]
    notes: Sequence[str] = ()
    record: OptionsRecord | None = None


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
        outcomes = "; ".join(f"{what} {count:,}" for what, count in made.record.outcomes.items())
        return Outcome(made.benchmark, made.verdicts, [f"options: {outcomes}"], made.record)

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


def refuse_others(folder: Path, what: str, ours: Collection[str], benchmarks: Iterable[str]) -> None:
    """Refuse to write into a folder that holds something else than ``ours``, or over an edited benchmark."""
    refuse_remote(folder, what)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; {what} needs a folder")
    names = [entry.name for entry in folder.iterdir()] if folder.exists() else []
    if others := [name for name in names if name not in ours and not name.startswith(".")]:
        raise InputError(f'{folder} holds "{others[0]}", which is not part of {what}; choose another folder')
    for name in benchmarks:
        if is_benchmark(folder / name):
            refuse_to_replace(folder / name, overwrite=True)


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
        edits = fixes if way == "screenshot" else {}
        before = [edited(item, edits.get(item.id, {})) for item in alive]
        last, manifest = self.benchmark, self.benchmark.manifest
        if self.settings:
            last, manifest = self.settings[-1].benchmark, self.settings[-1].benchmark.manifest
        else:
            manifest = manifest.derived(REFINE, name=f"{manifest.name}-refined", seed=self.seed)
        source = write_items(drafts / f"before-{stage.title}", before, last, manifest, overwrite=True)
        scenes = self.benchmark.path.parent / SCENES  # of a synthetic benchmark; its options are written by them
        if scenes.is_file():
            shutil.copyfile(scenes, drafts / SCENES)
        outcome = hardeners()[way].carry_out(source, drafts / stage.title, settings_of(stage), authors)
        if outcome.record is not None:
            write_json(self.to / OPTIONS_RECORD, outcome.record)
        items = {item.id: item for item in outcome.benchmark}
        self.settings.append(LinkedSetting(stage, outcome.benchmark, items))
        open_ = {verdict.item: verdict for verdict in outcome.verdicts}
        return [_verdict(stage, item, items, open_) for item in alive], outcome.notes

    def current(self, item: Item) -> Item:
        """An item as in the last setting; unchanged where it is in none."""
        return self.settings[-1].items.get(item.id, item) if self.settings else item

    def shown(self, items: Mapping[str, Item]) -> dict[str, Item]:
        """Items as reviewers see them now."""
        shown = dict(items)
        for setting in self.settings:
            shown |= setting.items
        return shown

    def apply_edits(self, name: str, edits: Mapping[str, Any]) -> None:
        """Repair an item in the last setting, and in those before it that have the same options."""
        last = [choice.text for choice in self.settings[-1].items[name].choices]
        for setting in self.settings:
            item = setting.items.get(name)
            if item is not None and [choice.text for choice in item.choices] == last:
                setting.items[name] = edited(item, edits)

    def write(self, kept: Sequence[str]) -> list[Benchmark]:
        """Write each setting with the items left in the end, beside the refined benchmark."""
        written = []
        for setting in self.settings:
            items, made = [setting.items[name] for name in kept], setting.benchmark
            title = setting.stage.title
            manifest = msgspec.structs.replace(made.manifest, name=f"{self.benchmark.manifest.name}-{title}")
            written.append(write_items(self.to / title, items, made, manifest, overwrite=True))
        return written

    def clear(self) -> None:
        """Remove the results of an earlier run with other verdicts."""
        for setting in self.settings:
            if is_benchmark(self.to / setting.stage.title):
                shutil.rmtree(self.to / setting.stage.title)


def _verdict(stage: Stage, item: Item, items: Mapping[str, Item], open_: Mapping[str, Verdict]) -> Verdict:
    """Outcome of an item: hardened, for review, or not hardenable."""
    if (for_review := open_.get(item.id)) is not None:
        return msgspec.structs.replace(for_review, stage=stage.title)
    if item.id not in items:
        return Verdict(item=item.id, stage=stage.title, verdict="drop", reason="it could not be hardened")
    added = len(items[item.id].choices) - len(item.choices)
    reason = f"{added} options more" if added else ""
    return Verdict(item=item.id, stage=stage.title, verdict="keep", reason=reason)
