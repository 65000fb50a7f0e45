"""One number for many tasks: weighted by items or plain, with captioning or without, and by domain (LIME).

Captions are scored on scales of their own (CIDEr passes 100 %), so LIME leaves them out of its overall.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.measures.results import TAG, Measured, NotMeasurable, Results, Settings
from eyetest.measures.stats.bootstrap import Floats, percentiles, resampled_means

CAPTION_METRICS = ("bleu", "cider", "meteor", "rouge")


def weighted_mean(scores: Sequence[float | None], weights: Sequence[float] | None = None) -> float | None:
    """The mean of task scores, weighted or plain; tasks without a score are left out."""
    known = [i for i, score in enumerate(scores) if score is not None]
    if not known or (weights is not None and not sum(weights[i] for i in known)):
        return None
    return float(np.average([float(scores[i] or 0) for i in known], weights=weights and [weights[i] for i in known]))


class Overall:
    """The overall scores of each model, and its sub-scores by domain."""

    name = "overall"
    summary = "overall score: weighted and plain, with and without captioning, and by domain"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {
        "task": ("", "the tag that names tasks (default: benchmarks, or the tag task)"),
        "domain": ("", "a tag that joins tasks into domains"),
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """Rows of one model and protocol: four overall scores, then one row a domain."""
        task = _task_column(results, str(settings.own["task"]))
        domain = results.by_tags([settings.own["domain"]]) if settings.own["domain"] else []
        series = results.keys()
        keys = [key for key in series if key != "benchmark"]
        columns = ["cluster", *(name for name in (task, *domain) if name != "benchmark")]
        scores = (
            results.with_items(*columns)
            .group_by(*dict.fromkeys((*keys, task, *domain, "metric", "benchmark", "item", "cluster")))
            .agg(pl.col("score").mean())
            .drop_nulls("score")
            .sort("benchmark", "item")
            .collect(engine="streaming")
        )
        rows = []
        for key, part in scores.group_by(*keys, maintain_order=True):
            tasks = [_Task.of(place, group, settings) for place, (_, group) in enumerate(_sorted_groups(part, task))]
            named = {"without captions": [t for t in tasks if not t.captions], "with captions": tasks}
            if domain:
                for (name,), group in _sorted_groups(part, domain[0]):
                    ours = set(group.get_column(task).unique())
                    named[str(name)] = [t for t in tasks if t.name in ours]
            for scope, members in named.items():
                if members:
                    row = dict(zip(keys, key, strict=True)) | {"over": scope} | _overall(members, settings.level)
                    rows.append(row)
        return Measured(pl.DataFrame(rows, infer_schema_length=None).sort(*keys, maintain_order=True))


class _Task:
    """The mean of one task, its weight, and what resamples made of it."""

    def __init__(self, name: str, captions: bool, n: int, replicates: Floats, value: float) -> None:
        self.name, self.captions, self.n, self.replicates, self.value = name, captions, n, replicates, value

    @classmethod
    def of(cls, place: int, group: pl.DataFrame, settings: Settings) -> "_Task":
        values = group.get_column("score").to_numpy()
        seed = (settings.seed, place)
        drawn = resampled_means(values, group.get_column("cluster").to_numpy(), settings.resamples, seed)[:, 0]
        captions = str(group.get_column("metric")[0]).startswith(CAPTION_METRICS)
        return cls(str(group.get_column("task_name")[0]), captions, len(values), drawn, float(values.mean()))


def _sorted_groups(part: pl.DataFrame, column: str) -> list[tuple[tuple[Any, ...], pl.DataFrame]]:
    named = part.with_columns(pl.col(column).fill_null("").alias("task_name")).sort("task_name", maintain_order=True)
    return list(named.group_by("task_name", maintain_order=True))


def _overall(tasks: Sequence[_Task], level: float) -> dict[str, Any]:
    values, counts = [task.value for task in tasks], [float(task.n) for task in tasks]
    drawn = np.array([task.replicates for task in tasks])
    row: dict[str, Any] = {}
    for name, weights in (("weighted", counts), ("plain", None)):
        low, high = percentiles(np.average(drawn, axis=0, weights=weights), level)
        row |= {name: weighted_mean(values, weights), f"{name}_low": low, f"{name}_high": high}
    return row | {"tasks": len(tasks), "n": int(sum(counts))}


def _task_column(results: Results, named: str) -> str:
    if named:
        return results.by_tags([named])[0]
    if results.varied(["benchmark"]):
        return "benchmark"
    if "task" in results.tags:
        return TAG + "task"
    raise NotMeasurable("overall: there is one benchmark and no tag task; name the tag of tasks with --set task=TAG")


MEASURES = (Overall(),)
