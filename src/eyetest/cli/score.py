"""``eyetest score``: read and score the answers of a run."""

from pathlib import Path
from typing import Annotated

import polars as pl
from rich.text import Text

from eyetest.cli import options
from eyetest.cli.live import TERMINAL
from eyetest.cli.options import option
from eyetest.cli.tables import show_table
from eyetest.cli.terminal import note, out, print_json, safe
from eyetest.jobs import score as job
from eyetest.jobs.measure import Scoring
from eyetest.measures.printed import score_counts, scored_by_others
from eyetest.measures.settings import as_written
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
    models: Annotated[Path | None, option("--models", "A models.yaml to take the judge from.", "FILE")] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Read and score every answer of a run, into RUN/scores/RULES.parquet. Responses are never touched.

    Score again with other rules, another metric or other golds as often as you like; each keeps its own table. Calls
    that failed have no score.
    """
    scoring = Scoring(rules, bench, metric, rescore_given)
    table = job.score(run, scoring, judge=judge, judges=models, observer=TERMINAL)
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
