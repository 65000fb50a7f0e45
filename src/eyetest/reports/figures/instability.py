"""How much a choice depends on how the same question happens to be put."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures.instability import SOURCES
from eyetest.pages import palette
from eyetest.pages.labels import NamePlace, beside_dots
from eyetest.pages.page import clip
from eyetest.pages.plots import across, benchmark_of, bounded, intervals, named, names_beside, rows, step, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_SOURCES = ("all", *SOURCES)
_NARROWEST, _HEIGHT = 270, 260
_WORDS = {
    "all": "all together",
    "instruction": "wording",
    "order": "order of options",
    "marks": "marks",
    "trial": "luck",
}


def _numbers(material: Material) -> pl.DataFrame:
    table = named(material.measured("instability")).filter(pl.col("n") > 0)
    known = [source for source in _SOURCES if source in set(table.get_column("source"))]
    single = [source for source in known if source != "all"]
    kept = table.filter(pl.col("source").is_in(single if len(single) == 1 else known))
    return kept.select(
        *benchmark_of(table), "source", "series", *bounded("normalised", "entropy", "corrected"), "tests", "n"
    )


def _draw(frame: pl.DataFrame) -> ChartType:
    sources = [source for source in _SOURCES if source in set(frame.get_column("source"))]
    first = frame.filter(pl.col("source") == sources[0]).sort("normalised", nulls_last=True)
    order = first.get_column("series").to_list()
    most = max(0.1, frame.select(pl.max_horizontal("normalised", "normalised_high").max()).item() or 0)
    panels = []
    for number, source in enumerate(sources):
        y = rows(order) if not number else rows(order).axis(None)
        chart = alt.Chart(values(frame.filter(pl.col("source") == source)))
        x = across("entropy", form=".2~f", domain=(0, most * 1.05), ticks=3)
        dots = intervals(chart, "normalised", x, y=y, color=alt.value(palette.CATEGORIES[number]))
        width = 480 // max(len(sources), 2)
        panels.append(dots.properties(width=width, height=step(len(order)), title=_WORDS[source]))
    return alt.hconcat(*panels, spacing=12)


def _against_accuracy(material: Material) -> pl.DataFrame:
    table = named(material.measured("instability")).filter((pl.col("source") == "all") & (pl.col("n") > 0))
    return table.select(*benchmark_of(table), "series", *bounded("accuracy", "normalised", "entropy"), "n")


def _scatter(frame: pl.DataFrame) -> ChartType:
    x = across("accuracy on items with options")
    y = alt.Y("normalised:Q", title="entropy").axis(format=".2~f", tickCount=5, title="entropy", grid=True)
    chart = alt.Chart(values(frame)).encode(color=alt.value(palette.SIGHTED))
    low = alt.Y("normalised_low:Q", title="entropy")
    upright = chart.mark_rule(strokeWidth=1.2, opacity=0.35).encode(x=x("accuracy"), y=low, y2="normalised_high")
    level = chart.mark_rule(strokeWidth=1.2, opacity=0.35).encode(x=x("accuracy_low"), x2="accuracy_high", y=y)
    dots = chart.mark_point(filled=True, size=50, opacity=1).encode(x=x("accuracy"), y=y)
    at = {"x": x("accuracy"), "y": y, "text": "series:N", "color": alt.value(palette.INK)}
    words = names_beside(frame, _name_places(frame), 11, **at)
    return alt.layer(upright, level, dots, *words).properties(width=460, height=_HEIGHT)


def _name_places(frame: pl.DataFrame) -> list[NamePlace | None]:
    """Where names stand beside their dots; the axes go as far as the intervals do."""
    dots = []
    for name in ("accuracy", "normalised"):
        ends = frame.select(low=pl.min_horizontal(*bounded(name)).min(), high=pl.max_horizontal(*bounded(name)).max())
        low, high = ends.row(0)
        low = min(low, 0.0) if name == "normalised" else low
        dots.append([((value or 0.0) - low) / ((high - low) or 1.0) for value in frame.get_column(name)])
    names = [clip(name, 26) for name in frame.get_column("series")]
    return beside_dots(list(zip(*dots, strict=True)), names, (_NARROWEST, _HEIGHT))


FIGURE = (
    Figure(
        *("instability", 60, "Instability by source", _numbers, _draw),
        reading="Entropy of a model's choices over tests of the same item: 0, always the same; 1, all options alike. "
        "A panel changes one thing only: the wording, the order of the options, their marks, or nothing at all "
        "(luck).",
        needs="items that were asked several times: eyetest run --perturb instruction,order,marks or --trials 5",
    ),
    Figure(
        *("steadiness", 62, "Instability against accuracy", _against_accuracy, _scatter),
        reading="A dot is a model: how often it is right, and how much its choice of the same item varies over all "
        "tests, with both intervals. A model may be steady and wrong.",
        needs="items that were asked several times: eyetest run --perturb instruction,order,marks or --trials 5",
    ),
)
