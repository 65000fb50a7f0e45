"""How choices depend on the way of asking: repeats, order and position of options."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures.tables import ADJUSTED
from eyetest.pages import palette, plots
from eyetest.reports.figures import described
from eyetest.reports.report import Material

_SOURCES = {"all": "all together", "instruction": "wording", "order": "order of options"}
_SOURCES |= {"letters": "letters", "sample": "chance"}


def _instability_numbers(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("instability")).filter(pl.col("n") > 0)
    known = [source for source in _SOURCES if source in set(table.get_column("source"))]
    single = [source for source in known if source != "all"]
    kept = table.filter(pl.col("source").is_in(single if len(single) == 1 else known))
    return plots.shown(kept, "source", "series", "normalised±", "entropy±", "corrected±", "tests", "n")


def _draw_instability(frame: pl.DataFrame) -> ChartType:
    rank = pl.col("source").replace_strict({source: rank for rank, source in enumerate(_SOURCES)})
    words = frame.sort(rank, "normalised", nulls_last=True).with_columns(pl.col("source").replace(_SOURCES))
    return plots.dot_panels(words, plots.Dots("normalised", "entropy", ".2~f", None), split="source")


_MOST_LETTERS = 10
_RARE = 0.02  # positions that are hardly ever right or chosen are in the numbers only


def _positions_numbers(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("positions"))
    known = table.with_columns((pl.col(ADJUSTED) < 1 - material.settings.level).alias("preferred"))
    tested = ("difference±", "total_variation", "p", ADJUSTED, "preferred", "n")
    return plots.shown(known, "series", "place", "picked", "gold", *tested)


def _draw_positions(frame: pl.DataFrame) -> ChartType:
    used = frame.filter(pl.max_horizontal("picked", "gold").max().over("place") >= _RARE)
    letters = sorted(set(used.get_column("place")))[:_MOST_LETTERS]
    ranked = used.filter(pl.col("place").is_in(letters)).sort(
        "place", "total_variation", descending=[False, True], maintain_order=True
    )
    colour = alt.condition("datum.preferred", alt.value(palette.BLIND), alt.value(palette.QUIET))
    return plots.dot_panels(ranked, plots.Dots("difference", "", colour=colour), split="place")


FIGURE = (
    described("instability", _instability_numbers, _draw_instability),
    described("positions", _positions_numbers, _draw_positions),
)
