"""Scores: by protocol, with and without the image, and by tag."""

from functools import partial

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.results import TAG
from eyetest.pages import palette, plots
from eyetest.records import MEDIA_KINDS
from eyetest.reports.figures import described
from eyetest.reports.report import MOST_VALUES, NEARLY_ALL, Material

_MODALITIES: tuple[str, ...] = (
    "image",
    "no-image",
    "screenshot",
    "caption",
    "no-image-guess",
    "gray",
    "no-question",
    "nothing",
)
_COLOURS = dict(zip(_MODALITIES, (*palette.CATEGORIES, palette.BASE, palette.QUIET), strict=True))
_SHAPES = dict(zip(_MODALITIES, (*palette.SHAPES, "triangle-right", "triangle-left"), strict=True))
_MODALITIES += MEDIA_KINDS  # drawn as images: a benchmark mostly has one of them
_COLOURS |= dict.fromkeys(MEDIA_KINDS, palette.SIGHTED)
_SHAPES |= dict.fromkeys(MEDIA_KINDS, palette.SHAPES[0])


def _accuracy_numbers(material: Material) -> pl.DataFrame:
    table = material.measured("accuracy", scope="all").drop_nulls("accuracy")
    if table.is_empty():
        raise NotMeasurable("accuracy: no answer has a score")
    for column in ("benchmark", "modality"):
        if column not in table.columns:
            only = material.results.scores.select(pl.col(column).cast(pl.String).first()).collect().item()
            table = table.with_columns(pl.lit(only).alias(column))
    scores = plots.shown(plots.named(table), "series", "modality", "accuracy±", "unread", "n")
    scores = scores.with_columns(pl.col("benchmark", "modality").cast(pl.String))
    with_guessing = scores.join(_guessing(material), on="benchmark", how="left")
    return with_guessing.sort("benchmark", "series", "modality", maintain_order=True)


def _guessing(material: Material) -> pl.DataFrame:
    """Score of random guessing on each benchmark whose items all have options."""
    items = material.results.items.group_by("benchmark").agg(pl.len().alias("every"))
    try:
        table = material.measured("guessing").join(items, on="benchmark")
    except NotMeasurable:
        return pl.DataFrame(schema={"benchmark": pl.String, "random": pl.Float64})
    return table.filter(pl.col("items") == pl.col("every")).select("benchmark", "random").unique()


def _draw_accuracy(frame: pl.DataFrame) -> ChartType:
    modalities = [name for name in _MODALITIES if name in set(frame.get_column("modality"))]
    best = frame.group_by("series").agg(pl.col("accuracy").sort_by(pl.col("modality") == modalities[0]).last())
    order = best.sort("accuracy", "series", descending=[True, False], nulls_last=True).get_column("series").to_list()
    colours, shapes = ([style[modality] for modality in modalities] for style in (_COLOURS, _SHAPES))
    legend = alt.Legend() if len(modalities) > 1 else None
    styles = plots.styled("modality", modalities, colours, shapes, legend=legend)
    random = frame.select(pl.col("random").max()).item()
    dots = plots.panel(frame, "accuracy", plots.across("accuracy"), plots.rows(order), random, **styles)
    return dots.properties(width=500, height=plots.step(len(order)))


_MODEL_OF_WORDS = "language model"


def _modality_numbers(material: Material) -> pl.DataFrame:
    table = material.measured("gain", scope="all").filter(pl.col("with_image_by").is_not_null())
    how = pl.col("with_image_by").str.replace(r"^\S+ (direct ?)?", "")
    series = pl.when(how == "").then(pl.col("model")).otherwise(pl.col("model") + " · " + how)
    estimates = [
        "with_image",
        "no_image",
        "base",
        *plots.bounded("gain", "leakage", "unclipped"),
        "^.*_by$",
        "n",
        "^leakage_n$",
    ]
    return table.select(*plots.benchmark_of(table), series.alias("series"), *estimates)


def _medium_with(frame: pl.DataFrame) -> str:
    """The medium with which models answered, by the first word of their protocols; ``medium`` of several."""
    modalities = frame.get_column("with_image_by").str.extract(r"^(\S+)").unique().to_list()
    return str(modalities[0]) if len(modalities) == 1 else "medium"


def _draw_modality(frame: pl.DataFrame) -> ChartType:
    medium = _medium_with(frame)
    whole, bare = f"with {medium}", f"no {medium}"
    frame = frame.rename({"base": _MODEL_OF_WORDS, "with_image": whole, "no_image": bare})
    colours = {whole: palette.SIGHTED, bare: palette.BLIND, _MODEL_OF_WORDS: palette.BASE}
    shown = {word: colour for word, colour in colours.items() if frame.get_column(word).drop_nulls().len()}
    order = frame.sort(whole, descending=True).get_column("series").to_list()
    panels: list[plots.Panel] = [(partial(plots.dumbbells, frame, (bare, whole), shown), 300, "")]
    for value, title in (("gain", "gain"), ("unclipped", "leakage")):
        if frame.get_column(value).drop_nulls().len():
            x = plots.across(title, form=plots.POINTS, ticks=3)
            panels.append((partial(plots.panel, frame, value, x, color=alt.value(palette.INK)), 150, ""))
    return plots.side_by_side(order, panels)


def _capabilities_numbers(material: Material) -> pl.DataFrame:
    if not material.tags:
        raise NotMeasurable("no tag sorts the items into a few groups")
    parts = []
    for tag in material.tags:
        table = plots.named(material.measured("accuracy", (tag,))).drop_nulls([TAG + tag, "accuracy"])
        kind, value = pl.lit(tag).alias("tag"), pl.col(TAG + tag).alias("value")
        parts.append(plots.shown(table, kind, value, "series", "accuracy±", "unread", "n"))
    numbers = pl.concat(parts, how="diagonal")
    if numbers.is_empty():
        raise NotMeasurable("capabilities: no answer to an item with these tags has a score")
    return numbers


def _draw_capabilities(frame: pl.DataFrame) -> ChartType:
    sizes = frame.group_by("value").agg(pl.col("n").max(), pl.col("accuracy").mean().alias("mean"))
    shown = sizes.sort("n", "value", descending=[True, False]).head(MOST_VALUES)
    part = frame.join(shown.select("value", pl.col("n").alias("size"), "mean"), on="value")
    part = part.with_columns(pl.format("{} ({})", pl.col("value").str.slice(0, 40), "size").alias("row"))
    order = part.sort("mean", descending=True).get_column("row").unique(maintain_order=True).to_list()
    x, y = plots.across("accuracy"), plots.rows(order, "row")
    able = part.filter(pl.col("n") >= NEARLY_ALL * pl.col("size"))
    best = able.sort("accuracy", descending=True).unique("row", keep="first", maintain_order=True)
    swarm = plots.chart_of(part, x=x("accuracy"), y=y, color=alt.value(palette.QUIET))
    swarm = swarm.mark_point(filled=True, size=26, opacity=0.6)
    chart = plots.chart_of(best)
    top = plots.intervals(chart, "accuracy", x, y=y)
    words = chart.mark_text(align="left", dx=10, color=palette.SIGHTED, limit=190)
    words = words.encode(x=alt.value("width"), y=y, text="series:N")
    return alt.layer(swarm, top, words).properties(width=plots.WIDTH, height=alt.Step(22))


FIGURE = (
    described("accuracy", _accuracy_numbers, _draw_accuracy),
    described("modality", _modality_numbers, _draw_modality),
    described("capabilities", _capabilities_numbers, partial(plots.one_each, column="tag", draw=_draw_capabilities)),
)
