"""Blind against sighted: what a model gets from its eyes, and what it has read before the test."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.pages import palette
from eyetest.pages.plots import (
    POINTS,
    across,
    benchmark_of,
    bounded,
    dashed,
    intervals,
    layered,
    one_each,
    rows,
    step,
    values,
)
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_DOTS = {"sighted": palette.SIGHTED, "blind": palette.BLIND, "language model": palette.BASE}
_WIDTH, _SIDE = 300, 150


def _numbers(material: Material) -> pl.DataFrame:
    table = material.measured("gain", scope="all").filter(pl.col("sighted_by").is_not_null())
    how = pl.col("sighted_by").str.replace(r"^\S+ (direct ?)?", "")
    series = pl.when(how == "").then(pl.col("model")).otherwise(pl.col("model") + " · " + how)
    told = [*benchmark_of(table), "series", "sighted", "blind", "base", *bounded("gain", "leakage", "unclipped")]
    return table.with_columns(series.alias("series")).select(*told, "^.*_by$", "n", "^leakage_n$")


def _draw_all(frame: pl.DataFrame) -> ChartType:
    known = {"sighted": "sighted", "blind": "blind", "base": "language model"}
    shown = [word for name, word in known.items() if frame.get_column(name).drop_nulls().len()]
    return one_each(frame, "benchmark", lambda part: _draw(part, shown))


def _draw(frame: pl.DataFrame, shown: list[str]) -> ChartType:
    order = frame.sort("sighted", descending=True).get_column("series").to_list()
    height = step(len(order))
    y = rows(order)
    panels: list[ChartType] = [_dumbbells(frame, y, shown).properties(width=_WIDTH, height=height)]
    bare = rows(order).axis(None)
    for value, title in (("gain", "gain"), ("unclipped", "leakage")):
        known = frame.drop_nulls(value)
        if len(known):
            dots = intervals(
                alt.Chart(values(known)),
                value,
                across(title, form=POINTS, ticks=3),
                y=bare,
                color=alt.value(palette.INK),
            )
            panels.append(layered(dashed(), dots).properties(width=_SIDE, height=height))
    return alt.hconcat(*panels, spacing=14)


def _dumbbells(frame: pl.DataFrame, y: alt.Y, shown: list[str]) -> alt.LayerChart:
    x = across("accuracy")
    long = frame.rename({"base": "language model"}).unpivot(list(_DOTS), index="series").drop_nulls("value")
    bar = alt.Chart(values(frame)).mark_rule(strokeWidth=4, color=palette.LINE)
    dots = alt.Chart(values(long)).mark_point(filled=True, size=58, opacity=1)
    colour = alt.Color("variable:N").scale(domain=shown, range=[_DOTS[name] for name in shown])
    shape = alt.Shape("variable:N").scale(domain=shown, range=list(palette.SHAPES[: len(shown)]))
    return layered(
        bar.encode(x=x("blind"), x2="sighted", y=y), dots.encode(x=x("value"), y=y, color=colour, shape=shape)
    )


FIGURE = Figure(
    *("sight", 20, "Blind and sighted", _numbers, _draw_all),
    reading="Left, each model without and with the picture, and the language model it was built on; the longer the "
    "bar, the more its eyes add. Blind is blind, blind-guess or grey, the highest score where there are several; the "
    "numbers say which. Right, gain (sighted minus blind) and, where the language model was asked, leakage (blind "
    "minus language model, not cut off at 0), with intervals; the dashed line is none.",
    needs="models that answered both with the picture and without it: eyetest run --sight image,blind",
)
