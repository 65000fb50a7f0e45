"""Whether models that are good at one thing are good at another."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.means import ADJUSTED
from eyetest.measures.settings import EXTERNAL
from eyetest.pages import palette
from eyetest.pages.plots import one_each, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_METHOD = "spearman"
_MOST_CELLS_WITH_NUMBERS = 12
_LABELS = "datum.value === 0 || abs(datum.value) === 0.5 ? datum.label : ''"


def _numbers(material: Material) -> pl.DataFrame:
    table = material.measured("correlation", material.comparable_tags)
    known = table.filter(pl.col("other") != EXTERNAL).drop_nulls("correlation")
    if known.is_empty():
        raise NotMeasurable("correlation: no two groups of items to compare")
    return known.select("across", "one", "other", "method", "^correlation.*$", "p", ADJUSTED, "n")


def _draw_all(frame: pl.DataFrame) -> ChartType:
    return one_each(frame.filter(pl.col("method") == _METHOD), "across", _draw)


def _draw(frame: pl.DataFrame) -> ChartType:
    names = list(dict.fromkeys([*frame.get_column("one"), *frame.get_column("other")]))
    few = len(names) <= _MOST_CELLS_WITH_NUMBERS
    limit = 170
    x = alt.X("one:N", sort=names, title=None, axis=alt.Axis(labelAngle=-40, labelLimit=limit, domain=False))
    y = alt.Y("other:N", sort=names, title=None, axis=alt.Axis(labelLimit=limit))
    cuts = [-0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75]
    colour = alt.Color("correlation:Q").scale(type="threshold", domain=cuts, range=list(palette.STEPS))
    chart = alt.Chart(values(frame))
    cells = chart.mark_rect(stroke=palette.PAPER, strokeWidth=0).encode(
        x=x, y=y, color=colour.legend(title="correlation", gradientLength=200, labelExpr=_LABELS)
    )
    side = alt.Step(38 if few else 17)
    strong = "datum.correlation >= 0.5 || datum.correlation < -0.75"
    words = chart.mark_text(fontSize=11).encode(
        x=x,
        y=y,
        text=alt.Text("correlation:Q", format=".2f"),
        color=alt.condition(strong, alt.value(palette.ON_STRONG), alt.value(palette.INK)),
    )
    return (alt.layer(cells, words) if few else cells).properties(width=side, height=side)


FIGURE = Figure(
    *("correlation", 90, "What goes together", _numbers, _draw_all),
    reading="Rank correlation (Spearman) over models between their scores on two groups of items. Blue, whoever is "
    "good at the one is good at the other. Intervals are in the numbers: with few models they are wide.",
    needs="at least three models, and tags or several benchmarks",
)
