"""Every answer of a run read and scored, and what that comes to by model and condition."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.jobs.measure import AS_USUAL, Scoring
from eyetest.jobs.opening import SILENT, AnyRun, Bench, Observer, open_bench, open_run
from eyetest.models.specs import parse_models
from eyetest.records import GIVEN, Condition
from eyetest.results.judge import judge_run
from eyetest.results.provenance import read_provenance
from eyetest.results.scores import answers_of, benchmark_of, score_run
from eyetest.results.sentences import label_sentences
from eyetest.runs import Run
from eyetest.scoring.scorer import corpus_table

KINDS = ("refused", "ambiguous", "unparsed")
OUTCOMES = ("blocked", "failed")
_ALWAYS_TOLD = ("model", "sight", "ask")
_MOST_TOLD = 30
"""An axis of more values, such as an order for each item, would make a list and no summary."""


class ScoreTable(NamedTuple):
    """Where the scores of a run lie, and what they are of."""

    run: Run
    benchmark: Benchmark
    path: Path


def score(
    run: AnyRun,
    scoring: Scoring = AS_USUAL,
    *,
    judge: str | None = None,
    sentences: str | None = None,
    judges: Path | None = None,
    observer: Observer = SILENT,
) -> ScoreTable:
    """Score a run into its folder; a judge, by a spec or by its name in a file of models, reads what rules cannot.

    ``sentences`` is a judge as well: it says which sentences of replies describe and which analyse.
    """
    scorer, opened = scoring.scorer, open_run(run)
    entries, labellers = (parse_models([spec], judges) if spec else {} for spec in (judge, sentences))
    benchmark = find_benchmark(opened, scoring.bench, observer)
    path = score_run(opened, benchmark, scorer)
    for entry in entries.items():
        read, progress = judge_run(opened, benchmark, scorer, entry, observer.watch)
        asked = progress.to_ask + progress.stored
        observer.note(f"{entry[0]} read {read:,} of {asked:,} replies that the rules could not")
    for entry in labellers.items():
        read, progress = label_sentences(opened, benchmark, entry, watch=observer.watch)
        asked = progress.to_ask + progress.stored
        observer.note(f"{entry[0]} labelled the sentences of {read:,} of {asked:,} replies")
    return ScoreTable(opened, benchmark, path)


def find_benchmark(run: Run, bench: Bench | None, observer: Observer = SILENT) -> Benchmark:
    """The benchmark of a run, by the user's word or by the run's own."""
    return benchmark_of(run, None if bench is None else open_bench(bench, None, observer))


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
