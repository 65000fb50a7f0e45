"""The demo in its folder: a world whose flaws are known is drawn, asked about, filtered, and reported on a page."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from itertools import product
from pathlib import Path

import msgspec
import yaml

from eyetest.benchmarks import Benchmark
from eyetest.errors import typed
from eyetest.filters.hits import threshold
from eyetest.measures import Results
from eyetest.measures.stats.chance import at_least
from eyetest.models import read_models
from eyetest.pages.item_links import items_at
from eyetest.probes.audit import Audit
from eyetest.recipes.loading import load_recipe
from eyetest.recipes.panels import Recorded, Seated, StoppedEarly, seated_on_answers
from eyetest.recipes.refining import Refining
from eyetest.records import Condition, Finding, ModelEntry, Recipe, Verdict
from eyetest.records.recipe import REPORT
from eyetest.results.gather import results_of
from eyetest.running import Asking, Session
from eyetest.running.session import Watch
from eyetest.runs import Run
from eyetest.scoring import Scorer
from eyetest.store import refuse_to_lose
from eyetest.store.urls import refuse_remote
from eyetest.studio.app.bundle import write_bundle
from eyetest.studio.collection import Collection
from eyetest_world import FLAWS, Truth, load_rates, new_world, read_truth
from eyetest_world.demo.page import write_world_page
from eyetest_world.demo.story import BLIND, SIGHTED, SUBSETS, Tried, WorldStory, planted_kind
from eyetest_world.grading import looks_for
from eyetest_world.toy_models.cards import cards, models_file

ITEMS, _SEED = 1200, 7  # of the default world: what leaked to toy models leaked from there
SMALL = 200  # items of the default demo
_ONLY_FULL = ("eagle-l", "kite-l", "jay-m", "finch-xs")
_FLAWLESS_SHARE, _FEWEST, _FLAWLESS_SEED = 4, 36, 1007
"""A flawless world has a fourth of the items of the other one; none has fewer than these."""
_WORLD, _RUN, _TRIED = "world", "run", "tried"
_FLAWLESS, _FLAWLESS_RUN, _FLAWLESS_TRIED = "flawless", "flawless-run", "flawless-tried"
_MODELS, _RECIPES, _PAGE = "models.yaml", "recipes", "report.html"
_ITEMS, _PLANTED = "items", "planted.json"
_FOLDERS = (_WORLD, _RUN, _TRIED, _FLAWLESS, _FLAWLESS_RUN, _FLAWLESS_TRIED, _RECIPES, _ITEMS)
_OURS = (*_FOLDERS, _MODELS, _PAGE, _PLANTED)
_COPIES = ("duplicate-items", "duplicate-images")
_COUNTING = ("blind-hits",)  # filters that count right answers as if none were guesses
_WHOLE = "everything"
_TITLES = {
    "chance-aware": (
        "no image, chance-aware",
        "four language models, five answers each without the image, corrected for chance and shared habits",
    ),
    "mmmu-pro": (
        "no image, as MMMU-Pro",
        "three of four language models are right in more than two of five samples",
    ),
    "mmstar": (
        "no image, as MMStar",
        "two of four language models are right in a single sample, which chance often does",
    ),
    "leaks": (
        "leaks",
        "vision-language models memorized what no language model knows; distractors estimate the chance of that",
    ),
    "golds": ("doubtful golds", "vision models with the image agree against the gold; for review"),
    _WHOLE: (
        "all together",
        "duplicates, no image (chance-aware), leaks and doubtful golds, one after the other; "
        "each learns from the answers to all items",
    ),
}
"""Each recipe as the page calls it, and what it does; the last one is the whole refinement."""


def world_recipes(models: Iterable[str] = ()) -> dict[str, str]:
    """The recipes for toy models, by default all, as they are written, by name: each names those of its panels."""
    texts, known = {}, {*(models or cards())}
    for file in sorted((resources.files("eyetest_world") / "data/recipes").iterdir(), key=str):
        recipe = yaml.safe_load(file.read_text(encoding="utf-8"))
        for panel in recipe["panels"].values():
            is_whole = panel["size"] == len(panel["models"])
            panel["models"] = [name for name in panel["models"] if name in known]
            panel["size"] = len(panel["models"]) if is_whole else panel["size"]
        for stage in recipe["stages"]:
            if "bands" in stage:
                stage["bands"] = _fitted(stage["bands"], recipe["panels"][stage["panel"]]["size"])
        texts[file.name.removesuffix(".yaml")] = yaml.safe_dump(recipe, sort_keys=False, width=118)
    return texts


def _fitted(bands: Mapping[str, Sequence[int]], size: int) -> dict[str, list[int]]:
    """Bands for a panel of another size: those of all models and of none stay, what is between grows or shrinks."""
    most = max(high for _, high in bands.values())
    moved = {count: count + size - most for count in (most - 1, most)}
    return {name: [moved.get(low, low), moved.get(high, high)] for name, (low, high) in bands.items()}


@dataclass(frozen=True)
class DemoFolder:
    """A demo and the folder in which it is left, to be played with."""

    to: Path
    items: int = ITEMS

    @property
    def flawless_items(self) -> int:
        """Items without errors: for true skill, and for what filters do where nothing is wrong."""
        return max(self.items // _FLAWLESS_SHARE, _FEWEST)

    @property
    def page(self) -> Path:
        """What is to be looked at."""
        return self.to / _PAGE

    @property
    def recipes(self) -> Path:
        """The recipes, to be changed and tried."""
        return self.to / _RECIPES

    @cached_property
    def models(self) -> dict[str, ModelEntry]:
        """All models."""
        return read_models(self.to / _MODELS)

    @cached_property
    def vision_models(self) -> dict[str, ModelEntry]:
        """Models that also see the image."""
        return {name: entry for name, entry in self.models.items() if cards()[name].sees}

    @cached_property
    def truths(self) -> list[Truth]:
        """What is true of each item."""
        return read_truth(self.to / _WORLD)

    def clear(self, *, overwrite: bool) -> None:
        """An empty folder; what an earlier demo left there goes, and nothing else."""
        refuse_remote(self.to, "the demonstration")
        refuse_to_lose(self.to, overwrite=overwrite, ours=_OURS)
        for name in _FOLDERS:
            shutil.rmtree(self.to / name, ignore_errors=True)
        self.to.mkdir(parents=True, exist_ok=True)

    def draw(self) -> None:
        """The corrupted world, a flawless one, and what a user may want to read or change."""
        new_world(self.to / _WORLD, load_rates("default"), items=slice(self.items, ITEMS), seed=_SEED)
        new_world(self.to / _FLAWLESS, load_rates("none"), items=self.flawless_items, seed=_FLAWLESS_SEED)
        names = [name for name in cards() if self.items == ITEMS or name not in _ONLY_FULL]
        (self.to / _MODELS).write_text(models_file(names=names), encoding="utf-8")
        self.recipes.mkdir()
        for name, text in world_recipes(names).items():
            (self.recipes / f"{name}.yaml").write_text(text, encoding="utf-8")

    def ask(self, watch: Watch | None = None) -> int:
        """Ask all models without the image and vision models with it, about both worlds; the number of answers."""
        blind = Asking(conditions=(Condition(modality=BLIND),), samples=5, sampling={"temperature": 1.0})
        seen = Asking(conditions=(Condition(modality=SIGHTED),))
        answers, ways = 0, ((self.models, blind), (self.vision_models, seen))
        for (world, run), (models, asking) in product(((_WORLD, _RUN), (_FLAWLESS, _FLAWLESS_RUN)), ways):
            session = Session(self._drawn(world), models, asking)
            progress = session.run(self.to / run, watch=watch)
            if progress.stopped or progress.abandoned:
                raise StoppedEarly(progress)
            answers += progress.done
        return answers

    def screen(self, answers: int) -> WorldStory:
        """Every recipe on the recorded answers, of the corrupted world and of the flawless one."""
        runs = [Run(self.to / _RUN), Run(self.to / _FLAWLESS_RUN)]
        results, flawless = (results_of([run], Scorer(), models=self.models) for run in runs)
        tried, kept = [], []
        for name, (title, about) in _TITLES.items():
            recipe = load_recipe(str(self.recipes / f"{name}.yaml"))
            panels = seated_on_answers(recipe, results, {}, ())
            refining = Refining(self._drawn(_WORLD), recipe, panels, Recorded(results), self.to / _TRIED / name)
            bundle = str(self.to / _ITEMS) if name == _WHOLE else None
            shown = [refining.benchmark.path, runs[0].path, refining.to]
            refining.items_at = items_at(bundle, refining.to / REPORT, shown)
            refined = refining.run()
            kept = [item.id for item in refined.kept]
            by_chance = expected_by_chance(recipe, panels, self.truths)
            good = self._on_flawless(name, recipe, flawless)
            text = (self.recipes / f"{name}.yaml").read_text(encoding="utf-8")
            tried.append(Tried(name, title, about, refined.verdicts, by_chance, text, good))
        whole = tried[-1]
        about = "no model: equal items, and images that come back re-encoded"
        copies = [[row for row in rows if row.stage in _COPIES] for rows in (whole.verdicts, whole.on_flawless)]
        first = Tried("duplicates", "duplicates", about, copies[0], on_flawless=copies[1])
        world = self._drawn(_WORLD)
        return WorldStory(world, self.truths, [first, *tried], kept, runs[:1], results, flawless, answers)

    def _on_flawless(self, name: str, recipe: Recipe, results: Results) -> Sequence[Verdict]:
        """What a recipe says of items that have no flaw."""
        panels, to = seated_on_answers(recipe, results, {}, ()), self.to / _FLAWLESS_TRIED / name
        return Refining(self._drawn(_FLAWLESS), recipe, panels, Recorded(results), to).run().verdicts

    def _drawn(self, world: str) -> Benchmark:
        return Benchmark(self.to / world / "benchmark")

    @property
    def places(self) -> list[Path]:
        """What `eyetest open` shows: the items, the answers to them, what was planted and what was found."""
        return [self.to / _RUN, self.to / _TRIED / _WHOLE, self.to / _PLANTED]

    def tell(self, story: WorldStory, seconds: float) -> None:
        """Write the page, and beside it the items that its numbers lead to."""
        manifest = story.benchmark.manifest
        findings = [
            Finding(
                probe="planted",
                kind=planted_kind(flaw),
                severity="note",
                title=f"Planted: {FLAWS[flaw]}",
                items=tuple(story.planted(flaw)),
                verdict="keep",
            )
            for flaw in story.flaws
        ]
        audit = Audit(
            benchmark=manifest.name,
            fingerprint=manifest.fingerprint,
            items=len(story.truths),
            level=0.05,
            seed=story.seed,
            probes=("planted",),
            findings=tuple(findings),
        )
        (self.to / _PLANTED).write_bytes(msgspec.json.encode(audit) + b"\n")
        write_bundle(Collection(self.places), self.to / _ITEMS, replies=False, overwrite=True)
        about = {
            "folder": typed(self.to),
            "subsets": f"{SUBSETS}",
            "world": f"{self.items:,} items, seed {_SEED}",
            "flawless world": f"{self.flawless_items:,} items, seed {_FLAWLESS_SEED}",
            "answers": f"{story.calls:,}",
            "seed of measures": f"{story.seed}",
            "seconds until here": f"{seconds:.0f}",
        }
        beside = items_at(str(self.to / _ITEMS), self.page, [])
        at = msgspec.structs.replace(beside, command=typed("eyetest", "open", *self.places))
        write_world_page(story, about, self.page, at, overwrite=True)


def expected_by_chance(recipe: Recipe, panels: Mapping[str, Seated], truths: Sequence[Truth]) -> float | None:
    """Items without a flaw that a first stage that counts hits flags by guessing; None if it corrects for chance."""
    stage = recipe.stages[0]
    if stage.filter not in _COUNTING or not stage.panel:
        return None
    seated = panels[stage.panel]
    seats, tests = len(seated.seats), seated.tests
    cut = threshold(stage, seats, seated.panel.size)
    enough = next(hits for hits in range(1, seats + 1) if not cut.holds(hits))
    right = next(n for n in range(1, tests + 1) if stage.answers is None or stage.answers.holds(n))
    clean = [truth for truth in truths if not looks_for(stage.filter) & set(truth.flaws)]
    chances = {n: at_least(right, [1 / n] * tests) for n in {truth.options for truth in clean}}
    return sum(at_least(enough, [chances[truth.options]] * seats) for truth in clean)
