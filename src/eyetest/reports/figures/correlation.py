"""Whether models that are good at one thing are good at another, here or elsewhere, such as in an arena."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.means import ADJUSTED
from eyetest.measures.results import EXTERNAL
from eyetest.pages import palette
from eyetest.pages.plots import across, dashed, intervals, layered, one_each, rows, step, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_SPEARMAN = pl.col("method") == "spearman"
_MOST_CELLS_WITH_NUMBERS = 12
_LABELS = "datum.value === 0 || abs(datum.value) === 0.5 ? datum.label : ''"
_STRONG = "datum.correlation >= 0.5 || datum.correlation < -0.75"


def _among_groups(material: Material) -> pl.DataFrame:
    table = material.measured("correlation", material.comparable_tags)
    known = table.filter(pl.col("other") != EXTERNAL).drop_nulls("correlation")
    if known.is_empty():
        raise NotMeasurable("correlation: no two groups of items to compare")
    return known.select("across", "one", "other", "method", "^correlation.*$", "p", ADJUSTED, "n")


def _heat_maps(frame: pl.DataFrame) -> ChartType:
    return one_each(frame.filter(_SPEARMAN), "across", _heat_map)


def _heat_map(frame: pl.DataFrame) -> ChartType:
    names = list(dict.fromkeys([*frame.get_column("one"), *frame.get_column("other")]))
    few = len(names) <= _MOST_CELLS_WITH_NUMBERS
    x = alt.X("one:N", sort=names, title=None, axis=alt.Axis(labelAngle=-40, labelLimit=170, domain=False))
    y = alt.Y("other:N", sort=names, title=None, axis=alt.Axis(labelLimit=170))
    cuts = [-0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75]
    colour = alt.Color("correlation:Q").scale(type="threshold", domain=cuts, range=list(palette.STEPS))
    chart = alt.Chart(values(frame)).encode(x=x, y=y)
    cells = chart.mark_rect(stroke=palette.PAPER, strokeWidth=0).encode(
        color=colour.legend(title="correlation", gradientLength=200, labelExpr=_LABELS)
    )
    words = chart.mark_text(fontSize=11).encode(
        text=alt.Text("correlation:Q", format=".2f"),
        color=alt.condition(_STRONG, alt.value(palette.ON_STRONG), alt.value(palette.INK)),
    )
    side = alt.Step(38 if few else 17)
    return (alt.layer(cells, words) if few else cells).properties(width=side, height=side)


def _with_outside(material: Material) -> pl.DataFrame:
    if not material.external:
        raise NotMeasurable("no score from elsewhere was given")
    table = material.measured("correlation", material.comparable_tags).filter(pl.col("other") == EXTERNAL)
    return table.drop_nulls("correlation").select("across", "one", "method", "^correlation.*$", "p", ADJUSTED, "n")


def _dots(frame: pl.DataFrame) -> ChartType:
    named = pl.when(pl.col("across") == "all").then("one").otherwise(pl.format("{}: {}", "across", "one"))
    kept = frame.filter(_SPEARMAN).with_columns(named.alias("row"))
    order = kept.get_column("row").to_list()
    x = across("rank correlation", form=".1f", domain=(-1.02, 1.02))
    dots = intervals(alt.Chart(values(kept)), "correlation", x, y=rows(order, "row"))
    return layered(dashed(), dots).properties(width=420, height=step(len(order)))


FIGURE = (
    Figure(
        *("correlation", 90, "Correlation between groups of items", _among_groups, _heat_maps),
        reading="Rank correlation (Spearman) over models between their scores on two groups of items. Blue, whoever "
        "is good at the one is good at the other. Intervals are in the numbers: with few models they are wide.",
        needs="at least three models, and tags or several benchmarks",
    ),
    Figure(
        *("external", 95, "Correlation with external scores", _with_outside, _dots),
        reading="Rank correlation (Spearman) over models of the scores on some items with the score from outside; "
        "the interval says how far other models like these could move it.",
        needs="a score of at least three of the models: --with CSV",
    ),
)
