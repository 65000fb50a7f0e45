"""CircularEval: an item counts only if it is answered right in whatever order its options are shown."""

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from eyetest.errors import param
from eyetest.measures.means import is_verdict, mean_columns
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings
from eyetest.records import GIVEN
from eyetest.wording import counted, listed

_IS_CHOICE = pl.col("metric").is_in(["accuracy", GIVEN]) & (pl.col("reading") != "text").fill_null(True)
_VALUES = ("circular", "plain", "difference")


class Circular:
    """Right under every order, against right on average."""

    name = "circular"
    summary = "share of items right under every order of their options, against plain accuracy"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value.

        An item's orders are the orders that it was asked in and, where items are grouped, the items of its group. A
        wrong answer settles an item even if another call failed; otherwise a failed call leaves it undecided.
        """
        tags = results.by_tags(settings.by)
        keys = [*results.keys(), *tags]
        score, order, item = pl.col("score"), pl.col("order"), pl.col("item")
        turned = order.min() != order.max()
        if results.items.get_column("group").is_not_null().any():
            turned |= item.min() != item.max()
        units = (
            results.with_items("cluster", "group", *tags)
            .filter(_IS_CHOICE)
            .group_by(*keys, pl.coalesce("group", "item").alias("unit"))
            .agg(
                turned.alias("turned"),
                ((score.min() < 1) | (score.null_count() == 0)).fill_null(False).alias("settled"),
                (score.min() == 1).cast(pl.Float64).alias("circular"),
                score.mean().alias("plain"),
                is_verdict(score).all().alias("plain binary"),
                pl.col("cluster").min(),
            )
        )
        counts = pl.col("turned") & pl.col("settled")
        rows = units.with_columns(
            *(pl.when(counts).then(pl.col(value)) for value in ("circular", "plain")),
            pl.when(counts).then(pl.col("circular") - pl.col("plain")).alias("difference"),
            (~pl.col("turned")).alias("one_order"),
            (pl.col("turned") & ~pl.col("settled")).alias("undecided"),
        )
        found = mean_columns(rows, keys, _VALUES, ("one_order", "undecided"), ("difference",), settings.level)
        if not found.get_column("circular_n").sum():
            raise NotMeasurable(
                f"circular: no item was asked in two orders, and no items are grouped; ask with {param('order')}"
            )
        columns = [value + end for value in _VALUES for end in ("", "_low", "_high")]
        table = found.select(*keys, *columns, pl.col("circular_n").alias("n"), "one_order", "undecided")
        return Measured(table, _notes(results, table))


def _notes(results: Results, table: pl.DataFrame) -> tuple[str, ...]:
    notes = []
    if also := results.varied(["template", "marks", "trial"]):
        notes.append(f"{listed(also)} varied too: an item counts only if it is right under these as well")
    if alone := int(table.get_column("one_order").sum()):
        notes.append(f"{counted(alone, 'item')} of some model seen in one order only: left out")
    return tuple(notes)


MEASURES = (Circular(),)
