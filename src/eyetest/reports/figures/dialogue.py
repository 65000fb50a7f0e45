"""How models fare from turn to turn of a dialogue, told the right answers or their own."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures.dialogue import HISTORIES
from eyetest.pages import palette
from eyetest.pages.page import clip
from eyetest.pages.plots import PERCENT, benchmark_of, bounded, layered, named, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_COLOURS = dict(zip(HISTORIES, (palette.SIGHTED, palette.BLIND), strict=True))
_SHAPES = dict(zip(HISTORIES, palette.SHAPES, strict=False))
_MOST_SERIES = 12
_IN_A_ROW = 4
_WIDTH, _HEIGHT = 150, 120
_LONGEST_NAME = 24


def _numbers(material: Material) -> pl.DataFrame:
    """One row a series, history and turn, with the slope over its turns beside it."""
    table = _seen(named(material.measured("dialogue", scope="all")))
    slopes = _seen(named(material.measured("dialogue-slope", scope="all").rename({"history": "told"})))
    about = [*benchmark_of(table), "series"]
    parts = [
        table.select(
            *about,
            pl.lit(history).alias("history"),
            "turn",
            *(pl.col(f"{history}{end}").alias(f"accuracy{end}") for end in ("", "_low", "_high")),
            pl.col(f"n_{history}" if f"n_{history}" in table.columns else "n").alias("n"),
        )
        for history in HISTORIES
        if history in table.columns
    ]
    rows = pl.concat(parts).filter(pl.col("n") > 0)
    slopes = slopes.select(*about, pl.col("told").alias("history"), *bounded("slope"))
    return rows.join(slopes, on=[*about, "history"], how="left", maintain_order="left")


def _seen(table: pl.DataFrame) -> pl.DataFrame:
    """With the picture, where some were asked so and some otherwise."""
    return table.filter(pl.col("sight").cast(pl.String) == "image") if "sight" in table.columns else table


def _draw(frame: pl.DataFrame) -> ChartType:
    means = frame.group_by("series").agg(pl.col("accuracy").mean())
    best = means.sort("accuracy", "series", descending=[True, False])
    names = best.get_column("series").head(_MOST_SERIES).to_list()
    low = frame.select(pl.min_horizontal("accuracy", "accuracy_low").min()).item()
    high = frame.select(pl.max_horizontal("accuracy", "accuracy_high").max()).item()
    panels = [_panel(frame.filter(pl.col("series") == name), name, (low, high)) for name in names]
    return alt.concat(*panels, columns=_IN_A_ROW, spacing=14)


def _panel(part: pl.DataFrame, name: str, domain: tuple[float, float]) -> ChartType:
    histories = [history for history in HISTORIES if history in set(part.get_column("history"))]
    colour = alt.Color("history:N").scale(domain=histories, range=[_COLOURS[history] for history in histories])
    shape = alt.Shape("history:N").scale(domain=histories, range=[_SHAPES[history] for history in histories])
    y = alt.Scale(domain=list(domain), nice=False)
    axis = alt.Axis(format=PERCENT, tickCount=4)
    chart = alt.Chart(values(part)).encode(x=alt.X("turn:O", title="turn", axis=alt.Axis(labelAngle=0)))
    bars = chart.mark_rule(strokeWidth=1.6, opacity=0.5).encode(
        y=alt.Y("accuracy_low:Q", title=None, scale=y, axis=axis), y2="accuracy_high", color=colour
    )
    line = chart.mark_line(strokeWidth=1.6).encode(y=alt.Y("accuracy:Q", scale=y), color=colour)
    dots = chart.mark_point(filled=True, size=36, opacity=1).encode(y=alt.Y("accuracy:Q"), color=colour, shape=shape)
    slopes = part.unique("history", maintain_order=True).drop_nulls("slope")
    changes = [f"{history} {100 * slope:+.1f}" for history, slope in slopes.select("history", "slope").rows()]
    told = f"{', '.join(changes)} points a turn" if changes else ""
    title = alt.TitleParams(clip(name, _LONGEST_NAME), subtitle=told, subtitleColor=palette.SOFT)
    return layered(bars, line, dots).properties(width=_WIDTH, height=_HEIGHT, title=title)


FIGURE = Figure(
    *("dialogue", 65, "Accuracy by dialogue turn", _numbers, _draw),
    reading="Each model's accuracy at each turn of the dialogues, told the right answers to the turns before (gold) "
    "or what it said itself (own). Where own falls below gold, a model is led astray by its own mistakes. Slopes are "
    "within dialogues; the best twelve models are drawn.",
    needs="items with the tags dialogue and turn: eyetest run --history gold,own",
)
