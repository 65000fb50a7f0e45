"""Format hits: how often a model answers in the format that it was asked for, with and without an example of it."""

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from eyetest.measures.means import mean_columns
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings
from eyetest.records import GIVEN

_WRITTEN = ("answered", "truncated")
_READINGS = ("chosen", "refused", "ambiguous", "unparsed")


class FormatHits:
    """The share of answers that carry the mark of the option that they choose, as whoever read them says."""

    name = "format-hits"
    summary = "share of answers to choice items that carry an option mark, by model and protocol"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series and tag value; tests of an item are averaged first."""
        tags = results.by_tags(settings.by)
        keys = [*results.keys(), *tags]
        is_chosen = pl.col("reading") == "chosen"
        rows = (
            results.with_items("cluster", "options", *tags)
            .filter(
                (pl.col("metric") == "accuracy") | ((pl.col("metric") == GIVEN) & pl.col("options").is_not_null()),
                pl.col("method") == "generate",
                pl.col("outcome").is_in(_WRITTEN),
                pl.col("reading").is_in(_READINGS),
                ~is_chosen | pl.col("marked").is_not_null(),
            )
            .group_by(*keys, "item", "cluster")
            .agg(
                (is_chosen & pl.col("marked")).fill_null(False).mean().alias("format_hits"),
                pl.lit(True).alias("format_hits binary"),
                pl.len().alias("answers"),
            )
        )
        found = mean_columns(rows, keys, ["format_hits"], ["answers"], level=settings.level)
        if not len(found):
            raise NotMeasurable("format-hits: nobody wrote an answer to a choice item whose reading is known")
        return Measured(found.rename({"format_hits_n": "n", "format_hits_clusters": "clusters"}))


MEASURES = (FormatHits(),)
