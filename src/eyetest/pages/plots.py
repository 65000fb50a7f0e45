"""What figures share: dots on intervals, panels with common rows, names of series, positions of labels."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures.results import PROTOCOL
from eyetest.pages import palette
from eyetest.pages.page import clip
from eyetest.records import Condition

ROOMY, TIGHT = 22, 17
_MANY_ROWS = 14
WIDTH = 460
_LONGEST_TITLE = 120
PERCENT, POINTS = ".0%", "+.0%"
NAME_AWAY = 8
_LETTER, _LINE, _DOT = 5.8, 12.0, 5.0  # letter width, line height of small type and dot radius, in pixels
Across = Callable[[str], alt.X]
Panel = tuple[Callable[[alt.Y], ChartType], float, str]  # drawing function on an axis of rows, width, title or ''


def dressed(chart: ChartType) -> ChartType:
    """The chart in the colours and type of all figures."""
    chart.config = palette.config()
    return chart


def bounded(*names: str) -> list[str]:
    """The columns of estimates: each value, and both ends of its interval."""
    return [f"{name}{end}" for name in names for end in ("", "_low", "_high")]


def rebounded(old: str, new: str) -> list[pl.Expr]:
    """An estimate and both ends of its interval under another name."""
    return [pl.col(f"{old}{end}").alias(f"{new}{end}") for end in ("", "_low", "_high")]


def benchmark_of(table: pl.DataFrame) -> list[str]:
    """The column that distinguishes benchmarks, if there are several."""
    return ["benchmark"] if "benchmark" in table.columns else []


def values(rows: pl.DataFrame | Iterable[Mapping[str, Any]]) -> alt.InlineData:
    """Rows for a chart."""
    return alt.InlineData(values=rows.to_dicts() if isinstance(rows, pl.DataFrame) else [dict(row) for row in rows])


def named(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with a column ``series``: the model, and how its conditions differ from the usual."""
    usual = Condition()
    parts = [
        pl.when(pl.col(axis).cast(pl.String) != getattr(usual, axis)).then(pl.col(axis).cast(pl.String))
        for axis in PROTOCOL[1:]
        if axis in frame.columns
    ]
    how = pl.concat_str(parts, separator=" ", ignore_nulls=True) if parts else pl.lit("")
    model = pl.col("model").cast(pl.String)
    return frame.with_columns(pl.when(how == "").then(model).otherwise(model + " · " + how).alias("series"))


def step(rows: int) -> alt.Step:
    """The height of a row; smaller if there are many."""
    return alt.Step(ROOMY if rows <= _MANY_ROWS else TIGHT)


def rows(names: Sequence[str], field: str = "series", **scale: Any) -> alt.Y:
    """An axis of names from top to bottom."""
    return alt.Y(field, type="nominal", sort=list(names), title=None).scale(domain=list(names), **scale)


def across(
    title: str,
    *,
    form: str = PERCENT,
    domain: Sequence[float] | None = None,
    ticks: int = 5,
    at: Sequence[float] | None = None,
) -> Across:
    """A quantitative axis, to be placed below several fields of one chart."""
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


def panel(
    frame: pl.DataFrame, value: str, x: Across, y: alt.Y, at: float | None = 0.0, **encoded: Any
) -> alt.LayerChart:
    """Dots on their intervals in rows, without unknown ones; a dashed line at ``at`` unless it is None."""
    dots = intervals(alt.Chart(values(frame.drop_nulls(value))), value, x, y=y, **encoded)
    return dots if at is None else layered(dashed(at), dots)


def styled(
    field: str,
    names: Sequence[str],
    colours: Sequence[str] = palette.CATEGORIES,
    shapes: Sequence[str] = palette.SHAPES,
    **more: Any,
) -> dict[str, Any]:
    """The colour and the shape of each name, in this order."""
    colour = alt.Color(f"{field}:N", sort=list(names), **more)
    shape = alt.Shape(f"{field}:N", sort=list(names), **more)
    return {
        "color": colour.scale(domain=list(names), range=list(colours[: len(names)])),
        "shape": shape.scale(domain=list(names), range=list(shapes[: len(names)])),
    }


def grouped(frame: pl.DataFrame, value: str, x: Across, y: alt.Y, way: str, names: Sequence[str]) -> alt.LayerChart:
    """In each row a dot on its interval for every name of the column ``way``; ``y`` needs a ``paddingInner``."""
    apart = alt.YOffset(f"{way}:N", sort=list(names))
    dots = intervals(alt.Chart(values(frame)), value, x, y=y, yOffset=apart, **styled(way, names))
    drawn: alt.LayerChart = dots.properties(width=WIDTH, height=alt.Step(10, **{"for": "offset"}))
    return drawn


def heat_map(
    chart: alt.Chart, colour: alt.Color, text: alt.Text | None, strong: str, size: tuple[int, int]
) -> ChartType:
    """Coloured cells of a size in pixels, with their numbers if a text is given; ``strong``: where cells are dark."""
    cells = chart.mark_rect(stroke=palette.PAPER, strokeWidth=0).encode(color=colour)
    ink = alt.condition(strong, alt.value(palette.ON_STRONG), alt.value(palette.INK))
    drawn = cells if text is None else alt.layer(cells, chart.mark_text(fontSize=11).encode(text=text, color=ink))
    return drawn.properties(width=alt.Step(size[0]), height=alt.Step(size[1]))


def dumbbells(
    frame: pl.DataFrame, ends: tuple[str, str], colours: Mapping[str, str], ticks: int, y: alt.Y
) -> alt.LayerChart:
    """A bar between two columns for each row, and dots on it: columns, each with its colour."""
    x, names = across("accuracy", ticks=ticks), list(colours)
    bar = alt.Chart(values(frame)).mark_rule(strokeWidth=4, color=palette.LINE)
    long = frame.unpivot(names, index=str(y.shorthand)).drop_nulls("value")
    dots = alt.Chart(values(long)).mark_point(filled=True, size=58, opacity=1)
    looks = styled("variable", names, list(colours.values()))
    return layered(bar.encode(x=x(ends[0]), x2=ends[1], y=y), dots.encode(x=x("value"), y=y, **looks))


def told_bars(frame: pl.DataFrame, field: str, text: alt.Text, width: int) -> ChartType:
    """A pale bar for each row's ``items``, followed by text."""
    y = rows(frame.get_column(field).to_list(), field)
    chart = alt.Chart(values(frame)).encode(x=alt.X("items:Q", axis=None), y=y, **leading(frame))
    words = chart.mark_text(align="left", dx=5).encode(text=text)
    bars = chart.mark_bar(color=palette.QUIET, height=9)
    return layered(bars, words).properties(width=width, height=step(len(frame)))


def leading(frame: pl.DataFrame) -> dict[str, Any]:
    """The link channel of a chart, if the frame has link targets."""
    return {"href": alt.Href("href:N")} if "href" in frame.columns else {}


def layered(*charts: alt.Chart | alt.LayerChart) -> alt.LayerChart:
    """Charts one over the other."""
    chart = alt.layer(*charts)
    assert isinstance(chart, alt.LayerChart)
    return chart


def dashed(at: float = 0.0, axis: str = "x") -> alt.Chart:
    """A line at no difference or at chance."""
    rule = alt.Chart(values([{"at": at}])).mark_rule(color=palette.SOFT, strokeDash=[3, 3])
    drawn: alt.Chart = rule.encode((alt.X if axis == "x" else alt.Y)("at", type="quantitative"))
    return drawn


def one_each(frame: pl.DataFrame, column: str, draw: Callable[[pl.DataFrame], ChartType]) -> ChartType:
    """One chart, or a column of charts, one for each value of a column that has several."""
    if column not in frame.columns or frame.get_column(column).n_unique() < 2:
        return draw(frame)
    parts = frame.partition_by(column, maintain_order=True, as_dict=True)
    charts = [draw(part).properties(title=clip(str(value), _LONGEST_TITLE)) for (value,), part in parts.items()]
    return alt.vconcat(*charts)


def spread_apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Positions of labels for these rising values: at least ``gap`` apart, with an average shift of 0."""
    at, placed = float("-inf"), []
    for value in wanted:
        at = max(value, at + gap)
        placed.append(at)
    lift = (sum(placed) - sum(wanted)) / len(placed) if placed else 0.0
    return [place - lift for place in placed]


def fitting(dots: Sequence[tuple[float, float]], names: Sequence[str]) -> list[bool]:
    """Whether each name, to the right of its dot (in pixels), overlaps no other dot and no name before it."""
    taken = [(x - _DOT, y - _DOT, x + _DOT, y + _DOT) for x, y in dots]
    fit = []
    for (x, y), name in zip(dots, names, strict=True):
        box = (x + NAME_AWAY, y - _LINE / 2, x + NAME_AWAY + _LETTER * len(name), y + _LINE / 2)
        fit.append(not any(box[0] < c and a < box[2] and box[1] < d and b < box[3] for a, b, c, d in taken))
        taken += [box] if fit[-1] else []
    return fit


def side_by_side(order: Sequence[str], panels: Iterable[Panel], spacing: int = 14) -> ChartType:
    """Panels with common rows."""
    height = step(len(order))
    axes = chain([rows(order)], repeat(rows(order).axis(None)))  # only the first shows the names
    drawn = [
        draw(y).properties(width=width, height=height, **({"title": title} if title else {}))
        for (draw, width, title), y in zip(panels, axes, strict=False)
    ]
    return alt.hconcat(*drawn, spacing=spacing)
