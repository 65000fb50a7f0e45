"""The value of guessing: random and frequent choice, models beside it, and people who guess what they left out."""

from dataclasses import replace
from math import floor
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from eyetest.errors import InputError, nearest, param
from eyetest.measures.means import mean_table
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings, measure, split, values_of
from eyetest.measures.stats.chance import guessing
from eyetest.measures.stats.intervals import NOTHING, IntervalEstimate, mean, percentiles, resampled_means
from eyetest.records import letter
from eyetest.wording import counted, listed

FORMULAS = ("expected", "paper")


@measure("baselines", "what random and most-frequent-letter guessing score, overall and by tag")
def baselines(results: Results, settings: Settings) -> Measured:
    """One row a benchmark and tag value."""
    tags = results.by_tags(settings.by)
    choice = results.items.filter(pl.col("options").is_not_null() & pl.col("position").is_not_null())
    rows: list[dict[str, Any]] = []
    for key, part in split(choice.sort("benchmark", *tags), ["benchmark", *tags]):
        of = guessing(part.get_column("options").to_list(), part.get_column("position").to_list())
        rows.append(key | {"random": of.random, "frequent": of.frequent, "letter": letter(of.position), "n": of.n})
    if not rows:
        raise NotMeasurable(f"baselines: no item with options is known; name the benchmark with {param('bench')}")
    left = len(results.items) - len(choice)
    notes = (f"left out: {counted(left, 'item')} without options or a known gold",) if left else ()
    return Measured(pl.DataFrame(rows, infer_schema_length=None), notes)


@measure(
    "above-guessing",
    "accuracy on items with options, beside what random guessing scores on the same items",
    unread="accuracy",
)
def above_guessing(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value; items without options, which cannot be guessed at, are left out."""
    keys = results.keys(settings.by)
    of_item = (
        results.with_items("cluster", "options", by=settings.by)
        .filter(pl.col("options").is_not_null() & pl.col("score").is_not_null())
        .group_by(*keys, "item", "cluster", maintain_order=True)
        .agg(pl.col("score").mean().alias("accuracy"), (1 / pl.col("options").first()).alias("guessing"))
        .with_columns((pl.col("accuracy") - pl.col("guessing")).alias("above"))
    )
    table = mean_table(of_item, keys, ["accuracy", "above", "guessing"], settings.level, signed=["above"])
    if table.is_empty():
        raise NotMeasurable("above-guessing: no answer to an item with options has a score")
    spared = ("guessing_low", "guessing_high", "clusters")
    return Measured(table.select(*keys, "guessing", pl.exclude(*keys, "guessing", *spared)))


def expected(
    scores: ArrayLike, guesses: ArrayLike, clusters: ArrayLike | None = None, level: float = 0.95
) -> IntervalEstimate:
    """The mean over items, one without a score (nan) counting as an average guess."""
    known = np.asarray(scores, float)
    return mean(np.where(np.isnan(known), np.asarray(guesses, float), known), clusters, level)


def papers(
    scores: ArrayLike, clusters: ArrayLike | None = None, settings: Settings | None = None
) -> IntervalEstimate:
    """MMMU-Pro's Eq. 2: of w items without a score among n, round(w · w/n) count as right."""
    known = np.asarray(scores, float)
    settings, total = settings or Settings(), len(known)
    if not total:
        return NOTHING
    without = np.isnan(known)
    right = np.where(without, 0.0, known)
    guessed = floor(without.sum() ** 2 / total + 0.5)
    groups = np.arange(total) if clusters is None else clusters
    drawn = resampled_means(np.column_stack([right, without]), groups, settings.resamples, settings.seed)
    low, high = percentiles(drawn[:, 0] + drawn[:, 1] ** 2, settings.level)
    return IntervalEstimate(float((right.sum() + guessed) / total), low, high, total)


@measure(
    "human",
    "what people would score if they guessed where they gave no answer",
    {
        "model": ("human", "the model that stands for people; several with commas"),
        "formula": (
            "expected",
            "what an item without a score counts: expected (1/options) or paper (MMMU-Pro's Eq. 2)",
        ),
    },
)
def human(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value; ``guessed`` counts items without a score, ``accuracy`` is of the others."""
    formula = str(settings.own["formula"])
    if formula not in FORMULAS:
        raise InputError(f'no formula "{formula}"; {nearest(formula, FORMULAS)}')
    wanted = [name.strip() for name in str(settings.own["model"]).split(",")]
    models = values_of(results, "model")
    if unknown := [name for name in wanted if name not in models]:
        known = f"say who stands for people (model=NAME). Known: {listed(models, 9)}"
        raise NotMeasurable(f'human: nothing by "{unknown[0]}"; {known}')
    people = replace(results, scores=results.scores.filter(pl.col("model").is_in(wanted)))
    tags, keys = results.by_tags(settings.by), people.keys()
    of_series = ["benchmark", *(key for key in keys if key != "benchmark")]
    scored = people.per_item(of_series)
    if not len(results.items) or not len(scored):
        raise NotMeasurable("human: the items, or any score of these people, are not known; name the benchmark")
    series = scored.select(of_series).unique()
    rows = (
        series.join(results.items.select("benchmark", "item", "cluster", "options", *tags), on="benchmark")
        .join(scored.drop("cluster", "tests"), on=[*of_series, "item"], how="left")
        .with_columns(pl.coalesce("cluster", "item"), (1 / pl.col("options")).fill_null(0.0).alias("guess"))
        .sort(*keys, *tags, "item")
    )
    table = [key | _row(part, formula, settings) for key, part in split(rows, [*keys, *tags])]
    open_ended = rows.filter(pl.col("score").is_null() & pl.col("options").is_null())
    note = "an item without options cannot be guessed: where it has no score it counts 0"
    told = (note,) if formula == "expected" and len(open_ended) else ()
    return Measured(pl.DataFrame(table, infer_schema_length=None), told)


def _row(items: pl.DataFrame, formula: str, settings: Settings) -> dict[str, Any]:
    scores, clusters = items.get_column("score").cast(pl.Float64).to_numpy(), items.get_column("cluster").to_numpy()
    if formula == "paper":
        estimate = papers(scores, clusters, settings)
    else:
        estimate = expected(scores, items.get_column("guess").to_numpy(), clusters, settings.level)
    known = items.get_column("score")
    counts = {"accuracy": known.mean(), "guessed": known.null_count(), "n": estimate.n}
    return {"formula": formula} | estimate.named("estimate") | counts


MEASURES = (baselines, above_guessing, human)
