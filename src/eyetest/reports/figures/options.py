"""How much a score owes to how many options there are to choose from."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.pages import palette
from eyetest.pages.labels import spread_apart
from eyetest.pages.plots import PERCENT, bounded, named, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_GUESSING = "guessing"
_WIDTH, _HEIGHT, _GAP, _MOST_NAMES = 420, 240, 12, 12


def _numbers(material: Material) -> pl.DataFrame:
    table = material.fewer_options
    if table is None or table.is_empty():
        raise NotMeasurable("options: no benchmark was asked with fewer options")
    told = named(material.under_usual(table)).drop_nulls("accuracy")
    return told.select("dataset", "series", "options", *bounded("accuracy"), _GUESSING, "n")


def _draw(frame: pl.DataFrame) -> ChartType:
    counts = sorted(set(frame.get_column("options")))
    last = frame.filter(pl.col("options") == counts[-1]).sort("accuracy", descending=True)
    names = last.get_column("series").to_list()
    x = alt.X("options:Q", title="options").scale(domain=[counts[0] - 0.3, counts[-1] + 0.3], nice=False)
    x = x.axis(values=counts, format="d", grid=False)
    percent = alt.Axis(format=PERCENT, tickCount=5, grid=True, labelColor=palette.SOFT)
    y = alt.Y("accuracy:Q", axis=percent).scale(domain=[0, 1])
    few = len(names) <= len(palette.CATEGORIES)
    colours = list(palette.CATEGORIES[: len(names)]) if few else [palette.QUIET]
    colour = alt.Color("series:N", sort=names, legend=None).scale(domain=names, range=colours)
    chart = alt.Chart(values(frame)).encode(x=x, color=colour)
    lines = chart.mark_line(strokeWidth=1.6).encode(y=y)
    bars = chart.mark_rule(strokeWidth=1.4, opacity=0.4).encode(
        y=alt.Y("accuracy_low:Q", axis=percent), y2="accuracy_high"
    )
    dots = chart.mark_point(filled=True, size=40, opacity=1).encode(y=y)
    ends = last.head(_MOST_NAMES).sort("accuracy")
    labels = pl.Series("label", spread_apart(ends.get_column("accuracy").to_list(), _GAP / _HEIGHT))
    words = alt.Chart(values(ends.with_columns(labels))).mark_text(align="left", dx=8, fontSize=11, limit=150)
    words = words.encode(x=x, y=alt.Y("label:Q", axis=percent), text="series:N", color=colour)
    luck = alt.Chart(values(frame.select("options", _GUESSING).unique().sort("options"))).mark_line(
        color=palette.SOFT, strokeDash=[3, 3], strokeWidth=1.2
    )
    guessing = luck.encode(x=x, y=alt.Y(f"{_GUESSING}:Q", axis=percent))
    return alt.layer(guessing, bars, lines, dots, words).properties(width=_WIDTH, height=_HEIGHT)


FIGURE = Figure(
    *("options", 55, "Number of options", _numbers, _draw),
    reading="Accuracy on the same items with fewer distractors; the gold and the first distractors stay. A line is a "
    "model, the dashed one is what guessing scores; the best twelve are named.",
    needs="a suite with options: [2, 4, 6, 8, 10] at one of its benchmarks",
    by="dataset",
)
