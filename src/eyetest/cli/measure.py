"""``eyetest measure``: what scores come to, with intervals."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import msgspec
import polars as pl
import typer

from eyetest.cli import options
from eyetest.cli.estimates import FORMATS
from eyetest.cli.score import BenchOption, MetricOption
from eyetest.cli.terminal import err, note, out, safe
from eyetest.errors import InputError, nearest, short
from eyetest.measures import MEASURES, Measure, Measured, Results, Settings
from eyetest.measures.agreement import decisions_agreement
from eyetest.measures.caveats import caveats
from eyetest.measures.results import TAG
from eyetest.models.specs import read_models
from eyetest.review import read_decisions
from eyetest.running.measured import CLUSTERS, results_of
from eyetest.runs import Run
from eyetest.scoring import Scorer

_WHICH = "What is measured"
_HOW = "How it is shown"
_EXTERNAL = "external"
_OF_PEOPLE = "agreement"
_OF_ITEMS = ("benchmark", "item")
_YES_OR_NO = {"yes": True, "no": False, "True": True, "False": False, "true": True, "false": False}


def _list_measures(asked: bool) -> None:
    if asked:
        width = max(map(len, MEASURES))
        for name in MEASURES:
            out.print(f"{name:<{width}}  {MEASURES[name].summary}", soft_wrap=True)
            for key, (default, about) in MEASURES[name].own.items():
                if key == _EXTERNAL:
                    out.print(f"{'':<{width}}    --with CSV  {about}", style="dim", soft_wrap=True)
                    continue
                out.print(f"{'':<{width}}    --set {key}={default}  {about}", style="dim", soft_wrap=True)
        raise typer.Exit


def measure(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which measure; --list says what there is.")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, of one benchmark or several.")],
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="TAG", help="A row for each value of a tag.", rich_help_panel=_WHICH),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where", metavar="COLUMN=A,B", help="Only these: model, sight, ask, a tag …", rich_help_panel=_WHICH
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A measure's own settings (--list).", rich_help_panel=_WHICH),
    ] = None,
    external: Annotated[
        Path | None,
        typer.Option("--with", metavar="CSV", help="A score from outside: model,score.", rich_help_panel=_WHICH),
    ] = None,
    models: Annotated[
        Path | None,
        typer.Option(
            "--models", metavar="FILE", help="models.yaml: language bases, sizes, series.", rich_help_panel=_WHICH
        ),
    ] = None,
    rules: Annotated[
        str, typer.Option("--rules", metavar="NAME", help="Whose reading rules.", rich_help_panel=_WHICH)
    ] = "eyetest",
    bench: BenchOption = None,
    metric: MetricOption = None,
    cluster: Annotated[
        str,
        typer.Option(
            "--cluster",
            metavar="NAME",
            help=f"What makes items depend on each other: {', '.join(CLUSTERS)}, or a tag.",
            rich_help_panel=_WHICH,
        ),
    ] = "auto",
    level: Annotated[
        float, typer.Option("--level", min=0.5, max=0.999, help="Of the intervals.", rich_help_panel=_WHICH)
    ] = 0.95,
    resamples: Annotated[
        int, typer.Option("--resamples", min=100, help="For bootstrapped intervals.", rich_help_panel=_WHICH)
    ] = 2_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of all drawing.", rich_help_panel=_WHICH)] = 0,
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
    own = _own(chosen, set_ or [])
    if external is not None:
        if _EXTERNAL not in own:
            raise InputError(f"--with: {name} takes no score from outside")
        own[_EXTERNAL] = read_external(external)
    settings = Settings(tuple(by or ()), level, seed, resamples, own)
    shape = "csv" if as_csv else "json" if as_json else "latex" if as_latex else "terminal"
    if name == _OF_PEOPLE and all(run.is_file() for run in runs):
        FORMATS[shape](name, Measured(decisions_agreement(_decisions(runs), settings)), limit)
        return
    found = results_of(
        [Run(run) for run in runs],
        Scorer(rules, metric),
        cluster,
        options.open_with_bar(bench, options.read_options(allow_missing_gold=True)) if bench else None,
        read_models(models) if models else None,
        tell=lambda line: err.print(line, style="dim", soft_wrap=True) if err.is_terminal else None,
    )
    kept = narrowed(found, where or [])
    measured = chosen.measure(kept, settings)
    measured = replace(measured, notes=(*measured.notes, *caveats(kept)))
    FORMATS[shape](name, measured, limit)
    if shape != "json":
        for line in measured.notes:
            note(line)


def narrowed(results: Results, where: Sequence[str]) -> Results:
    """Only the scores that the user's words allow."""
    scores, items = results.scores, results.items
    types = scores.collect_schema()
    if not scores.head(1).collect().height:
        raise InputError("nothing to measure: no answer is about an item of the benchmark")
    for words in where:
        column, equals, values = words.partition("=")
        if not equals:
            raise InputError(f"--where: found {short(words)}, expected COLUMN=VALUE")
        if column not in types and column not in results.tags:
            raise InputError(f"--where: no column or tag {short(column)}; {nearest(column, [*types, *results.tags])}")
        wanted = [values.strip(), *(value.strip() for value in values.split(","))]
        if column in types:
            there = scores.select(pl.col(column).unique()).collect().to_series()
            kept = scores.filter(pl.col(column).is_in([value for value in there if _words(value) in wanted]))
        if column not in types or column in _OF_ITEMS:
            named = column if column in types else TAG + column
            there = items.get_column(named)
            items = items.filter(pl.col(named).is_in(wanted))
        if column not in types:
            kept = scores.join(items.lazy(), on=("benchmark", "item"), how="semi")
        if not kept.head(1).collect().height:
            known = nearest(wanted[0], {_words(value) for value in there if value is not None})
            raise InputError(f"--where {safe(words)}: nothing is left; {known}")
        scores = kept
    return Results(scores, items, results.models)


def _words(value: Any) -> str:
    """A value as a user writes it: the score 1.0 is 1."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def read_external(path: Path) -> dict[str, float]:
    """A score of each model that somebody else gave: an arena's Elo."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} is no CSV: expected lines of model,score") from None
    found: dict[str, float] = {}
    for number, row in enumerate(rows):
        try:
            model, score = row[0], _number(row[1])
        except (IndexError, ValueError):
            if number:
                raise InputError(
                    f"{path}, line {number + 1}: expected model,score; found {short(','.join(row))}"
                ) from None
        else:
            found[model] = score
    if not found:
        raise InputError(f"{path} holds no score: expected lines of model,score")
    return found


def _decisions(paths: Sequence[Path]) -> pl.DataFrame:
    """What people decided, from the tables that they filled in."""
    found = [one for path in paths for of_item in read_decisions(path).values() for one in of_item]
    return pl.DataFrame([msgspec.structs.asdict(decision) | {"edits": ""} for decision in found])


def _own(chosen: Measure, words: Sequence[str]) -> dict[str, Any]:
    """The measure's own settings: its defaults, changed by the user's words."""
    own = {key: default for key, (default, _) in chosen.own.items()}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise InputError(f"--set: found {short(word)}, expected KEY=VALUE")
        if key not in own or key == _EXTERNAL:
            known = nearest(key, own) if own else "it has no settings of its own"
            raise InputError(f"--set: {chosen.name} does not know {short(key)}; {known}")
        own[key] = _like(own[key], key, value)
    return own


def _like(default: Any, key: str, value: str) -> Any:
    """A word of the user's as the kind of value that the default is."""
    readers: Mapping[type, Callable[[str], Any]] = {bool: _YES_OR_NO.__getitem__, int: int, float: _number}
    try:
        return readers.get(type(default), str)(value)
    except KeyError:
        raise InputError(f"--set {key}: found {short(value)}, expected yes or no") from None
    except ValueError:
        raise InputError(f"--set {key}: found {short(value)}, expected a number") from None


def _number(word: str) -> float:
    value = float(word)
    if not isfinite(value):
        raise ValueError(word)
    return value
