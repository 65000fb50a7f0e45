"""A benchmark through a recipe, into a better one; what every stage did, as tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import polars as pl

from eyetest.api.renamed import renamed
from eyetest.api.run import NOTEBOOK
from eyetest.api.views import card
from eyetest.benchmarks import Benchmark, ReadOptions
from eyetest.errors import InputError
from eyetest.jobs import refine as job
from eyetest.jobs.opening import AnyPath, AnyRun, Bench, Models, open_bench, several
from eyetest.pages.item_counts import items_at
from eyetest.recipes import Refined
from eyetest.recipes.sources import StoppedEarly
from eyetest.records import Recipe
from eyetest.records.recipe import BENCHMARK, REPORT, VERDICTS
from eyetest.running import Limits
from eyetest.running.session import INTERRUPTED
from eyetest.runs import Run
from eyetest.store.urls import local_path
from eyetest.wording import counted


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


@renamed(items="links")
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

    ``models`` are asked, or ``answers`` that were recorded are heard instead. ``panels`` says who sits where,
    ``hold_out`` who answers but has no say, ``map_tags`` which of the benchmark's tags the recipe's are. ``links`` is
    where the numbers of its page lead: what ``eyetest open`` serves, or its bundle. Interrupt it and call it again:
    it goes on where it stopped.

    >>> refined = et.refine("world/benchmark", "chance-aware", "models.yaml", to="better")
    >>> refined.verdicts["item"].n_unique()
    60
    """
    folder = local_path(to)
    chosen = job.find_recipe(recipe, folder, map_tags)
    refining = job.prepare(
        open_bench(bench, ReadOptions()),
        chosen,
        folder,
        job.Who(models, answers, panels or {}, several(hold_out), rules),
        limits=limits,
        retry_failed=retry_failed,
        skip_review=skip_review,
        observer=NOTEBOOK,
    )
    heard: list[AnyRun] = several(answers)
    places = [bench.path if isinstance(bench, Benchmark) else local_path(bench)]
    places += [one.path if isinstance(one, Run) else local_path(one) for one in heard]
    refining.items_at = items_at(links, folder / REPORT, [*places, folder])
    try:
        outcome, steps = job.carry_out(refining)
    except StoppedEarly as stop:
        if stop.progress.stopped == INTERRUPTED:
            raise KeyboardInterrupt(f"{counted(stop.progress.left, 'call')} left") from None
        raise
    return RefinedFolder(folder, outcome, pl.DataFrame(steps).drop("tag", "value"))
