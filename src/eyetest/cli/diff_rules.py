"""``eyetest diff-rules``: on which answers two rule sets differ, and what that does to each model's score."""

from typing import Annotated, Any

import polars as pl
import typer
from rich.table import Table
from rich.text import Text

from eyetest.cli.score import BenchOption, MetricOption, RunArgument, find_benchmark, varied
from eyetest.cli.terminal import note, out, print_json, print_table, safe
from eyetest.measures.settings import as_written
from eyetest.results.scores import answers_of
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
    """List the answers that two rule sets read differently, and what it does to each model's score.

    Scores that others gave say nothing about either rule set: they stand apart, and only what the texts say counts.
    """
    scorers = [Scorer(name, metric) for name in (a, b)]
    found = Run(run)
    benchmark = find_benchmark(found, bench)
    answers = answers_of(found, benchmark)
    texts = answers.with_columns(pl.lit(None, pl.Float64).alias("given"))
    with one_line_if_damaged(found.path):
        one, other = (score_table(texts, benchmark, scorer).collect() for scorer in scorers)
        said = answers.select(*_KEY, "text", "given").collect().cast({pl.Categorical: pl.String})
    both = one.join(other.select(*_KEY, "reading", "choice", "rule", "score"), on=_KEY, suffix="_b")
    both = both.join(said, on=_KEY, how="left", maintain_order="left")
    axes = varied(both.lazy())
    effect = by_model(both, axes)
    different = both.filter(differs()).sort(_KEY)
    if as_json:
        print_json({"a": a, "b": b, "models": effect.to_dicts(), "answers": different.to_dicts()})
        return
    print_table(_effects(effect.to_dicts(), axes, a, b))
    if given := both.get_column("given").count():
        silent = both.filter(pl.col("given").is_not_null() & pl.col("text").is_null()).height
        note(
            f"{given:,} answers have a score that others gave (given), which is no part of {a} or {b}"
            + (f"; of {silent:,} of them nobody knows the text" if silent else "")
        )
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
            pl.col("given").mean(),
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
    given = ["given"] if any(row["given"] is not None for row in rows) else []
    for name in (a, b, *given, "difference", "read differently", "of"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        means = (f"{row[name]:.3f}" if row[name] is not None else "–" for name in ("a", "b", *given))
        change = f"{row['difference']:+.3f}" if row["difference"] is not None else "–"
        names = (Text(safe(as_written(row[name]))) for name in axes)
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
