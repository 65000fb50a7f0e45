"""How much a choice depends on how the same question happens to be put."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures.instability import SOURCES
from eyetest.pages import palette
from eyetest.pages.plots import across, benchmark_of, bounded, intervals, named, rows, step, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_SOURCES = ("all", *SOURCES)
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


FIGURE = Figure(
    *("instability", 60, "Instability by source", _numbers, _draw),
    reading="Entropy of a model's choices over tests of the same item: 0, always the same; 1, all options alike. A "
    "panel changes one thing only: the wording, the order of the options, their marks, or nothing at all (luck).",
    needs="items that were asked several times: eyetest run --template 0,1,2 or --order 0,1,2 or --trials 5",
)
