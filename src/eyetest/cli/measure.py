"""``eyetest measure``: what scores come to, with intervals."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
import polars as pl
import typer

from eyetest.cli import options
from eyetest.cli.estimates import FORMATS
from eyetest.cli.measuring import (
    WHICH,
    ClusterOption,
    ExternalOption,
    LevelOption,
    ModelsOption,
    ResamplesOption,
    RulesOption,
    SeedOption,
)
from eyetest.cli.score import BenchOption, MetricOption, RescoreOption
from eyetest.cli.terminal import err, note, out
from eyetest.errors import InputError, short
from eyetest.measures import MEASURES, Measured, Settings
from eyetest.measures.agreement import decisions_agreement
from eyetest.measures.printed import caveats
from eyetest.measures.settings import EXTERNAL, narrowed, own_settings, read_external, read_where
from eyetest.models.specs import read_models
from eyetest.results.gather import results_of
from eyetest.review import read_decisions
from eyetest.runs import Run
from eyetest.scoring import Scorer

_HOW = "How it is shown"
_OF_PEOPLE = "agreement"


def _list_measures(asked: bool) -> None:
    if asked:
        width = max(map(len, MEASURES))
        for name in MEASURES:
            out.print(f"{name:<{width}}  {MEASURES[name].summary}", soft_wrap=True)
            for key, (default, about) in MEASURES[name].own.items():
                if key == EXTERNAL:
                    out.print(f"{'':<{width}}    --with CSV  {about}", style="dim", soft_wrap=True)
                    continue
                out.print(f"{'':<{width}}    --set {key}={default}  {about}", style="dim", soft_wrap=True)
        raise typer.Exit


def measure(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which measure; --list says what there is.")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, of one benchmark or several.")],
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="TAG", help="A row for each value of a tag.", rich_help_panel=WHICH),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where", metavar="COLUMN=A,B", help="Only these: model, sight, ask, a tag …", rich_help_panel=WHICH
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A measure's own settings (--list).", rich_help_panel=WHICH),
    ] = None,
    external: ExternalOption = None,
    models: ModelsOption = None,
    rules: RulesOption = "eyetest",
    bench: BenchOption = None,
    metric: MetricOption = None,
    rescore_given: RescoreOption = False,
    cluster: ClusterOption = "auto",
    level: LevelOption = 0.95,
    resamples: ResamplesOption = 2_000,
    seed: SeedOption = 0,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="Rows in the terminal; 0 for all.", rich_help_panel=_HOW)
    ] = 100,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, all rows.", rich_help_panel=_HOW)] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, all rows.", rich_help_panel=_HOW)] = False,
    as_latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.", rich_help_panel=_HOW)] = False,
    _list: Annotated[
        bool, typer.Option("--list", callback=_list_measures, is_eager=True, help="List the measures and stop.")
    ] = False,
) -> None:
    """Measure what a run's scores come to: values with intervals, and how many scores they rest on.

    Several runs are measured together. A run that was not scored yet is scored on the way. The agreement of people is
    measured from a table of their decisions (CSV) in the place of a run.
    """
    if as_csv + as_json + as_latex > 1:
        raise InputError("one of --csv, --json and --latex, not several")
    chosen = MEASURES[name]
    said = _said(set_ or [])
    if external is not None:
        if EXTERNAL not in chosen.own:
            raise InputError(f"--with: {name} takes no score from outside")
        said[EXTERNAL] = read_external(external)
    own = own_settings(chosen, said)
    settings = Settings(tuple(by or ()), level, seed, resamples, own)
    shape = "csv" if as_csv else "json" if as_json else "latex" if as_latex else "terminal"
    if name == _OF_PEOPLE and all(run.is_file() for run in runs):
        FORMATS[shape](name, Measured(decisions_agreement(_decisions(runs), settings)), limit)
        return
    found = results_of(
        [Run(run) for run in runs],
        Scorer(rules, metric, rescore_given=rescore_given),
        cluster,
        options.open_with_bar(bench, options.read_options(allow_missing_gold=True)) if bench else None,
        read_models(models) if models else None,
        tell=lambda line: err.print(line, style="dim", soft_wrap=True) if err.is_terminal else None,
    )
    kept = narrowed(found, read_where(where or []))
    measured = chosen.measure(kept, settings)
    measured = replace(measured, notes=(*measured.notes, *caveats(kept)))
    FORMATS[shape](name, measured, limit)
    if shape != "json":
        for line in measured.notes:
            note(line)


def _decisions(paths: Sequence[Path]) -> pl.DataFrame:
    """What people decided, from the tables that they filled in."""
    found = [one for path in paths for of_item in read_decisions(path).values() for one in of_item]
    return pl.DataFrame([msgspec.structs.asdict(decision) | {"edits": ""} for decision in found])


def _said(words: Sequence[str]) -> dict[str, Any]:
    """What the user's KEY=VALUE words say."""
    said: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key == EXTERNAL:
            raise InputError(f"--set: found {short(word)}, expected KEY=VALUE" + ("; see --with" if equals else ""))
        said[key] = value
    return said
