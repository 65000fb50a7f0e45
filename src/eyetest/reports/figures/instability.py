"""How much a choice depends on how the same question happens to be put."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures.instability import SOURCES
from eyetest.pages import palette
from eyetest.pages.plots import across, intervals, named, one_each, rows, step, values
from eyetest.reports.material import Material

_SOURCES = ("all", *SOURCES)
_WORDS = {
    "all": "all together",
    "instruction": "wording",
    "order": "order of options",
    "marks": "marks",
    "trial": "luck",
}


class Instability:
    """A panel for each source of instability, a row for each model."""

    name = "instability"
    place = 60
    title = "Instability by source"
    reading = (
        "Entropy of a model's choices over tests of the same item: 0, always the same; 1, all options alike. A panel "
        "changes one thing only: the wording, the order of the options, their marks, or nothing at all (luck)."
    )
    needs = "items that were asked several times: eyetest run --template 0,1,2 or --order 0,1,2 or --trials 5"

    def numbers(self, material: Material) -> pl.DataFrame:
        """One row a source and model."""
        table = named(material.measured("instability")).filter(pl.col("n") > 0)
        around = [name for name in ("benchmark",) if name in table.columns]
        ends = [f"{name}{end}" for name in ("normalised", "entropy", "corrected") for end in ("", "_low", "_high")]
        known = [source for source in _SOURCES if source in set(table.get_column("source"))]
        single = [source for source in known if source != "all"]
        kept = table.filter(pl.col("source").is_in(single if len(single) == 1 else known))
        return kept.select(*around, "source", "series", *ends, "tests", "n")

    def draw(self, frame: pl.DataFrame) -> ChartType:
        """Panels side by side."""
        return one_each(frame, "benchmark", _draw)


def _draw(frame: pl.DataFrame) -> ChartType:
    sources = [source for source in _SOURCES if source in set(frame.get_column("source"))]
    first = frame.filter(pl.col("source") == sources[0]).sort("normalised", nulls_last=True)
    order = first.get_column("series").to_list()
    most = max(0.1, frame.select(pl.max_horizontal("normalised", "normalised_high").max()).item() or 0)
    panels = []
    for place, source in enumerate(sources):
        y = rows(order) if not place else rows(order).axis(None)
        chart = alt.Chart(values(frame.filter(pl.col("source") == source)))
        x = across("entropy", form=".2~f", domain=(0, most * 1.05), ticks=3)
        dots = intervals(chart, "normalised", x, y=y, color=alt.value(palette.CATEGORIES[place]))
        width = 480 // max(len(sources), 2)
        panels.append(dots.properties(width=width, height=step(len(order)), title=_WORDS[source]))
    return alt.hconcat(*panels, spacing=12)


FIGURE = Instability()
