"""What is there twice: questions and pictures."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.pages import palette
from eyetest.pages.plots import rows, step, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_ALWAYS = ("duplicate-items", "identical-images")
"""What is told even where there is none of it."""


def _numbers(material: Material) -> pl.DataFrame:
    if material.duplicates is None:
        raise NotMeasurable("nothing is known of the items")
    counts = [{"kind": kind, "items": 0, "groups": 0} for kind in _ALWAYS]
    counts += [{"kind": one.kind, "items": len(one.items), "groups": len(one.groups)} for one in material.duplicates]
    table = pl.DataFrame(counts).group_by(pl.col("kind").str.replace_all("-", " ")).sum()
    return table.sort("items", "kind", descending=[True, False])


def _draw(frame: pl.DataFrame) -> ChartType:
    some = pl.format("{} items in {} groups", "items", "groups")
    told = pl.when(pl.col("items") > 0).then(some).otherwise(pl.lit("none"))
    chart = alt.Chart(values(frame.with_columns(told.alias("told"))))
    x, y = alt.X("items:Q", axis=None), rows(frame.get_column("kind").to_list(), "kind")
    bars = chart.mark_bar(color=palette.QUIET, height=9).encode(x=x, y=y)
    words = chart.mark_text(align="left", dx=5).encode(x=x, y=y, text="told:N")
    return alt.layer(bars, words).properties(width=320, height=step(len(frame)))


FIGURE = Figure(
    *("duplicates", 100, "What is there twice", _numbers, _draw),
    reading="Items that repeat a question or share a picture. Only what costs nothing to see was looked for: equal "
    "bytes and nearly equal words; eyetest audit also finds pictures that were re-encoded or cropped.",
    needs="a benchmark whose items are known",
)
