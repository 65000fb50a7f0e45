"""Places that models prefer, whatever stands there."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures.means import ADJUSTED
from eyetest.pages import palette, plots
from eyetest.pages.plots import benchmark_of, bounded, rows
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_MOST_LETTERS = 10
_RARE = 0.02
"""Places that are hardly ever right or picked say nothing; they stand in the numbers only."""


def _numbers(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("positions"))
    known = table.with_columns((pl.col(ADJUSTED) < 1 - material.settings.level).alias("preferred"))
    told = ["series", "place", "picked", "gold", *bounded("difference"), "total_variation", "p", ADJUSTED]
    return known.select(*benchmark_of(table), *told, "preferred", "n")


def _draw(frame: pl.DataFrame) -> ChartType:
    order = frame.sort("total_variation", descending=True).get_column("series").unique(maintain_order=True).to_list()
    used = frame.filter(pl.max_horizontal("picked", "gold").max().over("place") >= _RARE).get_column("place")
    letters = sorted(set(used))[:_MOST_LETTERS]
    widest = pl.max_horizontal(pl.col("difference_low", "difference_high").abs()).max()
    most = float(frame.select(widest).item() or 0.1)
    edge = max(0.01, round(0.7 * most, 2))
    x = plots.across("", form=plots.POINTS, domain=(-most * 1.05, most * 1.05), at=(-edge, 0, edge))
    panels = []
    for number, letter in enumerate(letters):
        y = rows(order) if not number else rows(order).axis(None)
        chart = alt.Chart(plots.values(frame.filter(pl.col("place") == letter)))
        colour = alt.condition("datum.preferred", alt.value(palette.BLIND), alt.value(palette.QUIET))
        dots = plots.layered(plots.dashed(), plots.intervals(chart, "difference", x, y=y, color=colour))
        width = max(52, 480 // len(letters))
        panels.append(dots.properties(width=width, height=plots.step(len(order)), title=letter))
    return alt.hconcat(*panels, spacing=8)


FIGURE = Figure(
    *("positions", 70, "Position bias", _numbers, _draw),
    reading="How much more often a model picks an option position than the gold stands there, with intervals; in "
    "colour where that is significant, all positions of all models being tested together (Holm). A model without "
    "position bias stands on the dashed line everywhere.",
    needs="answers to items with options, in the order as written",
)
