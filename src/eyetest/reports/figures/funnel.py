"""Where items fell: into each stage of a refinement, and out of it."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.pages import palette
from eyetest.pages.plots import leading, rows, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material
from eyetest.reports.report_items import Counts, ReportItems

_KINDS = ("drop", "fix", "review", "keep")
_INKS = {"keep": palette.INK, "fix": palette.ON_BRIGHT, "review": palette.ON_BRIGHT, "drop": palette.ON_STRONG}
_WIDTH, _HEIGHT = 460, 30
_ROOM = 0.09
"""The share of the longest bar that a number needs."""


def _numbers(material: Material) -> pl.DataFrame:
    if material.funnel is None or material.funnel.is_empty():
        raise NotMeasurable("no refinement was given")
    return material.funnel.select("stage", "into", *_KINDS)


def _reached(frame: pl.DataFrame, items: ReportItems) -> Counts:
    columns = {"into": "", **{kind: kind for kind in _KINDS}}
    return {
        column: [items.judged(number, stage, kind) for stage, number in frame.select("stage", column).iter_rows()]
        for column, kind in columns.items()
    }


def _draw(frame: pl.DataFrame, items: ReportItems | None = None) -> ChartType:
    most = frame.select(pl.col("into").max()).item() or 1
    parts, left = _parts(frame), frame.with_columns((pl.col("keep") + pl.col("fix")).alias("left"))
    if items is not None:
        verdicts = parts.select("items", "stage", "verdict").iter_rows()
        parts = parts.with_columns(items.marks(items.judged(*one) for one in verdicts))
        stages = left.select("left", "stage").iter_rows()
        left = left.with_columns(items.marks(items.judged(number, stage, "kept") for number, stage in stages))
    shown = [kind for kind in _KINDS if kind in set(parts.get_column("verdict"))]
    colours = [palette.VERDICTS[kind] for kind in shown]
    y = rows(frame.get_column("stage").to_list(), "stage")
    x = alt.X("start:Q", title="items", axis=alt.Axis(tickCount=5)).scale(domain=[0, most], nice=False)
    colour = alt.Color("verdict:N").scale(domain=shown, range=colours)
    bars = alt.Chart(values(parts)).mark_bar(height=_HEIGHT - 8)
    bars = bars.encode(x=x, x2="end", y=y, color=colour, **leading(parts))
    roomy = alt.Chart(values(parts.filter(pl.col("items") >= _ROOM * most))).mark_text()
    ink = alt.Color("ink:N", scale=None)
    words = roomy.encode(x="middle:Q", y=y, text=alt.Text("items:Q", format=","), color=ink, **leading(parts))
    ends = alt.Chart(values(left)).transform_calculate(told="format(datum.left, ',') + ' left'")
    last = ends.mark_text(align="left", dx=6).encode(x="into:Q", y=y, text="told:N", **leading(left))
    return alt.layer(bars, words, last).properties(width=_WIDTH, height=alt.Step(_HEIGHT))


def _parts(frame: pl.DataFrame) -> pl.DataFrame:
    """The pieces of every bar: where each begins and ends, and what its number is written with."""
    long = frame.with_row_index("row").unpivot(list(_KINDS), index=["row", "stage"], variable_name="verdict")
    long = long.rename({"value": "items"}).sort("row", maintain_order=True)
    end = pl.col("items").cum_sum().over("row")
    return long.with_columns(
        (end - pl.col("items")).alias("start"),
        end.alias("end"),
        (end - pl.col("items") / 2).alias("middle"),
        pl.col("verdict").replace_strict(_INKS).alias("ink"),
    ).filter(pl.col("items") > 0)


FIGURE = Figure(
    *("funnel", 30, "Funnel", _numbers, _draw),
    reading="A bar is what reached a stage, its parts what became of it; behind it stands how many are left.",
    needs="a refinement: name the folder that eyetest refine wrote",
    counts=_reached,
    linked=True,
)
