"""A benchmark through a recipe, into a better one."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark, ReadOptions
from eyetest.errors import InputError, param
from eyetest.jobs.measure import Scoring, gather
from eyetest.jobs.opening import (
    AnyPath,
    AnyRun,
    Bench,
    Models,
    model_entries,
    observer,
    open_bench,
    open_runs,
    several,
)
from eyetest.jobs.run import refuse_unpriced
from eyetest.jobs.views import card
from eyetest.pages.item_counts import items_at
from eyetest.recipes import Refined, Refining, check_recipe, load_recipe
from eyetest.recipes.hardening import settings_of
from eyetest.recipes.loading import map_tags
from eyetest.recipes.panels import authors, seat, seated_on_answers
from eyetest.recipes.refining import FunnelRow, refuse_foreign
from eyetest.recipes.sources import Live, Recorded, StoppedEarly
from eyetest.records import Recipe
from eyetest.records.recipe import BENCHMARK, REPORT, RUN, VERDICTS
from eyetest.running import Estimate, Limits
from eyetest.running.limits import INTERRUPTED
from eyetest.runs import Run
from eyetest.store.urls import local_path
from eyetest.wording import counted


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
    source.watch, source.planned = observer().watch, observer().planned
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
            calls = len(items) * settings_of(stage).rounds  # how long prompts are is not known yet
            by_model = Counter({one.model: calls for seat_ in seats for one in seat_})
            yield stage.title, Estimate(rows=2 * calls, requests=2 * calls, by_model=by_model)


@dataclass(frozen=True, repr=False)
class RefinedFolder:
    """What a refinement came to; everything is also in its folder, the page with the pictures included.

    >>> refined = et.refine("world/benchmark", "chance-aware", "models.yaml", to="better")
    >>> refined.frame["stage"].to_list()
    ['chance-aware']
    >>> refined.page.name
    'report.html'
    """

    path: Path
    outcome: Refined
    frame: pl.DataFrame
    """The funnel: how many items reached each stage, and what became of them."""

    @property
    def benchmark(self) -> Benchmark:
        """The better benchmark.

        >>> refined = et.refine("world/benchmark", "chance-aware", "models.yaml", to="better")
        >>> len(refined.benchmark) == refined.frame["keep"][-1]
        True
        """
        if self.outcome.paused:
            raise InputError(f"{self.path}: {self.outcome.paused} waits for people; there is no benchmark yet")
        if not self.outcome.kept:
            raise InputError(f"{self.path}: no item is left, so no benchmark was written")
        return Benchmark(self.path / BENCHMARK)

    @cached_property
    def verdicts(self) -> pl.DataFrame:
        """A verdict on every item at every stage that it reached, with what it rests on."""
        return pl.read_parquet(self.path / VERDICTS, glob=False)

    @cached_property
    def blind(self) -> pl.DataFrame:
        """What is still answered blind, by the panel and by models that had no say, before and after."""
        rows = [
            {"panel": one.panel, "who": one.who, "when": one.when, "models": one.models}
            | {"answers": one.answers, "asked": one.asked, **msgspec.structs.asdict(one.accuracy)}
            for one in self.outcome.residuals
        ]
        return pl.DataFrame(rows)

    @property
    def page(self) -> Path:
        """The page that shows all of it."""
        return self.path / REPORT

    @property
    def notes(self) -> tuple[str, ...]:
        """What has to be said beside the tables."""
        waiting = len(self.outcome.waiting)
        told = [f"{counted(waiting, 'item')} for people, in {self.path / 'review'}"] if waiting else []
        if self.outcome.paused:
            told.append(f"nothing after {self.outcome.paused} was done yet; skip_review=True goes on without people")
        return (*self.outcome.notes, *told)

    def __repr__(self) -> str:
        lines = [f"{row['stage']}: {row['into']:,} in, {row['keep']:,} kept" for row in self.frame.to_dicts()]
        return "\n".join(
            [f"<Refined: {counted(len(self.outcome.kept), 'item')} in {self.path}>", *lines, *self.notes]
        )

    def _repr_html_(self) -> str:
        columns = [
            {"name": "in" if name == "into" else name, "cells": [f"{value:,}" for value in cells], "kind": "number"}
            for name, cells in self.frame.drop("stage").to_dict(as_series=False).items()
        ]
        stages = {"name": "stage", "cells": self.frame["stage"].to_list(), "kind": "text"}
        return card(f"{counted(len(self.outcome.kept), 'item')} left", [stages, *columns], self.notes)


def refine(
    bench: Bench,
    recipe: AnyPath | Recipe,
    models: Models | None = None,
    *,
    to: AnyPath,
    answers: AnyRun | Sequence[AnyRun] = (),
    panels: Mapping[str, Sequence[str]] | None = None,
    hold_out: str | Sequence[str] = (),
    rules: str = "eyetest",
    map_tags: Mapping[str, str] | None = None,
    skip_review: bool = False,
    retry_failed: bool = False,
    limits: Limits | None = None,
    links: str | None = None,
) -> RefinedFolder:
    """Take a benchmark through a recipe: panels screen it, people review it, a better one comes out.

    ``models`` are asked, or recorded ``answers`` are used instead. ``panels`` says who sits where,
    ``hold_out`` who answers but has no say, ``map_tags`` which of the benchmark's tags the recipe's are. ``links`` is
    where the numbers of its page lead: what ``eyetest open`` serves, or its bundle. Interrupt it and call it again:
    it goes on where it stopped.

    >>> refined = et.refine("world/benchmark", "chance-aware", "models.yaml", to="better")
    >>> refined.verdicts["item"].n_unique()
    60
    """
    folder = local_path(to)
    chosen = find_recipe(recipe, folder, map_tags)
    refining = prepare(
        open_bench(bench, ReadOptions()),
        chosen,
        folder,
        Who(models, answers, panels or {}, several(hold_out), rules),
        limits=limits,
        retry_failed=retry_failed,
        skip_review=skip_review,
    )
    heard: list[AnyRun] = several(answers)
    places = [bench.path if isinstance(bench, Benchmark) else local_path(bench)]
    places += [one.path if isinstance(one, Run) else local_path(one) for one in heard]
    refining.items_at = items_at(links, folder / REPORT, [*places, folder])
    try:
        outcome, steps = carry_out(refining)
    except StoppedEarly as stop:
        if stop.progress.stopped == INTERRUPTED:
            raise KeyboardInterrupt(f"{counted(stop.progress.left, 'call')} left") from None
        raise
    return RefinedFolder(folder, outcome, pl.DataFrame(steps).drop("tag", "value"))
