"""Likelihoods of models: against generated answers, by normalisation, with and without the image."""

from functools import partial

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.likelihood import NORMALISATIONS, SUM
from eyetest.pages import palette, plots
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_MOST_MARKS = 10
_ENDS = {"generated": palette.SIGHTED, "weighed": palette.BLIND}
_EFFECTS = {"helped": palette.CATEGORIES[2], "left alone": palette.QUIET, "hurt": palette.BLIND}
_WEIGHED = {"likelihood": "likelihood of whole answers", "first-token": "likelihood of the mark as first token"}


def _sighted(table: pl.DataFrame) -> pl.DataFrame:
    """The rows with the image, where it was also asked without."""
    kept = table.filter(pl.col("modality") == "image") if "modality" in table.columns else table
    if kept.is_empty():
        raise NotMeasurable("no choice was weighed with the image")
    return plots.named(kept)


def _gaps(material: Material) -> pl.DataFrame:
    table = _sighted(material.measured("generation-likelihood", scope="all"))
    pooled = (pl.col("models") > 1) & pl.col("base").is_not_null()
    series = pl.when(pooled).then(pl.col("base") + ": " + pl.col("series")).otherwise("series").alias("series")
    order = [*plots.benchmark_of(table), "weighed_by", "base", "models", "series"]
    ranked = table.sort(order, nulls_last=True, descending=[name == "weighed_by" for name in order])
    shares = [*plots.bounded("difference", "same", "kappa"), "unread", "models", "n"]
    return ranked.select(*plots.benchmark_of(table), "weighed_by", "base", series, *_ENDS, *shares)


def _draw_gaps(frame: pl.DataFrame) -> ChartType:
    ways = frame.with_columns(pl.col("weighed_by").replace(_WEIGHED).alias("group"))
    return plots.one_each(ways, "group", _draw_gap)


def _draw_gap(frame: pl.DataFrame) -> ChartType:
    points, ink = plots.across("generated − weighed", form=plots.POINTS, ticks=3), alt.value(palette.INK)
    share = plots.across("same choice", ticks=3)
    panels: tuple[plots.Panel, ...] = (
        (partial(plots.dumbbells, frame, ("weighed", "generated"), _ENDS, 4), 240, ""),
        (partial(plots.panel, frame, "difference", points, color=ink), 120, ""),
        (partial(plots.panel, frame, "same", share, at=None, color=ink), 120, ""),
    )
    return plots.side_by_side(frame.get_column("series").to_list(), panels)


def _normalised(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("normalisations", scope="all"))
    told = ["normalisation", "series", *plots.bounded("accuracy", "difference"), "n"]
    return table.select(*plots.benchmark_of(table), *told)


def _draw_normalised(frame: pl.DataFrame) -> ChartType:
    there = [name for name in NORMALISATIONS if name in set(frame.get_column("normalisation"))]
    plain = frame.filter(pl.col("normalisation") == SUM).sort("accuracy", descending=True)
    width, x = 480 // max(len(there) + 1, 3), plots.across("accuracy", ticks=3)
    panels: list[plots.Panel] = [(partial(plots.panel, plain, "accuracy", x, at=None), width * 1.6, SUM)]
    others = frame.filter(pl.col("normalisation") != SUM)
    most = others.select(pl.max_horizontal(pl.col("difference_low", "difference_high").abs()).max()).item() or 0.1
    x = plots.across("change", form=plots.POINTS, domain=(-most * 1.05, most * 1.05), ticks=3)
    for name in there[1:]:
        part = others.filter(pl.col("normalisation") == name)
        panels.append((partial(plots.panel, part, "difference", x, color=alt.value(palette.INK)), width, name))
    return plots.side_by_side(plain.get_column("series").to_list(), panels, 10)


def _uses(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("image-use", scope="all"))
    whole = table.filter(pl.col("method") == "likelihood") if "method" in table.columns else table
    kept = table if whole.is_empty() else plots.named(whole.drop("method", strict=False))
    told = plots.bounded("moved", "gold_lead", "gold_pmi", "chosen_pmi", "helped", "hurt", "left_alone")
    return kept.select(*plots.benchmark_of(kept), "series", *told, "^moved_by_grey.*$", "n")


def _draw_uses(frame: pl.DataFrame) -> ChartType:
    order = frame.sort("moved", descending=True).get_column("series").to_list()
    height, y, unnamed = plots.step(len(order)), plots.rows(order), plots.rows(order).axis(None)
    x = plots.across("probability moved", ticks=4)
    moved = [plots.panel(frame, "moved", x, y, at=None)]
    if "moved_by_grey" in frame.columns:
        moved.append(plots.panel(frame, "moved_by_grey", x, y, at=None, color=alt.value(palette.QUIET)))
    x = plots.across("gain of the right choice over wrong ones (nats)", form="+.1f", ticks=3)
    lead = plots.panel(frame, "gold_lead", x, unnamed, color=alt.value(palette.INK))
    long = (
        frame.rename({"left_alone": "left alone"})
        .unpivot(list(_EFFECTS), index="series")
        .with_columns(pl.col("variable").replace_strict({name: i for i, name in enumerate(_EFFECTS)}).alias("layer"))
    )
    colour = alt.Color("variable:N").scale(domain=list(_EFFECTS), range=list(_EFFECTS.values()))
    share = alt.X("value:Q", title="items", stack="zero", axis=alt.Axis(format=plots.PERCENT, tickCount=3))
    bars = alt.Chart(plots.values(long)).mark_bar(height=9)
    bars = bars.encode(x=share.scale(domain=[0, 1]), y=unnamed, color=colour, order="layer:Q")
    widths = ((plots.layered(*moved), 170), (lead, 150), (bars, 150))
    return alt.hconcat(*(panel.properties(width=width, height=height) for panel, width in widths), spacing=14)


def _priors(material: Material) -> pl.DataFrame:
    """Priors for the number of options that most items have; all are in the measure."""
    table = _sighted(material.measured("option-prior", scope="all"))
    about = [*plots.benchmark_of(table), "series", "options"]
    most = table.group_by("options").agg(pl.col("n").sum()).sort("n", "options", descending=True).item(0, "options")
    kept = table.filter(pl.col("options") == most)
    changes = [*plots.bounded("difference", "recall_sd_change"), "accuracy", "accuracy_after"]
    shown = kept.select(*about, "mark", *plots.bounded("prior"), "recall", "recall_after", "n", *changes)
    return shown.unique([*about, "mark"], keep="first", maintain_order=True)


def _draw_priors(frame: pl.DataFrame) -> ChartType:
    letters = frame.get_column("mark").unique(maintain_order=True).to_list()[:_MOST_MARKS]
    even = 1 / frame.item(0, "options")
    apart = (pl.col("prior") - even).abs().sum()
    ranked = frame.group_by("series").agg(apart).sort("prior", "series", descending=[True, False])
    most = frame.select(pl.max_horizontal("prior", "prior_high").max()).item()
    x = plots.across("", domain=(0, max(most, 2 * even) * 1.03), ticks=2)
    panels: list[plots.Panel] = []
    for mark in letters:
        dots = partial(plots.panel, frame.filter(pl.col("mark") == mark), "prior", x, at=even)
        panels.append((dots, max(46, 340 // len(letters)), mark))
    changes = frame.unique("series", keep="first", maintain_order=True).drop_nulls("difference")
    if len(changes):
        x = plots.across("accuracy without it", form=plots.POINTS, ticks=3)
        panels.append((partial(plots.panel, changes, "difference", x, color=alt.value(palette.INK)), 120, ""))
    return plots.side_by_side(ranked.get_column("series").to_list(), panels, 8)


_ASK = "eyetest run --condition"
_white_box = partial(Figure, part="White box")
FIGURE = (
    _white_box(
        *("generation-likelihood", 111, "Generation against likelihood", _gaps, _draw_gaps),
        reading="Each model as it writes its answers and as its likeliest choice has it, on the same items: left "
        "accuracy both ways, then the difference, then the share of items on which both choose alike. Models built "
        "on one language model stand together, with their mean below them.",
        needs=f"answers both ways: {_ASK} likelihood,generate",
    ),
    _white_box(
        *("normalisations", 112, "Normalisations of the likelihood", _normalised, _draw_normalised),
        reading="Left, accuracy by the sum of log-probabilities, which favours short choices; then what changes by "
        "other counts of the same numbers: per token, per byte, less the likelihood without the question (PMI) or "
        "without the image (image-PMI). The dashed line is no change.",
        needs=f"weighed choices: {_ASK} likelihood+modality=image/no-image/no-question",
    ),
    _white_box(
        *("image-use", 113, "Effect of the image on probabilities", _uses, _draw_uses),
        reading="How much of the probability among the choices the image moves, how much more it raises the right "
        "one than the wrong ones, and on what share of items it helps it, leaves it alone or hurts it. A model that "
        "does not look moves nothing, one that knows nothing raises all alike; where gray images were shown too, a "
        "grey dot says what those move.",
        needs=f"choices weighed with and without the image: {_ASK} likelihood+modality=image/no-image",
    ),
    _white_box(
        *("option-prior", 114, "Option-letter prior", _priors, _draw_priors),
        reading="The probability of each mark whatever stands behind it (PriDe), with intervals; on the dashed line "
        "all are alike. Right, what taking it off does to accuracy, on items that it was not estimated on.",
        needs=f"letters weighed in several orders: {_ASK} first-token+order=0/1/2/3",
    ),
)
