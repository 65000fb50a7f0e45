"""Several tasks or benchmarks together: one overall score (LIME, without captions), and correlations over models."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from eyetest.errors import param
from eyetest.measures.means import with_adjusted
from eyetest.measures.results import (
    CAPTION_METRICS,
    TAG,
    UNREAD,
    Measured,
    NotMeasurable,
    Results,
    Settings,
    measure,
    values_of,
)
from eyetest.measures.stats.correlation import METHODS
from eyetest.measures.stats.intervals import Floats, column_means, percentiles, resampled_means
from eyetest.wording import counted, listed

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
    if any(one.captions for one in parts["all tasks"]):
        whole = parts.pop("all tasks")
        parts |= {"without captions": [one for one in whole if not one.captions], "with captions": whole}
    for (name,), part in placed.sort(*domain).group_by(*domain, maintain_order=True) if domain else ():
        parts["" if name is None else str(name)] = list(_tasks(part, task, len(series), settings))
    rows = [
        key | {"over": over} | told
        for index, key in enumerate(series.select(keys).to_dicts())
        for over, tasks in parts.items()
        if (told := _overall(tasks, index, settings.level))
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
    told = f"{counted(fewer, 'row')} over fewer tasks than others: these are other overall scores"
    wide = f"{counted(bare, 'row')} without an interval: a task rests on one cluster"
    return (*((told,) if fewer else ()), *((wide,) if bare else ()))


def _task_column(results: Results, named: str) -> str:
    if named:
        return results.by_tags([named])[0]
    if results.varied(["benchmark"]):
        return "benchmark"
    if "task" in results.tags:
        return TAG + "task"
    mend = f"name the tag of tasks with {param('own', 'task=TAG')}"
    raise NotMeasurable(f"overall: there is one benchmark and no tag task; {mend}")


_ELSEWHERE = "external"
_VALUES = ("correlation", "correlation_low", "correlation_high", "p")
_NOTE = "intervals are over models: how far other models like these could move a correlation"


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
    notes = [_NOTE]
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
        for one, other in pairs:
            right = external if other == _ELSEWHERE else columns[other]
            models = sorted(columns[one].keys() & right.keys())
            if not models:
                continue
            x, y = (np.array([scores[model] for model in models], float) for scores in (columns[one], right))
            about = {**dict.fromkeys(series), **dict(zip(around, key, strict=True))}
            for method, correlate in METHODS.items():
                value, low, high, n, p = correlate(x, y, level)
                told = dict(zip(_VALUES, (value, low, high, p), strict=True))
                yield {**about, "across": named, "one": one, "other": other, "method": method, **told, "n": n}


def _means(results: Results, around: Sequence[str], across: str | None) -> pl.DataFrame:
    """Mean scores by model and value, each item's tests averaged first: ``*around, value, model, score``."""
    value = pl.lit("all items") if across is None else pl.col(across).cast(pl.String)
    tags = [across] if across is not None and across.startswith(TAG) else []
    return (
        results.with_items(*tags)
        .with_columns(value.alias("value"))
        .drop_nulls("value")
        .group_by(*around, "value", "model", "item")
        .agg(pl.col("score").mean())
        .group_by(*around, "value", "model")
        .agg(pl.col("score").mean())
        .drop_nulls("score")
        .sort(*around, "value", "model")
        .collect(engine="streaming")
    )


MEASURES = (overall, correlation)
