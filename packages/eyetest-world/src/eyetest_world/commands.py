"""The commands of eyetest-world: ``demo``, ``world`` and ``harden renew``."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group as Panel
from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.text import Text

from eyetest.commands.base import new_path, observer, open_bench, path_of, several
from eyetest.commands.options import AnyPath, Bench, Overwrite, Paths
from eyetest.commands.results import Found, NewBenchmark, Result, estimates, safe
from eyetest.errors import InputError, counted, heading, nearest, param, short, typed
from eyetest.grammar import read_pairs, refuse_idle, refuse_unknown

if TYPE_CHECKING:
    import polars as pl

    from eyetest.measures.stats.intervals import IntervalEstimate
    from eyetest_world.demo.folder import DemoFolder
    from eyetest_world.demo.story import WorldStory
    from eyetest_world.grading import FlawGrade, Grade

_NEW = Parameter(group=Panel("new", sort_key=1))
_GRADE = Parameter(group=Panel("grade", sort_key=2))
_MODELS = Parameter(group=Panel("models", sort_key=3))
_ITEMS, _SEED, _FLAWS, _SIZE = 1200, 7, "default", 128
_ACTIONS = ("new", "grade", "models")
_NUMBER = r"(\d{1,9}(\.\d*)?|\.\d+)(e-?\d{1,2})?"


def demo(*, to: AnyPath = Path("demo"), full: bool = False, overwrite: Overwrite = False) -> "DemoResult":
    """Draw a benchmark, corrupt it on purpose, ask small models, and see which errors are found.

    Takes about a minute on two cores, without a network or a key. Everything is kept in DIR to try things out.

    Args:
        to: Folder of the demo.
        full: 1,200 items and 14 models instead of 200 and 10, with narrower intervals; takes several minutes.
        overwrite: Replace a demo that eyetest wrote before.

    Examples:
        $ eyetest demo --to demo

    """
    import time

    from eyetest.recipes.panels import StoppedEarly
    from eyetest.running.limits import INTERRUPTED
    from eyetest_world.demo.folder import ITEMS, SMALL, DemoFolder

    began, folder, note = time.monotonic(), DemoFolder(new_path(to, "to"), ITEMS if full else SMALL), observer().note
    folder.clear(overwrite=overwrite)
    folder.draw()
    flawed = sum(bool(truth.flaws) for truth in folder.truths)
    note(f"1 of 5  drew {counted(len(folder.truths), 'item')} and corrupted {flawed:,} of them in eleven ways")
    every, sighted = len(folder.models), len(folder.vision_models)
    note(f"2 of 5  asking {every} small models: all of them without the image, {sighted} with it …")
    try:
        answers = folder.ask(observer().watch)
    except StoppedEarly as stop:
        if stop.progress.stopped == INTERRUPTED:
            raise KeyboardInterrupt from None
        raise
    note("3 of 5  filtering: five recipes one by one, then all together …")
    story = folder.screen(answers)
    note(f"4 of 5  found {story.graded.overall.found:,} of {story.graded.overall.planted:,} corrupted items")
    note("5 of 5  drawing the page …")
    folder.tell(story, time.monotonic() - began)
    return DemoResult(folder, story, time.monotonic() - began)


@dataclass(frozen=True, repr=False)
class DemoResult(Result):
    """What a demo planted, found and missed, and where to look."""

    folder: "DemoFolder"
    story: "WorldStory"
    seconds: float

    @property
    def _facts(self) -> dict[str, str]:
        whole, ranks, leaks = self.story.graded.overall, self.story.rankings, self.story.agreements["leakage"]
        facts = {
            "planted": f"{whole.planted:,} items",
            "found": f"{whole.found:,} of them",
            "missed": self._missed,
            "removed": f"{whole.flagged:,} items, {whole.flagged - whole.right:,} of them correct (false alarms)",
            "items left": f"{len(self.story.kept):,}",
            "flawless world": f"{self.story.whole.lost.value or 0:.1%} of {self.story.flawless_items} removed",
        }
        if leaks.value is not None:
            facts["leakage"] = f"ranks vision models like the true leakage: ρ = {leaks.value:.2f}"
        taus = f"{ranks.corrupted.value:.2f} corrupted, {ranks.refined.value:.2f} refined"
        return facts | {"ranking": f"τ with true skill: {taus}"}

    @property
    def _missed(self) -> str:
        """How many were missed, and how many of these are of kinds that have no filter."""
        missed = sum(len(kind.missed) for kind in self.story.kinds)
        unsought = sum(len(kind.missed) for kind in self.story.kinds if not kind.has_filter)
        in_bands = sum(len(kind.in_bands) for kind in self.story.kinds if not kind.has_filter)
        no_filter = f"{unsought:,} of kinds without a filter, {in_bands:,} of these in an outer band of difficulty"
        return f"{missed:,}, {no_filter}" if unsought else f"{missed:,}"

    @property
    def frame(self) -> "pl.DataFrame":
        """Planted errors by kind, and how many were found."""
        return _grades([self.story.graded.overall, *self.story.graded.flaws])

    def as_json(self) -> Any:
        """The summary, the grades by kind of error, and the page."""
        rows = super().as_json()["rows"]
        return {"summary": self._facts, "grades": rows, "page": str(self.folder.page), "seconds": self.seconds}

    def __rich__(self) -> RenderableType:
        following = {
            "page": str(self.folder.page),
            "its items": typed("eyetest", "open", *self.folder.places, "--browser"),
            "your own file": typed("eyetest", "audit", "mybench.tsv", "--page", "audit.html"),
            "recipes to try": str(self.folder.recipes),
        }
        return Group(_list(self._facts), Text(f"\nDone in {self.seconds:.0f} s.\n"), _list(following))


def _list(facts: dict[str, str]) -> Text:
    lines = [Text.assemble((f"   {name:<15}", "dim"), safe(value)) for name, value in facts.items()]
    return Text("\n", no_wrap=True, overflow="ignore").join(lines)


def world(
    action: str,
    folder: AnyPath | None = None,
    verdicts: AnyPath | None = None,
    /,
    *,
    to: AnyPath | None = None,
    item_count: Annotated[int, _NEW] = _ITEMS,
    seed: Annotated[int, _NEW] = _SEED,
    flaws: Annotated[str, _NEW] = _FLAWS,
    size: Annotated[int, _NEW] = _SIZE,
    scores: Annotated[AnyPath | None, _GRADE] = None,
    habits: Annotated[str, _MODELS] = "",
    overwrite: Overwrite = False,
) -> Result:
    """Draw a benchmark with known errors, grade what was found of them, or list small models.

    new draws DIR/benchmark; its errors are in DIR/truth.parquet, which only grade reads. grade compares them with the
    verdicts of an audit or a refinement. models lists the small models, which know only these scenes: ask one with
    --model embedded:NAME, or all of them with the file that --to writes. What leaked to each is known exactly.

    Args:
        action: new, grade or models.
        folder: grade: the folder of a world.
        verdicts: grade: a table of verdicts, or the folder of a refinement.
        to: new: the folder of the world; models: write a models.yaml for --models.
        item_count: Number of items.
        seed: Random seed.
        flaws: Errors and their rates: default, none, rare, two-options, unleaked, or a YAML file.
        size: Width and height of images in pixels.
        scores: CSV with item and score: how well scores separate flawed items from others.
        habits: Habits to write into the file: taste (standard deviation of the logits by which each model prefers
            some answers), belief (share of questions on which all models believe the same), leaks (leaks.jsonl of a
            world, which they remember).
        overwrite: Replace what eyetest wrote before.

    Examples:
        $ eyetest world new --to world --flaws default
        $ eyetest world grade world refined
        $ eyetest world models --to models.yaml --habits taste=1.5,belief=0.1

    """
    from eyetest.recipes.loading import read_verdicts
    from eyetest_world.building import new_world
    from eyetest_world.flaws import load_rates, read_truth
    from eyetest_world.grading import calibrations, grade, read_scores

    if action not in _ACTIONS:
        raise InputError(f'no action "{action}"; {nearest(action, _ACTIONS)}')
    of_actions: dict[str, dict[str, object]] = {
        "new": {
            "item_count": item_count != _ITEMS,
            "seed": seed != _SEED,
            "flaws": flaws != _FLAWS,
            "size": size != _SIZE,
        },
        "grade": {"scores": scores},
        "models": {"habits": habits},
    }
    for other, options in of_actions.items():
        if other != action:
            refuse_idle(options, f"it is for eyetest world {other}")
    target = new_path(to, "to") if to is not None else None
    if action == "models":
        return _models(target, habits, overwrite)
    if action == "new":
        if target is None or folder is not None:
            raise InputError(f"{param('to', 'DIR')} is missing: the folder of the world")
        made = new_world(target, load_rates(flaws), items=item_count, seed=seed, size=size, overwrite=overwrite)
        flawed = sum(bool(truth.flaws) for truth in read_truth(target))
        line = f"{counted(len(made), 'item')}, {flawed:,} of them with an error → {target}"
        return NewBenchmark(made, line, {"flawed": flawed}, ())
    if folder is None or (verdicts is None and scores is None):
        raise InputError(f"nothing to grade: eyetest world grade WORLD VERDICTS, or {param('scores', 'CSV')}")
    truths = read_truth(path_of(folder, "folder"))
    graded = None if verdicts is None else grade(truths, read_verdicts(path_of(verdicts, "verdicts")))
    aurocs = {} if scores is None else calibrations(truths, read_scores(path_of(scores, "scores")))
    none = [] if any(truth.flaws for truth in truths) else ["this world has no errors: every flag is a false alarm"]
    return GradeResult(graded, aurocs, none)


@dataclass(frozen=True, repr=False)
class GradeResult(Result):
    """Recall and precision by kind of error, over all stages and for each; areas under the ROC curve of scores."""

    graded: "Grade | None"
    aurocs: "dict[str, IntervalEstimate]"
    notes: Sequence[str] = ()

    @cached_property
    def frame(self) -> "pl.DataFrame":
        """A row for each stage and kind of error; ``stage`` is empty for all stages. Without verdicts, the AUROC."""
        import polars as pl

        if self.graded is not None:
            return _grades([self.graded.overall, *self.graded.flaws, *self.graded.stages])
        return pl.DataFrame([{"flaw": flaw, **_bounds("auroc", area)} for flaw, area in self.aurocs.items()])

    def as_json(self) -> Any:
        """All grades, and the AUROC where there are scores."""
        content: dict[str, Any] = {"notes": list(self.notes)}
        if self.aurocs:
            content["auroc"] = {flaw: area._asdict() for flaw, area in self.aurocs.items()}
        if self.graded:
            parts = {"flaws": self.graded.flaws, "stages": self.graded.stages}
            content |= {name: [_plain(row) for row in rows] for name, rows in parts.items()}
            content["overall"] = _plain(self.graded.overall)
        return content

    def __rich__(self) -> RenderableType:
        scored = GradeResult(None, self.aurocs).frame if self.graded and self.aurocs else None
        return Group(estimates(self.frame), *([] if scored is None else [Text(), estimates(scored)]))


def _plain(row: "FlawGrade") -> dict[str, Any]:
    return row._asdict() | {"recall": row.recall._asdict(), "precision": row.precision._asdict()}


def _bounds(name: str, share: "IntervalEstimate") -> dict[str, float | None]:
    return {name: share.value, f"{name}_low": share.low, f"{name}_high": share.high}


def _grades(grades: "Iterable[FlawGrade]") -> "pl.DataFrame":
    import polars as pl

    rows = [
        {"stage": row.stage, "flaw": row.flaw, "planted": row.planted, "reached": row.reached, "found": row.found}
        | {**_bounds("recall", row.recall), "flagged": row.flagged, "right": row.right}
        | _bounds("precision", row.precision)
        for row in grades
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _models(to: Path | None, habits: str, overwrite: bool) -> Result:
    import polars as pl

    from eyetest.store import refuse_to_lose, replacing_file
    from eyetest_world.toy_models.cards import cards, models_file

    words = {"taste": "0", "belief": "0", "leaks": ""}
    pairs = read_pairs(habits, "habits", "taste=1.5,belief=0.1", between=",") if habits else {}
    for name, value in pairs.items():
        refuse_unknown(name, "habits", words, "habit")
        words[name] = value.strip()
    for name, most, expected in (("taste", inf, "a number of at least 0"), ("belief", 1, "a share from 0 to 1")):
        if not re.fullmatch(_NUMBER, words[name]) or float(words[name]) > most:
            raise InputError(f"{heading('habits')}: {name}: found {short(words[name])}, expected {expected}")
    if words["leaks"] and not path_of(words["leaks"], "habits").is_file():
        raise InputError(f"{heading('habits')}: {words['leaks']} does not exist")
    if to is None and habits:
        raise InputError(f"{heading('habits')}: they are written into a models.yaml: add {param('to', 'FILE')}")
    if to is not None:
        refuse_to_lose(to, overwrite=overwrite, ours=None)
        with replacing_file(to, overwrite=overwrite) as file:
            file.write_text(
                models_file(float(words["taste"]), float(words["belief"]), words["leaks"]), encoding="utf-8"
            )
    rows = [
        {"model": f"embedded:{card.name}", "base": card.base, "replies": card.style, "leaked": card.leaked}
        | {"parameters": card.parameters, "resolution": card.resolution if card.sees else None}
        | {"scenes": card.scenes_seen if card.sees else None, "texts": card.texts_read}
        for card in cards().values()
    ]
    card = next(iter(cards().values()))
    notes = [f"models → {to}"] if to else []
    notes += ["leaked: the share of the default world's items that were in its training, with image and answer"]
    notes += [f"all of them read {card.leaked_texts:.0%} of its items as text, and all {card.facts} invented facts"]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return Found("toy models", frame, notes)


def renew(
    bench: Bench,
    /,
    *,
    to: AnyPath,
    seed: int = 0,
    data: AnyPath | None = None,
    generator: Paths = (),
    scenes: AnyPath | None = None,
    twins: int = 0,
    fresh: bool = False,
    overwrite: Overwrite = False,
) -> NewBenchmark:
    """Draw a new edition of a benchmark, or twins of its items with other answers.

    For items whose image and answer key follow from data: synthetic scenes, charts with their tables, puzzles with
    their captions, and what your own generator knows. Items keep their ids; others are left out and counted. With
    --twins each item stands beside variants of its image with other answers; eyetest measure contamination compares
    them, because a model that memorised the test gives the old answer to all. An item has no more twins than wrong
    options.

    Args:
        bench: A benchmark folder, or any file that eyetest can import.
        to: Folder of the new benchmark.
        seed: Random seed; another one gives other scenes.
        data: Folder of the data, such as a world, if it is not beside BENCH.
        generator: Your own generator, a Python file that is executed; repeatable.
        scenes: Write a table of what every drawn image shows; it contains the answer keys.
        twins: Draw N twins of each item instead of an edition.
        fresh: With twins, also an item of a new edition.
        overwrite: Replace what eyetest wrote before.

    Examples:
        $ eyetest harden renew world/benchmark --seed 1 --to edition-1
        $ eyetest harden renew world/benchmark --twins 3 --to twins

    """
    from eyetest.store import refuse_to_lose
    from eyetest.tabular.record_files import write_records
    from eyetest_world.editions import EditionScene, EditionSettings, draw_again, load_generator

    for name, number in (("seed", seed), ("twins", twins)):
        if number < 0:
            raise InputError(f"{heading(name)}: found {number}, expected at least 0")
    if fresh and not twins:
        raise InputError(f"{heading('fresh')}: only with {param('twins', 'N')}; without it all items are new")
    table_file = path_of(scenes, "scenes") if scenes is not None else None
    if table_file is not None:
        refuse_to_lose(table_file, overwrite=overwrite, ours=None)
    where = str(path_of(data, "data")) if data is not None else ""
    settings = EditionSettings(seed=seed, data=where, twins=twins, fresh=fresh)
    files: list[str | Path] = several(generator)
    own = [load_generator(path_of(path, "generator")) for path in files]
    benchmark, title = open_bench(bench), "drawing twins" if twins else "drawing a new edition"
    with observer().steps(title) as step:
        done = draw_again(
            benchmark,
            new_path(to, "to"),
            settings,
            own=own,
            overwrite=overwrite,
            step=lambda drawn: step(f"{title}: {drawn:,} items", drawn / max(len(benchmark), 1)),
        )
    if table_file is not None:
        write_records(done.scenes, EditionScene, table_file, overwrite=overwrite)
    path = done.benchmark.path
    notes = [f"not drawn again: {reason} ({count:,})" for reason, count in done.refused.items()]
    ask = f"{typed('eyetest', 'run', path)} --model SPEC --to RUN; eyetest measure contamination RUN"
    notes.append(f"next: {ask if twins else typed('eyetest', 'audit', path)}")
    line = f"{done.items:,} of {counted(done.of, 'item')} drawn again → {path}"
    return NewBenchmark(done.benchmark, line, {"of": done.of, "refused": dict(done.refused)}, notes)
