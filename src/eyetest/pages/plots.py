"""What figures share: dots on intervals, names of series, charts one below the other, and how all are dressed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures.results import PROTOCOL
from eyetest.pages import palette
from eyetest.pages.labels import NamePlace
from eyetest.pages.page import clip
from eyetest.records import Condition

ROOMY, TIGHT = 22, 17
"""Heights of a row, in pixels."""
_MANY_ROWS = 14
_LONGEST_TITLE = 120
PERCENT, POINTS = ".0%", "+.0%"
Across = Callable[[str], alt.X]


def dressed(chart: ChartType) -> ChartType:
    """The chart in the colours and type of all figures."""
    chart.config = palette.config()
    return chart


def bounded(*names: str) -> list[str]:
    """The columns of estimates: each value, and both ends of its interval."""
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]


def benchmark_of(table: pl.DataFrame) -> list[str]:
    """The column that tells benchmarks apart, where there are several."""
    return ["benchmark"] if "benchmark" in table.columns else []


def values(rows: pl.DataFrame | Iterable[Mapping[str, Any]]) -> alt.InlineData:
    """Rows for a chart."""
    return alt.InlineData(values=rows.to_dicts() if isinstance(rows, pl.DataFrame) else [dict(row) for row in rows])


def named(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with a column ``series``: the model, and what is unusual about how it was asked."""
    usual = Condition()
    axes = [axis for axis in PROTOCOL[1:] if axis in frame.columns]
    parts = [
        pl.when(pl.col(axis).cast(pl.String) != getattr(usual, axis)).then(pl.col(axis).cast(pl.String))
        for axis in axes
    ]
    how = pl.concat_str(parts, separator=" ", ignore_nulls=True) if parts else pl.lit("")
    model = pl.col("model").cast(pl.String)
    return frame.with_columns(pl.when(how == "").then(model).otherwise(model + " · " + how).alias("series"))


def step(rows: int) -> alt.Step:
    """How high a row is: many rows stand closer."""
    return alt.Step(ROOMY if rows <= _MANY_ROWS else TIGHT)


def rows(names: Sequence[str], field: str = "series") -> alt.Y:
    """An axis of names from top to bottom."""
    return alt.Y(field, type="nominal", sort=list(names), title=None).scale(domain=list(names))


def across(
    title: str,
    *,
    form: str = PERCENT,
    domain: Sequence[float] | None = None,
    ticks: int = 5,
    at: Sequence[float] | None = None,
) -> Across:
    """A quantitative axis, to be laid below several fields of one chart."""
    scale = alt.Scale(domain=list(domain), nice=False) if domain else alt.Scale(zero=False, nice=True, padding=6)
    axis = alt.Axis(format=form, tickCount=ticks, labelExpr="datum.value === 0 ? '0' : datum.label")
    if at is not None:
        axis.values = list(at)
    return lambda field: alt.X(field, type="quantitative", title=title, scale=scale, axis=axis)


def intervals(chart: alt.Chart, value: str, x: Across, **encoded: Any) -> alt.LayerChart:
    """Dots on their intervals: ``value`` between ``value_low`` and ``value_high``."""
    encoded = {"color": alt.value(palette.SIGHTED)} | encoded
    shape = encoded.pop("shape", alt.value("circle"))
    line = chart.mark_rule(strokeWidth=1.6, opacity=0.5).encode(x=x(f"{value}_low"), x2=f"{value}_high", **encoded)
    dot = chart.mark_point(filled=True, size=44, opacity=1).encode(x=x(value), shape=shape, **encoded)
    return layered(line, dot)


def dumbbells(
    frame: pl.DataFrame,
    y: alt.Y,
    styles: Mapping[str, tuple[str, str]],
    ticks: int,
    ends: tuple[str, str] = ("blind", "sighted"),
) -> alt.LayerChart:
    """A bar between two columns for each row, and dots on it: columns, each with its colour and its shape."""
    x, names = across("accuracy", ticks=ticks), list(styles)
    long = frame.unpivot(names, index=str(y.shorthand)).drop_nulls("value")
    colours, shapes = (list(style) for style in zip(*styles.values(), strict=True))
    bar = alt.Chart(values(frame)).mark_rule(strokeWidth=4, color=palette.LINE)
    dots = alt.Chart(values(long)).mark_point(filled=True, size=58, opacity=1)
    colour = alt.Color("variable:N").scale(domain=names, range=colours)
    shape = alt.Shape("variable:N").scale(domain=names, range=shapes)
    return layered(
        bar.encode(x=x(ends[0]), x2=ends[1], y=y), dots.encode(x=x("value"), y=y, color=colour, shape=shape)
    )


def told_bars(frame: pl.DataFrame, field: str, text: alt.Text, width: int) -> ChartType:
    """A quiet bar for each row's ``items``, with words behind it."""
    y = rows(frame.get_column(field).to_list(), field)
    chart = alt.Chart(values(frame)).encode(x=alt.X("items:Q", axis=None), y=y, **leading(frame))
    words = chart.mark_text(align="left", dx=5).encode(text=text)
    bars = chart.mark_bar(color=palette.QUIET, height=9)
    return layered(bars, words).properties(width=width, height=step(len(frame)))


def names_beside(
    frame: pl.DataFrame, places: Sequence[NamePlace | None], size: int, **encoded: Any
) -> list[alt.Chart]:
    """The names of dots where `beside_dots` puts them; ``encoded`` says where the dots are."""
    together: dict[NamePlace, list[dict[str, Any]]] = {}
    for row, place in zip(frame.to_dicts(), places, strict=True):
        if place is not None:
            together.setdefault(place, []).append(row)
    return [
        alt.Chart(values(part))
        .mark_text(align=place.align, dx=place.dx, dy=place.dy, fontSize=size, limit=150)
        .encode(**encoded)
        for place, part in together.items()
    ]


def leading(frame: pl.DataFrame) -> dict[str, Any]:
    """How parts of a chart lead somewhere, where the frame says so."""
    return {"href": alt.Href("href:N")} if "href" in frame.columns else {}


def layered(*charts: alt.Chart | alt.LayerChart) -> alt.LayerChart:
    """Charts one over the other."""
    chart = alt.layer(*charts)
    assert isinstance(chart, alt.LayerChart)
    return chart


def dashed(at: float = 0.0, axis: str = "x") -> alt.Chart:
    """A line across, where nothing differs or where guessing is."""
    rule = alt.Chart(values([{"at": at}])).mark_rule(color=palette.SOFT, strokeDash=[3, 3])
    drawn: alt.Chart = rule.encode((alt.X if axis == "x" else alt.Y)("at", type="quantitative"))
    return drawn


def one_each(frame: pl.DataFrame, column: str, draw: Callable[[pl.DataFrame], ChartType]) -> ChartType:
    """One chart, or one below the other for each value of a column that has several."""
    if column not in frame.columns or frame.get_column(column).n_unique() < 2:
        return draw(frame)
    parts = frame.partition_by(column, maintain_order=True, as_dict=True)
    charts = [draw(part).properties(title=clip(str(value), _LONGEST_TITLE)) for (value,), part in parts.items()]
    return alt.vconcat(*charts)
