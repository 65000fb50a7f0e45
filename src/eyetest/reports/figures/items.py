"""Items and answers: composition, funnel, difficulty, failures, correlation between groups."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.errors import counted
from eyetest.measures import NotMeasurable
from eyetest.measures.results import EXTERNAL, PROTOCOL
from eyetest.measures.tables import ADJUSTED
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
    return plots.labelled_bars(frame.head(MOST_VALUES), "value", alt.Text("items:Q", format=","), 420)


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


LEAST_MODELS = 8  # below, correlations over models mislead


def refuse_few(table: pl.DataFrame, what: str) -> None:
    """Refuse to draw what rests on few models, which ``n`` counts."""
    most = table.select(pl.col("n").max()).item() or 0
    if most < LEAST_MODELS:
        raise NotMeasurable(f"{what} mislead with fewer than {LEAST_MODELS} models ({most} here)")


_WIDE, _HIGH = 0.05, 0.1  # size of a cell that becomes one circle


def _items_numbers(material: Material) -> pl.DataFrame:
    table = material.measured("items")
    refuse_few(table, "item-rest correlations")
    if table.drop_nulls("item_rest").is_empty():
        raise NotMeasurable("items: no item has an item-rest correlation")
    return plots.shown(table, "item", "accuracy", "item_rest", "slope", "intercept", "n")


def _draw_items(frame: pl.DataFrame) -> ChartType:
    known = frame.drop_nulls(["accuracy", "item_rest"])
    few = known.get_column("accuracy").n_unique() <= 1 / _WIDE
    across = pl.col("accuracy") if few else (pl.col("accuracy") / _WIDE).round() * _WIDE
    cells = (
        known.with_columns(across, ((pl.col("item_rest") / _HIGH).floor() + 0.5) * _HIGH)
        .group_by("accuracy", "item_rest")
        .agg(pl.len().alias("items"))
        .sort("accuracy", "item_rest")
    )
    x = alt.X("accuracy:Q", title="share of models that get it right").scale(domain=[-0.03, 1.03], nice=False)
    low = min(-0.3, (cells.select(pl.col("item_rest").min()).item() or 0) - _HIGH)
    y = alt.Y("item_rest:Q", title="item-rest correlation", axis=alt.Axis(grid=True, labelColor=palette.SOFT))
    most = cells.select(pl.col("items").max()).item() or 1
    size = alt.Size("items:Q").scale(range=[8, 480], type="linear", domainMin=0)
    circles = plots.chart_of(
        cells,
        x=x.axis(plots.shares()),
        y=y.scale(domain=[low, 1], nice=False),
        size=size.legend(title="items", values=sorted({1, max(1, most // 4), most}), format=",d"),
        color=alt.condition("datum.item_rest < 0", alt.value(palette.BLIND), alt.value(palette.SIGHTED)),
    ).mark_circle(opacity=0.75)
    return plots.layered(plots.dashed(axis="y"), circles).properties(width=560, height=340)


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
        x = alt.X("value:Q", title="share of calls", stack="zero", axis=plots.shares())
        y, shares = plots.rows(order), part.with_columns(pl.col(*colours) / pl.col("calls"))
        counted_of = pl.sum_horizontal(*_FAILURES)
        named = part.with_columns(
            pl.format("{} ({} of {})", (100 * pl.col("share")).round(1), counted_of, "calls").alias("words")
        )
        words = plots.chart_of(named, x="share:Q", y=y, text="words:N")
        bars = plots.stacked(shares, ["series"], colours, x, y)
        drawn = plots.layered(bars, words.mark_text(align="left", dx=5))
        return drawn.properties(width=420, height=plots.step(len(order)))

    return plots.one_each(frame, "modality", draw)


_SPEARMAN = pl.col("method") == "spearman"
_MOST_CELLS_WITH_NUMBERS = 12


def _among_groups(material: Material) -> pl.DataFrame:
    table = material.measured("correlation", material.comparable_tags)
    known = table.filter(pl.col("other") != EXTERNAL).drop_nulls("correlation")
    refuse_few(known, "correlations between tasks")
    if known.is_empty():
        raise NotMeasurable("correlation: no two groups of items to compare")
    return known.select("across", "one", "other", "method", "^correlation.*$", "p", ADJUSTED, "n")


def _draw_correlation(frame: pl.DataFrame) -> ChartType:
    return plots.one_each(frame.filter(_SPEARMAN), "across", _heat_map)


def _heat_map(frame: pl.DataFrame) -> ChartType:
    names = list(dict.fromkeys([*frame.get_column("one"), *frame.get_column("other")]))
    few = len(names) <= _MOST_CELLS_WITH_NUMBERS
    x = alt.X("one:N", sort=names, title=None, axis=alt.Axis(labelAngle=-40, labelLimit=170, domain=False))
    y = alt.Y("other:N", sort=names, title=None, axis=alt.Axis(labelLimit=170))
    cuts = [-0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75]
    colour = alt.Color("correlation:Q").scale(type="threshold", domain=cuts, range=list(palette.STEPS))
    labels = "datum.value === 0 || abs(datum.value) === 0.5 ? datum.label : ''"
    colour = colour.legend(title="correlation", gradientLength=200, labelExpr=labels)
    chart = plots.chart_of(frame, x=x, y=y)
    cells = chart.mark_rect(stroke=palette.PAPER, strokeWidth=0).encode(color=colour)
    strong = "datum.correlation >= 0.5 || datum.correlation < -0.75"
    ink = alt.condition(strong, alt.value(palette.ON_STRONG), alt.value(palette.INK))
    text = chart.mark_text(fontSize=11).encode(text=alt.Text("correlation:Q", format=".2f"), color=ink)
    size = alt.Step(38 if few else 17)
    return (alt.layer(cells, text) if few else cells).properties(width=size, height=size)


def _with_external(material: Material) -> pl.DataFrame:
    if not material.external:
        raise NotMeasurable("no external score was given")
    table = material.measured("correlation", material.comparable_tags).filter(pl.col("other") == EXTERNAL)
    return table.drop_nulls("correlation").select("across", "one", "method", "^correlation.*$", "p", ADJUSTED, "n")


def _draw_external(frame: pl.DataFrame) -> ChartType:
    group = pl.when(pl.col("across") == "all").then("one").otherwise(pl.format("{}: {}", "across", "one"))
    kept = frame.filter(_SPEARMAN).with_columns(group.alias("row"))
    order, x = kept.get_column("row").to_list(), plots.across("rank correlation", form=".1f", domain=(-1.02, 1.02))
    dots = plots.panel(kept, "correlation", x, plots.rows(order, "row"))
    return dots.properties(width=420, height=plots.step(len(order)))


FIGURE = (
    described("composition", _composition, _draw_composition, counts=_tagged),
    described("funnel", _funnel_numbers, _draw_funnel, counts=_reached),
    described("items", _items_numbers, _draw_items),
    described("failures", _failures_numbers, _draw_failures),
    described("correlation", _among_groups, _draw_correlation),
    described("external", _with_external, _draw_external),
)
