"""What a benchmark is made of: its items by tag."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.results import TAG
from eyetest.pages import palette
from eyetest.pages.plots import rows, step, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import MOST_VALUES, Material


def _numbers(material: Material) -> pl.DataFrame:
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


def _draw(frame: pl.DataFrame) -> ChartType:
    frame = frame.head(MOST_VALUES)
    y = rows(frame.get_column("value").to_list(), "value")
    chart = alt.Chart(values(frame))
    x = alt.X("items:Q", axis=None)
    bars = chart.mark_bar(color=palette.QUIET, height=9).encode(x=x, y=y)
    words = chart.mark_text(align="left", dx=5).encode(x=x, y=y, text=alt.Text("items:Q", format=","))
    return alt.layer(bars, words).properties(width=420, height=step(len(frame)))


FIGURE = Figure(
    *("composition", 5, "What the items ask for", _numbers, _draw),
    by="tag",
    reading="A bar is how many items have a tag's value.",
    needs="tags that sort items into a few groups; name them with --by",
)
