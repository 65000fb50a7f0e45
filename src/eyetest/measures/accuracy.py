"""Accuracy: mean scores, yes/no questions (POPE), and scores beside guessing."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.errors import counted, naming_benchmark
from eyetest.measures.results import TAG, Measured, NotMeasurable, Results, Settings, measure, split, table_of
from eyetest.measures.stats.chance import guessing as expected_guesses
from eyetest.measures.stats.intervals import (
    Bools,
    ClusteredMeans,
    IntervalEstimate,
    Resampling,
    bounds,
    cluster_sums,
    mean,
    plain,
    resampled,
)
from eyetest.measures.stats.paired import is_verdict
from eyetest.measures.tables import mean_table, uneven_items
from eyetest.records import DIALOGUE, TURN, letter

_FEW_CLUSTERS = 20


@measure("accuracy", "mean score with its interval, by model, protocol and tag", unread="accuracy", pools=True)
def accuracy(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value; counts: ``n`` items with a score, ``missing`` others, ``answers`` (tests).
    Answers that were not read count as wrong; failed calls have no score and are left out. By turn of a dialogue:
    ``slope`` is the change from one turn to the next, within dialogues.
    """
    tags = results.by_tags(settings.by)
    keys, score = results.keys(settings.by), pl.col("score")
    of_item = (
        results.with_items("cluster", *tags)
        .group_by(*keys, "item", "cluster", *results.members)
        .agg(
            score.mean().alias("accuracy"),
            is_verdict(score).all().alias("accuracy binary"),
            score.count().cast(pl.Int64).alias("answers"),
            score.null_count().cast(pl.Int64).alias("unscored"),
        )
    )
    if results.members:
        of_item = of_item.group_by(*keys, "item", "cluster").agg(
            pl.col("accuracy").mean(), pl.col("accuracy binary").all(), pl.col("answers", "unscored").sum()
        )
    means = mean_table(of_item, keys, ["accuracy"], settings.level, sums=("answers", "unscored"))
    table = _with_missing(means, results.every_item(*tags), keys)
    if TURN in settings.by and DIALOGUE in results.tags:
        table = _with_slopes(table, results, keys, settings.level)
    same = (table.get_column("answers") == table.get_column("n")).all()
    spared = [*(["answers"] if same else []), *([] if table.get_column("unscored").sum() else ["unscored"])]
    return Measured(table.drop(spared), _notes(table, [k for k in keys if k != "model"]))


def _with_missing(table: pl.DataFrame, every: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Add beside ``n`` the number of missing items: of the benchmark, or of its part with a tag's value."""
    around = [key for key in keys if key in every.columns]
    if not around:
        return table.with_columns((len(every) - pl.col("n")).alias("missing"))
    there = every.group_by(around).len("there").cast({key: table.schema[key] for key in around})
    joined = table.join(there, on=around, how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns((pl.col("there").cast(pl.Int64) - pl.col("n")).alias("missing")).drop("there")


def _with_slopes(table: pl.DataFrame, results: Results, keys: Sequence[str], level: float) -> pl.DataFrame:
    """The table with the slope of each series; a dialogue is in one cluster with all others about its images."""
    turn, dialogue = TAG + TURN, TAG + DIALOGUE
    series, within = [key for key in keys if key != turn], [*(key for key in keys if key != turn), dialogue]
    x, y = pl.col(turn).cast(pl.Float64, strict=False), pl.col("score")
    moved = x - x.mean().over(within)
    rows = (
        results.per_item([*keys, dialogue])
        .drop_nulls([turn, dialogue])
        .with_columns(pl.col("cluster").min().over(*(key for key in keys if key == "benchmark"), dialogue))
        .with_columns((moved * (y - y.mean().over(within))).alias("xy"), (moved**2).alias("xx"))
        .filter(pl.col("xx").sum().over(within) > 0)
    )
    slopes = []
    for key, part in split(rows, series):
        sums, sizes = cluster_sums(part.select("xy", "xx").to_numpy(), part.get_column("cluster")).T[:, None]
        ends = bounds(ClusteredMeans.of(sums, sizes, [False]), level)  # a slope is a mean with the weights ``xx``
        value, low, high = plain([sums.sum() / sizes.sum(), *np.ravel(ends)])
        slope = IntervalEstimate(value, low, high)
        slopes.append(key | slope.named("slope") | {"dialogues": part.get_column(dialogue).n_unique()})
    if not slopes:
        return table
    found = table_of(slopes).cast({key: table.schema[key] for key in series})
    return table.join(found, on=series, how="left", nulls_equal=True, maintain_order="left")


def _notes(table: pl.DataFrame, around: Sequence[str]) -> tuple[str, ...]:
    """Notes on the table's limits: models compared on other items, intervals from few clusters."""
    n, clusters = pl.col("n"), pl.col("clusters")
    known = table.filter(n > 0)
    notes = uneven_items(known, around)
    if few := len(known.filter((clusters < _FEW_CLUSTERS) & (clusters < n))):
        notes.append(f"{counted(few, 'row')} of fewer than {_FEW_CLUSTERS} clusters: intervals may be too narrow")
    return tuple(notes)


@measure(
    "yes-no", "questions to be answered yes or no (POPE): precision, recall, F1 and the share of yes", pools=True
)
def yes_no(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value; ``gold_yes`` is how often yes is right, ``unread`` the share of answers that
    say neither, and of failed calls.
    """
    keys = results.keys(settings.by)
    rows = []
    for key, asked in split(_yes_answers(results, settings, keys), keys):
        part = asked.drop_nulls("score")
        if part.is_empty():
            continue
        gold, yes = (part.get_column(name).to_numpy().astype(bool) for name in ("yes", "answered_yes"))
        right, clusters = part.get_column("right").to_numpy().astype(bool), part.get_column("cluster").to_numpy()
        row = key | mean(right, clusters, settings.level).named("accuracy")
        row |= {"unread": asked.get_column("unread").mean()}
        row |= mean(gold[yes], clusters[yes], settings.level).named("precision")
        row |= mean(yes[gold], clusters[gold], settings.level).named("recall")
        row |= f1(gold, yes, clusters, settings).named("f1")
        row |= mean(yes, clusters, settings.level).named("yes_rate")
        rows.append(row | {"gold_yes": float(gold.mean()), "n": len(part)})
    if not rows:
        raise NotMeasurable(
            "yes-no: no answer in words to an item whose gold is yes or no; "
            f"where the golds are not known, {naming_benchmark()}"
        )
    others = int(results.items.get_column("yes").is_null().sum())
    notes = [f"left out: {counted(others, 'item')} whose gold is neither yes nor no"] if others else []
    if any(row["unread"] for row in rows):
        notes.append("an answer that says neither is wrong and no yes; POPE's own script takes it for a yes")
    return Measured(table_of(rows), tuple(notes))


def _yes_answers(results: Results, settings: Settings, keys: list[str]) -> pl.DataFrame:
    """A row per answer to such an item: whether yes is right, whether it was answered, whether that is right."""
    right = pl.col("score") >= 1
    other = pl.col("says") == pl.when("yes").then(pl.lit("no")).otherwise(pl.lit("yes"))
    read = right | pl.when(pl.col("options").is_null()).then(other).otherwise(pl.col("reading") == "chosen")
    unread = ~read.fill_null(value=False)
    return (
        results.with_items("cluster", "yes", "options", by=settings.by)
        .filter(pl.col("yes").is_not_null())
        .join(results.replies.select("benchmark", "request", "says"), on=("benchmark", "request"), how="left")
        .with_columns(unread.alias("unread"), right.fill_null(value=False).alias("right"))
        .with_columns((~pl.col("unread") & (pl.col("right") == pl.col("yes"))).alias("answered_yes"))
        .sort(*keys, "item", "template", "order", "letters", "sample")
        .collect(engine="streaming")
    )


def f1(gold: Bools, yes: Bools, clusters: NDArray[Any], settings: Settings) -> IntervalEstimate:
    """Harmonic mean of precision and recall, 2·hits / (yes answers + yes golds), its interval by resampling."""
    parts = np.column_stack([2.0 * (gold & yes), yes.astype(float) + gold])
    how = Resampling(clusters, settings.level, settings.resamples, settings.seed)
    return resampled(parts, lambda sums: sums[:, :1] / sums[:, 1:], how)[0]


_BASELINES = {"random": pl.Float64, "frequent": pl.Float64, "letter": pl.String, "items": pl.Int64}


@measure(
    "guessing",
    "accuracy on items with options beside random guessing on the same, and what guessing scores on the benchmark; "
    "where people left items out, expected and paper (MMMU-Pro's Eq. 2, rounded to whole items)",
    unread="accuracy",
    pools=True,
)
def guessing(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value, over its items with options; of the benchmark, or of its part with the tag
    value, ``random`` and ``frequent`` (the most frequent ``letter``) over ``items``; only these if unanswered. Where
    items have no score, also what `_if_guessed` expects.
    """
    tags = results.by_tags(settings.by)
    keys = ["benchmark", *(key for key in results.keys(settings.by) if key != "benchmark")]
    options = results.items.drop_nulls("options").select(
        "benchmark", "item", (1 / pl.col("options")).alias("guessing")
    )
    scored = results.item_means(keys).rename({"score": "accuracy"}).join(options.lazy(), on=("benchmark", "item"))
    of_item = scored.with_columns((pl.col("accuracy") - pl.col("guessing")).alias("above"))
    choice = results.items.filter(pl.col("options").is_not_null() & pl.col("position").is_not_null())
    alone: list[dict[str, Any]] = []
    for key, part in split(choice.sort("benchmark", *tags), ["benchmark", *tags]):
        random, frequent, position = expected_guesses(part["options"].to_list(), part["position"].to_list())
        alone.append(key | {"random": random, "frequent": frequent, "letter": letter(position), "items": len(part)})
    table = mean_table(of_item, keys, ["accuracy", "above", "guessing"], settings.level, signed=["above"])
    if table.is_empty() and not alone:
        raise NotMeasurable(f"guessing: no item with options is known; {naming_benchmark()}")
    left = len(results.items) - len(choice)
    what = "without options or a known gold; in expected and paper an open item without a score counts 0"
    notes = (f"left out: {counted(left, 'item')} {what}",) if left else ()
    types = {"benchmark": pl.String, **dict.fromkeys(tags, pl.String), **_BASELINES}
    beside = pl.DataFrame(alone, schema=types)
    if table.is_empty():
        return Measured(beside, notes)
    table = table.join(beside, on=["benchmark", *tags], how="left", nulls_equal=True, maintain_order="left")
    order = ("guessing", pl.exclude(*keys, "guessing", "guessing_low", "guessing_high", "clusters"))
    table, guessed = table.select(*keys, *order), _if_guessed(results, keys, settings.level)
    if guessed.get_column("guessed").sum():
        table = table.join(guessed, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return Measured(table, notes)


def _if_guessed(results: Results, keys: Sequence[str], level: float) -> pl.DataFrame:
    """What each series would score if it guessed where it has no score (people, in MMMU-Pro); ``guessed`` counts
    these items.

    ``expected`` gives 1/options an item. ``paper`` is the paper's Eq. 2: with N items, r right ones and w without a
    score it is (r + ⌊(w/N)·w⌉)/N, where ⌊ ⌉ rounds to whole items, halves up. Its interval is that of the formula
    without rounding, moved with it.
    """
    tags, score = [key for key in keys if key.startswith(TAG)], pl.col("score")
    series, share = [key for key in keys if key not in tags], score.is_null().mean().over(keys)
    scored = results.per_item(series)
    rows = (
        scored.select(series)
        .unique()
        .join(results.items.select("benchmark", "item", "cluster", "options", *tags), on="benchmark")
        .join(scored.drop("cluster", "tests"), on=[*series, "item"], how="left")
        .with_columns(
            pl.coalesce("cluster", "item"),
            score.fill_null((1 / pl.col("options")).fill_null(0.0)).alias("expected"),
            (score.fill_null(2 * share) - share**2).alias("paper"),  # the share is estimated too: linearised
            score.is_null().cast(pl.Int64).alias("guessed"),
        )
    )
    table = mean_table(rows.lazy(), keys, ["expected", "paper"], level, sums=["guessed"])
    right_by_guessing = pl.col("guessed") ** 2 / pl.col("n")
    rounding = ((right_by_guessing + 0.5).floor() - right_by_guessing) / pl.col("n")
    rounded = [(pl.col(name) + rounding).clip(0, 1) for name in ("paper", "paper_low", "paper_high")]
    return table.with_columns(rounded).drop("n", "clusters")


MEASURES = (accuracy, yes_no, guessing)
