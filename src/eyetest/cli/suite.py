"""``eyetest suite``: many benchmarks put to many models, and the tables of ReForm-Eval."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import polars.selectors as cs
import typer
from rich.text import Text

from eyetest.cli import measure as measuring
from eyetest.cli import options
from eyetest.cli.options import SpendOptions, Words, argument, estimate_table, limits, option
from eyetest.cli.tables import print_table_as
from eyetest.cli.terminal import note, out, print_json
from eyetest.jobs import suite as job
from eyetest.jobs.measure import settings
from eyetest.jobs.suite import ToldSuite, measure_suite, write_suite
from eyetest.measures.printed import plain
from eyetest.recipes.sources import StoppedEarly
from eyetest.wording import counted, typed

part = partial(option, panel="What is told")
_BOUNDS = ("_low", "_high")


def suite(
    path: Annotated[Path, argument("SUITE", "A YAML file: benchmarks, models, conditions (docs/suite.md).")],
    to: Annotated[Path, option("--to", "Where answers, tables and the page go; again to go on.", "DIR")],
    only: Annotated[
        Words, part("--only", "Only these dimensions, tasks or datasets; again for another tag.", "TAG=A,B")
    ] = None,
    unseen: Annotated[bool, part("--unseen", "Leave out datasets that a compared model was trained on.")] = False,
    level: measuring.LevelOption = 0.95,
    resamples: measuring.ResamplesOption = 2_000,
    as_json: options.AllJsonOption = False,
    dry_run: Annotated[bool, limits("--dry-run", "Say what would be asked, and ask nothing.")] = False,
    retry_failed: options.RetryOption = False,
    *,
    how_far: SpendOptions,
) -> None:
    """Ask, resume, score and report many benchmarks at once: one file says which, of whom and how.

    DIR/runs has the answers, DIR/tables the tables as CSV, DIR/report.html the page. Kill it at any moment and run
    the same command again. --only and --unseen make the tables anew from what was answered.
    """
    prepared = job.prepare(path, to, limits=how_far.limits(), retry_failed=retry_failed, derive=not dry_run)
    if dry_run:
        for name, estimate in prepared.estimates():
            out.print(Text(name, "bold"))
            out.print(estimate_table(estimate))
        return
    try:
        failed = job.ask(prepared)
    except StoppedEarly as stop:
        note(f"{stop}; {counted(stop.progress.left, 'call')} left. The same command goes on from here.")
        raise typer.Exit(2 if stop.progress.abandoned else 130) from None
    command = typed("eyetest", *sys.argv[1:])
    how = settings((), level, prepared.suite.seed, resamples)
    told = measure_suite(prepared, how, only or (), unseen_only=unseen)
    page = write_suite(prepared, told, command)
    if as_json:
        print_json({name: plain(table).to_dicts() for name, table in told.tables.items()})
        return
    _show(told)
    if failed:
        note(f"{counted(failed, 'call')} failed and count as missing; --retry-failed asks them again")
    note(f"{counted(len(told.tables), 'table')} → {to / job.TABLES}; page → {page}")


def _show(told: ToldSuite) -> None:
    """What ReForm-Eval prints first; intervals are in the files."""
    for name, title in (("accuracy-by-dimension", "accuracy"), ("instability-by-dimension", "instability")):
        if name in told.tables:
            out.print(Text(title, "bold"))
            print_table_as("terminal", told.tables[name].select(~cs.ends_with(*_BOUNDS)))
            out.print()
    for line in told.notes:
        note(line)
