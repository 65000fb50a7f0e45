"""What a benchmark is made of: its items by tag, and what is there twice."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.results import TAG
from eyetest.pages.plots import told_bars
from eyetest.reports.figures import Figure
from eyetest.reports.material import MOST_VALUES, Material

_ALWAYS = ("duplicate-items", "identical-images")
"""What is told even where there is none of it."""


def _by_tag(material: Material) -> pl.DataFrame:
    if not material.tags:
        raise NotMeasurable("no tag sorts the items into a few groups")
    parts = [
        material.results.items.group_by(pl.col(TAG + tag).alias("value"))
        .len("items")
        .drop_nulls("value")
        .sort("items", "value", descending=[True, False])
        .select(pl.lit(tag).alias("tag"), "value", pl.col("items").cast(pl.Int64))
        for tag in material.tags
    ]
    return pl.concat(parts)


def _values(frame: pl.DataFrame) -> ChartType:
    return told_bars(frame.head(MOST_VALUES), "value", alt.Text("items:Q", format=","), 420)


def _duplicates(material: Material) -> pl.DataFrame:
    if material.duplicates is None:
        raise NotMeasurable("nothing is known of the items")
    counts = [{"kind": kind, "items": 0, "groups": 0} for kind in _ALWAYS]
    counts += [{"kind": one.kind, "items": len(one.items), "groups": len(one.groups)} for one in material.duplicates]
    table = pl.DataFrame(counts).group_by(pl.col("kind").str.replace_all("-", " ")).sum()
    return table.sort("items", "kind", descending=[True, False])


def _kinds(frame: pl.DataFrame) -> ChartType:
    some = pl.format("{} items in {} groups", "items", "groups")
    told = pl.when(pl.col("items") > 0).then(some).otherwise(pl.lit("none"))
    return told_bars(frame.with_columns(told.alias("told")), "kind", alt.Text("told:N"), 320)


FIGURE = (
    Figure(
        *("composition", 5, "What the items ask for", _by_tag, _values),
        by="tag",
        reading="A bar is how many items have a tag's value.",
        needs="tags that sort items into a few groups; name them with --by",
    ),
    Figure(
        *("duplicates", 100, "What is there twice", _duplicates, _kinds),
        reading="Items that repeat a question or share a picture. Only what costs nothing to see was looked for: "
        "equal bytes and nearly equal words; eyetest audit also finds pictures that were re-encoded or cropped.",
        needs="a benchmark whose items are known",
    ),
)
