"""Models together: ranks, spread, one overall score of several tasks (LIME), and correlations over models."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from eyetest.errors import InputError, counted, listed, param, short
from eyetest.measures import Measured, NotMeasurable, Results, Settings
from eyetest.measures.results import CAPTION_METRICS, TAG, UNREAD, measure, table_of, values_of
from eyetest.measures.stats.intervals import column_means, plain
from eyetest.measures.stats.paired import is_verdict
from eyetest.measures.stats.ranking import METHODS, gini, mean_ranks, separable_pairs, standings
from eyetest.measures.tables import (
    distinct_benchmarks,
    mean_columns,
    only_benchmarks,
    side_by_side,
    uneven_items,
    with_adjusted,
)

_UNEVEN = "models rest on different items: gini and sd mix who is better with which items are easier"
_NOTE = "gini rises when scores fall: separable pairs count models that differ significantly"


_OF_TAGS = ("mean_rank", "rank_of_mean_ranks")


@measure(
    "ranks",
    "rank of each model, its interval and shared rank; with tags also the rank of mean ranks over their values",
    unread="score",
)
def ranks(results: Results, settings: Settings) -> Measured:
    """One row a model, benchmark and protocol, best first; ``tie``: 1 + the number of significantly better models."""
    tags = results.by_tags(settings.by)
    around = results.families()
    over_tags = _mean_ranks(results, around, tags) if tags else {}
    there = Counter(results.every_item().get_column("benchmark"))
    rows: list[dict[str, Any]] = []
    for part in side_by_side(results, around):
        models = [str(model) for (model,) in part.columns]
        counts = (~np.isnan(part.scores)).sum(axis=0).tolist()
        places = standings(part.scores, part.clusters, settings.level)
        here = []
        for model, (rank, tie, score), n in zip(models, places, counts, strict=True):
            row = {**part.key, "model": model, **rank.named("rank"), "tie": tie, "score": score}
            if tags:
                of_tags = over_tags.get((*part.key.values(), model), (None, None))
                row |= dict(zip(_OF_TAGS, of_tags, strict=True))
            items = there[part.key["benchmark"]] if "benchmark" in part.key else there.total()
            here.append(row | {"n": n, "missing": items - n})
        rows += sorted(here, key=lambda row: row["rank"])
    if len({row["model"] for row in rows}) < 2:
        raise NotMeasurable("ranks: fewer than two models have scores; models are ranked against each other")
    table = table_of(rows, score=pl.Float64, tie=pl.Int64, **dict.fromkeys(_OF_TAGS if tags else (), pl.Float64))
    return Measured(table, tuple(uneven_items(table, around)))


def _mean_ranks(
    results: Results, around: list[str], tags: list[str]
) -> dict[tuple[Any, ...], tuple[float | None, float | None]]:
    """By benchmark, protocol and model. Each value of the tags, or combination of them, is one column of ranks."""
    by_model: dict[tuple[Any, ...], tuple[float | None, float | None]] = {}
    for part in side_by_side(results, around, (*tags, "model")):
        values = list(dict.fromkeys(column[:-1] for column in part.columns))
        models = sorted({column[-1] for column in part.columns})
        means = [column_means(part.table([(*value, model) for model in models])) for value in values]
        ranked = zip(*map(plain, mean_ranks(np.stack(means))), strict=True)
        by_model |= {(*part.key.values(), model): pair for model, pair in zip(models, ranked, strict=True)}
    return by_model


@measure("spread", "how far models lie apart: Gini, standard deviation, separable pairs")
def spread_of_models(results: Results, settings: Settings) -> Measured:
    """One row a benchmark, protocol and tag value with at least two models."""
    around = results.families(settings.by)
    rows, uneven = [], False
    for part in side_by_side(results, around):
        uneven |= bool(np.isnan(part.scores).any())
        if len(part.columns) < 2:
            continue
        means, pairs = column_means(part.scores), separable_pairs(part.scores, part.clusters, settings.level)
        values = {"gini": gini(means), "sd": float(means.std(ddof=1)), "separable": pairs.value}
        counts = {"apart": round((pairs.value or 0.0) * pairs.n), "pairs": pairs.n, "n": len(part.columns)}
        rows.append({**part.key, **values, **counts})
    if not rows:
        raise NotMeasurable("spread: only one model has scores; models are compared with each other, so add another")
    notes = (_NOTE, _UNEVEN) if uneven else (_NOTE,)
    return Measured(table_of(rows, **dict.fromkeys(("gini", "sd", "separable"), pl.Float64)), notes)


_ITEM = ("benchmark", "item", "cluster")


@measure(
    "overall",
    "overall score of each benchmark over its tasks: weighted and plain, with and without captioning, and by domain",
    {
        "task": ("", "the tag that names tasks (default: the tag task; of several benchmarks each one)"),
        "domain": ("", "a tag that joins tasks into domains"),
    },
    by_tag=False,
)
def overall(results: Results, settings: Settings) -> Measured:
    """Rows of one model and protocol: all tasks, without captions where there are some, then one row a domain.

    Of several benchmarks the first rows are about all of them that share no item, each of them a task; a benchmark
    that shares items with a larger one is left out of these and named. Then come the rows of each benchmark that has
    tasks of its own, or that shares items: they are what the benchmark alone would give.
    """
    tag = _task_tag(results, str(settings.own["task"]))
    names = values_of(results, "benchmark")
    if len(names) < 2:
        if tag is None:
            named_by = f"name the tag of tasks with {param('own', 'task=TAG')}"
            raise NotMeasurable(f"overall: there is one benchmark and no tag task; {named_by}")
        table = _over_its_tasks(results, tag, settings)
        return Measured(table, tuple(_notes(table)))
    together = distinct_benchmarks(results)
    parts = list[pl.DataFrame]()
    if len(together.names) > 1:
        task = tag if tag is not None and settings.own["task"] else "benchmark"
        table = _over_its_tasks(only_benchmarks(results, together.names), task, settings)
        parts.append(table.select(pl.lit(TOGETHER.format(len(together.names))).alias("benchmark"), pl.all()))
    for name in names:
        part = only_benchmarks(results, [name])
        has_tasks = tag is not None and part.items.get_column(tag).count() > 0
        if not has_tasks and not together.is_shared(name):
            continue
        try:
            table = _over_its_tasks(part, tag if has_tasks and tag else "benchmark", settings, results.protocol)
        except NotMeasurable:
            continue
        parts.append(table.select(pl.lit(name).alias("benchmark"), pl.all()))
    if not parts:
        raise NotMeasurable("overall: no answer has a score")
    table = pl.concat(parts, how="diagonal_relaxed")
    return Measured(table, (*together.notes, *_notes(table)))


TOGETHER = "{} benchmarks"


def _over_its_tasks(
    results: Results, task: str, settings: Settings, protocol: Sequence[str] | None = None
) -> pl.DataFrame:
    """The rows of one benchmark, or of several as one: ``task`` is the column that names tasks."""
    domain = results.by_tags([settings.own["domain"]]) if settings.own["domain"] else []
    if task in domain:
        raise InputError(f"domain: {short(settings.own['domain'])} names the tasks; name a tag that joins them")
    keys = ["model", *(results.protocol if protocol is None else protocol)]
    items = _scores_of_items(results, keys, list(dict.fromkeys([task, *domain])))
    tasks = _means_of_tasks(items, [*keys, task], settings.level)
    if not len(tasks):
        raise NotMeasurable("overall: no answer has a score")
    parts = [tasks.with_columns(over=pl.lit("all tasks"))]
    if tasks.get_column("captions").sum():
        bare = tasks.filter(captions=0).with_columns(over=pl.lit("without captions"))
        parts = [bare, tasks.with_columns(over=pl.lit("with captions"))]
    if domain:
        by_domain = _means_of_tasks(items, [*keys, task, *domain], settings.level)
        parts.append(by_domain.with_columns(pl.col(domain[0]).fill_null("").alias("over")).drop(domain))
    table = over_tasks(pl.concat(parts), [*keys, "over"])
    first = pl.col("over").replace_strict(_WHOLE, default=len(_WHOLE), return_dtype=pl.Int64)
    return table.sort(*keys, first, "over")


def _scores_of_items(results: Results, keys: Sequence[str], columns: Sequence[str]) -> pl.LazyFrame:
    """The mean score of each item of a series, with some columns of the item, and whether it is a caption."""
    score = pl.col("score")
    tags = [name for name in columns if name != "benchmark"]
    is_caption = pl.any_horizontal(pl.col("metric").cast(pl.String).str.starts_with(name) for name in CAPTION_METRICS)
    means = (
        results.with_items("cluster", *tags)
        .group_by(*keys, *tags, *_ITEM)
        .agg(
            score.mean(),
            is_verdict(score).all().alias("score binary"),
            is_caption.any().cast(pl.Int64).alias("captions"),
            UNREAD.sum().alias("unread"),
            pl.len().alias("asked"),
        )
    )
    cluster = pl.concat_str(pl.col("benchmark", "cluster").cast(pl.String), separator="\0")
    return means.with_columns(cluster.alias("cluster"))


_WHOLE = {name: place for place, name in enumerate(("all tasks", "without captions", "with captions"))}


def _means_of_tasks(items: pl.LazyFrame, keys: Sequence[str], level: float) -> pl.DataFrame:
    means = mean_columns(items, keys, ["score"], ("captions", "unread", "asked"), level=level)
    return means.filter(pl.col("score_n") > 0)


def over_tasks(tasks: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The means over tasks. Tasks are independent, so the squares of the reaches of their intervals are added (Zou
    and Donner); there is no interval where a task has one cluster.
    """
    n, score, columns = pl.col("score_n"), pl.col("score"), []
    known = pl.col("score_low").is_not_null().all() & (pl.col("score_clusters").min() > 1)
    for name, share in (("weighted", n / n.sum()), ("plain", 1 / pl.len())):
        mean = (share * score).sum()
        below, above = (((share * (score - pl.col(end))) ** 2).sum().sqrt() for end in ("score_low", "score_high"))
        columns += [
            mean.alias(name),
            pl.when(known).then(mean - below).alias(f"{name}_low"),
            pl.when(known).then(mean + above).alias(f"{name}_high"),
        ]
    unread = (pl.col("unread").sum() / pl.col("asked").sum()).alias("unread")
    counts = pl.len().cast(pl.Int64).alias("tasks"), n.sum().alias("n")
    return tasks.group_by(keys).agg(*columns, unread, *counts)


def _notes(table: pl.DataFrame) -> Iterator[str]:
    like = [name for name in ("benchmark", "over") if name in table.columns]
    if fewer := len(table.filter(pl.col("tasks") < pl.col("tasks").max().over(like))):
        yield f"{counted(fewer, 'row')} over fewer tasks than others: these are other overall scores"
    if bare := table.get_column("weighted_low").null_count():
        yield f"{counted(bare, 'row')} without an interval: a task rests on one cluster"


def _task_tag(results: Results, named: str) -> str | None:
    """The column of the tag that names tasks, where there is one."""
    if named:
        return results.by_tags([named])[0]
    return TAG + "task" if "task" in results.tags else None


_ELSEWHERE = "external"
_VALUES = ("correlation", "correlation_low", "correlation_high", "p")
_OVER_MODELS = "intervals are over models: how far other models like these could move a correlation"


@measure(
    "correlation",
    "correlation over models between tag values, between benchmarks and with an external score",
    {"external": (None, "a score of each model from elsewhere, such as an arena's Elo: model → score")},
)
def correlation(results: Results, settings: Settings) -> Measured:
    """One row a pair of columns of mean scores and a method; ``p_adjusted`` is over the pairs of a method."""
    external: Mapping[str, float] = settings.own.get("external") or {}
    tags = results.by_tags(settings.by)
    series = results.families()
    across: list[str | None] = [*(["benchmark"] if "benchmark" in series else []), *tags]
    if external and "benchmark" not in series:
        across = [None, *across]
    if not across:
        raise NotMeasurable(
            "correlation: nothing to correlate; name a tag, add another benchmark or give an external score"
        )
    rows = [row for column in across for row in _rows(results, series, column, external, settings.level)]
    most = max((row["n"] for row in rows), default=0)
    if most < 3:
        raise NotMeasurable(f"correlation: {counted(most, 'model')} with both scores; at least 3 are needed")
    types = dict.fromkeys(_VALUES, pl.Float64)
    table = pl.DataFrame(rows, infer_schema_length=None, schema_overrides=types)
    table = with_adjusted(table, [*series, "across", "method"])
    notes = [_OVER_MODELS]
    if external and (without := [model for model in values_of(results, "model") if model not in external]):
        notes.append(f"{counted(len(without), 'model')} without an external score: {listed(without)}")
    return Measured(table, tuple(notes))


def _rows(
    results: Results, series: Sequence[str], across: str | None, external: Mapping[str, float], level: float
) -> Iterator[dict[str, Any]]:
    """All pairs of the values of one column, and each of them with the external score."""
    around = [key for key in series if key != across]
    means = _means(results, around, across)
    named = "all" if across is None else across.removeprefix(TAG)
    for key, part in means.group_by(*around, maintain_order=True) if around else [((), means)]:
        columns: dict[str, dict[str, float]] = {}
        for value, model, score in part.select("value", "model", "score").iter_rows():
            columns.setdefault(value, {})[model] = score
        pairs = [*combinations(columns, 2), *((value, _ELSEWHERE) for value in columns if external)]
        for first, second in pairs:
            right = external if second == _ELSEWHERE else columns[second]
            models = sorted(columns[first].keys() & right.keys())
            if not models:
                continue
            x, y = (np.array([scores[model] for model in models], float) for scores in (columns[first], right))
            about = {**dict.fromkeys(series), **dict(zip(around, key, strict=True))}
            for method, correlate in METHODS.items():
                value, low, high, n, p = correlate(x, y, level)
                found = dict(zip(_VALUES, (value, low, high, p), strict=True))
                yield {**about, "across": named, "one": first, "other": second, "method": method, **found, "n": n}


def _means(results: Results, around: Sequence[str], across: str | None) -> pl.DataFrame:
    """Mean scores by model and value, each item's tests averaged first: ``*around, value, model, score``."""
    value = pl.lit("all items") if across is None else pl.col(across).cast(pl.String)
    scores = results.item_means([*around, *([] if across is None else [across]), "model"])
    known = scores.with_columns(value.alias("value")).drop_nulls("value")
    means = known.group_by(*around, "value", "model").agg(pl.col("score").mean())
    return means.sort(*around, "value", "model").collect(engine="streaming")


MEASURES = (ranks, spread_of_models, overall, correlation)
