"""``eyetest score``: read and score the answers of a run."""

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.table import Table
from rich.text import Text

from eyetest.benchmarks import Benchmark
from eyetest.cli import options
from eyetest.cli.terminal import out, print_json, safe
from eyetest.running.scored import benchmark_of, score_run
from eyetest.runs import Run
from eyetest.scoring import Scorer

RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
BenchOption = Annotated[
    Path | None,
    typer.Option("--bench", metavar="BENCH", help="The benchmark.  [default: where the run found it]"),
]
MetricOption = Annotated[
    str | None,
    typer.Option("--metric", metavar="NAME", help="For items without options.  [default: open, or vqa for votes]"),
]
_KINDS = ("refused", "ambiguous", "unparsed")


def score(
    run: RunArgument,
    bench: BenchOption = None,
    rules: Annotated[str, typer.Option("--rules", metavar="NAME", help="Whose reading rules.")] = "eyetest",
    metric: MetricOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for another program.")] = False,
) -> None:
    """Read and score every answer of a run, into RUN/scores/RULES.parquet. Responses are never touched.

    Score again with other rules as often as you like; each keeps its own table. Calls that failed have no score.
    """
    scorer = Scorer(rules, metric)
    found = Run(run)
    place = score_run(found, find_benchmark(found, bench), scorer)
    summary = summarise(pl.scan_parquet(place))
    if as_json:
        print_json({"scores": str(place), "groups": summary.to_dicts()})
        return
    out.print(_table(summary.to_dicts()))
    out.print(Text(f"{scorer.rules.version} → {safe(str(place))}", "dim"), soft_wrap=True)


def find_benchmark(run: Run, bench: Path | None) -> Benchmark:
    """The benchmark of a run, by the user's word or by the run's own."""
    named = options.open_with_bar(bench, options.read_options(allow_missing_gold=True)) if bench else None
    return benchmark_of(run, named)


def summarise(scores: pl.LazyFrame) -> pl.DataFrame:
    """Mean score and what stood in its way, by model and condition."""
    kinds = [(pl.col("reading") == kind).sum().alias(kind) for kind in _KINDS]
    return (
        scores.group_by("model", "sight", "ask", "metric")
        .agg(
            pl.col("score").mean().alias("mean"),
            pl.col("score").count().alias("scored"),
            *kinds,
            (pl.col("outcome") == "failed").sum().alias("failed"),
        )
        .sort("model", "sight", "ask", "metric")
        .collect()
    )


def _table(groups: list[dict[str, Any]]) -> Table:
    shown = [kind for kind in (*_KINDS, "failed") if any(group[kind] for group in groups)]
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in ("model", "sight", "ask", "metric"):
        table.add_column(name)
    for name in ("mean", "scored", *shown):
        table.add_column(name, justify="right")
    for group in groups:
        mean = "–" if group["mean"] is None else f"{group['mean']:.3f}"
        names = (Text(safe(str(group[name]))) for name in ("model", "sight", "ask", "metric"))
        table.add_row(*names, mean, *(f"{group[name]:,}" for name in ("scored", *shown)))
    return table
