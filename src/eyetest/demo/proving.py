"""Recipes put to the proof in a world whose flaws are known: what each finds, misses, and blames wrongly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eyetest.benchmarks import Benchmark
from eyetest.measures import Results
from eyetest.measures.stats.luck import at_least
from eyetest.recipes.loading import load_recipe
from eyetest.recipes.panels import Seated, seated_on_answers
from eyetest.recipes.refining import Refined, Refining
from eyetest.recipes.sources import Recorded
from eyetest.records import Recipe
from eyetest.screens.counting import threshold
from eyetest.world import Truth
from eyetest.world.grading import looks_for

_COUNTING = ("blind-hits", "blind-majority")
"""Screens that count right answers as if nobody ever guessed one."""


@dataclass(frozen=True)
class Proof:
    """What a recipe came to, and how many items it was to blame by luck alone."""

    refined: Refined
    by_luck: float | None
    """Items without a flaw that guessing would have blamed, on average; None where a screen keeps luck in check."""


def prove(recipe: Path, benchmark: Benchmark, answers: Results, truths: Sequence[Truth], to: Path) -> Proof:
    """Carry out a recipe on recorded answers."""
    chosen = load_recipe(str(recipe))
    panels = seated_on_answers(chosen, answers, {}, ())
    refined = Refining(benchmark, chosen, panels, Recorded(answers), to).run()
    return Proof(refined, expected_by_luck(chosen, panels, truths))


def expected_by_luck(recipe: Recipe, panels: Mapping[str, Seated], truths: Sequence[Truth]) -> float | None:
    """How many items without a flaw a first stage that counts hits blames, if whoever sees nothing draws lots."""
    stage = recipe.stages[0]
    if stage.screen not in _COUNTING or not stage.panel:
        return None
    seated = panels[stage.panel]
    seats, tests = len(seated.seats), seated.tests
    cut = threshold(stage, seats, seated.panel.size)
    enough = next(hits for hits in range(1, seats + 1) if not cut.holds(hits))
    right = next(n for n in range(1, tests + 1) if stage.answers is None or stage.answers.holds(n))
    clean = [truth for truth in truths if not looks_for(stage.screen) & set(truth.flaws)]
    chances = {n: at_least(right, [1 / n] * tests) for n in {truth.options for truth in clean}}
    return sum(at_least(enough, [chances[truth.options]] * seats) for truth in clean)
