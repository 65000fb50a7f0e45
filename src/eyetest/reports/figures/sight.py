"""Blind against sighted: what a model gets from its eyes, and what it has read before the test."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.pages import palette, plots
from eyetest.pages.plots import benchmark_of, bounded, rows
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
    named = frame.rename({"base": "language model"})
    shown = [word for word in _DOTS if named.get_column(word).drop_nulls().len()]
    styles = {word: (_DOTS[word], shape) for word, shape in zip(shown, palette.SHAPES, strict=False)}
    return plots.one_each(named, "benchmark", lambda part: _draw(part, styles))


def _draw(frame: pl.DataFrame, styles: dict[str, tuple[str, str]]) -> ChartType:
    order = frame.sort("sighted", descending=True).get_column("series").to_list()
    height, ink = plots.step(len(order)), alt.value(palette.INK)
    panels: list[ChartType] = [plots.dumbbells(frame, rows(order), styles, 5).properties(width=_WIDTH, height=height)]
    for value, title in (("gain", "gain"), ("unclipped", "leakage")):
        known = frame.drop_nulls(value)
        if len(known):
            x, chart = plots.across(title, form=plots.POINTS, ticks=3), alt.Chart(plots.values(known))
            dots = plots.intervals(chart, value, x, y=rows(order).axis(None), color=ink)
            panels.append(plots.layered(plots.dashed(), dots).properties(width=_SIDE, height=height))
    return alt.hconcat(*panels, spacing=14)


FIGURE = Figure(
    *("sight", 20, "With and without the image", _numbers, _draw_all),
    reading="Left, each model without and with the picture, and the language model it was built on; the longer the "
    "bar, the more its eyes add. Blind is blind, blind-guess or grey, the highest score where there are several; the "
    "numbers say which. Right, gain (sighted minus blind) and, where the language model was asked, leakage (blind "
    "minus language model, not cut off at 0), with intervals; the dashed line is none.",
    needs="models that answered both with the picture and without it: eyetest run --sight image,blind",
)
