"""What answers come to: their scores, as a table or ready for measures, and who is better by them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from eyetest.api.views import card, words_of
from eyetest.jobs import compare as comparing
from eyetest.jobs import score as scoring
from eyetest.jobs.measure import Measurable, Scoring, Where, gather, settings
from eyetest.jobs.opening import AnyRun, Bench, Models
from eyetest.measures import Results, Settings
from eyetest.measures.compare import Contest, flips_of
from eyetest.measures.printed import plain
from eyetest.records import Score, columns
from eyetest.runs.stored import one_line_if_damaged, responses_frame


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

    >>> results = et.results("run")
    >>> sorted(results.scores.select("model").unique().collect()["model"])
    ['language', 'seer', 'squinter']
    >>> et.measure.accuracy(results).frame.height
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
    replies: bool = True,
) -> pl.DataFrame:
    """Read and score every answer of a run; one row an answer, with the rule that read it and the ``reply`` itself.

    The table is also kept in the run, beside those of other rules, metrics and golds. Responses are never touched; a
    call that failed has no score. ``rescore_given`` scores what others have scored, where its words are there.
    Without ``replies`` the table stays small.

    >>> table = et.score("run")
    >>> table.height
    720
    >>> table["score"].max()
    1.0
    >>> table.filter(reading="unparsed").select("item", "model", "reply").height
    0
    """
    table = scoring.score(run, Scoring(rules, bench, metric, rescore_given))
    scores = pl.read_parquet(table.path, glob=False).select(columns(Score))
    if not replies:
        return scores
    with one_line_if_damaged(table.run.path):
        said = responses_frame(table.run.path).select("request", pl.col("text").alias("reply")).collect()
    return scores.join(said, on="request", how="left", maintain_order="left")


_MOST_SENTENCES = 40


@dataclass(frozen=True, repr=False)
class Compared:
    """Models held against each other, on the items that both of a pair answered.

    >>> compared = et.compare("run")
    >>> compared.ranking["model"][0]
    'seer'
    >>> {"a", "b", "difference", "verdict"} <= {*compared.frame.columns}
    True
    """

    results: Results
    contest: Contest
    settings: Settings
    notes: tuple[str, ...]

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row a pair: the difference, its interval, the test, and the verdict in one sentence."""
        return plain(self.contest.pairs)

    @cached_property
    def ranking(self) -> pl.DataFrame:
        """The models in order; those that cannot be told apart share a rank."""
        return plain(self.contest.ranking)

    @cached_property
    def flips(self) -> pl.DataFrame:
        """The items that only one model of a pair has right, to read.

        >>> et.compare("run", ["seer", "language"]).flips.columns[:2]
        ['a', 'b']
        """
        return plain(flips_of(self.results, self.contest))

    @property
    def sentences(self) -> list[str]:
        """What may be said of each pair.

        >>> len(et.compare("run", ["seer", "language"]).sentences)
        1
        """
        return self.frame["verdict"].to_list()

    def __repr__(self) -> str:
        return "\n".join([*self.sentences, *(f"note: {line}" for line in self.notes)])

    def _repr_html_(self) -> str:
        columns: list[dict[str, Any]] = words_of(self.ranking)
        left_out = max(0, len(self.sentences) - _MOST_SENTENCES)
        more = [f"and {left_out:,} more pairs in .frame"] if left_out else []
        return card("comparison", columns, [*more, *self.notes], sentences=self.sentences[:_MOST_SENTENCES])


def compare(
    runs: Measurable,
    models: str | Sequence[str] = (),
    *,
    sight: str | None = None,
    where: Where = (),
    all_pairs: bool = False,
    level: float = 0.95,
    power: float = 0.8,
    bootstrap: bool = False,
    resamples: int = 2_000,
    seed: int = 0,
) -> Compared:
    """Say who leads, by how much, and whether that is more than chance.

    With ``models``, all pairs of those; without, all are ranked and neighbours in the ranking are compared, or with
    ``all_pairs`` everybody. Where there are several sights it is under ``image``, unless ``sight`` names others
    (``"image,blind"``). Adjustments are for all pairs that were tested together.

    >>> print(et.compare("run", ["seer", "language"]))
    seer leads language ...
    """
    how = settings((), level, seed, resamples, {"power": power, "bootstrap": bootstrap})
    told = comparing.compare(runs, models, how, sight=sight, where=where, all_pairs=all_pairs)
    return Compared(told.results, told.contest, told.settings, told.notes)
