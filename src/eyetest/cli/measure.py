"""``eyetest score|read|measure``: read and score answers, measure scores with intervals; options of such commands."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.text import Text

from eyetest.cli import options
from eyetest.cli.options import (
    BenchOption,
    JsonOption,
    MetricOption,
    RescoreOption,
    RunsArgument,
    Words,
    argument,
    option,
)
from eyetest.cli.tables import print_measured, show_table
from eyetest.cli.terminal import note, out, print_json, safe, say
from eyetest.errors import InputError, nearest, short
from eyetest.jobs import measure as job
from eyetest.jobs.measure import Scoring
from eyetest.measures import MEASURES
from eyetest.measures.printed import score_counts, scored_by_others
from eyetest.measures.results import EXTERNAL, as_written
from eyetest.records import MAX_CHOICES, mark
from eyetest.records.tables import Marks
from eyetest.results.gather import CLUSTERS
from eyetest.scoring import RULE_SETS, Reading, read_choice
from eyetest.wording import counted

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
        measured = job.measure(name, runs, how, where=kept, scoring=known)
    print_measured(name, measured.table, measured.notes, shape, limit)


def _said(words: Sequence[str]) -> dict[str, Any]:
    """What the user's KEY=VALUE words say."""
    said: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key == EXTERNAL:
            raise InputError(f"--set: found {short(word)}, expected KEY=VALUE" + ("; see --with" if equals else ""))
        said[key] = value
    return said


def score(
    run: options.RunArgument,
    bench: options.BenchOption = None,
    rules: options.RulesOption = "eyetest",
    metric: options.MetricOption = None,
    rescore_given: options.RescoreOption = False,
    judge: Annotated[
        str | None, option("--judge", "A model that reads what the rules cannot (see eyetest run).", "SPEC")
    ] = None,
    sentences: Annotated[
        str | None, option("--sentences", "A model that says which sentences describe and which analyse.", "SPEC")
    ] = None,
    models: Annotated[Path | None, option("--models", "A models.yaml to take judges from.", "FILE")] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Read and score every answer of a run, into RUN/scores/RULES.parquet. Responses are never touched.

    Score again with other rules, another metric or other golds as often as you like; each keeps its own table. Calls
    that failed have no score.
    """
    scoring = Scoring(rules, bench, metric, rescore_given)
    table = job.write_scores(run, scoring, judge=judge, sentences=sentences, judges=models)
    summary, axes, planned = job.summarise(table)
    if as_json:
        print_json(summary)
        return
    groups, given = summary["groups"], summary["given"]
    counts = ["scored", *(kind for kind in (*job.KINDS, *job.OUTCOMES) if any(group[kind] for group in groups))]
    means = ["mean", *(["overall"] if any(group["overall"] is not None for group in groups) else [])]
    rows = [
        (
            *(as_written(group[name]) for name in (*axes, "metric")),
            *("–" if group[name] is None else f"{group[name]:.3f}" for name in means),
            *(f"{group[name]:,}" for name in counts),
        )
        for group in groups
    ]
    show_table([*axes, "metric"], [*means, *counts], rows)
    for line in scored_by_others(score_counts(pl.scan_parquet(table.path, glob=False))):
        note(line)
    if left_out := summary["left_out"]:
        name = table.benchmark.manifest.name
        note(f"{left_out:,} answers are about items that {name} does not have, and have no score")
    if reworded := summary["reworded"]:
        note(f"{reworded:,} answers are to a wording that people have changed since, and have no score")
    if unanswered := summary["unanswered"]:
        note(f"{unanswered:,} of {planned:,} planned calls have no answer")
    if given:
        kept = f"{counted(given, 'answer')} keep the score that others gave: no words or no gold to score by"
        note(kept if rescore_given else "--rescore-given scores by our rules what others scored")
    out.print(Text(f"{scoring.scorer.rules.version} → {safe(str(table.path))}", "dim"), soft_wrap=True)


_SHOWN = 2_000  # so many characters are shown of each end of a text that is longer than two times that
_STYLES: tuple[Marks, ...] = ("upper", "lower", "digit")
_COLOURS = {"chosen": "bold green", "refused": "yellow", "ambiguous": "yellow", "cut off": "red", "unparsed": "red"}


def read(
    text: Annotated[str, option("--text", "The reply.")],
    first: Annotated[list[str], option("--options", "The options in the order as shown.", "OPTION…")],
    others: Annotated[Words, typer.Argument(metavar="", hidden=True)] = None,
    rules: Annotated[str, option("--rules", "Whose rules, or `all`.", "NAME")] = "eyetest",
    marks: Annotated[str, option("--marks", "How options are marked: upper, lower or digit.", "NAME")] = "upper",
    as_json: JsonOption = False,
) -> None:
    """Read one reply to a choice question: which option it commits to, which rule says so, and where in the text."""
    options = [*first, *(others or ())]
    style = next((style for style in _STYLES if style == marks), None)
    if style is None:
        raise InputError(f'--marks: no such style as "{marks}"; {nearest(marks, _STYLES)}')
    if not 2 <= len(options) <= MAX_CHOICES:
        raise InputError(f"{len(options)} options; a choice has from 2 to {MAX_CHOICES}")
    names = list(RULE_SETS) if rules == "all" else [rules]
    readings = {name: read_choice(text, options, name, marks=style) for name in names}
    if as_json:
        print_json(readings if rules == "all" else readings[rules])
        return
    for name, reading in readings.items():
        out.print(_line(name, reading, options, style), soft_wrap=True)
    only = next(iter(readings.values()))
    if only.span and len(readings) == 1:
        out.print(marked(text, only.span), soft_wrap=True)


def marked(text: str, span: tuple[int, int] | None) -> Text:
    """A reply with the words that decided it. Of a long one, its ends and what stands around those words."""
    start, end = span or (0, 0)
    before, words, after = (safe(part, 2 * _SHOWN) for part in (text[:start], text[start:end], text[end:]))
    return Text.assemble(before, (words, "reverse"), after)


def _line(name: str, reading: Reading, options: list[str], style: Marks) -> Text:
    parts: list[str | tuple[str, str]] = [(f"{name}: ", "dim"), (reading.kind, _COLOURS[reading.kind])]
    if reading.index is not None:
        parts.append(f" {mark(style, reading.index)}. {safe(options[reading.index])}")
    by = f"by {reading.rule}" if reading.rule else ""
    why = ", ".join(filter(None, (by, reading.why, "would guess at random" if reading.would_guess else "")))
    return Text.assemble(*parts, (f"  ({why})" if why else "", "dim"))
