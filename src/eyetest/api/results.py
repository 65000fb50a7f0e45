"""Who answers, by whatever the user calls them; and what several runs found, together."""

import polars as pl

from eyetest.jobs import score as job
from eyetest.jobs.measure import Scoring, gather
from eyetest.jobs.opening import AnyRun, Bench, Models
from eyetest.measures import Results
from eyetest.records import Score, columns


def results(
    *runs: AnyRun,
    models: Models | None = None,
    rules: str = "eyetest",
    metric: str | None = None,
    bench: Bench | None = None,
    cluster: str = "auto",
    rescore_given: bool = False,
) -> Results:
    """What one or more runs found, together: ``scores`` (lazy) and ``items``, ready for every measure.

    Runs about the same benchmark complete each other. A run that was not scored yet is scored on the way. ``models``
    says what is known of models (language bases, sizes), ``bench`` gives other golds, ``cluster`` says what makes
    items depend on each other. ``rescore_given`` scores ourselves what others have scored.

    >>> found = et.results("run")
    >>> sorted(found.scores.select("model").unique().collect()["model"])
    ['language', 'seer', 'squinter']
    >>> et.measure.accuracy(found).frame.height
    6
    """
    return gather(runs, Scoring(rules, bench, metric, rescore_given, cluster, models))


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
    table = job.score(run, Scoring(rules, bench, metric, rescore_given))
    return pl.read_parquet(table.path, glob=False).select(columns(Score))
