"""``eyetest measure``: what scores come to, with intervals; and the options of all commands that measure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from eyetest.cli.live import TERMINAL
from eyetest.cli.options import BenchOption, MetricOption, RescoreOption, RunsArgument, Words, argument, option
from eyetest.cli.tables import print_measured
from eyetest.cli.terminal import say
from eyetest.errors import InputError, short
from eyetest.jobs import measure as job
from eyetest.jobs.measure import Scoring
from eyetest.measures import MEASURES
from eyetest.measures.results import EXTERNAL
from eyetest.results.gather import CLUSTERS

which = partial(option, panel="What is measured")
shown = partial(option, panel="How it is shown")

LevelOption = Annotated[float, which("--level", "Of intervals and tests.", min=0.5, max=0.999)]
ResamplesOption = Annotated[int, which("--resamples", "For bootstrapped intervals.", min=100)]
SeedOption = Annotated[int, which("--seed", "Random seed.", min=0)]
ExternalOption = Annotated[Path | None, which("--with", "A score from outside: model,score.", "CSV")]
ModelsOption = Annotated[Path | None, which("--models", "models.yaml: language bases, sizes.", "FILE")]
ModelOption = Annotated[Words, which("--model -m", "Only these models: A,B, or repeated.", "NAME")]
WithoutOption = Annotated[Words, which("--without", "All models but these.", "NAME")]
SightOption = Annotated[Words, which("--sight", "Only what was asked so: image,blind, or repeated.", "NAME")]
LimitOption = Annotated[int, shown("--limit -n", "Rows in the terminal; 0 for all.", min=0)]


@dataclass(frozen=True)
class ScoringOptions(Scoring):
    """By whose rules answers count, and by which golds."""

    rules: Annotated[str, which("--rules", "Whose reading rules.", "NAME")] = "eyetest"
    bench: BenchOption = None
    metric: MetricOption = None
    rescore_given: RescoreOption = False
    cluster: Annotated[
        str,
        which("--cluster", f"What makes items depend on each other: {', '.join(CLUSTERS)}, or a tag.", "NAME"),
    ] = "auto"


def one_shape(csv: bool, json: bool, latex: bool) -> str:
    """How a table is printed."""
    if csv + json + latex > 1:
        raise InputError("one of --csv, --json and --latex, not several")
    return "csv" if csv else "json" if json else "latex" if latex else "terminal"


_OF_PEOPLE = "agreement"


def _list_measures(asked: bool) -> None:
    if asked:
        width = max(map(len, MEASURES))
        for name in MEASURES:
            say(f"{name:<{width}}  {MEASURES[name].summary}", under=width + 2)
            for key, (default, about) in MEASURES[name].own.items():
                words = "--with CSV" if key == EXTERNAL else f"--set {key}={default}"
                say(f"{'':<{width}}    {words}  {about}", under=width + 6)
        raise typer.Exit


def measure(
    name: Annotated[str, argument("NAME", "Which measure; --list says what there is.")],
    runs: RunsArgument,
    by: Annotated[Words, which("--by", "A row for each value of a tag.", "TAG")] = None,
    sight: SightOption = None,
    where: Annotated[Words, which("--where", "Only these: ask, a tag …", "COLUMN=A,B")] = None,
    set_: Annotated[Words, which("--set", "A measure's own settings (--list).", "KEY=VALUE")] = None,
    external: ExternalOption = None,
    models: ModelsOption = None,
    model: ModelOption = None,
    without: WithoutOption = None,
    *,
    scoring: ScoringOptions,
    level: LevelOption = 0.95,
    resamples: ResamplesOption = 2_000,
    seed: SeedOption = 0,
    limit: LimitOption = 100,
    as_csv: Annotated[bool, shown("--csv", "Print CSV, all rows.")] = False,
    as_json: Annotated[bool, shown("--json", "Print JSON, all rows.")] = False,
    as_latex: Annotated[bool, shown("--latex", "Print a LaTeX table.")] = False,
    _list: Annotated[
        bool, option("--list", "List the measures and stop.", callback=_list_measures, is_eager=True)
    ] = False,
) -> None:
    """Measure what a run's scores come to: values with intervals, and how many scores they rest on.

    Several runs are measured together. A run that was not scored yet is scored on the way. The agreement of people is
    measured from a table of their decisions (CSV), or the folder of a review, in the place of a run.
    """
    shape = one_shape(as_csv, as_json, as_latex)
    said = _said(set_ or [])
    if external is not None:
        if EXTERNAL not in MEASURES[name].own:
            raise InputError(f"--with: {name} takes no score from outside")
        said[EXTERNAL] = external
    how = job.settings(by or (), level, seed, resamples, job.own_words(name, said))
    if name == _OF_PEOPLE and all(map(job.is_of_people, runs)):
        measured = job.measure_people(runs, how)
    else:
        known = replace(scoring, models=models, model=model or (), without=without or ())
        kept = job.with_sights(where or (), sight or ())
        measured = job.measure(name, runs, how, where=kept, scoring=known, observer=TERMINAL)
    print_measured(name, measured, shape, limit)


def _said(words: Sequence[str]) -> dict[str, Any]:
    """What the user's KEY=VALUE words say."""
    said: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key == EXTERNAL:
            raise InputError(f"--set: found {short(word)}, expected KEY=VALUE" + ("; see --with" if equals else ""))
        said[key] = value
    return said
