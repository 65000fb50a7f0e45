"""``eyetest score|diff-rules|read``: answers are read and scored, by one rule set or by two."""

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.text import Text

from eyetest.cli import options
from eyetest.cli.live import TERMINAL
from eyetest.cli.options import JsonOption, Words, option
from eyetest.cli.tables import show_table
from eyetest.cli.terminal import note, out, print_json, safe
from eyetest.errors import InputError, nearest
from eyetest.jobs import diff_rules as rules_job
from eyetest.jobs import score as job
from eyetest.jobs.measure import Scoring
from eyetest.measures.printed import score_counts, scored_by_others
from eyetest.measures.results import as_written
from eyetest.records import MAX_CHOICES, mark
from eyetest.records.tables import Marks
from eyetest.scoring import RULE_SETS, Reading, read_choice
from eyetest.wording import counted


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
    table = job.score(run, scoring, judge=judge, sentences=sentences, judges=models, observer=TERMINAL)
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


_LONGEST = 70


def diff_rules(
    run: options.RunArgument,
    a: Annotated[str, option("--a", "One rule set.", "NAME")] = "eyetest",
    b: Annotated[str, option("--b", "The other.", "NAME")] = "mmmu",
    bench: options.BenchOption = None,
    metric: options.MetricOption = None,
    limit: Annotated[int, option("--limit -n", "How many answers to list.", min=0)] = 20,
    as_json: options.AllJsonOption = False,
) -> None:
    """List the answers that two rule sets read differently, and what it does to each model's score.

    Scores that others gave say nothing about either rule set: they stand apart, and only what the texts say counts.
    """
    read = rules_job.diff_rules(run, a, b, bench=bench, metric=metric, observer=TERMINAL)
    both, different = read.both, read.different
    if as_json:
        print_json({"a": a, "b": b, "models": read.effect.to_dicts(), "answers": different.to_dicts()})
        return
    _show_effect(read, a, b)
    if given := both.get_column("given").count():
        silent = both.filter(pl.col("given").is_not_null() & pl.col("text").is_null()).height
        note(
            f"{given:,} answers have a score that others gave (given), which is no part of {a} or {b}"
            + (f"; of {silent:,} of them nobody knows the text" if silent else "")
        )
    out.print(Text(f"\n{len(different):,} of {len(both):,} answers are read differently"))
    if limit and len(different):
        show_table(
            ["item", "model", a, b, "the end of the reply"], [], map(_answer, different.head(limit).to_dicts())
        )


def _show_effect(read: rules_job.TwoReadings, a: str, b: str) -> None:
    groups = read.effect.to_dicts()
    means = {"a": a, "b": b} | ({"given": "given"} if any(row["given"] is not None for row in groups) else {})
    rows = [
        (
            *(as_written(row[name]) for name in read.axes),
            *("–" if row[name] is None else f"{row[name]:.3f}" for name in means),
            "–" if row["difference"] is None else f"{row['difference']:+.3f}",
            *(f"{row[name]:,}" for name in ("differ", "n")),
        )
        for row in groups
    ]
    show_table(read.axes, [*means.values(), "difference", "read differently", "of"], rows)


def _answer(row: dict[str, Any]) -> tuple[str, ...]:
    readings = (row["choice"] or row["reading"] or "–", row["choice_b"] or row["reading_b"] or "–")
    reply = " ".join(safe(row["text"] or "").split())
    return row["item"], row["model"], *readings, reply if len(reply) <= _LONGEST else f"…{reply[-_LONGEST:]}"


_SHOWN = 2_000
"""So many characters are shown of each end of a text that is longer than two times that."""
_STYLES: tuple[Marks, ...] = ("upper", "lower", "digit")
_COLOURS = {"chosen": "bold green", "refused": "yellow", "ambiguous": "yellow", "unparsed": "red"}


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
