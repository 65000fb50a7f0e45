"""Models together: ranks, spread, one overall score of several tasks (LIME), and correlations over models."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from eyetest.errors import counted, listed, param
from eyetest.measures import Measured, NotMeasurable, Results, Settings
from eyetest.measures.results import CAPTION_METRICS, TAG, UNREAD, measure, table_of, values_of
from eyetest.measures.stats.intervals import NOTHING, Floats, column_means, percentiles, resampled_means
from eyetest.measures.stats.ranking import (
    METHODS,
    MeanRank,
    gini,
    mean_rank_standings,
    separable_pairs,
    standard_deviation,
    standings,
)
from eyetest.measures.tables import side_by_side, uneven_items, with_adjusted

_UNEVEN = "models rest on different items: gini and sd mix who is better with which items are easier"
_NOTE = "gini rises when scores fall: separable pairs count models that differ significantly"


@measure(
    "ranks",
    "rank of each model, its interval and shared rank; with tags also the rank of mean ranks over their values",
    unread="score",
)
def ranks(results: Results, settings: Settings) -> Measured:
    """One row a model, benchmark and protocol, best first; ``tie``: 1 + the number of significantly better models."""
    tags = results.by_tags(settings.by)
    around = results.families()
    over_tags = _mean_ranks(results, around, tags, settings) if tags else {}
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
                by_tag = over_tags.get((*part.key.values(), model), MeanRank(NOTHING, NOTHING))
                row |= by_tag.mean.named("mean_rank") | by_tag.rank.named("rank_of_mean_ranks")
            items = there[part.key["benchmark"]] if "benchmark" in part.key else there.total()
            here.append(row | {"n": n, "missing": items - n})
        rows += sorted(here, key=lambda row: row["rank"])
    if len({row["model"] for row in rows}) < 2:
        raise NotMeasurable("ranks: fewer than two models have scores; models are ranked against each other")
    table = table_of(rows, score=pl.Float64, tie=pl.Int64)
    return Measured(table, tuple(uneven_items(table, around)))


def _mean_ranks(
    results: Results, around: list[str], tags: list[str], settings: Settings
) -> dict[tuple[Any, ...], MeanRank]:
    """By benchmark, protocol and model. Each value of the tags, or combination of them, is one column of ranks."""
    by_model: dict[tuple[Any, ...], MeanRank] = {}
    for part in side_by_side(results, around, (*tags, "model")):
        values = list(dict.fromkeys(column[:-1] for column in part.columns))
        models = sorted({column[-1] for column in part.columns})
        tables = [part.table([(*value, model) for model in models]) for value in values]
        ranked = mean_rank_standings(tables, part.clusters, settings.level, settings.resamples, settings.seed)
        by_model |= {(*part.key.values(), model): rank for model, rank in zip(models, ranked, strict=True)}
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
        values = {"gini": gini(means), "sd": standard_deviation(means), "separable": pairs.value}
        counts = {"apart": round((pairs.value or 0.0) * pairs.n), "pairs": pairs.n, "n": len(part.columns)}
        rows.append({**part.key, **values, **counts})
    if not rows:
        raise NotMeasurable("spread: only one model has scores; models are compared with each other, so add another")
    notes = (_NOTE, _UNEVEN) if uneven else (_NOTE,)
    return Measured(table_of(rows, **dict.fromkeys(("gini", "sd", "separable"), pl.Float64)), notes)


_ITEM = ("benchmark", "item", "cluster")


def weighted_mean(scores: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """The mean of task scores, weighted or plain."""
    return float(np.average(scores, weights=weights))


@measure(
    "overall",
    "overall score: weighted and plain, with and without captioning, and by domain",
    {
        "task": ("", "the tag that names tasks (default: benchmarks, or the tag task)"),
        "domain": ("", "a tag that joins tasks into domains"),
    },
    by_tag=False,
)
def overall(results: Results, settings: Settings) -> Measured:
    """Rows of one model and protocol: all tasks, without captions where there are some, then one row a domain.
    An item of several tasks, such as a benchmark and its refinement, counts once.
    """
    task = _task_column(results, str(settings.own["task"]))
    results, repeated = _each_once(results, task)
    domain = results.by_tags([settings.own["domain"]]) if settings.own["domain"] else []
    around = results.keys()
    keys = [key for key in around if key != "benchmark"]
    tags = dict.fromkeys(name for name in (task, *domain) if name != "benchmark")
    scores = (
        results.with_items("cluster", *tags)
        .group_by(*keys, *tags, *_ITEM)
        .agg(pl.col("score").mean(), pl.col("metric").first(), UNREAD.sum().alias("unread"), pl.len().alias("asked"))
        .sort(*_ITEM)
        .collect(engine="streaming")
    )
    if not scores.get_column("score").count():
        raise NotMeasurable("overall: no answer has a score")
    series = scores.select(keys).unique().sort(keys).with_row_index("series")
    placed = scores.join(series, on=keys, nulls_equal=True)
    parts = {"all tasks": list(_tasks(placed, task, len(series), settings))}
    if any(part.captions for part in parts["all tasks"]):
        whole = parts.pop("all tasks")
        parts |= {"without captions": [part for part in whole if not part.captions], "with captions": whole}
    for (name,), part in placed.sort(*domain).group_by(*domain, maintain_order=True) if domain else ():
        parts["" if name is None else str(name)] = list(_tasks(part, task, len(series), settings))
    rows = [
        key | {"over": over} | scores_of
        for index, key in enumerate(series.select(keys).to_dicts())
        for over, tasks in parts.items()
        if (scores_of := _overall(tasks, index, settings.level))
    ]
    return Measured(pl.DataFrame(rows, infer_schema_length=None), (*repeated, *_notes(rows)))


def _each_once(results: Results, task: str) -> tuple[Results, tuple[str, ...]]:
    """The results with each repeated item (by id and content) kept in the largest of its tasks, and a note."""
    same = (pl.coalesce("own_id", "item"), "content")
    known = results.items.drop_nulls("content").with_columns(pl.len().over(task).alias("size"))
    once = known.sort("size", descending=True, maintain_order=True).with_columns(
        pl.col(name).first().over(same).alias(f"{name} once") for name in _ITEM[:2]
    )
    moved = once.filter(pl.any_horizontal(pl.col(name) != pl.col(f"{name} once") for name in _ITEM[:2]))
    if moved.is_empty():
        return results, ()
    names = moved.lazy().select(*_ITEM[:2], "benchmark once", "item once")
    scores = results.scores.cast(dict.fromkeys(_ITEM[:2], pl.String)).join(names, on=_ITEM[:2], how="left")
    scores = scores.with_columns(pl.coalesce(f"{name} once", name).alias(name) for name in _ITEM[:2])
    tasks = listed(sorted(set(moved.get_column(task).drop_nulls())))
    note = f"{counted(len(moved), 'item')} of {tasks} are in a larger task as well: each counts once, there"
    return replace(results, scores=scores.drop("benchmark once", "item once")), (note,)


class _Task(NamedTuple):
    """The means of one task by series, their numbers of items, the means of resamples, unread answers."""

    captions: bool
    means: Floats
    counts: Floats
    replicates: Floats
    unread: Floats
    asked: Floats


def _tasks(scores: pl.DataFrame, task: str, series: int, settings: Settings) -> Iterator[_Task]:
    """The tasks in order; all series of a task share resamples."""
    for index, (_, asked) in enumerate(scores.sort(task, maintain_order=True).group_by(task, maintain_order=True)):
        part = asked.drop_nulls("score")
        if part.is_empty():
            continue
        items = part.select(_ITEM).unique().sort(_ITEM).with_row_index("row")
        rows = part.join(items, on=_ITEM).select("row", "series", "score")
        table = np.full((len(items), series), np.nan)
        table[rows.get_column("row").to_numpy(), rows.get_column("series").to_numpy()] = rows.get_column("score")
        clusters = items.select(pl.concat_str("benchmark", "cluster", separator="\0").rank("dense")).to_series()
        drawn = resampled_means(table, clusters.to_numpy(), settings.resamples, (settings.seed, index))
        counts = (~np.isnan(table)).sum(axis=0).astype(float)
        metrics = part.get_column("metric").unique().cast(pl.String)
        is_caption = any(name.startswith(CAPTION_METRICS) for name in metrics)
        sums = (np.bincount(asked["series"], asked[name], series).astype(float) for name in ("unread", "asked"))
        yield _Task(is_caption, column_means(table), counts, drawn, *sums)


def _overall(tasks: Sequence[_Task], series: int, level: float) -> dict[str, Any] | None:
    """The overall scores of one series over its tasks. There is no interval where a task has one cluster."""
    mine = [task for task in tasks if task.counts[series]]
    if not mine:
        return None
    values, counts = [float(task.means[series]) for task in mine], [float(task.counts[series]) for task in mine]
    drawn = np.array([task.replicates[:, series] for task in mine])
    row: dict[str, Any] = {}
    for name, weights in (("weighted", counts), ("plain", None)):
        low, high = percentiles(np.average(drawn, axis=0, weights=weights), level)
        row |= {name: weighted_mean(values, weights), f"{name}_low": low, f"{name}_high": high}
    unread = sum(task.unread[series] for task in mine) / sum(task.asked[series] for task in mine)
    return row | {"unread": float(unread), "tasks": len(mine), "n": int(sum(counts))}


def _notes(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    most: dict[str, int] = {}
    for row in rows:
        most[row["over"]] = max(row["tasks"], most.get(row["over"], 0))
    fewer = sum(row["tasks"] < most[row["over"]] for row in rows)
    bare = sum(row["weighted_low"] is None for row in rows)
    uneven = f"{counted(fewer, 'row')} over fewer tasks than others: these are other overall scores"
    wide = f"{counted(bare, 'row')} without an interval: a task rests on one cluster"
    return (*((uneven,) if fewer else ()), *((wide,) if bare else ()))


def _task_column(results: Results, named: str) -> str:
    if named:
        return results.by_tags([named])[0]
    if results.varied(["benchmark"]):
        return "benchmark"
    if "task" in results.tags:
        return TAG + "task"
    named_by = f"name the tag of tasks with {param('own', 'task=TAG')}"
    raise NotMeasurable(f"overall: there is one benchmark and no tag task; {named_by}")


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
