"""Items and answers: composition, funnel, failures; how choices depend on wording, order and repeats."""

from functools import partial

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.errors import counted
from eyetest.measures import NotMeasurable
from eyetest.measures.results import PROTOCOL
from eyetest.pages import palette, plots
from eyetest.pages.item_links import Query
from eyetest.reports.figures import described
from eyetest.reports.report import MOST_VALUES, NO_ANSWERS, Counts, Material, ReportItems


def _composition(material: Material) -> pl.DataFrame:
    if not material.tags:
        raise NotMeasurable("no tag sorts the items into a few groups")
    parts = []
    for tag in material.tags:
        values = material.results.values(tag).alias("value")
        sizes = values.value_counts(name="items").select(pl.lit(tag).alias("tag"), "value", pl.col("items").cast(int))
        parts.append(sizes.sort("items", "value", descending=[True, False]))
    return pl.concat(parts)


def _tagged(frame: pl.DataFrame, items: ReportItems) -> Counts:
    rows = frame.select("tag", "value", "items").iter_rows()
    return {"items": [items.count(number, tags=((tag, value),)) for tag, value, number in rows]}


def _draw_composition(frame: pl.DataFrame) -> ChartType:
    frame = frame.head(MOST_VALUES)
    y = plots.rows(frame.get_column("value").to_list(), "value")
    bars = plots.chart_of(frame, x=alt.X("items:Q", axis=None), y=y)
    words = bars.mark_text(align="left", dx=5).encode(text=alt.Text("items:Q", format=","))
    drawn = plots.layered(bars.mark_bar(color=palette.QUIET, height=9), words)
    return drawn.properties(width=420, height=plots.step(len(frame)))


_VERDICTS = {kind: palette.VERDICTS[kind] for kind in ("drop", "fix", "review", "keep")}


def _funnel_numbers(material: Material) -> pl.DataFrame:
    if material.funnel is None or material.funnel.is_empty():
        raise NotMeasurable("no refinement was given")
    return material.funnel.select("stage", "into", *_VERDICTS)


def _reached(frame: pl.DataFrame, items: ReportItems) -> Counts:
    counts = {}
    for column, kind in (("into", ""), *zip(_VERDICTS, _VERDICTS, strict=True)):
        rows = frame.select(column, "stage").iter_rows()
        counts[column] = [items.at.count(number, Query(stage=stage, verdict=kind)) for number, stage in rows]
    return counts


def _draw_funnel(frame: pl.DataFrame) -> ChartType:
    y = plots.rows(frame.get_column("stage").to_list(), "stage")
    left = frame.with_columns(pl.format("{} left", pl.col("keep") + pl.col("fix")).alias("words"))
    bars = plots.stacked(frame, ["stage"], _VERDICTS, alt.X("value:Q", title="items", stack="zero"), y)
    words = plots.chart_of(left, x="into:Q", y=y, text="words:N").mark_text(align="left", dx=6)
    return plots.layered(bars, words).properties(width=plots.WIDTH, height=plots.step(len(frame)))


_FAILURES = {
    "failed": palette.VERDICTS["drop"],
    "blocked": palette.BASE,
    "refused": palette.BLIND,
    "ambiguous": palette.CATEGORIES[5],
    "cut off": palette.CATEGORIES[4],
    "unreadable": palette.QUIET,
}


def _failures_numbers(material: Material) -> pl.DataFrame:
    if not material.is_answered:
        raise NotMeasurable(NO_ANSWERS)
    results = material.results
    outcome, reading = pl.col("outcome").cast(pl.String), pl.col("reading").cast(pl.String)
    read = reading.replace("unparsed", "unreadable")
    kind = pl.when(outcome.is_in(["failed", "blocked"])).then(outcome).otherwise(read)
    keys = [*results.varied(["benchmark"]), "model", *results.varied(PROTOCOL)]
    counts = {name: kind == name for name in _FAILURES}
    counts["scored above 0"] = kind.is_in(list(_FAILURES)) & (pl.col("score") > 0)  # by imported scores
    sums = [count.fill_null(False).sum().cast(pl.Int64).alias(name) for name, count in counts.items()]
    table = results.scores.group_by(keys).agg(*sums, pl.len().cast(pl.Int64).alias("calls")).sort(keys)
    calls = table.collect(engine="streaming").with_columns(pl.col(pl.Categorical).cast(pl.String))
    without = pl.sum_horizontal(*_FAILURES)
    if not calls.select(without.sum()).item():
        raise NotMeasurable(f"all {counted(int(calls['calls'].sum()), 'call')} gave an answer that could be read")
    around = [name for name in ("benchmark", "modality") if name in calls.columns]
    return plots.named(calls).select(*around, "series", (without / pl.col("calls")).alias("share"), *counts, "calls")


def _draw_failures(frame: pl.DataFrame) -> ChartType:
    colours = {name: colour for name, colour in _FAILURES.items() if frame.get_column(name).sum()}

    def draw(part: pl.DataFrame) -> ChartType:
        order = part.sort("share", "series", descending=[True, False]).get_column("series").to_list()
        x = alt.X("value:Q", title="share of calls", stack="zero", axis=plots.ticked())
        y, shares = plots.rows(order), part.with_columns(pl.col(list(colours)) / pl.col("calls"))
        counted_of = pl.sum_horizontal(*_FAILURES)
        named = part.with_columns(
            pl.format("{} ({} of {})", (100 * pl.col("share")).round(1), counted_of, "calls").alias("words")
        )
        words = plots.chart_of(named, x="share:Q", y=y, text="words:N")
        bars = plots.stacked(shares, ["series"], colours, x, y)
        drawn = plots.layered(bars, words.mark_text(align="left", dx=5))
        return drawn.properties(width=420, height=plots.step(len(order)))

    return plots.one_each(frame, "modality", draw)


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
    parts, ends = words.partition_by("source", maintain_order=True, as_dict=True), plots.bounded("normalised")
    low, high = words.select(low=pl.min_horizontal(ends).min(), high=pl.max_horizontal(ends).max()).row(0)
    domain = (1.05 * min(0.0, low or 0.0), 1.05 * max(0.0, high or 0.0) or 1.0)
    x = plots.across("entropy", form=".2~f", domain=domain, ticks=3 if len(parts) < 5 else 2)
    panels = [
        (partial(plots.panel, part, "normalised", x, at=None), 480 // max(2, len(parts)), str(source))
        for (source,), part in parts.items()
    ]
    return plots.side_by_side(list(dict.fromkeys(words.get_column("series"))), panels)


FIGURE = (
    described("composition", _composition, _draw_composition, counts=_tagged),
    described("funnel", _funnel_numbers, _draw_funnel, counts=_reached),
    described("instability", _instability_numbers, _draw_instability),
    described("failures", _failures_numbers, _draw_failures),
)
