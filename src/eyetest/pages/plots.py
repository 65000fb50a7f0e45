"""Charts: dots on intervals, panels with common rows, label positions; as files, and as elements of pages."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any
from xml.etree import ElementTree

import altair as alt
import polars as pl
import vl_convert
from altair.typing import ChartType
from markupsafe import Markup

from eyetest.measures.results import PROTOCOL
from eyetest.pages import palette
from eyetest.pages.page import clip, printable_data
from eyetest.records import Condition

WIDTH = 460
PERCENT, POINTS = ".3~g", "+.3~g"  # of shares, times 100: one style in axes, tables and sentences
_ENDS = ("", "_low", "_high")
Across = Callable[[str], alt.X]
Panel = tuple[Callable[..., ChartType], float, str]  # draws on an axis of rows ``y``; width; title or empty


def dressed(chart: ChartType) -> ChartType:
    """The chart in the colours and type of all figures."""
    chart.config = palette.config()
    return chart


def bounded(*names: str) -> list[str]:
    """The columns of estimates: each value, and both ends of its interval."""
    return [f"{name}{end}" for name in names for end in _ENDS]


def benchmark_of(table: pl.DataFrame) -> list[str]:
    """The column that distinguishes benchmarks, if there are several."""
    return ["benchmark"] if "benchmark" in table.columns else []


def shown(table: pl.DataFrame, *columns: str | pl.Expr) -> pl.DataFrame:
    """These columns after that of the benchmark; ``NAME±`` is an estimate with its interval."""
    names = (
        bounded(name[:-1]) if isinstance(name, str) and name.endswith("±") else [name]
        for name in (*benchmark_of(table), *columns)
    )
    return table.select(*chain.from_iterable(names))


def values(rows: pl.DataFrame | Iterable[Mapping[str, Any]]) -> alt.InlineData:
    """Rows for a chart."""
    return alt.InlineData(values=rows.to_dicts() if isinstance(rows, pl.DataFrame) else [dict(row) for row in rows])


def chart_of(rows: pl.DataFrame | Iterable[Mapping[str, Any]], **encoded: Any) -> alt.Chart:
    """A chart of some rows."""
    chart: alt.Chart = alt.Chart(values(rows)).encode(**encoded)
    return chart


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
    return alt.Step(22 if rows <= 14 else 17)


def rows(names: Sequence[str], field: str = "series", **scale: Any) -> alt.Y:
    """An axis of names from top to bottom."""
    return alt.Y(field, type="nominal", sort=list(names), title=None).scale(domain=list(names), **scale)


def across(title: str, *, form: str = PERCENT, domain: Sequence[float] | None = None, ticks: int = 5) -> Across:
    """A quantitative axis, to be placed below several fields of one chart."""
    scale = alt.Scale(domain=list(domain), nice=False) if domain else alt.Scale(zero=False, nice=True, padding=6)
    return lambda field: alt.X(field, type="quantitative", title=title, scale=scale, axis=ticked(form, ticks))


def ticked(form: str = PERCENT, ticks: int = 5) -> alt.Axis:
    """An axis with its numbers in this form; shares in per cent."""
    scale = 100 if form in (PERCENT, POINTS) else 1
    return alt.Axis(tickCount=ticks, labelExpr=f"datum.value === 0 ? '0' : format({scale} * datum.value, '{form}')")


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
    dots = intervals(chart_of(frame.drop_nulls(value)), value, x, y=y, **encoded)
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


def dumbbells(frame: pl.DataFrame, ends: tuple[str, str], colours: Mapping[str, str], y: alt.Y) -> alt.LayerChart:
    """A bar between two columns for each row, and dots on it: columns, each with its colour."""
    x, names = across("accuracy"), list(colours)
    bar = chart_of(frame).mark_rule(strokeWidth=4, color=palette.LINE)
    long = frame.unpivot(names, index=str(y.shorthand)).drop_nulls("value")
    dots = chart_of(long, **styled("variable", names, list(colours.values())))
    dots = dots.mark_point(filled=True, size=58, opacity=1).encode(x=x("value"), y=y)
    return layered(bar.encode(x=x(ends[0]), x2=ends[1], y=y), dots)


def stacked(frame: pl.DataFrame, index: Sequence[str], colours: Mapping[str, str], x: alt.X, y: alt.Y) -> alt.Chart:
    """Bars of several columns one behind the other, in the order of the colours; ``x`` is of the field ``value``."""
    order = {name: number for number, name in enumerate(colours)}
    long = frame.unpivot(list(colours), index=list(index)).filter(pl.col("value") > 0)
    long = long.with_columns(pl.col("variable").replace_strict(order, return_dtype=pl.Int64).alias("layer"))
    colour = alt.Color("variable:N").scale(domain=list(colours), range=list(colours.values()))
    bars: alt.Chart = chart_of(long, x=x, y=y, color=colour, order="layer:Q").mark_bar(height=9)
    return bars


def layered(*charts: alt.Chart | alt.LayerChart) -> alt.LayerChart:
    """Charts one over the other."""
    chart = alt.layer(*charts)
    assert isinstance(chart, alt.LayerChart)
    return chart


def dashed(at: float = 0.0) -> alt.Chart:
    """A line at no difference or at chance."""
    rule = chart_of([{"at": at}]).mark_rule(color=palette.SOFT, strokeDash=[3, 3])
    drawn: alt.Chart = rule.encode(alt.X("at", type="quantitative"))
    return drawn


def one_each(frame: pl.DataFrame, column: str, draw: Callable[[pl.DataFrame], ChartType]) -> ChartType:
    """One chart, or a column of charts, one for each value of a column that has several."""
    if column not in frame.columns or frame.get_column(column).n_unique() < 2:
        return draw(frame)
    parts = frame.partition_by(column, maintain_order=True, as_dict=True)
    return alt.vconcat(*(draw(part).properties(title=clip(str(value), 120)) for (value,), part in parts.items()))


def side_by_side(order: Sequence[str], panels: Iterable[Panel]) -> ChartType:
    """Panels with common rows."""
    height = step(len(order))
    axes = chain([rows(order)], repeat(rows(order).axis(None)))  # only the first shows the names
    drawn = [
        draw(y=y).properties(width=width, height=height, **({"title": title} if title else {}))
        for (draw, width, title), y in zip(panels, axes, strict=False)
    ]
    return alt.hconcat(*drawn, spacing=14)


_SVG = "http://www.w3.org/2000/svg"
_ELEMENTS = {"svg", "g", "path", "rect", "line", "circle", "text", "tspan"}
_ATTRIBUTES = {
    *("d", "x", "y", "dy", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "width", "height", "viewBox", "transform"),
    *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-miterlimit"),
    *("opacity", "text-anchor", "dominant-baseline", "font-size", "font-weight"),
}
_LONG_NUMBER = re.compile(r"-?\d*\.\d{3,}(e-\d+)?")
_PAPER_DPI_SCALE = 3.0
_ON_PAGE = 1.3  # how much larger than in a paper a figure is at most; cards make it smaller
_HALF = 660  # width up to which two figures stand side by side
ElementTree.register_namespace("", _SVG)


def as_svg(chart: ChartType) -> str:
    """The chart as an SVG file; the renderer fails on characters that XML forbids."""
    return str(vl_convert.vegalite_to_svg(printable_data(chart.to_dict()), allowed_base_urls=[]))


def as_png(chart: ChartType) -> bytes:
    """The chart as a PNG file, sharp enough for print."""
    spec = printable_data(chart.to_dict())
    return bytes(vl_convert.vegalite_to_png(spec, scale=_PAPER_DPI_SCALE, allowed_base_urls=[]))


def for_page(svg: str, label: str) -> Markup:
    """A drawn SVG as a scalable page element: only shapes and text, no background."""
    root = ElementTree.fromstring(svg)  # noqa: S314 (drawn by us a moment ago)
    paper = root.find(f"{{{_SVG}}}rect")
    if paper is not None:
        root.remove(paper)
    _strip(root)
    width = float(root.attrib["width"])
    for side in ("width", "height"):
        root.set(side, f"{float(root.attrib[side]) * _ON_PAGE:g}")
    if width > _HALF:
        root.set("data-wide", "")
    root.set("role", "img")
    root.set("aria-label", label)
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704 (escaped in the writing of it)


def _strip(element: ElementTree.Element) -> None:
    for name in list(element.attrib):
        value = element.attrib[name]
        if name not in _ATTRIBUTES or (name == "opacity" and value == "1"):
            del element.attrib[name]
        else:
            element.attrib[name] = _LONG_NUMBER.sub(lambda match: f"{round(float(match[0]), 2):g}", value)
    for child in list(element):
        kind = child.tag.removeprefix(f"{{{_SVG}}}")
        unseen = kind == "path" and not {"fill", "stroke"} & child.attrib.keys()
        if kind not in _ELEMENTS or unseen:
            element.remove(child)
            continue
        _strip(child)
        if kind == "g" and not len(child):
            element.remove(child)
