"""Do screens keep their promises on worlds that nobody looked at? Six kinds of worlds, drawn, asked about, graded.

    python -m tools.screening FOLDER --seeds 501 502 [--items 600] [--worlds default tastes …]

Each world is drawn and asked about by the zoo as the demo does: blind five times each, with the image once; what
was planted as a leak is remembered by those it leaked to. Then recipes are carried out: `chance-aware` and `leaks` by
themselves, and `everything`. A line a recipe, and for `everything` one a kind of flaw: flagged items (of them for
people), how many of those have a flaw that was looked for, another one or none, and how much was found of what could
be found. Last, Kendall's τ with skill on all flawless worlds in FOLDER, if there are any. What was asked there
before is not asked again.
"""

import argparse
import contextlib
import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
from eyetest_world import FLAWS, Truth, load_rates, new_world, rankings, read_truth
from eyetest_world.demo.folder import world_recipes
from eyetest_world.grading import FLAGGED, grade
from eyetest_world.toy_models.cards import models_file

import eyetest as et
from eyetest.benchmarks import Benchmark
from eyetest.models import read_models
from eyetest.recipes.loading import read_verdicts
from eyetest.records import Verdict

WORLDS: dict[str, tuple[str, dict[str, float]]] = {
    "flawless": ("none", {}),
    "default": ("default", {}),
    "no leaks": ("unleaked", {}),
    "rare": ("rare", {}),
    "two options": ("two-options", {}),
    "tastes": ("default", {"taste": 1.5, "belief": 0.1}),
}
"""Which flaws a world has, and which habits those who are asked about it."""
KNOWN = frozenset({"answer-in-question", "answerable-from-facts", "leaked-to-llms"})
"""What language models can know; that a gold is longest is seen by few of them, and is no error."""
RECIPES = {"chance-aware": KNOWN, "leaks": frozenset({"leaked-to-lvlms"}), "everything": frozenset(FLAWS)}


class Outcome(NamedTuple):
    """One recipe on one world, or what it found of one kind of flaw."""

    world: str
    seed: int
    recipe: str
    flaw: str
    flagged: int
    for_people: int
    right: int
    """Flagged items with a flaw that was looked for."""
    other: int
    """Flagged items with another flaw."""
    there: int
    """How many items have a flaw that was looked for."""
    found: int


def measure(folder: Path, world: str, seed: int, items: int) -> Iterator[Outcome]:
    """Draw a world, ask about it, and grade the recipes."""
    flaws, habits = WORLDS[world]
    to = place(folder, world, seed)
    drawn = to / "world/benchmark"
    bench = Benchmark(drawn) if drawn.exists() else new_world(to / "world", load_rates(flaws), items=items, seed=seed)
    zoo = models_file(habits.get("taste", 0.0), habits.get("belief", 0.0), str(to / "world/leaks.jsonl"))
    (to / "models.yaml").write_text(zoo, encoding="utf-8")
    everybody = read_models(to / "models.yaml")
    et.run(bench, models=everybody, condition="no-image-guess", samples=5, temperature=1.0, to=to / "run")
    sees = {name: entry for name, entry in everybody.items() if entry.base}
    run = et.run(bench, models=sees, condition="image", to=to / "run")
    truths = {truth.item: truth for truth in read_truth(to / "world")}
    for name, sought in RECIPES.items():
        shutil.rmtree(to / name, ignore_errors=True)
        file = to / f"{name}.yaml"
        file.write_text(world_recipes()[name], encoding="utf-8")
        et.refine(bench, recipe=file, models=to / "models.yaml", answers=[run], to=to / name)
        verdicts = read_verdicts(to / name)
        yield graded((world, seed, name), verdicts, truths, sought)
        if name == "everything":
            yield from by_flaw((world, seed, name), list(truths.values()), verdicts)


def place(folder: Path, world: str, seed: int) -> Path:
    """Where a world and all about it lies."""
    return folder / f"{world.replace(' ', '-')}-{seed}"


def graded(
    what: tuple[str, int, str], verdicts: list[Verdict], truths: dict[str, Truth], sought: frozenset[str]
) -> Outcome:
    """Count what was flagged, and what of it is to blame; of two equal items either is a copy."""
    flaws = {truth.item: {*truth.flaws} for truth in truths.values()}
    for truth in truths.values():
        if truth.twin:
            flaws[truth.twin] |= {*truth.flaws}
    raised = {row.item: row.verdict for row in verdicts if row.verdict in FLAGGED}
    right = {item for item in raised if sought & flaws[item]}
    other = sum(bool(flaws[item]) for item in raised.keys() - right)
    there = [truth for truth in truths.values() if sought & {*truth.flaws}]
    found = sum(bool({truth.item, truth.twin} & raised.keys()) for truth in there)
    people = sum(verdict == "review" for verdict in raised.values())
    return Outcome(*what, "", len(raised), people, len(right), other, len(there), found)


def by_flaw(what: tuple[str, int, str], truths: list[Truth], verdicts: list[Verdict]) -> Iterator[Outcome]:
    """What was found of each kind of flaw by any stage; flagged and right are of the stages that look for it."""
    for one in grade(truths, verdicts).flaws:
        yield Outcome(*what, one.flaw, one.flagged, 0, one.right, 0, one.planted, one.found)


def ranked(folder: Path, seed: int, worlds: list[str]) -> Iterator[str]:
    """How well worlds rank the vision models, before and after the whole refinement: τ with their true skill.

    Skill is their score on all flawless worlds that lie in the folder, of whatever seed: the more, the truer.
    """
    skill = pl.concat([sighted(run.parent) for run in sorted(folder.glob("flawless-*/run"))])
    for world in (name for name in worlds if name != "flawless"):
        scores, rows = sighted(place(folder, world, seed)), read_verdicts(place(folder, world, seed) / "everything")
        gone = {row.item for row in rows if row.verdict in FLAGGED}
        kept = [item for item in scores["item"].unique() if item not in gone]
        one = rankings(scores, skill, kept)
        told = f"spoilt {one.corrupted.value:.2f},refined {one.refined.value:.2f},random {one.random.value:.2f}"
        yield f"{world},{seed},τ,{told},{len(kept)} items"


def sighted(world: Path) -> pl.DataFrame:
    """What vision models score with the image: item, model, score."""
    scores = et.score(world / "run").scores.lazy().filter(pl.col("modality") == "image")
    return scores.select("item", pl.col("model").cast(pl.String), "score").collect()


def main() -> None:
    """Measure worlds one after another, a line each as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--items", type=int, default=600)
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    given = parser.parse_args()
    print(*Outcome._fields, sep=",", flush=True)
    for seed in given.seeds:
        for world in given.worlds:
            with contextlib.redirect_stderr(io.StringIO()):
                outcomes = list(measure(given.folder, world, seed, given.items))
            for one in outcomes:
                print(*one, sep=",", flush=True)
    if any(given.folder.glob("flawless-*/run")):
        for seed in given.seeds:
            print(*ranked(given.folder, seed, given.worlds), sep="\n", flush=True)


if __name__ == "__main__":
    main()
