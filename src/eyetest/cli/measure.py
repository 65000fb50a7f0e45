"""``eyetest measure``: what scores come to, with intervals."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from eyetest.cli import measuring
from eyetest.cli.live import TERMINAL
from eyetest.cli.measuring import shown, which
from eyetest.cli.options import RunsArgument, Words, argument, option
from eyetest.cli.tables import print_measured
from eyetest.cli.terminal import out
from eyetest.errors import InputError, short
from eyetest.jobs import measure as job
from eyetest.measures import MEASURES
from eyetest.measures.settings import EXTERNAL

_OF_PEOPLE = "agreement"


def _list_measures(asked: bool) -> None:
    if asked:
        width = max(map(len, MEASURES))
        for name in MEASURES:
            out.print(f"{name:<{width}}  {MEASURES[name].summary}", soft_wrap=True)
            for key, (default, about) in MEASURES[name].own.items():
                words = "--with CSV" if key == EXTERNAL else f"--set {key}={default}"
                out.print(f"{'':<{width}}    {words}  {about}", style="dim", soft_wrap=True)
        raise typer.Exit


def measure(
    name: Annotated[str, argument("NAME", "Which measure; --list says what there is.")],
    runs: RunsArgument,
    by: Annotated[Words, which("--by", "A row for each value of a tag.", "TAG")] = None,
    where: Annotated[Words, which("--where", "Only these: model, sight, ask, a tag …", "COLUMN=A,B")] = None,
    set_: Annotated[Words, which("--set", "A measure's own settings (--list).", "KEY=VALUE")] = None,
    external: measuring.ExternalOption = None,
    models: measuring.ModelsOption = None,
    *,
    scoring: measuring.ScoringOptions,
    level: measuring.LevelOption = 0.95,
    resamples: measuring.ResamplesOption = 2_000,
    seed: measuring.SeedOption = 0,
    limit: measuring.LimitOption = 100,
    as_csv: Annotated[bool, shown("--csv", "Print CSV, all rows.")] = False,
    as_json: Annotated[bool, shown("--json", "Print JSON, all rows.")] = False,
    as_latex: Annotated[bool, shown("--latex", "Print a LaTeX table.")] = False,
    _list: Annotated[
        bool, option("--list", "List the measures and stop.", callback=_list_measures, is_eager=True)
    ] = False,
) -> None:
    """Measure what a run's scores come to: values with intervals, and how many scores they rest on.

    Several runs are measured together. A run that was not scored yet is scored on the way. The agreement of people is
    measured from a table of their decisions (CSV) in the place of a run.
    """
    shape = measuring.one_shape(as_csv, as_json, as_latex)
    said = _said(set_ or [])
    if external is not None:
        if EXTERNAL not in MEASURES[name].own:
            raise InputError(f"--with: {name} takes no score from outside")
        said[EXTERNAL] = external
    how = job.settings(by or (), level, seed, resamples, job.own_words(name, said))
    if name == _OF_PEOPLE and all(run.is_file() for run in runs):
        measured = job.measure_people(runs, how)
    else:
        known = replace(scoring, models=models)
        measured = job.measure(name, runs, how, where=where or (), scoring=known, observer=TERMINAL)
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
