"""Format hits: how often a model answers in the format that it was asked for, with and without an example of it."""

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from eyetest.measures.means import mean_columns
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings

_WITHOUT_MARK = (" by text", " whole text", " option text", " own words")
"""How the names of rules end that find a choice without its mark."""


class FormatHits:
    """The share of answers that carry the mark of an option."""

    name = "format-hits"
    summary = "share of answers to choice items that carry an option mark, by model and protocol"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value; tests of an item are averaged first."""
        tags = results.by_tags(settings.by)
        keys = [*results.keys(), *tags]
        by_mark = ~pl.any_horizontal(pl.col("rule").cast(pl.String).str.ends_with(end) for end in _WITHOUT_MARK)
        hit = (pl.col("reading") == "chosen").fill_null(False) & by_mark.fill_null(True)
        rows = (
            results.with_items("cluster", *tags)
            .filter(
                pl.col("metric") == "accuracy",
                pl.col("method") == "generate",
                pl.col("outcome").is_in(["answered", "truncated"]),
            )
            .group_by(*keys, "item", "cluster")
            .agg(hit.mean().alias("format_hits"), pl.lit(True).alias("format_hits binary"), pl.len().alias("answers"))
        )
        found = mean_columns(rows, keys, ["format_hits"], ["answers"], level=settings.level)
        if not len(found):
            raise NotMeasurable("format-hits: nobody wrote an answer to a choice item whose reading is known")
        return Measured(found.rename({"format_hits_n": "n", "format_hits_clusters": "clusters"}))


MEASURES = (FormatHits(),)
