"""How choices depend on the way of asking: repeats, order, format, position, dialogue turns; likelihoods."""

from collections.abc import Iterable
from functools import partial

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.results import TAG
from eyetest.measures.tables import ADJUSTED
from eyetest.pages import palette, plots
from eyetest.records import TURN
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


_SHOTS = {"none": "without an example", "format": "with the format shown", "two": "with two examples"}


def _format_hits(material: Material) -> pl.DataFrame:
    table = material.measured("format-hits", scope="all")
    if "shots" not in table.columns:
        raise NotMeasurable("format hits: all answers were asked for with the same examples")
    kept = material.under_usual(table, but="shots").with_columns(pl.col("model", "shots").cast(pl.String))
    shots = pl.col("shots").replace(_SHOTS).alias("asked")
    return plots.shown(kept, pl.col("model").alias("series"), shots, "format_hits±", "n")


def _draw_ways(way: str, value: str, title: str, words: Iterable[str], frame: pl.DataFrame) -> ChartType:
    """One dot per model and way of asking or counting; models in the order of the first way."""
    there = [word for word in words if word in set(frame.get_column(way))]
    first = frame.filter(pl.col(way) == there[0]).sort(value, "series", descending=[True, False])
    order = list(dict.fromkeys([*first.get_column("series"), *frame.get_column("series")]))
    return plots.grouped(frame, value, plots.across(title), plots.rows(order, paddingInner=0.4), way, there)


def _dialogue_numbers(material: Material) -> pl.DataFrame:
    """One row per series and turn, with the slope over its turns; of several modalities the image."""
    if TURN not in material.results.tags:
        raise NotMeasurable(f"no item says which turn of a dialogue it is (tag {TURN})")
    table = plots.named(material.measured("accuracy", (TURN,), scope="all").drop_nulls(TAG + TURN))
    if "modality" in table.columns:
        table = table.filter(pl.col("modality").cast(pl.String) == "image")
    turn = pl.col(TAG + TURN).alias("turn")
    slopes = ("slope±",) if "slope" in table.columns else ()
    return plots.shown(table, "series", turn, "accuracy±", "n", *slopes).filter(pl.col("n") > 0)


def _draw_dialogue(frame: pl.DataFrame) -> ChartType:
    rows = frame.sort("series", pl.col("turn").cast(pl.Int64, strict=False))
    words = rows.with_columns(pl.format("turn {}", "turn").alias("turn"))
    return plots.dot_panels(words, plots.Dots("accuracy", "", plots.PERCENT, None), split="turn")


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


_WAYS = {"generated": palette.SIGHTED, "weighed": palette.BLIND}
_LEAST_ITEMS = 10  # below, a share of equal choices misleads
_LIKELIHOODS = {"likelihood": "likelihood of whole answers", "first-token": "likelihood of the mark as first token"}


def _with_image(table: pl.DataFrame) -> pl.DataFrame:
    """The rows with the image, if models were asked without it too."""
    kept = table.filter(pl.col("modality") == "image") if "modality" in table.columns else table
    if kept.is_empty():
        raise NotMeasurable("no likelihood was measured with the image")
    return plots.named(kept)


def _gaps(material: Material) -> pl.DataFrame:
    table = _with_image(material.measured("generation-likelihood", scope="all"))
    if (table.select(pl.col("n").max()).item() or 0) < _LEAST_ITEMS:
        raise NotMeasurable(f"agreement of choices misleads with fewer than {_LEAST_ITEMS} items")
    pooled = (pl.col("models") > 1) & pl.col("base").is_not_null()
    series = pl.when(pooled).then(pl.col("base") + ": " + pl.col("series")).otherwise("series").alias("series")
    order = [*plots.benchmark_of(table), "weighed_by", "base", "models", "series"]
    ranked = table.sort(order, nulls_last=True, descending=[name == "weighed_by" for name in order])
    shares = ("difference±", "same±", "unread", "models", "n")
    return plots.shown(ranked, "weighed_by", "base", series, *_WAYS, *shares)


def _draw_gaps(frame: pl.DataFrame) -> ChartType:
    def draw(part: pl.DataFrame) -> ChartType:
        both = (partial(plots.dumbbells, part, ("weighed", "generated"), _WAYS, 4), 240, "")
        difference = plots.Dots("difference", "generated − weighed")
        return plots.dot_panels(
            part, difference, plots.Dots("same", "same choice", plots.PERCENT, None), first=[both]
        )

    return plots.one_each(frame.with_columns(pl.col("weighed_by").replace(_LIKELIHOODS)), "weighed_by", draw)


_HITS = partial(_draw_ways, "asked", "format_hits", "answers with an option letter", _SHOTS.values())
FIGURE = (
    described("instability", _instability_numbers, _draw_instability),
    described("format-hits", _format_hits, _HITS),
    described("dialogue", _dialogue_numbers, _draw_dialogue),
    described("positions", _positions_numbers, _draw_positions),
    described("generation-likelihood", _gaps, _draw_gaps),
)
