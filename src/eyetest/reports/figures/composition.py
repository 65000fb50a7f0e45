"""What a benchmark is made of: its items by tag."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.results import TAG
from eyetest.pages import palette
from eyetest.pages.plots import one_each, rows, step, values
from eyetest.reports.material import MOST_VALUES, Material


class Composition:
    """A bar for each value of the tags that say what items ask for."""

    name = "composition"
    place = 5
    title = "What the items ask for"
    reading = "A bar is how many items have a tag's value."
    needs = "tags that sort items into a few groups; name them with --by"

    def numbers(self, material: Material) -> pl.DataFrame:
        """One row a tag and value, the most frequent first."""
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

    def draw(self, frame: pl.DataFrame) -> ChartType:
        """Bars with their numbers."""
        return one_each(frame, "tag", _draw)


def _draw(frame: pl.DataFrame) -> ChartType:
    frame = frame.head(MOST_VALUES)
    y = rows(frame.get_column("value").to_list(), "value")
    chart = alt.Chart(values(frame))
    x = alt.X("items:Q", axis=None)
    bars = chart.mark_bar(color=palette.QUIET, height=9).encode(x=x, y=y)
    words = chart.mark_text(align="left", dx=5).encode(x=x, y=y, text=alt.Text("items:Q", format=","))
    return alt.layer(bars, words).properties(width=420, height=step(len(frame)))


FIGURE = Composition()
