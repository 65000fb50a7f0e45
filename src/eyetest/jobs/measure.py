"""What answers come to: scores of one or more runs, and a measure of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError, heading
from eyetest.jobs.opening import (
    AnyRun,
    Bench,
    Models,
    model_entries,
    observer,
    open_bench,
    open_run,
    open_runs,
    several,
)
from eyetest.measures import MEASURES, Measured, Results, Settings
from eyetest.measures.agreement import FEWEST_ITEMS, TOO_FEW, decisions_agreement
from eyetest.measures.printed import caveats
from eyetest.measures.results import (
    EXTERNAL,
    Wanted,
    as_written,
    narrowed,
    only_models,
    own_settings,
    read_external,
    read_where,
)
from eyetest.models.specs import parse_models
from eyetest.records import GIVEN, Condition, Score, columns, tag_word
from eyetest.results.gather import results_of
from eyetest.results.judge import judge_run, label_sentences
from eyetest.results.scores import answers_of, benchmark_of, read_provenance, score_run
from eyetest.review import read_decisions, votes_table
from eyetest.review.project import decisions_in, is_review
from eyetest.runs import Run
from eyetest.runs.stored import one_line_if_damaged, responses_frame
from eyetest.scoring import Scorer
from eyetest.scoring.scorer import corpus_table
from eyetest.store.urls import local_path

Measurable = AnyRun | Results | Sequence[AnyRun]
"""What can be measured: a run, several of them, or results."""
Where = str | Iterable[str] | Mapping[str, Any]
_FEWEST_RESAMPLES = 100


@dataclass(frozen=True)
class Scoring:
    """By whose rules answers count, by which golds, and what is known of the models."""

    rules: str = "eyetest"
    bench: Bench | None = None
    metric: str | None = None
    rescore_given: bool = False
    cluster: str = "auto"
    models: Models | None = None
    model: Sequence[str] = ()
    """Only these models, where any is named."""
    without: Sequence[str] = ()
    """All but these."""

    @property
    def scorer(self) -> Scorer:
        """What reads and scores."""
        return Scorer(self.rules, self.metric, rescore_given=self.rescore_given)


AS_USUAL = Scoring()


def gather(
    runs: Measurable,
    scoring: Scoring = AS_USUAL,
    tell: Callable[[str], None] | None = None,
) -> Results:
    """What some runs found, together; one that was not scored yet is scored on the way, of which ``tell`` hears."""
    if isinstance(runs, Results):
        return runs
    opened, scorer = open_runs(runs), scoring.scorer
    golds = None if scoring.bench is None else open_bench(scoring.bench)
    known = None if scoring.models is None else model_entries(scoring.models)
    found = results_of(opened, scorer, scoring.cluster, golds, known, tell or observer().busy)
    return only_models(found, scoring.model, scoring.without)


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


def settings(
    by: str | Sequence[str], level: float, seed: int, resamples: int, own: Mapping[str, Any] | None = None
) -> Settings:
    """How to measure, checked."""
    if not 0.5 <= level < 1 or resamples < _FEWEST_RESAMPLES:
        raise InputError(
            f"{heading('level')}: from 0.5 to 0.999; {heading('resamples')}: at least {_FEWEST_RESAMPLES}"
        )
    return Settings(tuple(several(by)), level, seed, resamples, dict(own or {}))


def own_words(name: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """A measure's own settings by what was said of them; a score from outside may be a file."""
    own = dict(said)
    if isinstance(own.get(EXTERNAL), str | Path):
        own[EXTERNAL] = read_external(local_path(own[EXTERNAL]))
    return own_settings(MEASURES[name], own)


def measure(
    name: str, runs: Measurable, how: Settings, *, where: Where = (), scoring: Scoring = AS_USUAL
) -> Measured:
    """Measure the scores that ``where`` allows; beside what the measure notes stands what is odd about the scores."""
    kept = narrowed(gather(runs, scoring), wanted(where))
    measured = MEASURES[name].measure(kept, how)
    return replace(measured, notes=(*measured.notes, *caveats(kept)))


def is_of_people(path: Path) -> bool:
    """Whether somebody points at what people decided: a table, or the folder of a review."""
    return path.is_file() or is_review(path)


def measure_people(places: Sequence[Path], how: Settings) -> Measured:
    """How far people agree, from tables of decisions that they filled in and from reviews."""
    read = [decisions_in(path) if is_review(path) else read_decisions(path) for path in places]
    decided = [one for decisions in read for of_item in decisions.values() for one in of_item]
    table = decisions_agreement(votes_table(decided), how)
    return Measured(table, (TOO_FEW,) if (table["n"] < FEWEST_ITEMS).any() else ())


def with_sights(where: Sequence[str], sights: Sequence[str]) -> list[str]:
    """What somebody said of the scores that count, with the sights that were named by themselves."""
    return [*where, *([f"sight={','.join(sights)}"] if sights else [])]


def wanted(where: Where) -> list[Wanted]:
    """What a user said of the scores that count, in words or in values."""
    if not isinstance(where, Mapping):
        return read_where([where] if isinstance(where, str) else where)
    values = {column: value if isinstance(value, list | tuple | set) else [value] for column, value in where.items()}
    return [
        (column, [word for value in some for word in (as_written(value), tag_word(value)) if word is not None])
        for column, some in values.items()
    ]


KINDS = ("refused", "ambiguous", "cut off", "unparsed")
OUTCOMES = ("blocked", "failed")
_ALWAYS_TOLD = ("model", "sight", "ask")
_MOST_TOLD = 30  # an axis of more values, such as an order for each item, would make a list and no summary


class ScoreTable(NamedTuple):
    """Where the scores of a run lie, and what they are of."""

    run: Run
    benchmark: Benchmark
    path: Path


def write_scores(
    run: AnyRun,
    scoring: Scoring = AS_USUAL,
    *,
    judge: str | None = None,
    sentences: str | None = None,
    judges: Path | None = None,
) -> ScoreTable:
    """Score a run into its folder; a judge, by a spec or by its name in a file of models, reads what rules cannot.

    ``sentences`` is a judge as well: it says which sentences of replies describe and which analyse.
    """
    scorer, opened = scoring.scorer, open_run(run)
    entries, labellers = (parse_models([spec], judges) if spec else {} for spec in (judge, sentences))
    benchmark = find_benchmark(opened, scoring.bench)
    path = score_run(opened, benchmark, scorer)
    for entry in entries.items():
        read, progress = judge_run(opened, benchmark, scorer, entry, observer().watch)
        asked = progress.to_ask + progress.stored
        observer().note(f"{entry[0]} read {read:,} of {asked:,} replies that the rules could not")
    for entry in labellers.items():
        read, progress = label_sentences(opened, benchmark, entry, watch=observer().watch)
        asked = progress.to_ask + progress.stored
        observer().note(f"{entry[0]} labelled the sentences of {read:,} of {asked:,} replies")
    return ScoreTable(opened, benchmark, path)


def find_benchmark(run: Run, bench: Bench | None) -> Benchmark:
    """The benchmark of a run, by the user's word or by the run's own."""
    return benchmark_of(run, None if bench is None else open_bench(bench))


def summarise(table: ScoreTable) -> tuple[dict[str, Any], list[str], int]:
    """Means and counts by model and condition and what has no score; the axes that vary; calls that were planned."""
    scores = pl.scan_parquet(table.path, glob=False)
    axes = varied(scores)
    corpora = corpus_table(answers_of(table.run, table.benchmark), table.benchmark, scores)
    rows, given = scores.select(pl.len(), (pl.col("rule") == GIVEN).sum().alias(GIVEN)).collect().row(0)
    made = read_provenance(table.path)
    assert made is not None
    told = {
        "scores": str(table.path),
        "groups": _groups(scores, corpora, axes).to_dicts(),
        "left_out": made.answered - made.reworded - rows,
        "unanswered": made.unanswered,
        "reworded": made.reworded,
        "given": given,
    }
    return told, axes, made.planned


def varied(rows: pl.LazyFrame) -> list[str]:
    """The axes that tell groups of rows apart."""
    counts = rows.select(pl.col(Condition.__struct_fields__).n_unique()).collect().row(0, named=True)
    return telling_axes(counts.__getitem__)


def telling_axes(different: Callable[[str], int]) -> list[str]:
    """What tells groups of answers apart: model, sight, ask, and every other axis that takes a few values."""
    others = [axis for axis in Condition.__struct_fields__ if axis not in _ALWAYS_TOLD]
    return [*_ALWAYS_TOLD, *(axis for axis in others if 1 < different(axis) <= _MOST_TOLD)]


def _groups(scores: pl.LazyFrame, corpora: pl.DataFrame, axes: list[str]) -> pl.DataFrame:
    """Mean score and what stood in its way, by model and condition; of captions, also that of the whole corpus."""
    kinds = [(pl.col("reading") == kind).sum().alias(kind) for kind in KINDS]
    outcomes = [(pl.col("outcome") == outcome).sum().alias(outcome) for outcome in OUTCOMES]
    group = [*axes, "metric"]
    overall = corpora.lazy().group_by(group).agg(pl.col("overall").mean())
    return (
        scores.group_by(group)
        .agg(pl.col("score").mean().alias("mean"), pl.col("score").count().alias("scored"), *kinds, *outcomes)
        .join(overall, on=group, how="left")
        .sort(group)
        .collect()
    )


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
    table = write_scores(run, Scoring(rules, bench, metric, rescore_given))
    scores = pl.read_parquet(table.path, glob=False).select(columns(Score))
    if not replies:
        return scores
    with one_line_if_damaged(table.run.path):
        said = responses_frame(table.run.path).select("request", pl.col("text").alias("reply")).collect()
    return scores.join(said, on="request", how="left", maintain_order="left")
