"""ReForm-Eval's table: what each model scores in each dimension, and its rank over all of them."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.results import TAG
from eyetest.pages import palette
from eyetest.pages.plots import POINTS, benchmark_of, bounded, named, rows, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_TAG = "dimension"
_CUTS = [-0.2, -0.1, -0.025, 0.025, 0.1, 0.2]
_COLOURS = [*palette.STEPS[:4], *palette.STEPS[5:]]
"""Three for below, one for nearly the mean, three for above."""
_LABELS = "abs(datum.value) >= 0.1 ? datum.label : ''"
_STRONG = "datum.above >= 0.1 || datum.above < -0.2"
_SHORT = 6
"""Names of so few letters stand upright above their column."""
_MOST_CELLS_WITH_NUMBERS = 14
_ROOMY, _TIGHT = 52, 20


def _numbers(material: Material) -> pl.DataFrame:
    if _TAG not in material.results.tags:
        raise NotMeasurable("no item says what dimension it is of")
    table = named(material.measured("accuracy", (_TAG,))).drop_nulls([TAG + _TAG, "accuracy"])
    if table.is_empty():
        raise NotMeasurable("dimensions: no answer to an item with a dimension has a score")
    around = benchmark_of(table)
    dimension = pl.col(TAG + _TAG).alias(_TAG)
    told = table.select(*around, "model", "series", dimension, *bounded("accuracy"), "n")
    try:
        ranks = material.measured("ranks", (_TAG,))
    except NotMeasurable:
        return told.with_columns(pl.lit(None, pl.Float64).alias("rank")).drop("model")
    places = [pl.col(f"rank_of_mean_ranks{end}").alias(f"rank{end}") for end in ("", "_low", "_high")]
    placed = ranks.select(*around, "model", *bounded("mean_rank"), *places)
    return told.join(placed, on=[*around, "model"], how="left", maintain_order="left").drop("model")


def _draw(frame: pl.DataFrame) -> ChartType:
    means = frame.group_by("series").agg(pl.col("rank").first(), pl.col("accuracy").mean())
    best = means.sort("rank", "accuracy", "series", descending=[False, True, False], nulls_last=True)
    order = best.get_column("series").to_list()
    names = list(dict.fromkeys(frame.get_column(_TAG)))
    above = pl.col("accuracy") - pl.col("accuracy").mean().over(_TAG)
    few = len(names) <= _MOST_CELLS_WITH_NUMBERS
    angle = 0 if few and max(map(len, names)) <= _SHORT else -40
    x = alt.X(f"{_TAG}:N", sort=names, title=None).axis(labelAngle=angle, labelLimit=170, domain=False, orient="top")
    chart = alt.Chart(values(frame.with_columns(above.alias("above")))).encode(x=x, y=rows(order))
    colour = alt.Color("above:Q").scale(type="threshold", domain=_CUTS, range=_COLOURS)
    legend = alt.Legend(title="against the mean of all models", format=POINTS, orient="bottom", labelExpr=_LABELS)
    legend.gradientLength = 240
    cells = chart.mark_rect(stroke=palette.PAPER, strokeWidth=0).encode(color=colour.legend(legend))
    words = chart.mark_text(fontSize=11).encode(
        text=alt.Text("accuracy:Q", format=".1%"),
        color=alt.condition(_STRONG, alt.value(palette.ON_STRONG), alt.value(palette.INK)),
    )
    size = {"width": alt.Step(_ROOMY if few else _TIGHT), "height": alt.Step(24)}
    table = (alt.layer(cells, words) if few else cells).properties(**size)
    if best.get_column("rank").null_count() == len(best):
        return table
    places = alt.Chart(values(best.drop_nulls("rank"))).mark_text(fontSize=12, fontWeight=600).encode(
        y=rows(order).axis(None), text=alt.Text("rank:Q", format=".2~f")
    )  # fmt: skip
    return alt.hconcat(table, places.properties(width=34, height=alt.Step(24), title="rank"), spacing=4)


FIGURE = Figure(
    *("dimensions", 4, "Dimensions", _numbers, _draw),
    reading="What each model scores in each dimension; blue is above the mean of all models there, brown below. The "
    "rank is that of a model's mean rank over the dimensions, as ReForm-Eval has it; models with the same mean rank "
    "share it. Intervals are in the numbers.",
    needs="items with the tag dimension",
)
