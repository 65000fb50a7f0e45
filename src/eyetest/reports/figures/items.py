"""Each item by how hard it is and how well it tells models apart."""

from collections.abc import Iterator

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.pages import palette
from eyetest.pages.item_counts import ItemCount
from eyetest.pages.plots import PERCENT, benchmark_of, dashed, layered, leading, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material
from eyetest.reports.report_items import ReportItems

_WIDE, _HIGH = 0.05, 0.1
_ENOUGH = 3
_MOST_LINKED = 5_000
"""Items that may be named in the links of all circles together, for a page that is not too heavy."""


def _numbers(material: Material) -> pl.DataFrame:
    """One row an item."""
    table = material.measured("items")
    known = table.drop_nulls("item_rest").filter(pl.col("n") >= _ENOUGH)
    if known.is_empty():
        raise NotMeasurable("items: fewer than three models answered the same items")
    return table.select(*benchmark_of(table), "item", "accuracy", "item_rest", "slope", "intercept", "n")


def _draw(frame: pl.DataFrame, items: ReportItems | None = None) -> ChartType:
    known = frame.drop_nulls(["accuracy", "item_rest"])
    few = known.get_column("accuracy").n_unique() <= 1 / _WIDE
    across = pl.col("accuracy") if few else (pl.col("accuracy") / _WIDE).round() * _WIDE
    cells = (
        known.with_columns(across, ((pl.col("item_rest") / _HIGH).floor() + 0.5) * _HIGH)
        .group_by("accuracy", "item_rest")
        .agg(pl.len().alias("items"), pl.col("item"))
        .sort("accuracy", "item_rest")
    )
    if items is not None:
        cells = cells.with_columns(items.marks(_circles(cells, items, len(known) > _MOST_LINKED)))
    cells = cells.drop("item")
    x = alt.X("accuracy:Q", title="share of models that get it right").scale(domain=[-0.03, 1.03], nice=False)
    low = min(-0.3, (cells.select(pl.col("item_rest").min()).item() or 0) - _HIGH)
    y = alt.Y("item_rest:Q", title="item-rest correlation", axis=alt.Axis(grid=True, labelColor=palette.SOFT))
    chart = alt.Chart(values(cells))
    circles = chart.mark_circle(opacity=0.75).encode(
        x=x.axis(format=PERCENT),
        y=y.scale(domain=[low, 1], nice=False),
        size=alt.Size("items:Q")
        .scale(range=[8, 480], type="linear", domainMin=0)
        .legend(title="items", values=_sizes(cells), format=",d"),
        color=alt.condition("datum.item_rest < 0", alt.value(palette.BLIND), alt.value(palette.SIGHTED)),
        **leading(cells),
    )
    return layered(dashed(axis="y"), circles).properties(width=560, height=340)


def _circles(cells: pl.DataFrame, items: ReportItems, few: bool) -> Iterator[ItemCount]:
    """Where circles lead: each names its items. Of very many items only those below the line."""
    for height, number, names in cells.select("item_rest", "items", "item").iter_rows():
        yield ItemCount(number) if few and height >= 0 else items.named(names)


def _sizes(cells: pl.DataFrame) -> list[int]:
    """A few numbers for the legend: the most, a quarter of it, one."""
    most = cells.select(pl.col("items").max()).item() or 1
    return sorted({1, max(1, most // 4), most})


FIGURE = Figure(
    *("items", 40, "Items by difficulty and discrimination", _numbers, _draw),
    reading="To the right, items that most models get right; higher up, items that the better models get right and "
    "the worse ones do not. A circle's area is how many items lie there. Items below the line are answered better by "
    "worse models: look at their golds first. Items that all or none get right have no correlation, and stand in the "
    "numbers only.",
    needs="answers of at least three models to the same items",
    linked=True,
)
