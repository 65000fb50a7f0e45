"""``eyetest score``: read and score the answers of a run."""

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.table import Table
from rich.text import Text

from eyetest.benchmarks import Benchmark
from eyetest.cli import options
from eyetest.cli.conditions import telling_axes
from eyetest.cli.live import watching
from eyetest.cli.terminal import note, out, print_json, print_table, safe
from eyetest.measures.printed import score_counts, scored_by_others
from eyetest.measures.settings import as_written
from eyetest.models import parse_models
from eyetest.records import GIVEN, Condition
from eyetest.results.judge import judge_run
from eyetest.results.provenance import read_provenance
from eyetest.results.scores import answers_of, benchmark_of, score_run
from eyetest.runs import Run
from eyetest.scoring import Scorer
from eyetest.scoring.table import corpus_table
from eyetest.wording import counted

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
BenchOption = Annotated[
    Path | None,
    typer.Option(
        "--bench", metavar="BENCH", help="The benchmark (default: where the run found it); golds may have changed."
    ),
]
MetricOption = Annotated[
    str | None,
    typer.Option("--metric", metavar="NAME", help="For items without options (default: open, or vqa for votes)."),
]
RescoreOption = Annotated[
    bool,
    typer.Option(
        "--rescore-given", help="Score answers ourselves that others have scored, where their words are there."
    ),
]
_KINDS = ("refused", "ambiguous", "unparsed")
_OUTCOMES = ("blocked", "failed")


def score(
    run: RunArgument,
    bench: BenchOption = None,
    rules: Annotated[str, typer.Option("--rules", metavar="NAME", help="Whose reading rules.")] = "eyetest",
    metric: MetricOption = None,
    rescore_given: RescoreOption = False,
    judge: Annotated[
        str | None,
        typer.Option("--judge", metavar="SPEC", help="A model that reads what the rules cannot (see eyetest run)."),
    ] = None,
    models: Annotated[
        Path | None, typer.Option("--models", metavar="FILE", help="A models.yaml to take the judge from.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for another program.")] = False,
) -> None:
    """Read and score every answer of a run, into RUN/scores/RULES.parquet. Responses are never touched.

    Score again with other rules, another metric or other golds as often as you like; each keeps its own table. Calls
    that failed have no score.
    """
    scorer = Scorer(rules, metric, rescore_given=rescore_given)
    found = Run(run)
    judges = parse_models([judge], models) if judge else {}
    benchmark = find_benchmark(found, bench)
    place = score_run(found, benchmark, scorer)
    for entry in judges.items():
        read, progress = judge_run(found, benchmark, scorer, entry, watching)
        note(f"{entry[0]} read {read:,} of {progress.to_ask + progress.stored:,} replies that the rules could not")
    answers, scores = answers_of(found, benchmark), pl.scan_parquet(place, glob=False)
    axes = varied(scores)
    groups = summarise(scores, corpus_table(answers, benchmark, scores), axes).to_dicts()
    rows, given = scores.select(pl.len(), (pl.col("rule") == GIVEN).sum().alias(GIVEN)).collect().row(0)
    made = read_provenance(place)
    assert made is not None
    left_out = made.answered - made.reworded - rows
    if as_json:
        told = {"scores": str(place), "groups": groups, "left_out": left_out, "unanswered": made.unanswered}
        print_json(told | {"reworded": made.reworded, "given": given})
        return
    print_table(_table(groups, axes))
    for line in scored_by_others(score_counts(scores)):
        note(line)
    if left_out:
        note(f"{left_out:,} answers are about items that {benchmark.manifest.name} does not have, and have no score")
    if made.reworded:
        note(f"{made.reworded:,} answers are to a wording that people have changed since, and have no score")
    if made.unanswered:
        note(f"{made.unanswered:,} of {made.planned:,} planned calls have no answer")
    if given:
        kept = f"{counted(given, 'answer')} keep the score that others gave: no words or no gold to score by"
        note(kept if rescore_given else "--rescore-given scores by our rules what others scored")
    out.print(Text(f"{scorer.rules.version} → {safe(str(place))}", "dim"), soft_wrap=True)


def find_benchmark(run: Run, bench: Path | None) -> Benchmark:
    """The benchmark of a run, by the user's word or by the run's own."""
    named = options.open_with_bar(bench, options.read_options(allow_missing_gold=True)) if bench else None
    return benchmark_of(run, named)


def varied(rows: pl.LazyFrame) -> list[str]:
    """The axes that tell groups of rows apart."""
    counts = rows.select(pl.col(Condition.__struct_fields__).n_unique()).collect().row(0, named=True)
    return telling_axes(counts.__getitem__)


def summarise(scores: pl.LazyFrame, corpora: pl.DataFrame, axes: list[str]) -> pl.DataFrame:
    """Mean score and what stood in its way, by model and condition; of captions, also that of the whole corpus."""
    kinds = [(pl.col("reading") == kind).sum().alias(kind) for kind in _KINDS]
    outcomes = [(pl.col("outcome") == outcome).sum().alias(outcome) for outcome in _OUTCOMES]
    group = [*axes, "metric"]
    overall = corpora.lazy().group_by(group).agg(pl.col("overall").mean())
    return (
        scores.group_by(group)
        .agg(pl.col("score").mean().alias("mean"), pl.col("score").count().alias("scored"), *kinds, *outcomes)
        .join(overall, on=group, how="left")
        .sort(group)
        .collect()
    )


def _table(groups: list[dict[str, Any]], axes: list[str]) -> Table:
    counts = ["scored", *(kind for kind in (*_KINDS, *_OUTCOMES) if any(group[kind] for group in groups))]
    means = ["mean", *(["overall"] if any(group["overall"] is not None for group in groups) else [])]
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in (*axes, "metric"):
        table.add_column(name)
    for name in (*means, *counts):
        table.add_column(name, justify="right", no_wrap=True)
    for group in groups:
        names = (Text(safe(as_written(group[name]))) for name in (*axes, "metric"))
        values = ("–" if group[name] is None else f"{group[name]:.3f}" for name in means)
        table.add_row(*names, *values, *(f"{group[name]:,}" for name in counts))
    return table
