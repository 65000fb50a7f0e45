"""Hardening inside a recipe: the items that are left become linked settings, which share their ids.

In: items that reached a harden stage. Out: a benchmark for each such stage beside the refined one, a verdict for
every item, and drafts for people to look at while something waits. What people decide later holds for all settings:
an item that falls falls everywhere, and what they mend of a picture is mended before it is drawn.
"""

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
from eyetest.records import REFINE, AskModel, Item, Lineage, Manifest, Recipe, Stage, Verdict
from eyetest.records.recipe import HARDENINGS
from eyetest.review import edited
from eyetest.screens.base import refuse_unused
from eyetest.store import replacing_file
from eyetest.store.handwritten import convert
from eyetest.world.flaws import TRUTH

DRAFTS, OPTIONS_RECORD = "drafts", "options.json"
"""Where settings lie while people look at them; and who wrote which options, and what was turned down."""
_FOLDER = re.compile(r"[a-z0-9][a-z0-9-]{0,40}")
_TAKEN = ("benchmark", "run", "review", DRAFTS)
_NO_FOLDER = "its name becomes a folder: small letters, digits and -"


class Scribes(NamedTuple):
    """Who writes options and who checks them, and how to ask them; nobody where rules alone are to do."""

    ask: AskModel | None = None
    writer: str = ""
    checker: str = ""


class Outcome(NamedTuple):
    """What a hardener gives: the benchmark, what people should look at, and what is to be said of it."""

    benchmark: Benchmark
    verdicts: Sequence[Verdict]
    notes: Sequence[str] = ()
    records: Mapping[str, msgspec.Struct] = {}
    """What else there is to know of it, by the name of its file."""


@dataclass(frozen=True)
class Hardener:
    """One way of hardening."""

    settings: type[msgspec.Struct]
    refuse_missing: Callable[[Path, Any], object]
    """Given where pictures lie and the settings, says in one line what has to be installed first."""
    carry_out: Callable[[Benchmark, Path, Any, Scribes], Outcome]


@cache
def hardeners() -> Mapping[str, Hardener]:
    """The ways of hardening, loaded when a recipe wants one: most do not."""
    from eyetest.harden.options import OptionAuthors, OptionSettings, grow_options  # noqa: PLC0415
    from eyetest.harden.screenshot.drawing import ScreenshotSettings, Studio  # noqa: PLC0415
    from eyetest.harden.screenshot.taking import take_screenshots  # noqa: PLC0415

    def grown(benchmark: Benchmark, to: Path, settings: OptionSettings, scribes: Scribes) -> Outcome:
        authors = OptionAuthors(scribes.ask, scribes.writer, scribes.checker) if scribes.ask is not None else None
        made = grow_options(benchmark, to, settings, authors=authors, overwrite=True)
        told = "; ".join(f"{what} {count:,}" for what, count in made.record.outcomes.items())
        return Outcome(made.benchmark, made.verdicts, [f"options: {told}"], {OPTIONS_RECORD: made.record})

    def shot(benchmark: Benchmark, to: Path, settings: ScreenshotSettings, scribes: Scribes) -> Outcome:
        taken = take_screenshots(benchmark, to, settings, overwrite=True)
        plainer = [f"screenshot: {count:,} set plainer, {reason}" for reason, count in taken.plainer.items()]
        return Outcome(taken.benchmark, taken.verdicts, plainer)

    return {
        "options": Hardener(OptionSettings, lambda images, settings: None, grown),
        "screenshot": Hardener(ScreenshotSettings, Studio, shot),
    }


def settings_of(stage: Stage) -> Any:
    """The settings of a harden stage; a key that is not known is refused with the nearest one."""
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
    """A panel answers the benchmark that went in: whoever is to answer harder items runs on them afterwards."""
    before = recipe.stages[: recipe.stages.index(stage)]
    if any(one.harden is not None for one in before) and (stage.screen or stage.grade or stage.panel):
        raise InputError(f"the stage {stage.title}: it comes after hardening; only review, select and harden may")


def refuse_missing(recipe: Recipe, benchmark: Benchmark) -> None:
    """Say what has to be installed before anybody is asked."""
    for stage in recipe.stages:
        if stage.harden is not None:
            hardeners()[stage.harden.way].refuse_missing(benchmark.images.root, settings_of(stage))


@dataclass
class LinkedSetting:
    """A benchmark that was made of the items left at some stage, as they are now."""

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
        self, stage: Stage, alive: Sequence[Item], scribes: Scribes, fixes: Mapping[str, Mapping[str, Any]]
    ) -> tuple[list[Verdict], Sequence[str]]:
        """Carry a stage out; a verdict for each item that reached it, and what is to be said.

        ``fixes`` are what people have mended since: of a screenshot they are mended before it is drawn.
        """
        assert stage.harden is not None
        way = stage.harden.way
        drafts = self.to / DRAFTS
        mended = fixes if way == "screenshot" else {}
        before = [edited(item, mended.get(item.id, {})) for item in alive]
        source = self._write(drafts / f"before-{stage.title}", before, self._source, self._manifest("refined"))
        if (self.benchmark.path.parent / TRUTH).is_file():  # a drawn world's, by which its options are written
            shutil.copyfile(self.benchmark.path.parent / TRUTH, drafts / TRUTH)
        outcome = hardeners()[way].carry_out(source, drafts / stage.title, settings_of(stage), scribes)
        for name, record in outcome.records.items():
            with replacing_file(self.to / name) as file:
                file.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
        items = {item.id: item for item in outcome.benchmark}
        self.settings.append(LinkedSetting(stage, outcome.benchmark, items))
        open_ = {verdict.item: verdict for verdict in outcome.verdicts}
        return [_verdict(stage, item, items, open_) for item in alive], outcome.notes

    @property
    def _source(self) -> Benchmark:
        """What holds the pictures of the items that are alive now."""
        return self.settings[-1].benchmark if self.settings else self.benchmark

    def current(self, item: Item) -> Item:
        """An item as the last setting has it; as it is where it is in none."""
        return self.settings[-1].items.get(item.id, item) if self.settings else item

    def shown(self, items: Mapping[str, Item]) -> tuple[dict[str, Item], dict[str, Benchmark]]:
        """Items as people are to see them now, and the benchmark that holds the pictures of each."""
        told, homes = dict(items), dict.fromkeys(items, self.benchmark)
        for setting in self.settings:
            told |= setting.items
            homes |= dict.fromkeys(setting.items, setting.benchmark)
        return told, homes

    def mend(self, name: str, edits: Mapping[str, Any]) -> None:
        """Mend an item in the last setting, and in those before it that have the same options."""
        last = self.settings[-1].items[name]
        for setting in self.settings:
            item = setting.items.get(name)
            if item is not None and [one.text for one in item.choices] == [one.text for one in last.choices]:
                setting.items[name] = edited(item, edits)

    def write(self, kept: Sequence[str]) -> list[Benchmark]:
        """Each setting with the items that are left in the end, beside the refined benchmark."""
        written = []
        for setting in self.settings:
            items = [setting.items[name] for name in kept]
            old = setting.benchmark.manifest
            manifest = msgspec.structs.replace(old, name=f"{self.benchmark.manifest.name}-{setting.stage.title}")
            written.append(self._write(self.to / setting.stage.title, items, setting.benchmark, manifest))
        return written

    def clear(self) -> None:
        """Take away what an earlier run made out of other verdicts."""
        for setting in self.settings:
            if is_benchmark(self.to / setting.stage.title):
                shutil.rmtree(self.to / setting.stage.title)

    def clear_drafts(self) -> None:
        """Nobody waits any longer."""
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
    """What became of an item: it was hardened, people should look at it, or it cannot be hardened at all."""
    said = open_.get(item.id)
    if said is not None:
        return msgspec.structs.replace(said, stage=stage.title)
    if item.id not in items:
        return Verdict(item=item.id, stage=stage.title, verdict="drop", reason="it could not be hardened")
    added = len(items[item.id].choices) - len(item.choices)
    reason = f"{added} options more" if added else ""
    return Verdict(item=item.id, stage=stage.title, verdict="keep", reason=reason)
