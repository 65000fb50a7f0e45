"""Do screens keep their promises on worlds that nobody looked at? Six kinds of worlds, drawn, asked about, graded.

    python -m tools.screening FOLDER --seeds 501 502 [--items 600] [--worlds default tastes …] [--moles]

Each world is drawn and asked about blind by the zoo, five times each, as the demo does; what was planted as a leak is
remembered by those it leaked to. Then its recipes `chance-aware` and `leaks` are carried out, by themselves and after
one another. A line a world and recipe: flagged items (of them for people), how many of those have a flaw that was
looked for or any flaw at all, and how much was found of what could be found. `--moles` asks language models alone.
"""

import argparse
import contextlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
import yaml

import eyetest as et
from eyetest.models import read_models
from eyetest.models.embedded import models_file
from eyetest.world import Truth, load_rates, new_world, read_truth
from eyetest.world.recipes import world_recipes

WORLDS: dict[str, tuple[str, dict[str, float]]] = {
    "default": ("default", {}),
    "no leaks": ("unleaked", {}),
    "rare": ("rare", {}),
    "two options": ("two-options", {}),
    "tastes": ("default", {"taste": 1.5, "belief": 0.1}),
    "flawless": ("none", {}),
}
"""Which flaws a world has, and which habits those who are asked about it."""
KNOWN = {"answer-in-question", "answerable-from-facts", "leaked-to-llms"}
"""What language models can know; that a gold is longest is seen by few of them, and is no error."""
LEAKED = {"leaked-to-lvlms"}


class Outcome(NamedTuple):
    """One recipe on one world."""

    world: str
    seed: int
    recipe: str
    flagged: int
    for_people: int
    right: int
    """Flagged items with a flaw that was looked for."""
    other: int
    """Flagged items with another flaw."""
    there: int
    """How many items have a flaw that was looked for."""


def measure(folder: Path, world: str, seed: int, items: int, *, moles: bool) -> Iterator[Outcome]:
    """Draw a world, ask about it, and grade both recipes."""
    flaws, habits = WORLDS[world]
    to = folder / f"{world.replace(' ', '-')}-{seed}"
    bench = new_world(to / "world", load_rates(flaws), items=items, seed=seed)
    zoo = models_file(habits.get("taste", 0.0), habits.get("belief", 0.0), str(to / "world/leaks.jsonl"))
    (to / "models.yaml").write_text(zoo, encoding="utf-8")
    asked = {name: entry for name, entry in read_models(to / "models.yaml").items() if not (moles and entry.base)}
    run = et.run(bench, asked, sights="blind-guess", trials=5, temperature=1.0, to=to / "run")
    truths = {truth.item: truth for truth in read_truth(to / "world")}
    chance, leaks = (yaml.safe_load(world_recipes()[name]) for name in ("chance-aware", "leaks"))
    both = {"panels": chance["panels"] | leaks["panels"], "stages": [*chance["stages"], *leaks["stages"]]}
    recipes = {"chance-aware": (chance, KNOWN), "leaks": (leaks, LEAKED), "both": (both, KNOWN | LEAKED)}
    for name, (recipe, sought) in recipes.items():
        if moles and name != "chance-aware":
            continue
        file = to / f"{name}.yaml"
        file.write_text(yaml.safe_dump(recipe), encoding="utf-8")
        et.refine(bench, str(file), to / "models.yaml", answers=[run], to=to / name)
        verdicts = pl.read_parquet(to / name / "verdicts.parquet").filter(pl.col("verdict") != "keep")
        yield graded((world, seed, name), verdicts, truths, sought)


def graded(what: tuple[str, int, str], verdicts: pl.DataFrame, truths: dict[str, Truth], sought: set[str]) -> Outcome:
    """Count what was flagged, and what of it is to blame."""
    flagged = [truths[item] for item in verdicts["item"]]
    right = sum(bool(sought & {*truth.flaws}) for truth in flagged)
    other = sum(bool(truth.flaws) for truth in flagged) - right
    there = sum(bool(sought & {*truth.flaws}) for truth in truths.values())
    for_people = verdicts.filter(pl.col("verdict") == "review").height
    return Outcome(*what, len(flagged), for_people, right, other, there)


def main() -> None:
    """Measure worlds one after another, a line each as soon as it is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--items", type=int, default=600)
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--moles", action="store_true")
    given = parser.parse_args()
    print("world,seed,recipe,flagged,for people,right,other flaw,there", flush=True)
    for seed in given.seeds:
        for world in given.worlds:
            with contextlib.redirect_stderr(io.StringIO()):
                outcomes = list(measure(given.folder, world, seed, given.items, moles=given.moles))
            for one in outcomes:
                print(*one, sep=",", flush=True)


if __name__ == "__main__":
    main()
