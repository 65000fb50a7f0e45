"""A benchmark through a recipe, into a better one."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, param
from eyetest.jobs.measure import Scoring, gather
from eyetest.jobs.opening import SILENT, AnyPath, AnyRun, Models, Observer, model_entries, open_runs
from eyetest.jobs.run import refuse_unpriced
from eyetest.recipes import Refined, Refining, check_recipe, load_recipe
from eyetest.recipes.hardening import settings_of
from eyetest.recipes.panels import authors, seat, seated_on_answers
from eyetest.recipes.refining import FunnelRow, refuse_foreign
from eyetest.recipes.sources import Live, Recorded
from eyetest.recipes.tags import map_tags
from eyetest.records import Recipe
from eyetest.records.recipe import RUN
from eyetest.running import Estimate, Limits


class Who(NamedTuple):
    """Whose answers decide: models that are asked or runs that were recorded, their seats, who has no say."""

    models: Models | None = None
    answers: AnyRun | Sequence[AnyRun] = ()
    panels: Mapping[str, Sequence[str]] = {}
    hold_out: Sequence[str] = ()
    rules: str = "eyetest"


def find_recipe(recipe: AnyPath | Recipe, to: Path, own_tags: Mapping[str, str] | None = None) -> Recipe:
    """A recipe by name, file or value, once it is clear that its results may go there.

    ``own_tags`` says which of the benchmark's tags are meant by those that the recipe speaks of.
    """
    chosen = map_tags(recipe if isinstance(recipe, Recipe) else load_recipe(str(recipe)), own_tags or {})
    check_recipe(chosen, "recipe")
    refuse_foreign(to, chosen)
    return chosen


def prepare(
    benchmark: Benchmark,
    recipe: Recipe,
    to: Path,
    who: Who,
    *,
    limits: Limits | None = None,
    ask_everything: bool = False,
    retry_failed: bool = False,
    skip_review: bool = False,
    observer: Observer = SILENT,
) -> Refining:
    """A refinement that can be looked at before it is carried out."""
    recorded, scoring = open_runs(who.answers), Scoring(rules=who.rules, models=who.models)
    if recorded:
        heard = gather(recorded, scoring)
        panels = seated_on_answers(recipe, heard, who.panels, who.hold_out)
        return Refining(benchmark, recipe, panels, Recorded(heard, recorded, scoring.scorer), to, skip_review)
    if who.models is None and recipe.panels.keys() - authors(recipe):
        ask, hear = param("models", "FILE"), param("answers", "RUN")
        raise InputError(f"who answers? {ask} to ask them, or {hear} for what was recorded")
    entries = {} if who.models is None else model_entries(who.models)
    limits = limits or Limits()
    refuse_unpriced(limits, entries)
    panels = seat(recipe, entries, who.panels, who.hold_out)
    source = Live(benchmark, entries, to / RUN, scoring.scorer, limits, seed=recipe.seed)
    source.watch, source.planned = observer.watch, observer.planned
    source.ask_everything, source.retry_failed = ask_everything, retry_failed
    return Refining(benchmark, recipe, panels, source, to, skip_review)


def carry_out(refining: Refining) -> tuple[Refined, list[FunnelRow]]:
    """What came of it, and how many items reached each stage; `StoppedEarly` where models are left to be asked."""
    refined = refining.run()
    return refined, [step for step in refining.funnel(refined) if not step.tag]


def estimates(refining: Refining) -> Iterator[tuple[str, Estimate]]:
    """What each stage would ask if no item fell before it and nothing stopped early."""
    source, items = refining.source, list(refining.benchmark)
    assert isinstance(source, Live)
    for stage in refining.recipe.stages:
        if stage.panel:
            seated = refining.panels[stage.panel]
            session = source.session(seated, [one.model for one in seated.everybody], items, stage, None)
            yield stage.title, session.estimate(source.to)
        seats = [refining.panels[name].seats for name in (stage.writer, stage.checker) if name]
        if len(seats) == 2 and all(seats):
            calls = (
                len(items) * settings_of(stage).rounds
            )  # how long prompts are shows when there is something to check
            by_model = Counter({one.model: calls for seat_ in seats for one in seat_})
            yield stage.title, Estimate(rows=2 * calls, requests=2 * calls, by_model=by_model)
