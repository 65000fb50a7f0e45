"""Whether scores here agree with a score from elsewhere, such as an arena's Elo."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.means import ADJUSTED
from eyetest.measures.settings import EXTERNAL
from eyetest.pages.plots import across, dashed, intervals, layered, rows, step, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_METHOD = "spearman"


def _numbers(material: Material) -> pl.DataFrame:
    if not material.external:
        raise NotMeasurable("no score from elsewhere was given")
    table = material.measured("correlation", material.comparable_tags).filter(pl.col("other") == EXTERNAL)
    return table.drop_nulls("correlation").select("across", "one", "method", "^correlation.*$", "p", ADJUSTED, "n")


def _draw(frame: pl.DataFrame) -> ChartType:
    kept = frame.filter(pl.col("method") == _METHOD).with_columns(
        pl.when(pl.col("across") == "all").then("one").otherwise(pl.format("{}: {}", "across", "one")).alias("row")
    )
    order = kept.get_column("row").to_list()
    x = across("rank correlation", form=".1f", domain=(-1.02, 1.02))
    dots = intervals(alt.Chart(values(kept)), "correlation", x, y=rows(order, "row"))
    return layered(dashed(), dots).properties(width=420, height=step(len(order)))


FIGURE = Figure(
    *("external", 95, "Against scores from elsewhere", _numbers, _draw),
    reading="Rank correlation (Spearman) over models of the scores on some items with the score from outside; the "
    "interval says how far other models like these could move it.",
    needs="a score of at least three of the models: --with CSV",
)
