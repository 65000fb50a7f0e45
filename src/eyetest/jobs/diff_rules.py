"""On which answers two rule sets differ, and what that does to each model's score."""

from typing import NamedTuple

import polars as pl

from eyetest.jobs.opening import SILENT, AnyRun, Bench, Observer, open_run
from eyetest.jobs.score import find_benchmark, varied
from eyetest.records import Asked, columns
from eyetest.results.scores import answers_of
from eyetest.runs.stored import one_line_if_damaged
from eyetest.scoring import Scorer
from eyetest.scoring.scorer import score_table

_KEY = (*columns(Asked), "request")


class TwoReadings(NamedTuple):
    """Every answer as both rule sets read it, those that they read differently, and the mean scores of each group."""

    both: pl.DataFrame
    different: pl.DataFrame
    effect: pl.DataFrame
    axes: list[str]


def diff_rules(
    run: AnyRun,
    a: str,
    b: str,
    *,
    bench: Bench | None = None,
    metric: str | None = None,
    observer: Observer = SILENT,
) -> TwoReadings:
    """Read every answer by both. Scores that others gave are no part of either: only what the texts say counts."""
    scorers, opened = [Scorer(name, metric) for name in (a, b)], open_run(run)
    benchmark = find_benchmark(opened, bench, observer)
    answers = answers_of(opened, benchmark)
    texts = answers.with_columns(pl.lit(None, pl.Float64).alias("given"))
    with one_line_if_damaged(opened.path):
        one, other = (score_table(texts, benchmark, scorer).collect() for scorer in scorers)
        said = answers.select(*_KEY, "text", "given").collect().cast({pl.Categorical: pl.String})
    both = one.join(other.select(*_KEY, "reading", "choice", "rule", "score"), on=_KEY, suffix="_b")
    both = both.join(said, on=_KEY, how="left", maintain_order="left")
    axes = varied(both.lazy())
    return TwoReadings(both, both.filter(_differs()).sort(_KEY), _by_model(both, axes), axes)


def _differs() -> pl.Expr:
    """Whether two readings say something else: another choice, or another kind where there is none."""
    kind = pl.col("reading").ne_missing(pl.col("reading_b"))
    return pl.col("choice").ne_missing(pl.col("choice_b")) | (kind & pl.col("choice").is_null())


def _by_model(both: pl.DataFrame, axes: list[str]) -> pl.DataFrame:
    """Both mean scores of each model and condition."""
    return (
        both.group_by(axes)
        .agg(
            pl.col("score").mean().alias("a"),
            pl.col("score_b").mean().alias("b"),
            pl.col("given").mean(),
            _differs().sum().alias("differ"),
            pl.len().alias("n"),
        )
        .with_columns((pl.col("b") - pl.col("a")).alias("difference"))
        .sort("difference", *axes)
    )
