"""Dialogues: how accuracy changes from turn to turn, told the right answers or a model's own."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from eyetest.measures.means import mean_columns
from eyetest.measures.results import TAG, Measure, Measured, NotMeasurable, Results, Settings, split, table_of
from eyetest.measures.stats.intervals import IntervalEstimate
from eyetest.measures.stats.paired import is_verdict, paired
from eyetest.measures.stats.trend import slope_within
from eyetest.records import DIALOGUE, TURN

HISTORIES = ("gold", "own")
_DIFFERENCE = "difference"


class DialogueAccuracy(Measure):
    """The mean score of each turn, whatever history was told."""

    name = "dialogue"
    summary = "mean score by turn of a dialogue, with the gold history and with the model's own, side by side"

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and turn; ``difference`` is own less gold on the items that have both, ``n`` of them."""
        rows, keys, histories = _by_item(results, settings, self.name)
        around = [*keys, "turn"]
        means = mean_columns(rows.lazy(), around, histories, level=settings.level)
        counts = [pl.col(f"{history}_n").alias(f"n_{history}") for history in histories]
        bounded = [history + end for history in histories for end in ("", "_low", "_high")]
        table = means.select(*around, *bounded, *counts)
        if len(histories) == 1:
            return Measured(table.rename({f"n_{histories[0]}": "n"}))
        told = []
        for key, part in split(rows.sort(around), around):
            pair = paired(part["own"].to_numpy(), part["gold"].to_numpy(), part["cluster"].to_numpy(), settings.level)
            estimate = IntervalEstimate(pair.difference, pair.low, pair.high)
            told.append(key | estimate.named(_DIFFERENCE) | {"n": pair.n})
        pairs = table_of(told, turn=pl.Int64).with_columns(pl.col(key).cast(table.schema[key]) for key in keys)
        return Measured(table.join(pairs, on=around, how="left", nulls_equal=True, maintain_order="left"))


class DialogueSlope(Measure):
    """By how much the score changes with each turn, within dialogues."""

    name = "dialogue-slope"
    summary = "change of the score from one turn of a dialogue to the next, with its interval, by history"

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and history, and where both were asked one for their difference, own less gold.

        ``n`` counts items with a score, ``dialogues`` those with two such turns or more, on which the slope rests.
        """
        rows, keys, histories = _by_item(results, settings, self.name)
        values = list(histories)
        if len(histories) > 1:
            rows = rows.with_columns((pl.col("own") - pl.col("gold")).alias(_DIFFERENCE))
            values.append(_DIFFERENCE)
        told = []
        for key, part in split(rows.sort(*keys, "item"), keys):
            for value in values:
                known = part.drop_nulls(value)
                columns = (known[name].to_numpy() for name in ("turn", value, "dialogue", "cluster"))
                slope, dialogues = slope_within(*columns, level=settings.level)
                about = {"history": value} | slope.named("slope")
                told.append(key | about | {"n": slope.n, "dialogues": dialogues})
        return Measured(table_of(told))


def _by_item(results: Results, settings: Settings, name: str) -> tuple[pl.DataFrame, list[str], Sequence[str]]:
    """One row a series and item with a turn: ``*keys, item, dialogue, turn, cluster`` and its score by history.

    Tests of an item are averaged. Dialogues about one picture stay in one cluster, and no dialogue is in two.
    """
    named = [TAG + DIALOGUE, TAG + TURN]
    if not set(named) <= set(results.items.columns):
        raise NotMeasurable(f"{name}: no item says which turn of which dialogue it is (tags {DIALOGUE}, {TURN})")
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
        raise NotMeasurable(f"{name}: no turn of a dialogue has a score")
    return rows, keys, histories


MEASURES = (DialogueAccuracy(), DialogueSlope())
