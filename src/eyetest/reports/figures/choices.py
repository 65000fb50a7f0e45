"""What happens to a choice when examples show the format, and when the options change places."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.pages import palette
from eyetest.pages.plots import across, benchmark_of, bounded, intervals, named, rows, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_SHOTS = {"none": "without an example", "format": "with the format shown", "two": "with two examples"}
_WIDTH = 460


def _hits(material: Material) -> pl.DataFrame:
    table = material.measured("format-hits", scope="all")
    if "shots" not in table.columns:
        raise NotMeasurable("format hits: all answers were asked for with the same examples")
    kept = material.under_usual(table, but="shots")
    shots = pl.col("shots").cast(pl.String).replace(_SHOTS).alias("asked")
    series = pl.col("model").cast(pl.String).alias("series")
    return kept.select(*benchmark_of(kept), series, shots, *bounded("format_hits"), "n")


def _draw_hits(frame: pl.DataFrame) -> ChartType:
    return _dots(frame, "format_hits", "answers with an option mark", [*_SHOTS.values()])


def _turned(material: Material) -> pl.DataFrame:
    table = named(material.measured("circular"))
    parts = [
        table.select(
            *benchmark_of(table),
            "series",
            pl.lit(word).alias("counted"),
            *(pl.col(f"{value}{end}").alias(f"accuracy{end}") for end in ("", "_low", "_high")),
            "n",
        )
        for value, word in (("plain", "on average"), ("circular", "in every order"))
    ]
    return pl.concat(parts).filter(pl.col("n") > 0)


def _draw_turned(frame: pl.DataFrame) -> ChartType:
    return _dots(frame, "accuracy", "accuracy", ["on average", "in every order"])


def _dots(frame: pl.DataFrame, value: str, title: str, words: list[str]) -> ChartType:
    """One dot a model and way of counting; models in the order of the first way."""
    way = "asked" if "asked" in frame.columns else "counted"
    there = [word for word in words if word in set(frame.get_column(way))]
    first = frame.filter(pl.col(way) == there[0]).sort(value, "series", descending=[True, False])
    order = list(dict.fromkeys([*first.get_column("series"), *frame.get_column("series")]))
    colour = alt.Color(f"{way}:N", sort=there).scale(domain=there, range=list(palette.CATEGORIES[: len(there)]))
    shape = alt.Shape(f"{way}:N", sort=there).scale(domain=there, range=list(palette.SHAPES[: len(there)]))
    apart = {"yOffset": alt.YOffset(f"{way}:N", sort=there), "color": colour, "shape": shape}
    y = rows(order).scale(domain=order, paddingInner=0.4)
    dots = intervals(alt.Chart(values(frame)), value, across(title), y=y, **apart)
    return dots.properties(width=_WIDTH, height=alt.Step(10, **{"for": "offset"}))


FIGURE = (
    Figure(
        *("format-hits", 64, "Format hit rate", _hits, _draw_hits),
        reading="The share of answers to items with options that carry the mark of an option, without and with an "
        "example that shows the format of answers. Rules read more than marks, so a miss here is not a wrong answer.",
        needs="answers under several ways of giving examples: eyetest run --shots none,format",
    ),
    Figure(
        *("circular", 66, "CircularEval: right in every order", _turned, _draw_turned),
        reading="What a model scores over all tests of an item, and the share of items that are right in every one "
        "of them (CircularEval): the further apart, the more a score owes to where the right option happened to be.",
        needs="items that were asked in several orders: eyetest run --perturb order",
    ),
)
