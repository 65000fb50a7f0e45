"""``eyetest diff-rules``: on which answers two rule sets differ, and what that does to each model's score."""

from typing import Annotated, Any

import polars as pl
import typer
from rich.table import Table
from rich.text import Text

from eyetest.cli.score import BenchOption, MetricOption, RunArgument, find_benchmark, varied
from eyetest.cli.terminal import out, print_json, print_table, safe
from eyetest.running.scored import answers_of
from eyetest.runs import Run
from eyetest.runs.frames import one_line_if_damaged
from eyetest.scoring import Scorer
from eyetest.scoring.table import score_table

_KEY = ("item", "model", "sight", "ask", "shots", "template", "order", "marks", "method", "trial", "request")
_LONGEST = 70


def diff_rules(
    run: RunArgument,
    a: Annotated[str, typer.Option("--a", metavar="NAME", help="One rule set.")] = "eyetest",
    b: Annotated[str, typer.Option("--b", metavar="NAME", help="The other.")] = "mmmu",
    bench: BenchOption = None,
    metric: MetricOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="How many answers to list.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for another program, all of it.")] = False,
) -> None:
    """List the answers that two rule sets read differently, and what it does to each model's score."""
    scorers = [Scorer(name, metric) for name in (a, b)]
    found = Run(run)
    benchmark = find_benchmark(found, bench)
    answers = answers_of(found, benchmark)
    with one_line_if_damaged(found.path):
        one, other = (score_table(answers, benchmark, scorer).collect() for scorer in scorers)
    both = one.join(other.select(*_KEY, "reading", "choice", "rule", "score"), on=_KEY, suffix="_b")
    axes = varied(both.lazy())
    effect = by_model(both, axes)
    text = answers.select(*_KEY, "text").collect().cast({pl.Categorical: pl.String})
    different = both.filter(differs()).join(text, on=_KEY, how="left").sort(_KEY)
    if as_json:
        print_json({"a": a, "b": b, "models": effect.to_dicts(), "answers": different.to_dicts()})
        return
    print_table(_effects(effect.to_dicts(), axes, a, b))
    out.print(Text(f"\n{len(different):,} of {len(both):,} answers are read differently"))
    if limit and len(different):
        print_table(_answers(different.head(limit).to_dicts(), a, b))


def differs() -> pl.Expr:
    """Whether two readings say something else: another choice, or another kind where there is none."""
    kind = pl.col("reading").ne_missing(pl.col("reading_b"))
    return pl.col("choice").ne_missing(pl.col("choice_b")) | (kind & pl.col("choice").is_null())


def by_model(both: pl.DataFrame, axes: list[str]) -> pl.DataFrame:
    """Both mean scores of each model and condition."""
    return (
        both.group_by(axes)
        .agg(
            pl.col("score").mean().alias("a"),
            pl.col("score_b").mean().alias("b"),
            differs().sum().alias("differ"),
            pl.len().alias("n"),
        )
        .with_columns((pl.col("b") - pl.col("a")).alias("difference"))
        .sort("difference", *axes)
    )


def _effects(rows: list[dict[str, Any]], axes: list[str], a: str, b: str) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name in axes:
        table.add_column(name)
    for name in (a, b, "difference", "read differently", "of"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        means = (f"{row[name]:.3f}" if row[name] is not None else "–" for name in ("a", "b"))
        change = f"{row['difference']:+.3f}" if row["difference"] is not None else "–"
        names = (Text(safe(str(row[name]))) for name in axes)
        table.add_row(*names, *means, change, f"{row['differ']:,}", f"{row['n']:,}")
    return table


def _answers(rows: list[dict[str, Any]], a: str, b: str) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, expand=out.is_terminal)
    for name in ("item", "model", a, b):
        table.add_column(name, overflow="fold")
    table.add_column("the end of the reply", overflow="ellipsis", no_wrap=True, ratio=1)
    for row in rows:
        readings = (row["choice"] or row["reading"] or "–", row["choice_b"] or row["reading_b"] or "–")
        reply = " ".join(safe(row["text"] or "").split())
        end = reply if len(reply) <= _LONGEST else f"…{reply[-_LONGEST:]}"
        table.add_row(*(Text(safe(row[name])) for name in ("item", "model")), *readings, Text(end))
    return table
