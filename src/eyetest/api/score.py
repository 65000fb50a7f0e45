"""Every answer of a run with its reading and its score, as a table."""

import polars as pl

from eyetest.api.open_ import AnyRun, Bench, as_run, opened
from eyetest.records import Score, columns
from eyetest.results.scores import benchmark_of, score_run
from eyetest.scoring import Scorer


def score(
    run: AnyRun,
    *,
    rules: str = "eyetest",
    metric: str | None = None,
    bench: Bench | None = None,
    rescore_given: bool = False,
) -> pl.DataFrame:
    """Read and score every answer of a run; one row an answer, with the rule that read it.

    The table is also kept in the run, beside those of other rules, metrics and golds. Responses are never touched; a
    call that failed has no score. ``rescore_given`` scores what others have scored, where its words are there.

    >>> table = et.score("run")
    >>> table.height
    720
    >>> table["score"].max()
    1.0
    """
    found = as_run(run)
    about = benchmark_of(found, None if bench is None else opened(bench))
    place = score_run(found, about, Scorer(rules, metric, rescore_given=rescore_given))
    return pl.read_parquet(place, glob=False).select(columns(Score))
