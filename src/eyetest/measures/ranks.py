"""Ranks of models, their shifts, and whether a benchmark separates models at all."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from eyetest.measures.aligned import side_by_side
from eyetest.measures.means import uneven_items
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings, measure, table_of
from eyetest.measures.stats.intervals import NOTHING
from eyetest.measures.stats.ranking import MeanRank, mean_rank_standings, separable_pairs, spread, standings
from eyetest.records import ModelEntry

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


@measure("spread", "how far models lie apart: Gini, standard deviation, separable pairs; by series and size")
def spread_of_models(results: Results, settings: Settings) -> Measured:
    """One row a benchmark, protocol, tag value and group of at least two models."""
    around = results.families(settings.by)
    rows, uneven = [], False
    for part in side_by_side(results, around):
        uneven |= bool(np.isnan(part.scores).any())
        models = [str(model) for (model,) in part.columns]
        for grouping, group, members in _groups(models, results.models):
            table = part.table([(model,) for model in members])
            gini, sd = spread(table, part.clusters, settings.level, settings.resamples, settings.seed)
            pairs = separable_pairs(table, part.clusters, settings.level)
            told = gini.named("gini") | sd.named("sd") | {"separable": pairs.value}
            counts = {"apart": round((pairs.value or 0.0) * pairs.n), "pairs": pairs.n, "n": len(members)}
            rows.append({**part.key, "grouping": grouping, "group": group, **told, **counts})
    if not rows:
        raise NotMeasurable("spread: only one model has scores; models are compared with each other, so add another")
    notes = (_NOTE, _UNEVEN) if uneven else (_NOTE,)
    return Measured(table_of(rows, separable=pl.Float64), notes)


def size_class(size_b: float) -> str:
    """The class of a model's size in billions: whole billions from 2 on, else tenths."""
    return f"{size_b:.0f}B" if size_b >= 2 else f"{size_b:.1f}B"


def _groups(models: Sequence[str], known: Mapping[str, ModelEntry]) -> Iterator[tuple[str, str, list[str]]]:
    """All models, then those of a series and those of a size, where known and at least two."""
    groups: dict[tuple[str, str], list[str]] = {("all", "all models"): list(models)}
    entries = [(model, known[model]) for model in models if model in known]
    for model, entry in sorted(entries, key=lambda pair: pair[1].series or ""):
        if entry.series is not None:
            groups.setdefault(("series", entry.series), []).append(model)
    for model, entry in sorted(entries, key=lambda pair: pair[1].size_b or 0.0):
        if entry.size_b is not None:
            groups.setdefault(("size", size_class(entry.size_b)), []).append(model)
    return ((*name, members) for name, members in groups.items() if len(members) > 1)


MEASURES = (ranks, spread_of_models)
