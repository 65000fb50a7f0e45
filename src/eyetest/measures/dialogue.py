"""Dialogues: how accuracy changes from turn to turn, given the right answers or the model's own."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from eyetest.measures.means import mean_columns
from eyetest.measures.results import TAG, Measured, NotMeasurable, Results, Settings, measure, split, table_of
from eyetest.measures.stats.paired import is_verdict, paired
from eyetest.measures.stats.regression import slope_within
from eyetest.records import DIALOGUE, TURN

HISTORIES = ("gold", "own")


@measure("dialogue", "mean score by turn of a dialogue and its slope, with the gold history and with the model's own")
def dialogue(results: Results, settings: Settings) -> Measured:
    """One row a series and turn; ``difference`` is own less gold history; slopes are of the whole series."""
    rows, keys, histories = _by_item(results, settings)
    values, around = [*histories, *(["difference"] if len(histories) > 1 else [])], [*keys, "turn"]
    means = mean_columns(rows.lazy(), around, histories, level=settings.level)
    counts = [pl.col(f"{history}_n").alias(f"n_{history}" if len(histories) > 1 else "n") for history in histories]
    bounded = [history + end for history in histories for end in ("", "_low", "_high")]
    table = means.select(*around, *bounded, *counts)
    if len(histories) > 1:
        pairs = []
        for key, part in split(rows.sort(around), around):
            own, gold, clusters = (part[name].to_numpy() for name in ("own", "gold", "cluster"))
            pair = paired(own, gold, clusters, settings.level)
            pairs.append(key | pair.gap() | {"n": pair.n})
        table = _joined(table, pairs, around)
        rows = rows.with_columns((pl.col("own") - pl.col("gold")).alias("difference"))
    slopes = [key | _slopes(part, values, settings.level) for key, part in split(rows.sort(*keys, "item"), keys)]
    return Measured(_joined(table, slopes, keys))


def _joined(table: pl.DataFrame, rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> pl.DataFrame:
    more = table_of(rows).cast({key: table.schema[key] for key in keys})
    return table.join(more, on=keys, how="left", nulls_equal=True, maintain_order="left")


def _slopes(rows: pl.DataFrame, values: Sequence[str], level: float) -> dict[str, Any]:
    """Slope of each history, and of their difference, with the number of dialogues."""
    row: dict[str, Any] = {}
    for value in values:
        known = rows.drop_nulls(value)
        columns = (known[name].to_numpy() for name in ("turn", value, "dialogue", "cluster"))
        slope, dialogues = slope_within(*columns, level=level)
        row |= slope.named(f"{value}_slope") | {f"{value}_dialogues": dialogues}
    return row


def _by_item(results: Results, settings: Settings) -> tuple[pl.DataFrame, list[str], Sequence[str]]:
    """Scores by series, item, turn and history; a dialogue is in one cluster with all others about its images."""
    named = [TAG + DIALOGUE, TAG + TURN]
    if not set(named) <= set(results.items.columns):
        raise NotMeasurable(f"dialogue: no item says which turn of which dialogue it is (tags {DIALOGUE}, {TURN})")
    dialogue, turn = (pl.col(column) for column in named)
    items = results.items.with_columns(
        pl.coalesce("cluster", "item").min().over("benchmark", dialogue),
        dialogue.alias("dialogue"),
        turn.cast(pl.Int64, strict=False).alias("turn"),
    ).drop_nulls(["dialogue", "turn"])
    tags = results.by_tags(settings.by)
    keys = [key for key in results.keys(settings.by) if key != "history"]
    asked = {history: pl.col("history").cast(pl.String) == history for history in HISTORIES}
    scores = {history: pl.when(is_asked).then(pl.col("score")) for history, is_asked in asked.items()}
    rows = (
        replace(results, items=items)
        .with_items("cluster", "dialogue", "turn", *tags)
        .drop_nulls("turn")
        .group_by(*dict.fromkeys((*keys, "benchmark")), "item", "dialogue", "turn", "cluster")
        .agg(
            *(score.mean().alias(history) for history, score in scores.items()),
            *(is_verdict(score).all().alias(f"{history} binary") for history, score in scores.items()),
        )
        .with_columns(pl.concat_str("benchmark", "dialogue", separator="\0").alias("dialogue"))
        .collect(engine="streaming")
    )
    histories = [history for history in HISTORIES if rows[history].count()]
    if not histories:
        raise NotMeasurable("dialogue: no turn of a dialogue has a score")
    return rows, keys, histories


MEASURES = (dialogue,)
