"""Scores: by protocol, with and without the image, by dimension and by tag, with fewer options."""

from functools import partial

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.results import TAG
from eyetest.pages import palette, plots
from eyetest.reports.figures import Figure
from eyetest.reports.material import MOST_VALUES, NEARLY_ALL, Material

_TAG = "dimension"
_CUTS = [-0.2, -0.1, -0.025, 0.025, 0.1, 0.2]
_DIMENSIONS_COLOURS = [*palette.STEPS[:4], *palette.STEPS[5:]]
_DIMENSIONS_LABELS = "abs(datum.value) >= 0.1 ? datum.label : ''"
_DIMENSIONS_STRONG = "datum.above >= 0.1 || datum.above < -0.2"
_SHORT, _MOST_CELLS_WITH_NUMBERS = 6, 14  # names of so few letters stand upright above their column


def _dimensions_numbers(material: Material) -> pl.DataFrame:
    if _TAG not in material.results.tags:
        raise NotMeasurable("no item says what dimension it is of")
    table = plots.named(material.measured("accuracy", (_TAG,))).drop_nulls([TAG + _TAG, "accuracy"])
    if table.is_empty():
        raise NotMeasurable("dimensions: no answer to an item with a dimension has a score")
    around = plots.benchmark_of(table)
    dimension = pl.col(TAG + _TAG).alias(_TAG)
    told = table.select(*around, "model", "series", dimension, *plots.bounded("accuracy"), "unread", "n")
    try:
        ranks = material.measured("ranks", (_TAG,))
    except NotMeasurable:
        return told.with_columns(pl.lit(None, pl.Float64).alias("rank")).drop("model")
    places: list[str | pl.Expr] = [*plots.bounded("mean_rank"), *plots.rebounded("rank_of_mean_ranks", "rank")]
    keys = [*around, "model"]
    return told.join(ranks.select(*keys, *places), on=keys, how="left", maintain_order="left").drop("model")


def _draw_dimensions(frame: pl.DataFrame) -> ChartType:
    means = frame.group_by("series").agg(pl.col("rank").first(), pl.col("accuracy").mean())
    best = means.sort("rank", "accuracy", "series", descending=[False, True, False], nulls_last=True)
    order = best.get_column("series").to_list()
    names = list(dict.fromkeys(frame.get_column(_TAG)))
    above = pl.col("accuracy") - pl.col("accuracy").mean().over(_TAG)
    few = len(names) <= _MOST_CELLS_WITH_NUMBERS
    angle = 0 if few and max(map(len, names)) <= _SHORT else -40
    x = alt.X(f"{_TAG}:N", sort=names, title=None).axis(labelAngle=angle, labelLimit=170, domain=False, orient="top")
    chart = alt.Chart(plots.values(frame.with_columns(above.alias("above")))).encode(x=x, y=plots.rows(order))
    colour = alt.Color("above:Q").scale(type="threshold", domain=_CUTS, range=_DIMENSIONS_COLOURS)
    legend = alt.Legend(title="against the mean of all models", format=plots.POINTS, orient="bottom")
    legend.gradientLength, legend.labelExpr = 240, _DIMENSIONS_LABELS
    text = alt.Text("accuracy:Q", format=".1%") if few else None
    table = plots.heat_map(chart, colour.legend(legend), text, _DIMENSIONS_STRONG, (52 if few else 20, 24))
    if best.get_column("rank").null_count() == len(best):
        return table
    places = alt.Chart(plots.values(best.drop_nulls("rank"))).mark_text(fontSize=12, fontWeight=600)
    places = places.encode(y=plots.rows(order).axis(None), text=alt.Text("rank:Q", format=".2~f"))
    return alt.hconcat(table, places.properties(width=34, height=alt.Step(24), title="rank"), spacing=4)


_MODALITIES = ("image", "no-image", "screenshot", "caption", "no-image-guess", "gray", "no-question", "nothing")
_MODALITY_COLOURS = (*palette.CATEGORIES, palette.BASE, palette.QUIET)
_MODALITY_SHAPES = (*palette.SHAPES, "triangle-right", "triangle-left")


def _accuracy_numbers(material: Material) -> pl.DataFrame:
    table = material.measured("accuracy", scope="all").drop_nulls("accuracy")
    if table.is_empty():
        raise NotMeasurable("accuracy: no answer has a score")
    for column in ("benchmark", "modality"):
        if column not in table.columns:
            only = material.results.scores.select(pl.col(column).cast(pl.String).first()).collect().item()
            table = table.with_columns(pl.lit(only).alias(column))
    told = plots.named(table).select("benchmark", "series", "modality", *plots.bounded("accuracy"), "unread", "n")
    told = told.with_columns(pl.col("benchmark", "modality").cast(pl.String))
    with_guessing = told.join(_guessing(material), on="benchmark", how="left")
    return with_guessing.sort("benchmark", "series", "modality", maintain_order=True)


def _guessing(material: Material) -> pl.DataFrame:
    """Score of random guessing on each benchmark whose items all have options."""
    items = material.results.items.group_by("benchmark").agg(pl.len().alias("items"))
    try:
        baselines = material.measured("baselines")
    except NotMeasurable:
        return pl.DataFrame(schema={"benchmark": pl.String, "random": pl.Float64})
    return baselines.join(items, on="benchmark").filter(pl.col("n") == pl.col("items")).select("benchmark", "random")


def _draw_accuracy(frame: pl.DataFrame) -> ChartType:
    modalities = sorted(set(frame.get_column("modality")), key=_MODALITIES.index)
    best = frame.group_by("series").agg(pl.col("accuracy").sort_by(pl.col("modality") == modalities[0]).last())
    order = best.sort("accuracy", "series", descending=[True, False], nulls_last=True).get_column("series").to_list()
    looks = [
        [style[_MODALITIES.index(modality)] for modality in modalities]
        for style in (_MODALITY_COLOURS, _MODALITY_SHAPES)
    ]
    styles = plots.styled("modality", modalities, *looks, legend=alt.Legend() if len(modalities) > 1 else None)
    random = frame.select(pl.col("random").max()).item()
    dots = plots.panel(frame, "accuracy", plots.across("accuracy"), plots.rows(order), random, **styles)
    return dots.properties(width=500, height=plots.step(len(order)))


_DOTS = {"sighted": palette.SIGHTED, "blind": palette.BLIND, "language model": palette.BASE}


def _modality_numbers(material: Material) -> pl.DataFrame:
    table = material.measured("gain", scope="all").filter(pl.col("sighted_by").is_not_null())
    how = pl.col("sighted_by").str.replace(r"^\S+ (direct ?)?", "")
    series = pl.when(how == "").then(pl.col("model")).otherwise(pl.col("model") + " · " + how)
    told = ["sighted", "blind", "base", *plots.bounded("gain", "leakage", "unclipped"), "^.*_by$", "n", "^leakage_n$"]
    return table.select(*plots.benchmark_of(table), series.alias("series"), *told)


def _draw_modality(frame: pl.DataFrame) -> ChartType:
    frame = frame.rename({"base": "language model"})
    shown = {word: colour for word, colour in _DOTS.items() if frame.get_column(word).drop_nulls().len()}
    order = frame.sort("sighted", descending=True).get_column("series").to_list()
    panels: list[plots.Panel] = [(partial(plots.dumbbells, frame, ("blind", "sighted"), shown, 5), 300, "")]
    for value, title in (("gain", "gain"), ("unclipped", "leakage")):
        if frame.get_column(value).drop_nulls().len():
            x = plots.across(title, form=plots.POINTS, ticks=3)
            panels.append((partial(plots.panel, frame, value, x, color=alt.value(palette.INK)), 150, ""))
    return plots.side_by_side(order, panels)


_FEW = len(palette.CATEGORIES)
_MOST_LINES = 72


def _capabilities_numbers(material: Material) -> pl.DataFrame:
    if not material.tags:
        raise NotMeasurable("no tag sorts the items into a few groups")
    parts = []
    for tag in material.tags:
        table = plots.named(material.measured("accuracy", (tag,))).drop_nulls([TAG + tag, "accuracy"])
        kind, value = pl.lit(tag).alias("tag"), pl.col(TAG + tag).alias("value")
        around, estimate = plots.benchmark_of(table), plots.bounded("accuracy")
        parts.append(table.select(*around, kind, value, "series", *estimate, "unread", "n"))
    numbers = pl.concat(parts, how="diagonal")
    if numbers.is_empty():
        raise NotMeasurable("capabilities: no answer to an item with these tags has a score")
    return numbers


def _draw_all_capabilities(frame: pl.DataFrame) -> ChartType:
    models = frame.group_by("series").agg(pl.col("accuracy").mean()).sort("accuracy", "series", descending=True)
    names = models.get_column("series").to_list()
    return plots.one_each(frame, "tag", lambda part: _draw_capabilities(part, names))


def _draw_capabilities(frame: pl.DataFrame, names: list[str]) -> ChartType:
    sizes = frame.group_by("value").agg(pl.col("n").max(), pl.col("accuracy").mean().alias("mean"))
    shown = sizes.sort("n", "value", descending=[True, False]).head(MOST_VALUES)
    told = pl.concat_str(pl.col("value").str.slice(0, 40), pl.lit(" ("), pl.col("size"), pl.lit(")"))
    part = frame.join(shown.select("value", pl.col("n").alias("size"), "mean"), on="value")
    part = part.with_columns(told.alias("row"))
    order = part.sort("mean", descending=True).get_column("row").unique(maintain_order=True).to_list()
    x, y = plots.across("accuracy"), plots.rows(order, "row")
    if len(names) <= _FEW and len(part) <= _MOST_LINES:
        y = plots.rows(order, "row", paddingInner=0.35)
        return plots.grouped(part, "accuracy", x, y, "series", names)
    able = part.filter(pl.col("n") >= NEARLY_ALL * pl.col("size"))
    best = able.sort("accuracy", descending=True).unique("row", keep="first", maintain_order=True)
    swarm = alt.Chart(plots.values(part)).mark_point(filled=True, size=26, opacity=0.6)
    swarm = swarm.encode(x=x("accuracy"), y=y, color=alt.value(palette.QUIET))
    chart = alt.Chart(plots.values(best))
    top = plots.intervals(chart, "accuracy", x, y=y)
    words = chart.mark_text(align="left", dx=10, color=palette.SIGHTED, limit=190)
    words = words.encode(x=alt.value("width"), y=y, text="series:N")
    return alt.layer(swarm, top, words).properties(width=plots.WIDTH, height=alt.Step(22))


_GUESSING = "guessing"
_OPTIONS_HEIGHT, _OPTIONS_GAP, _MOST_NAMES = 240, 12, 12


def _options_numbers(material: Material) -> pl.DataFrame:
    table = material.fewer_options
    if table is None or table.is_empty():
        raise NotMeasurable("options: no benchmark was asked with fewer options")
    told = plots.named(material.under_usual(table)).drop_nulls("accuracy")
    return told.select("dataset", "series", "options", *plots.bounded("accuracy"), "unread", _GUESSING, "n")


def _draw_options(frame: pl.DataFrame) -> ChartType:
    counts = sorted(set(frame.get_column("options")))
    last = frame.filter(pl.col("options") == counts[-1]).sort("accuracy", descending=True)
    names = last.get_column("series").to_list()
    x = alt.X("options:Q", title="options").scale(domain=[counts[0] - 0.3, counts[-1] + 0.3], nice=False)
    x = x.axis(values=counts, format="d", grid=False)
    percent = alt.Axis(format=plots.PERCENT, tickCount=5, grid=True, labelColor=palette.SOFT)
    y, low = alt.Y("accuracy:Q", axis=percent).scale(domain=[0, 1]), alt.Y("accuracy_low:Q", axis=percent)
    few = len(names) <= len(palette.CATEGORIES)
    colours = list(palette.CATEGORIES[: len(names)]) if few else [palette.QUIET]
    colour = alt.Color("series:N", sort=names, legend=None).scale(domain=names, range=colours)
    chart = alt.Chart(plots.values(frame)).encode(x=x, color=colour)
    lines = chart.mark_line(strokeWidth=1.6).encode(y=y)
    bars = chart.mark_rule(strokeWidth=1.4, opacity=0.4).encode(y=low, y2="accuracy_high")
    dots = chart.mark_point(filled=True, size=40, opacity=1).encode(y=y)
    ends = last.head(_MOST_NAMES).sort("accuracy")
    at = plots.spread_apart(ends.get_column("accuracy").to_list(), _OPTIONS_GAP / _OPTIONS_HEIGHT)
    words = alt.Chart(plots.values(ends.with_columns(pl.Series("label", at))))
    words = words.mark_text(align="left", dx=8, fontSize=11, limit=150)
    words = words.encode(x=x, y=alt.Y("label:Q", axis=percent), text="series:N", color=colour)
    chance = alt.Chart(plots.values(frame.select("options", _GUESSING).unique().sort("options")))
    guessing = chance.mark_line(color=palette.SOFT, strokeDash=[3, 3], strokeWidth=1.2)
    guessing = guessing.encode(x=x, y=alt.Y(f"{_GUESSING}:Q", axis=percent))
    return alt.layer(guessing, bars, lines, dots, words).properties(width=plots.WIDTH, height=_OPTIONS_HEIGHT)


FIGURE = (
    Figure(
        *("dimensions", 4, "Dimensions", _dimensions_numbers, _draw_dimensions),
        reading="What each model scores in each dimension; blue is above the mean of all models there, brown below. "
        "The rank is that of a model's mean rank over the dimensions, as ReForm-Eval has it; models with the same "
        "mean rank share it. Intervals are in the numbers.",
        needs="items with the tag dimension",
    ),
    Figure(
        *("accuracy", 10, "Accuracy", _accuracy_numbers, _draw_accuracy),
        reading="Each dot is a mean score, its line the interval; a row is a model, a colour what it was shown. The "
        "dashed line is what guessing scores, where all items have options.",
        needs="a run with scored answers",
        counts=lambda frame, items: {"n": [items.answered(row) for row in frame.to_dicts()]},
    ),
    Figure(
        *("modality", 20, "With and without the image", _modality_numbers, _draw_modality),
        reading="Left, each model without and with the image, and the language model it was built on; the longer "
        "the bar, the more the image adds. Blind is no-image, no-image-guess or gray, the highest where there are "
        "several; the numbers say which. Right, gain (sighted minus blind) and, where the language model was asked, "
        "leakage (blind minus language model, not cut off at 0), with intervals; the dashed line is none.",
        needs="models that answered both with the image and without it: eyetest run --condition image,no-image",
    ),
    Figure(
        *("capabilities", 50, "Accuracy by tag", _capabilities_numbers, _draw_all_capabilities),
        reading="A row is a tag's value with the number of its items, a dot a model's mean score there. With many "
        "models the best of those that answered nearly all of its items is in colour, named, with its interval.",
        needs="tags that sort items into a few groups; name them with --by",
        counts=lambda frame, items: {
            "n": [items.answered(row, tags=((row["tag"], row["value"]),)) for row in frame.to_dicts()]
        },
    ),
    Figure(
        *("options", 55, "Number of options", _options_numbers, _draw_options),
        reading="Accuracy on the same items with fewer distractors; the gold and the first distractors stay. A line "
        "is a model, the dashed one is what guessing scores; the best twelve are named.",
        needs="a suite with options: [2, 4, 6, 8, 10] at one of its benchmarks",
        by="dataset",
    ),
)
