"""What models find likely: against what they write, however it is normalised, with and without the picture."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.normalisations import NORMALISATIONS, SUM
from eyetest.pages import palette, plots
from eyetest.pages.plots import benchmark_of, bounded, named, rows, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_PART = "White box"
_WIDTH, _MOST_MARKS = 480, 10
_ENDS = {"generated": palette.SIGHTED, "weighed": palette.BLIND}
_EFFECTS = {"helped": palette.CATEGORIES[2], "left alone": palette.QUIET, "hurt": palette.BLIND}
_GROUP = "group"


def _sighted(table: pl.DataFrame) -> pl.DataFrame:
    """The rows with the picture, where it was also asked without."""
    kept = table.filter(pl.col("sight") == "image") if "sight" in table.columns else table
    if kept.is_empty():
        raise NotMeasurable("no choice was weighed with the picture")
    return named(kept)


def _gaps(material: Material) -> pl.DataFrame:
    table = _sighted(material.measured("generation-likelihood", scope="all"))
    pooled = (pl.col("models") > 1) & pl.col("base").is_not_null()
    series = pl.when(pooled).then(pl.col("base") + ": " + pl.col("series")).otherwise("series").alias("series")
    order = [*benchmark_of(table), "weighed_by", "base", "models", "series"]
    ranked = table.sort(order, nulls_last=True, descending=[name == "weighed_by" for name in order])
    shares = [*bounded("difference", "same", "kappa"), "unread", "models", "n"]
    return ranked.select(*benchmark_of(table), "weighed_by", "base", series, *_ENDS, *shares)


def _draw_gaps(frame: pl.DataFrame) -> ChartType:
    ways = frame.with_columns(
        pl.col("weighed_by").replace({"likelihood": "likelihood of whole answers"}).alias(_GROUP)
    )
    titled = ways.with_columns(pl.col(_GROUP).replace({"first-token": "likelihood of the mark as first token"}))
    return plots.one_each(titled, _GROUP, _draw_gap)


def _draw_gap(frame: pl.DataFrame) -> ChartType:
    order, ink = frame.get_column("series").to_list(), alt.value(palette.INK)
    styles = dict(zip(_ENDS, zip(_ENDS.values(), palette.SHAPES, strict=False), strict=True))
    height = plots.step(len(order))
    dots = plots.dumbbells(frame, rows(order), styles, 4, ends=("weighed", "generated"))
    panels: list[ChartType] = [dots.properties(width=240, height=height)]
    for value, title, form in (
        ("difference", "generated − weighed", plots.POINTS),
        ("same", "same choice", plots.PERCENT),
    ):
        chart = alt.Chart(values(frame.drop_nulls(value)))
        drawn = plots.intervals(
            chart, value, plots.across(title, form=form, ticks=3), y=rows(order).axis(None), color=ink
        )
        layers = (plots.dashed(), drawn) if value == "difference" else (drawn,)
        panels.append(plots.layered(*layers).properties(width=120, height=height))
    return alt.hconcat(*panels, spacing=14)


def _normalised(material: Material) -> pl.DataFrame:
    table = named(material.measured("normalisations", scope="all"))
    told = ["normalisation", "series", *bounded("accuracy", "difference"), "n"]
    return table.select(*benchmark_of(table), *told)


def _draw_normalised(frame: pl.DataFrame) -> ChartType:
    there = [name for name in NORMALISATIONS if name in set(frame.get_column("normalisation"))]
    plain = frame.filter(pl.col("normalisation") == SUM).sort("accuracy", descending=True)
    order, height = plain.get_column("series").to_list(), plots.step(frame.get_column("series").n_unique())
    width = _WIDTH // max(len(there) + 1, 3)
    first = plots.intervals(alt.Chart(values(plain)), "accuracy", plots.across("accuracy", ticks=3), y=rows(order))
    panels: list[ChartType] = [first.properties(width=width * 1.6, height=height, title=SUM)]
    others = frame.filter(pl.col("normalisation") != SUM)
    most = others.select(pl.max_horizontal(pl.col("difference_low", "difference_high").abs()).max()).item() or 0.1
    x = plots.across("change", form=plots.POINTS, domain=(-most * 1.05, most * 1.05), ticks=3)
    for name in there[1:]:
        chart = alt.Chart(values(others.filter(pl.col("normalisation") == name)))
        dots = plots.intervals(chart, "difference", x, y=rows(order).axis(None), color=alt.value(palette.INK))
        panels.append(plots.layered(plots.dashed(), dots).properties(width=width, height=height, title=name))
    return alt.hconcat(*panels, spacing=10)


def _uses(material: Material) -> pl.DataFrame:
    table = named(material.measured("image-use", scope="all"))
    whole = table.filter(pl.col("method") == "likelihood") if "method" in table.columns else table
    kept = table if whole.is_empty() else named(whole.drop("method", strict=False))
    told = bounded("moved", "gold_lead", "gold_pmi", "chosen_pmi", "helped", "hurt", "left_alone")
    return kept.select(*benchmark_of(kept), "series", *told, "^moved_by_grey.*$", "n")


def _draw_uses(frame: pl.DataFrame) -> ChartType:
    order = frame.sort("moved", descending=True).get_column("series").to_list()
    height, ink = plots.step(len(order)), alt.value(palette.INK)
    chart, y = alt.Chart(values(frame)), rows(order)
    x = plots.across("probability moved", ticks=4)
    moved = [plots.intervals(chart, "moved", x, y=y)]
    if "moved_by_grey" in frame.columns:
        known = alt.Chart(values(frame.drop_nulls("moved_by_grey")))
        moved.append(plots.intervals(known, "moved_by_grey", x, y=y, color=alt.value(palette.QUIET)))
    x = plots.across("gain of the right choice over wrong ones (nats)", form="+.1f", ticks=3)
    known = alt.Chart(values(frame.drop_nulls("gold_lead")))
    lead = plots.layered(plots.dashed(), plots.intervals(known, "gold_lead", x, y=y.copy().axis(None), color=ink))
    long = (
        frame.rename({"left_alone": "left alone"})
        .unpivot(list(_EFFECTS), index="series")
        .with_columns(pl.col("variable").replace_strict({name: i for i, name in enumerate(_EFFECTS)}).alias("layer"))
    )
    colour = alt.Color("variable:N").scale(domain=list(_EFFECTS), range=list(_EFFECTS.values()))
    share = alt.X("value:Q", title="items", stack="zero", axis=alt.Axis(format=plots.PERCENT, tickCount=3))
    bars = (
        alt.Chart(values(long))
        .mark_bar(height=9)
        .encode(x=share.scale(domain=[0, 1]), y=y.copy().axis(None), color=colour, order="layer:Q")
    )
    widths = ((plots.layered(*moved), 170), (lead, 150), (bars, 150))
    return alt.hconcat(*(panel.properties(width=width, height=height) for panel, width in widths), spacing=14)


def _priors(material: Material) -> pl.DataFrame:
    """Of the number of options that most items have; all are in the measure."""
    table = _sighted(material.measured("option-prior", scope="all"))
    about = [*benchmark_of(table), "series", "options"]
    removed = _sighted(material.measured("option-prior-removed", scope="all"))
    after = removed.select(*about, *bounded("difference", "recall_sd_change"), "accuracy", "accuracy_after")
    most = table.group_by("options").agg(pl.col("n").sum()).sort("n", "options", descending=True).item(0, "options")
    kept = table.filter(pl.col("options") == most)
    told = ["mark", *bounded("prior"), "recall", "recall_after", "n"]
    joined = kept.select(*about, *told).join(after, on=about, how="left", maintain_order="left", nulls_equal=True)
    return joined.unique([*about, "mark"], keep="first", maintain_order=True)


def _draw_priors(frame: pl.DataFrame) -> ChartType:
    marks = frame.get_column("mark").unique(maintain_order=True).to_list()[:_MOST_MARKS]
    even = 1 / frame.item(0, "options")
    apart = (pl.col("prior") - even).abs().sum()
    order = (
        frame.group_by("series")
        .agg(apart)
        .sort("prior", "series", descending=[True, False])
        .get_column("series")
        .to_list()
    )
    height, width = plots.step(len(order)), max(46, 340 // len(marks))
    most = frame.select(pl.max_horizontal("prior", "prior_high").max()).item()
    x = plots.across("", domain=(0, max(most, 2 * even) * 1.03), ticks=2)
    panels: list[ChartType] = []
    for mark in marks:
        y = rows(order).axis(None) if panels else rows(order)
        chart = alt.Chart(values(frame.filter(pl.col("mark") == mark)))
        dots = plots.layered(plots.dashed(even), plots.intervals(chart, "prior", x, y=y))
        panels.append(dots.properties(width=width, height=height, title=mark))
    changes = frame.unique("series", keep="first", maintain_order=True).drop_nulls("difference")
    if len(changes):
        ink, x = alt.value(palette.INK), plots.across("accuracy without it", form=plots.POINTS, ticks=3)
        dots = plots.intervals(alt.Chart(values(changes)), "difference", x, y=rows(order).axis(None), color=ink)
        panels.append(plots.layered(plots.dashed(), dots).properties(width=120, height=height))
    return alt.hconcat(*panels, spacing=8)


_ASK = "eyetest run --method"
FIGURE = (
    Figure(
        *("generation-likelihood", 111, "Generation against likelihood", _gaps, _draw_gaps),
        reading="Each model as it writes its answers and as its likeliest choice has it, on the same items: left "
        "accuracy both ways, then the difference, then the share of items on which both choose alike. Models built "
        "on one language model stand together, with their mean below them.",
        needs=f"answers both ways: {_ASK} likelihood,generate",
        part=_PART,
    ),
    Figure(
        *("normalisations", 112, "Normalisations of the likelihood", _normalised, _draw_normalised),
        reading="Left, accuracy by the sum of log-probabilities, which favours short choices; then what changes by "
        "other counts of the same numbers: per token, per byte, less the likelihood without the question (PMI) or "
        "without the picture (image-PMI). The dashed line is no change.",
        needs=f"weighed choices: {_ASK} likelihood --sight image,blind,no-question",
        part=_PART,
    ),
    Figure(
        *("image-use", 113, "Effect of the image on probabilities", _uses, _draw_uses),
        reading="How much of the probability among the choices the picture moves, how much more it raises the right "
        "one than the wrong ones, and on what share of items it helps it, leaves it alone or hurts it. A model that "
        "does not look moves nothing, one that knows nothing raises all alike; where grey pictures were shown too, a "
        "grey dot says what those move.",
        needs=f"choices weighed with and without the picture: {_ASK} likelihood --sight image,blind",
        part=_PART,
    ),
    Figure(
        *("option-prior", 114, "Option-letter prior", _priors, _draw_priors),
        reading="The probability of each mark whatever stands behind it (PriDe), with intervals; on the dashed line "
        "all are alike. Right, what taking it off does to accuracy, on items that it was not estimated on.",
        needs=f"marks weighed in several orders: {_ASK} first-token --order 0,1,2,3",
        part=_PART,
    ),
)
