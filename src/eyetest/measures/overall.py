"""One number for many tasks: weighted by items or plain, with captioning or without, and by domain (LIME).

Captions are scored on scales of their own (CIDEr passes 100 %), so LIME leaves them out of its overall.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from eyetest.errors import param
from eyetest.measures.results import (
    CAPTION_METRICS,
    TAG,
    Measure,
    Measured,
    NotMeasurable,
    Own,
    Results,
    Settings,
    refuse_tags,
)
from eyetest.measures.stats.intervals import Floats, column_means, percentiles, resampled_means
from eyetest.wording import counted

_ITEM = ("benchmark", "item", "cluster")


def weighted_mean(scores: Sequence[float | None], weights: Sequence[float] | None = None) -> float | None:
    """The mean of task scores, weighted or plain; tasks without a score are left out."""
    known = [i for i, score in enumerate(scores) if score is not None]
    if not known or (weights is not None and not sum(weights[i] for i in known)):
        return None
    return float(np.average([float(scores[i] or 0) for i in known], weights=weights and [weights[i] for i in known]))


class Overall(Measure):
    """The overall scores of each model, and its sub-scores by domain."""

    name = "overall"
    summary = "overall score: weighted and plain, with and without captioning, and by domain"
    own: ClassVar[Own] = {
        "task": ("", "the tag that names tasks (default: benchmarks, or the tag task)"),
        "domain": ("", "a tag that joins tasks into domains"),
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """Rows of one model and protocol: all tasks, without captions where there are some, then one row a domain."""
        refuse_tags(self.name, settings)
        task = _task_column(results, str(settings.own["task"]))
        domain = results.by_tags([settings.own["domain"]]) if settings.own["domain"] else []
        around = results.keys()
        keys = [key for key in around if key != "benchmark"]
        tags = dict.fromkeys(name for name in (task, *domain) if name != "benchmark")
        scores = (
            results.with_items("cluster", *tags)
            .group_by(*keys, *tags, *_ITEM)
            .agg(pl.col("score").mean(), pl.col("metric").first())
            .drop_nulls("score")
            .sort(*_ITEM)
            .collect(engine="streaming")
        )
        if scores.is_empty():
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
        return Measured(pl.DataFrame(rows, infer_schema_length=None), _notes(rows))


class _Task(NamedTuple):
    """The means of one task by series, on how many items each rests, and what resamples made of them."""

    captions: bool
    means: Floats
    counts: Floats
    replicates: Floats


def _tasks(scores: pl.DataFrame, task: str, series: int, settings: Settings) -> Iterator[_Task]:
    """The tasks in order; all series of a task are drawn again together."""
    for index, (_, part) in enumerate(scores.sort(task, maintain_order=True).group_by(task, maintain_order=True)):
        items = part.select(_ITEM).unique().sort(_ITEM).with_row_index("row")
        rows = part.join(items, on=_ITEM).select("row", "series", "score")
        table = np.full((len(items), series), np.nan)
        table[rows.get_column("row").to_numpy(), rows.get_column("series").to_numpy()] = rows.get_column("score")
        clusters = items.select(pl.concat_str("benchmark", "cluster", separator="\0").rank("dense")).to_series()
        drawn = resampled_means(table, clusters.to_numpy(), settings.resamples, (settings.seed, index))
        counts = (~np.isnan(table)).sum(axis=0).astype(float)
        metrics = part.get_column("metric").unique().cast(pl.String)
        yield _Task(any(name.startswith(CAPTION_METRICS) for name in metrics), column_means(table), counts, drawn)


def _overall(tasks: Sequence[_Task], series: int, level: float) -> dict[str, Any] | None:
    """The overall scores of one series over its tasks. There is no interval where a task rests on one cluster."""
    mine = [task for task in tasks if task.counts[series]]
    if not mine:
        return None
    values, counts = [float(task.means[series]) for task in mine], [float(task.counts[series]) for task in mine]
    drawn = np.array([task.replicates[:, series] for task in mine])
    row: dict[str, Any] = {}
    for name, weights in (("weighted", counts), ("plain", None)):
        low, high = percentiles(np.average(drawn, axis=0, weights=weights), level)
        row |= {name: weighted_mean(values, weights), f"{name}_low": low, f"{name}_high": high}
    return row | {"tasks": len(mine), "n": int(sum(counts))}


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


MEASURES = (Overall(),)
