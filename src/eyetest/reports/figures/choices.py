"""How choices depend on the way of asking: repeats, order, format, position, dialogue turns; likelihoods."""

from collections.abc import Iterable
from functools import partial

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.instability import HISTORIES
from eyetest.measures.likelihood import NORMALISATIONS, SUM
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


def _against_accuracy(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("instability")).filter((pl.col("source") == "all") & (pl.col("n") > 0))
    return plots.shown(table, "series", "accuracy±", "normalised±", "entropy±", "n")


def _draw_steadiness(frame: pl.DataFrame) -> ChartType:
    return plots.dot_panels(
        frame.sort("accuracy", descending=True),
        plots.Dots("accuracy", "accuracy on items with options", plots.PERCENT, None),
        plots.Dots("normalised", "entropy", ".2~f", None),
    )


_SHOTS = {"none": "without an example", "format": "with the format shown", "two": "with two examples"}
_ORDERS = {"plain": "on average", "circular": "in every order"}


def _format_hits(material: Material) -> pl.DataFrame:
    table = material.measured("format-hits", scope="all")
    if "shots" not in table.columns:
        raise NotMeasurable("format hits: all answers were asked for with the same examples")
    kept = material.under_usual(table, but="shots").with_columns(pl.col("model", "shots").cast(pl.String))
    shots = pl.col("shots").replace(_SHOTS).alias("asked")
    return plots.shown(kept, pl.col("model").alias("series"), shots, "format_hits±", "n")


def _circular(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("circular"))
    parts = [
        plots.shown(table, "series", pl.lit(words).alias("counted"), *plots.rebounded(value, "accuracy"), "n")
        for value, words in _ORDERS.items()
    ]
    return pl.concat(parts).filter(pl.col("n") > 0)


def _draw_ways(way: str, value: str, title: str, words: Iterable[str], frame: pl.DataFrame) -> ChartType:
    """One dot per model and way of asking or counting; models in the order of the first way."""
    there = [word for word in words if word in set(frame.get_column(way))]
    first = frame.filter(pl.col(way) == there[0]).sort(value, "series", descending=[True, False])
    order = list(dict.fromkeys([*first.get_column("series"), *frame.get_column("series")]))
    return plots.grouped(frame, value, plots.across(title), plots.rows(order, paddingInner=0.4), way, there)


def _dialogue_numbers(material: Material) -> pl.DataFrame:
    """One row per series, history and turn, with the slope over its turns; of several modalities the image."""
    table = plots.named(material.measured("dialogue", scope="all"))
    if "modality" in table.columns:
        table = table.filter(pl.col("modality").cast(pl.String) == "image")
    parts = []
    for history in (name for name in HISTORIES if name in table.columns):
        count = pl.col(f"n_{history}" if f"n_{history}" in table.columns else "n").alias("n")
        scores, slopes = plots.rebounded(history, "accuracy"), plots.rebounded(f"{history}_slope", "slope")
        parts.append(plots.shown(table, "series", pl.lit(history).alias("history"), "turn", *scores, count, *slopes))
    return pl.concat(parts).filter(pl.col("n") > 0)


def _draw_dialogue(frame: pl.DataFrame) -> ChartType:
    means = frame.group_by("series").agg(pl.col("accuracy").mean().alias("mean"))
    best = means.sort("mean", "series", descending=[True, False]).head(_MOST_IN_DIALOGUE)
    rows = frame.join(best, on="series").sort("mean", "series", "history", "turn", descending=[True, *[False] * 3])
    words = rows.with_columns(
        pl.format("{} · {}", "series", "history").alias("series"), pl.format("turn {}", "turn").alias("turn")
    )
    return plots.dot_panels(words, plots.Dots("accuracy", "", plots.PERCENT, None), split="turn")


_MOST_IN_DIALOGUE = 12
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
_LIKELIHOODS = {"likelihood": "likelihood of whole answers", "first-token": "likelihood of the mark as first token"}


def _with_image(table: pl.DataFrame) -> pl.DataFrame:
    """The rows with the image, if models were asked without it too."""
    kept = table.filter(pl.col("modality") == "image") if "modality" in table.columns else table
    if kept.is_empty():
        raise NotMeasurable("no likelihood was measured with the image")
    return plots.named(kept)


def _gaps(material: Material) -> pl.DataFrame:
    table = _with_image(material.measured("generation-likelihood", scope="all"))
    pooled = (pl.col("models") > 1) & pl.col("base").is_not_null()
    series = pl.when(pooled).then(pl.col("base") + ": " + pl.col("series")).otherwise("series").alias("series")
    order = [*plots.benchmark_of(table), "weighed_by", "base", "models", "series"]
    ranked = table.sort(order, nulls_last=True, descending=[name == "weighed_by" for name in order])
    shares = ("difference±", "same±", "kappa±", "unread", "models", "n")
    return plots.shown(ranked, "weighed_by", "base", series, *_WAYS, *shares)


def _draw_gaps(frame: pl.DataFrame) -> ChartType:
    def draw(part: pl.DataFrame) -> ChartType:
        both = (partial(plots.dumbbells, part, ("weighed", "generated"), _WAYS, 4), 240, "")
        difference = plots.Dots("difference", "generated − weighed")
        return plots.dot_panels(
            part, difference, plots.Dots("same", "same choice", plots.PERCENT, None), first=[both]
        )

    return plots.one_each(frame.with_columns(pl.col("weighed_by").replace(_LIKELIHOODS)), "weighed_by", draw)


def _normalised(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("normalisations", scope="all"))
    return plots.shown(table, "normalisation", "series", "accuracy±", "difference±", "n")


def _draw_normalised(frame: pl.DataFrame) -> ChartType:
    rank = pl.col("normalisation").replace_strict({name: rank for rank, name in enumerate(NORMALISATIONS)})
    plain = frame.filter(pl.col("normalisation") == SUM).sort("accuracy", descending=True)
    ranks = plain.select("series", pl.int_range(pl.len()).alias("rank"))
    others = frame.filter(pl.col("normalisation") != SUM).join(ranks, on="series").sort(rank, "rank")
    first = (partial(plots.panel, plain, "accuracy", plots.across("accuracy", ticks=3), at=None), 170, SUM)
    return plots.dot_panels(others, plots.Dots("difference", "change"), split="normalisation", first=[first])


def _uses(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("image-use", scope="all"))
    whole = table.filter(pl.col("method") == "likelihood") if "method" in table.columns else table
    kept = table if whole.is_empty() else plots.named(whole.drop("method", strict=False))
    moves = plots.bounded("moved", "gold_lead", "gold_pmi", "chosen_pmi", "helped", "hurt", "left_alone")
    return plots.shown(kept, "series", *moves, "^moved_by_grey.*$", "n")


def _draw_uses(frame: pl.DataFrame) -> ChartType:
    return plots.dot_panels(
        frame.sort("moved", descending=True),
        plots.Dots("moved", "probability moved", plots.PERCENT, None),
        plots.Dots("moved_by_grey", "moved by gray", plots.PERCENT, None),
        plots.Dots("gold_lead", "gain of gold (nats)", "+.1f"),
        plots.Dots("helped", "helped", plots.PERCENT, None),
        plots.Dots("hurt", "hurt", plots.PERCENT, None),
    )


def _priors(material: Material) -> pl.DataFrame:
    """Priors for the number of options that most items have; all are in the measure."""
    table = _with_image(material.measured("option-prior", scope="all"))
    most = table.group_by("options").agg(pl.col("n").sum()).sort("n", "options", descending=True).item(0, "options")
    kept = table.filter(pl.col("options") == most)
    changes = ("difference±", "accuracy", "accuracy_after")
    shown = plots.shown(kept, "series", "options", "mark", "prior±", "n", *changes)
    return shown.unique([*plots.benchmark_of(kept), "series", "mark"], keep="first", maintain_order=True)


def _draw_priors(frame: pl.DataFrame) -> ChartType:
    letters = frame.get_column("mark").unique(maintain_order=True).to_list()[:_MOST_LETTERS]
    even = 1 / frame.item(0, "options")
    apart = (pl.col("prior") - even).abs().sum().over("series")
    kept = frame.filter(pl.col("mark").is_in(letters)).sort("mark", apart, descending=[False, True])
    return plots.dot_panels(kept, plots.Dots("prior", "", plots.PERCENT, even), split="mark")


_HITS = partial(_draw_ways, "asked", "format_hits", "answers with an option letter", _SHOTS.values())
FIGURE = (
    described("instability", _instability_numbers, _draw_instability),
    described("steadiness", _against_accuracy, _draw_steadiness),
    described("format-hits", _format_hits, _HITS),
    described("circular", _circular, partial(_draw_ways, "counted", "accuracy", "accuracy", _ORDERS.values())),
    described("dialogue", _dialogue_numbers, _draw_dialogue),
    described("positions", _positions_numbers, _draw_positions),
    described("generation-likelihood", _gaps, _draw_gaps),
    described("normalisations", _normalised, _draw_normalised),
    described("image-use", _uses, _draw_uses),
    described("option-prior", _priors, _draw_priors),
)
