"""Who scores what, under every protocol."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.pages import palette
from eyetest.pages.plots import across, bounded, dashed, intervals, layered, named, one_each, rows, step, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material
from eyetest.reports.report_items import Counts, ReportItems

_SIGHTS = ("image", "blind", "screenshot", "caption", "blind-guess", "grey", "no-question", "nothing")
_COLOURS = dict(zip(_SIGHTS, (*palette.CATEGORIES, palette.BASE, palette.QUIET), strict=True))
_SHAPES = dict(zip(_SIGHTS, (*palette.SHAPES, "triangle-right", "triangle-left"), strict=True))
_WIDTH = 500


def _numbers(material: Material) -> pl.DataFrame:
    table = material.measured("accuracy", scope="all").drop_nulls("accuracy")
    if table.is_empty():
        raise NotMeasurable("accuracy: no answer has a score")
    for column in ("benchmark", "sight"):
        if column not in table.columns:
            only = material.results.scores.select(pl.col(column).cast(pl.String).first()).collect().item()
            table = table.with_columns(pl.lit(only).alias(column))
    told = named(table).select("benchmark", "series", "sight", *bounded("accuracy"), "n")
    told = told.with_columns(pl.col("benchmark", "sight").cast(pl.String))
    return told.join(_guessing(material), on="benchmark", how="left").sort(
        "benchmark", "series", "sight", maintain_order=True
    )


def _scored(frame: pl.DataFrame, items: ReportItems) -> Counts:
    return {"n": [items.answered(row) for row in frame.iter_rows(named=True)]}


def _draw_all(frame: pl.DataFrame) -> ChartType:
    sights = sorted(set(frame.get_column("sight")), key=_SIGHTS.index)
    return one_each(frame, "benchmark", lambda part: _draw(part, sights))


def _guessing(material: Material) -> pl.DataFrame:
    """What random guessing scores on each benchmark that can be guessed at throughout."""
    items = material.results.items.group_by("benchmark").agg(pl.len().alias("items"))
    try:
        baselines = material.measured("baselines")
    except NotMeasurable:
        return pl.DataFrame(schema={"benchmark": pl.String, "random": pl.Float64})
    return baselines.join(items, on="benchmark").filter(pl.col("n") == pl.col("items")).select("benchmark", "random")


def _draw(frame: pl.DataFrame, sights: list[str]) -> ChartType:
    best = frame.group_by("series").agg(pl.col("accuracy").sort_by(pl.col("sight") == sights[0]).last())
    order = best.sort("accuracy", "series", descending=[True, False], nulls_last=True).get_column("series").to_list()
    colours, shapes = ([style[sight] for sight in sights] for style in (_COLOURS, _SHAPES))
    legend = alt.Legend() if len(sights) > 1 else None
    chart = intervals(
        alt.Chart(values(frame)),
        "accuracy",
        across("accuracy"),
        y=rows(order),
        color=alt.Color("sight:N", legend=legend).scale(domain=sights, range=colours),
        shape=alt.Shape("sight:N", legend=legend).scale(domain=sights, range=shapes),
    )
    random = frame.select(pl.col("random").max()).item()
    if random is not None:
        chart = layered(dashed(random), chart)
    return chart.properties(width=_WIDTH, height=step(len(order)))


FIGURE = Figure(
    *("accuracy", 10, "Accuracy", _numbers, _draw_all),
    reading="Each dot is a mean score, its line the interval; a row is a model, a colour what it was shown. The "
    "dashed line is what guessing scores, where all items have options.",
    needs="a run with scored answers",
    counts=_scored,
)
