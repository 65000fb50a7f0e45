"""What models can do and what not: scores by tag."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.results import TAG
from eyetest.pages import palette
from eyetest.pages.narrow import BESIDE
from eyetest.pages.plots import across, benchmark_of, bounded, intervals, named, one_each, rows, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import MOST_VALUES, NEARLY_ALL, Material
from eyetest.reports.report_items import Counts, ReportItems

_FEW = len(palette.CATEGORIES)
_MOST_LINES = 72
_WIDTH = 400


def _numbers(material: Material) -> pl.DataFrame:
    if not material.tags:
        raise NotMeasurable("no tag sorts the items into a few groups")
    parts = []
    for tag in material.tags:
        table = named(material.measured("accuracy", (tag,))).drop_nulls([TAG + tag, "accuracy"])
        kind, value = pl.lit(tag).alias("tag"), pl.col(TAG + tag).alias("value")
        parts.append(table.select(*benchmark_of(table), kind, value, "series", *bounded("accuracy"), "n"))
    numbers = pl.concat(parts, how="diagonal")
    if numbers.is_empty():
        raise NotMeasurable("capabilities: no answer to an item with these tags has a score")
    return numbers


def _scored(frame: pl.DataFrame, items: ReportItems) -> Counts:
    rows = frame.iter_rows(named=True)
    return {"n": [items.answered(row, tags=((row["tag"], row["value"]),)) for row in rows]}


def _draw_all(frame: pl.DataFrame) -> ChartType:
    models = frame.group_by("series").agg(pl.col("accuracy").mean()).sort("accuracy", "series", descending=True)
    names = models.get_column("series").to_list()
    return one_each(frame, "benchmark", lambda part: one_each(part, "tag", lambda one: _draw(one, names)))


def _draw(frame: pl.DataFrame, names: list[str]) -> ChartType:
    sizes = frame.group_by("value").agg(pl.col("n").max(), pl.col("accuracy").mean().alias("mean"))
    shown = sizes.sort("n", "value", descending=[True, False]).head(MOST_VALUES)
    told = pl.concat_str(pl.col("value").str.slice(0, 40), pl.lit(" ("), pl.col("size"), pl.lit(")"))
    part = frame.join(shown.select("value", pl.col("n").alias("size"), "mean"), on="value")
    part = part.with_columns(told.alias("row"))
    order = part.sort("mean", descending=True).get_column("row").unique(maintain_order=True).to_list()
    return _few(part, order, names) if len(names) <= _FEW and len(part) <= _MOST_LINES else _many(part, order)


def _few(part: pl.DataFrame, order: list[str], names: list[str]) -> ChartType:
    height = alt.Step(9, **{"for": "offset"})
    return intervals(
        alt.Chart(values(part)),
        "accuracy",
        across("accuracy"),
        y=rows(order, "row").scale(domain=order, paddingInner=0.35),
        yOffset=alt.YOffset("series:N", sort=names),
        color=alt.Color("series:N", sort=names).scale(domain=names, range=list(palette.CATEGORIES[: len(names)])),
        shape=alt.Shape("series:N", sort=names).scale(domain=names, range=list(palette.SHAPES[: len(names)])),
    ).properties(width=_WIDTH, height=height)


def _many(part: pl.DataFrame, order: list[str]) -> ChartType:
    able = part.filter(pl.col("n") >= NEARLY_ALL * pl.col("size"))
    best = able.sort("accuracy", descending=True).unique("row", keep="first", maintain_order=True)
    x, y = across("accuracy"), rows(order, "row")
    swarm = alt.Chart(values(part)).mark_point(filled=True, size=26, opacity=0.6).encode(
        x=x("accuracy"), y=y, color=alt.value(palette.QUIET)
    )  # fmt: skip
    chart = alt.Chart(values(best))
    top = intervals(chart, "accuracy", x, y=y)
    words = chart.mark_text(align="left", dx=10, color=palette.SIGHTED, limit=190, style=BESIDE)
    words = words.encode(x=alt.value("width"), y=y, text="series:N")
    return alt.layer(swarm, top, words).properties(width=_WIDTH, height=alt.Step(22))


FIGURE = Figure(
    *("capabilities", 50, "Accuracy by tag", _numbers, _draw_all),
    reading="A row is a tag's value with the number of its items, a dot a model's mean score there. With many models "
    "the best of those that answered nearly all of its items is in colour, named, with its interval.",
    needs="tags that sort items into a few groups; name them with --by",
    counts=_scored,
)
