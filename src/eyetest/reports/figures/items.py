"""Items and answers: composition, duplicates, funnel, difficulty, failures, correlation between groups."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.means import ADJUSTED
from eyetest.measures.results import EXTERNAL, PROTOCOL, TAG
from eyetest.pages import palette, plots
from eyetest.pages.item_counts import ItemCount
from eyetest.reports.figures import Figure
from eyetest.reports.material import MOST_VALUES, Material
from eyetest.reports.report_items import Counts, ReportItems
from eyetest.wording import counted

_ALWAYS = ("duplicate-items", "identical-images")


def _composition(material: Material) -> pl.DataFrame:
    if not material.tags:
        raise NotMeasurable("no tag sorts the items into a few groups")
    parts = []
    for tag in material.tags:
        values = material.results.items.get_column(TAG + tag).drop_nulls().value_counts(name="items")
        value, number = pl.col(TAG + tag).alias("value"), pl.col("items").cast(pl.Int64)
        sizes = values.select(pl.lit(tag).alias("tag"), value, number)
        parts.append(sizes.sort("items", "value", descending=[True, False]))
    return pl.concat(parts)


def _tagged(frame: pl.DataFrame, items: ReportItems) -> Counts:
    rows = frame.select("tag", "value", "items").iter_rows()
    return {"items": [items.count(number, tags=((tag, value),)) for tag, value, number in rows]}


def _draw_composition(frame: pl.DataFrame, items: ReportItems | None = None) -> ChartType:
    shown = frame.head(MOST_VALUES)
    if items is not None:
        shown = shown.with_columns(items.letters(_tagged(shown, items)["items"]))
    return plots.told_bars(shown, "value", alt.Text("items:Q", format=","), 420)


def _duplicates(material: Material) -> pl.DataFrame:
    if material.duplicates is None:
        raise NotMeasurable("nothing is known of the items")
    counts = [{"kind": kind, "items": 0, "groups": 0} for kind in _ALWAYS]
    counts += [{"kind": one.kind, "items": len(one.items), "groups": len(one.groups)} for one in material.duplicates]
    table = pl.DataFrame(counts).group_by(pl.col("kind").str.replace_all("-", " ")).sum()
    return table.sort("items", "kind", descending=[True, False])


def _repeated(frame: pl.DataFrame, items: ReportItems) -> Counts:
    ids: dict[str, list[str]] = {}
    for one in items.material.duplicates or ():
        ids.setdefault(one.kind.replace("-", " "), []).extend(one.items)
    told = frame.select("kind", "items").iter_rows()
    counts = [(number, items.named(ids.get(kind, ()))) for kind, number in told]
    return {"items": [count if count.items == number else ItemCount(number) for number, count in counts]}


def _draw_duplicates(frame: pl.DataFrame, items: ReportItems | None = None) -> ChartType:
    if items is not None:
        frame = frame.with_columns(items.letters(_repeated(frame, items)["items"]))
    groups = pl.when(pl.col("groups") == 1).then(pl.lit("group")).otherwise(pl.lit("groups"))
    some = pl.format("{} items in {} {}", "items", "groups", groups)
    told = pl.when(pl.col("items") > 0).then(some).otherwise(pl.lit("none"))
    return plots.told_bars(frame.with_columns(told.alias("told")), "kind", alt.Text("told:N"), 320)


_FUNNEL_KINDS = ("drop", "fix", "review", "keep")
_INKS = {"keep": palette.INK, "fix": palette.ON_BRIGHT, "review": palette.ON_BRIGHT, "drop": palette.ON_STRONG}
_FUNNEL_WIDTH, _FUNNEL_HEIGHT = 460, 30
_FUNNEL_ROOM = 0.09  # the share of the longest bar that a number needs


def _funnel_numbers(material: Material) -> pl.DataFrame:
    if material.funnel is None or material.funnel.is_empty():
        raise NotMeasurable("no refinement was given")
    return material.funnel.select("stage", "into", *_FUNNEL_KINDS)


def _reached(frame: pl.DataFrame, items: ReportItems) -> Counts:
    columns = {"into": "", **{kind: kind for kind in _FUNNEL_KINDS}}
    return {
        column: [items.judged(number, stage, kind) for stage, number in frame.select("stage", column).iter_rows()]
        for column, kind in columns.items()
    }


def _draw_funnel(frame: pl.DataFrame, items: ReportItems | None = None) -> ChartType:
    most = frame.select(pl.col("into").max()).item() or 1
    parts, left = _parts(frame), frame.with_columns((pl.col("keep") + pl.col("fix")).alias("left"))
    if items is not None:
        verdicts = parts.select("items", "stage", "verdict").iter_rows()
        parts = parts.with_columns(items.letters(items.judged(*one) for one in verdicts))
        stages = left.select("left", "stage").iter_rows()
        left = left.with_columns(items.letters(items.judged(number, stage, "kept") for number, stage in stages))
    shown = [kind for kind in _FUNNEL_KINDS if kind in set(parts.get_column("verdict"))]
    colours = [palette.VERDICTS[kind] for kind in shown]
    y = plots.rows(frame.get_column("stage").to_list(), "stage")
    x = alt.X("start:Q", title="items", axis=alt.Axis(tickCount=5)).scale(domain=[0, most], nice=False)
    colour = alt.Color("verdict:N").scale(domain=shown, range=colours)
    bars = alt.Chart(plots.values(parts)).mark_bar(height=_FUNNEL_HEIGHT - 8)
    bars = bars.encode(x=x, x2="end", y=y, color=colour, **plots.leading(parts))
    roomy = alt.Chart(plots.values(parts.filter(pl.col("items") >= _FUNNEL_ROOM * most))).mark_text()
    ink = alt.Color("ink:N", scale=None)
    words = roomy.encode(x="middle:Q", y=y, text=alt.Text("items:Q", format=","), color=ink, **plots.leading(parts))
    ends = alt.Chart(plots.values(left)).transform_calculate(told="format(datum.left, ',') + ' left'")
    last = ends.mark_text(align="left", dx=6).encode(x="into:Q", y=y, text="told:N", **plots.leading(left))
    return alt.layer(bars, words, last).properties(width=_FUNNEL_WIDTH, height=alt.Step(_FUNNEL_HEIGHT))


def _parts(frame: pl.DataFrame) -> pl.DataFrame:
    """The pieces of every bar: start, end, and label of each."""
    long = frame.with_row_index("row").unpivot(list(_FUNNEL_KINDS), index=["row", "stage"], variable_name="verdict")
    long = long.rename({"value": "items"}).sort("row", maintain_order=True)
    end = pl.col("items").cum_sum().over("row")
    return long.with_columns(
        (end - pl.col("items")).alias("start"),
        end.alias("end"),
        (end - pl.col("items") / 2).alias("middle"),
        pl.col("verdict").replace_strict(_INKS).alias("ink"),
    ).filter(pl.col("items") > 0)


_WIDE, _HIGH = 0.05, 0.1
_ENOUGH = 3
_MOST_LINKED = 5_000  # items that may be named in the links of all circles together, for a page that is not too heavy


def _items_numbers(material: Material) -> pl.DataFrame:
    table = material.measured("items")
    known = table.drop_nulls("item_rest").filter(pl.col("n") >= _ENOUGH)
    if known.is_empty():
        raise NotMeasurable("items: fewer than three models answered the same items")
    return table.select(*plots.benchmark_of(table), "item", "accuracy", "item_rest", "slope", "intercept", "n")


def _draw_items(frame: pl.DataFrame, items: ReportItems | None = None) -> ChartType:
    known = frame.drop_nulls(["accuracy", "item_rest"])
    few = known.get_column("accuracy").n_unique() <= 1 / _WIDE
    across = pl.col("accuracy") if few else (pl.col("accuracy") / _WIDE).round() * _WIDE
    cells = (
        known.with_columns(across, ((pl.col("item_rest") / _HIGH).floor() + 0.5) * _HIGH)
        .group_by("accuracy", "item_rest")
        .agg(pl.len().alias("items"), pl.col("item"))
        .sort("accuracy", "item_rest")
    )
    if items is not None:
        some = len(known) > _MOST_LINKED  # then only circles below the line name their items
        rows = cells.select("item_rest", "items", "item").iter_rows()
        counts = (ItemCount(n) if some and height >= 0 else items.named(names) for height, n, names in rows)
        cells = cells.with_columns(items.letters(counts))
    cells = cells.drop("item")
    x = alt.X("accuracy:Q", title="share of models that get it right").scale(domain=[-0.03, 1.03], nice=False)
    low = min(-0.3, (cells.select(pl.col("item_rest").min()).item() or 0) - _HIGH)
    y = alt.Y("item_rest:Q", title="item-rest correlation", axis=alt.Axis(grid=True, labelColor=palette.SOFT))
    most = cells.select(pl.col("items").max()).item() or 1
    circles = (
        alt.Chart(plots.values(cells))
        .mark_circle(opacity=0.75)
        .encode(
            x=x.axis(format=plots.PERCENT),
            y=y.scale(domain=[low, 1], nice=False),
            size=alt.Size("items:Q")
            .scale(range=[8, 480], type="linear", domainMin=0)
            .legend(title="items", values=sorted({1, max(1, most // 4), most}), format=",d"),
            color=alt.condition("datum.item_rest < 0", alt.value(palette.BLIND), alt.value(palette.SIGHTED)),
            **plots.leading(cells),
        )
    )
    return plots.layered(plots.dashed(axis="y"), circles).properties(width=560, height=340)


ABOVE = "scored above 0"  # the ones that score nevertheless, by imported scores
_FAILURES_COLOURS = {
    "failed": palette.VERDICTS["drop"],
    "blocked": palette.BASE,
    "refused": palette.BLIND,
    "ambiguous": palette.CATEGORIES[5],
    "cut off": palette.CATEGORIES[4],
    "unreadable": palette.QUIET,
}


def _failures_numbers(material: Material) -> pl.DataFrame:
    if not material.is_answered:
        raise NotMeasurable("no answers were given: name a run beside the benchmark")
    results = material.results
    outcome, reading = pl.col("outcome").cast(pl.String), pl.col("reading").cast(pl.String)
    read = reading.replace("unparsed", "unreadable")
    kind = pl.when(outcome.is_in(["failed", "blocked"])).then(outcome).otherwise(read)
    keys = [*results.varied(["benchmark"]), "model", *results.varied(PROTOCOL)]
    counts = [(kind == name).fill_null(False).sum().cast(pl.Int64).alias(name) for name in _FAILURES_COLOURS]
    above = kind.is_in(list(_FAILURES_COLOURS)) & (pl.col("score") > 0)
    sums = [above.fill_null(False).sum().cast(pl.Int64).alias(ABOVE), pl.len().cast(pl.Int64).alias("calls")]
    table = results.scores.group_by(keys).agg(*counts, *sums).sort(keys)
    calls = table.collect(engine="streaming").with_columns(pl.col(pl.Categorical).cast(pl.String))
    if not calls.select(pl.sum_horizontal(*_FAILURES_COLOURS).sum()).item():
        raise NotMeasurable(f"all {counted(int(calls['calls'].sum()), 'call')} gave an answer that could be read")
    lost = pl.sum_horizontal(*_FAILURES_COLOURS) / pl.col("calls")
    around = [name for name in ("benchmark", "modality") if name in calls.columns]
    told = plots.named(calls).with_columns(lost.alias("share"))
    return told.select(*around, "series", "share", *_FAILURES_COLOURS, ABOVE, "calls")


def _draw_all_failures(frame: pl.DataFrame) -> ChartType:
    shown = [name for name in _FAILURES_COLOURS if frame.get_column(name).sum()]
    return plots.one_each(frame, "modality", lambda part: _draw_failures(part, shown))


def _draw_failures(frame: pl.DataFrame, shown: list[str]) -> ChartType:
    order = frame.sort("share", "series", descending=[True, False]).get_column("series").to_list()
    long = frame.unpivot(list(_FAILURES_COLOURS), index=["series", "calls"]).with_columns(
        (pl.col("value") / pl.col("calls")).alias("part"),
        pl.col("variable").replace_strict({name: i for i, name in enumerate(_FAILURES_COLOURS)}).alias("layer"),
    )
    colour = alt.Color("variable:N").scale(domain=shown, range=[_FAILURES_COLOURS[name] for name in shown])
    x = alt.X("part:Q", title="share of calls", stack="zero", axis=alt.Axis(format=".1~%", tickCount=5))
    bars = alt.Chart(plots.values(long.filter(pl.col("value") > 0))).mark_bar(height=9)
    y = plots.rows(order)
    drawn = bars.encode(x=x, y=y, color=colour, order="layer:Q")
    words = alt.Chart(plots.values(frame)).mark_text(align="left", dx=5)
    words = words.encode(x=alt.X("share:Q"), y=y, text=alt.Text("share:Q", format=".1%"))
    return alt.layer(drawn, words).properties(width=420, height=plots.step(len(order)))


_SPEARMAN = pl.col("method") == "spearman"
_MOST_CELLS_WITH_NUMBERS = 12
_CORRELATION_LABELS = "datum.value === 0 || abs(datum.value) === 0.5 ? datum.label : ''"
_CORRELATION_STRONG = "datum.correlation >= 0.5 || datum.correlation < -0.75"


def _among_groups(material: Material) -> pl.DataFrame:
    table = material.measured("correlation", material.comparable_tags)
    known = table.filter(pl.col("other") != EXTERNAL).drop_nulls("correlation")
    if known.is_empty():
        raise NotMeasurable("correlation: no two groups of items to compare")
    return known.select("across", "one", "other", "method", "^correlation.*$", "p", ADJUSTED, "n")


def _heat_map(frame: pl.DataFrame) -> ChartType:
    names = list(dict.fromkeys([*frame.get_column("one"), *frame.get_column("other")]))
    few = len(names) <= _MOST_CELLS_WITH_NUMBERS
    x = alt.X("one:N", sort=names, title=None, axis=alt.Axis(labelAngle=-40, labelLimit=170, domain=False))
    y = alt.Y("other:N", sort=names, title=None, axis=alt.Axis(labelLimit=170))
    cuts = [-0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75]
    colour = alt.Color("correlation:Q").scale(type="threshold", domain=cuts, range=list(palette.STEPS))
    colour = colour.legend(title="correlation", gradientLength=200, labelExpr=_CORRELATION_LABELS)
    chart, text = alt.Chart(plots.values(frame)).encode(x=x, y=y), alt.Text("correlation:Q", format=".2f")
    side = 38 if few else 17
    return plots.heat_map(chart, colour, text if few else None, _CORRELATION_STRONG, (side, side))


def _with_outside(material: Material) -> pl.DataFrame:
    if not material.external:
        raise NotMeasurable("no score from elsewhere was given")
    table = material.measured("correlation", material.comparable_tags).filter(pl.col("other") == EXTERNAL)
    return table.drop_nulls("correlation").select("across", "one", "method", "^correlation.*$", "p", ADJUSTED, "n")


def _correlation_dots(frame: pl.DataFrame) -> ChartType:
    named = pl.when(pl.col("across") == "all").then("one").otherwise(pl.format("{}: {}", "across", "one"))
    kept = frame.filter(_SPEARMAN).with_columns(named.alias("row"))
    order = kept.get_column("row").to_list()
    x = plots.across("rank correlation", form=".1f", domain=(-1.02, 1.02))
    return plots.panel(kept, "correlation", x, plots.rows(order, "row")).properties(
        width=420, height=plots.step(len(order))
    )


FIGURE = (
    Figure(
        *("composition", 5, "Composition", _composition, _draw_composition),
        by="tag",
        reading="How many items have each value of a tag.",
        needs="tags that sort items into a few groups; name them with --by",
        counts=_tagged,
        linked=True,
    ),
    Figure(
        *("duplicates", 100, "Duplicates", _duplicates, _draw_duplicates),
        reading="Items that repeat a question or share an image. Only what costs nothing to see was looked for: "
        "equal bytes and nearly equal words; eyetest audit also finds images that were re-encoded or cropped.",
        needs="a benchmark whose items are known",
        counts=_repeated,
        linked=True,
    ),
    Figure(
        *("funnel", 30, "Funnel", _funnel_numbers, _draw_funnel),
        reading="A bar is what reached a stage, its parts what became of it; behind it stands how many are left.",
        needs="a refinement: name the folder that eyetest refine wrote",
        counts=_reached,
        linked=True,
    ),
    Figure(
        *("items", 40, "Items by difficulty and discrimination", _items_numbers, _draw_items),
        reading="To the right, items that most models get right; higher up, items that the better models get right "
        "and the worse ones do not. A circle's area is how many items lie there. Items below the line are answered "
        "better by worse models: look at their golds first. Items that all or none get right have no correlation, "
        "and stand in the numbers only.",
        needs="answers of at least three models to the same items",
        linked=True,
    ),
    Figure(
        *("failures", 80, "Failed, refused and unreadable answers", _failures_numbers, _draw_all_failures),
        reading="The share of calls that gave no readable answer. Failed calls have no score and are left out of "
        "every measure. By our rules the others score 0; imported scores are kept, "
        "and the numbers count those above 0.",
        needs="calls that failed or were blocked, or answers that refuse or cannot be read",
    ),
    Figure(
        *("correlation", 90, "Correlation between groups of items", _among_groups),
        lambda frame: plots.one_each(frame.filter(_SPEARMAN), "across", _heat_map),
        reading="Rank correlation (Spearman) over models between their scores on two groups of items. Blue, whoever "
        "is good at the one is good at the other. Intervals are in the numbers: with few models they are wide.",
        needs="at least three models, and tags or several benchmarks",
    ),
    Figure(
        *("external", 95, "Correlation with external scores", _with_outside, _correlation_dots),
        reading="Rank correlation (Spearman) over models of the scores on some items with the score from outside; "
        "the interval says how far other models like these could move it.",
        needs="a score of at least three of the models: --with CSV",
    ),
)
