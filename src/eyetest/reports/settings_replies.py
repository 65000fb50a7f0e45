"""Figures of what is said in each of some linked settings, and of the items that are lost between two of them."""

from collections.abc import Callable, Sequence

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.three_settings import WORDS, LinkedSettings, linked_settings
from eyetest.pages import palette
from eyetest.pages.plots import across, bounded, intervals, layered, named, one_each, rows, step, values
from eyetest.reports.material import Material

_WIDTH = 400
_COLOURS = {
    **{"original": palette.BASE, "few options": palette.SIGHTED},
    **{"ten options": palette.BLIND, "vision": palette.CATEGORIES[2]},
}
ASKED = {"direct": 0, "cot": 1, "ocr": 2}
"""In what order ways of asking are told."""
_KINDS = {"descriptive": palette.QUIET, "analytical": palette.SIGHTED}


def settings_of(material: Material) -> LinkedSettings:
    """Where the answers of each setting are."""
    return linked_settings(material.results, material.own)


def settings_in(frame: pl.DataFrame) -> list[str]:
    """The settings that a table tells of, in their order."""
    return [word for word in WORDS.values() if word in set(frame.get_column("setting"))]


def _by_setting(material: Material, measure: str, fields: Sequence[str]) -> pl.DataFrame:
    """A measure's rows with the setting that each belongs to."""
    table = material.measured(measure, scope="all")
    if "benchmark" not in table.columns:
        only = material.results.scores.select(pl.col("benchmark").cast(pl.String).first()).collect().item()
        table = table.with_columns(pl.lit(only).alias("benchmark"))
    for axis in ("sight", "ask"):
        if axis not in table.columns:
            only = material.results.scores.select(pl.col(axis).cast(pl.String).first()).collect().item()
            table = table.with_columns(pl.lit(only).alias(axis))
    table = named(table.with_columns(pl.col("benchmark", "sight", "ask").cast(pl.String)))
    parts = []
    for role, where in settings_of(material).where.items():
        mine = table.filter(pl.col(axis) == value for axis, value in where.items())
        parts.append(mine.select("series", pl.lit(WORDS[role]).alias("setting"), *fields, "n"))
    return pl.concat(parts)


def lengths(material: Material) -> pl.DataFrame:
    """How long replies are."""
    return _by_setting(material, "length", [*bounded("words", "sentences"), "characters"])


def draw_lengths(frame: pl.DataFrame) -> ChartType:
    """A bar for each model over its settings."""
    order = frame.group_by("series").agg(pl.col("words").mean()).sort("words", descending=True)
    there = settings_in(frame)
    names = order.get_column("series").to_list()
    spans = frame.group_by("series", maintain_order=True).agg(
        pl.col("words").min().alias("low"), pl.col("words").max().alias("high")
    )
    x, y = across("words in a reply", form=",.3~g"), rows(names)
    bar = alt.Chart(values(spans)).mark_rule(strokeWidth=4, color=palette.LINE)
    colour = alt.Color("setting:N", sort=there).scale(domain=there, range=[_COLOURS[word] for word in there])
    shape = alt.Shape("setting:N", sort=there).scale(domain=there, range=list(palette.SHAPES[: len(there)]))
    dots = intervals(alt.Chart(values(frame)), "words", x, y=y, color=colour, shape=shape)
    return layered(bar.encode(x=x("low"), x2="high", y=y), dots).properties(width=_WIDTH, height=step(len(names)))


def sentences(material: Material) -> pl.DataFrame:
    """How many sentences describe and analyse."""
    return _by_setting(material, "sentences", bounded("descriptive", "analytical", "share"))


def draw_sentences(frame: pl.DataFrame) -> ChartType:
    """A bar for each model and setting."""
    there = settings_in(frame)
    told = frame.with_columns((pl.col("series") + " · " + pl.col("setting")).alias("row"))
    place = pl.col("setting").replace_strict({word: number for number, word in enumerate(there)})
    order = told.sort("series", place).get_column("row").to_list()
    long = told.unpivot(list(_KINDS), index="row", variable_name="kind", value_name="mean")
    bars = alt.Chart(values(long)).encode(
        x=alt.X("mean:Q", title="sentences in a reply"),
        y=rows(order, "row"),
        color=alt.Color("kind:N").scale(domain=list(_KINDS), range=list(_KINDS.values())),
        order=alt.Order("kind:N", sort="descending"),
    )
    return layered(bars.mark_bar(height=11)).properties(width=_WIDTH, height=step(len(order)))


def lost(before: str, after: str) -> Callable[[Material], pl.DataFrame]:
    """The numbers of a figure of what was lost between two settings."""
    return lambda material: lost_items(material, before, after)


def lost_items(material: Material, before: str, after: str) -> pl.DataFrame:
    """Items right in one setting and wrong in another: by how many models each was lost, those most lost first."""
    where = settings_of(material).where
    if before not in where or after not in where:
        raise NotMeasurable(f"nobody was asked in both {WORDS[before]} and {WORDS[after]}")
    own = {
        side: ",".join(f"{axis}={value}" for axis, value in where[role].items())
        for side, role in (("from", before), ("to", after))
    }
    table = material.with_own(**own, over="models").measured("flips", scope="all")
    ask = [name for name in ("ask",) if name in table.columns]
    kept = table.filter(pl.col("lost") > 0)
    if kept.is_empty():
        raise NotMeasurable(f"nothing that is right in {WORDS[before]} is wrong in {WORDS[after]}")
    if ask:
        kept = kept.sort(pl.col("ask").cast(pl.String).replace_strict(ASKED, default=9), maintain_order=True)
    return kept.select(*ask, "item", "lost", "won", pl.col("n").alias("models"), "lost_by")


def draw_lost(frame: pl.DataFrame) -> ChartType:
    """Items by how many models lost them."""

    def draw(part: pl.DataFrame) -> ChartType:
        counts = part.group_by("lost").len("items").sort("lost")
        counts = counts.with_columns(pl.col("items").cast(pl.Int64))
        models = int(part.select(pl.col("models").max()).item())
        x = alt.X("lost:O", title=f"models that lost the item, of {models}").axis(labelAngle=0)
        chart = alt.Chart(values(counts)).encode(x=x, y=alt.Y("items:Q", axis=None))
        words = chart.mark_text(dy=-8).encode(text=alt.Text("items:Q", format=","))
        return layered(chart.mark_bar(color=palette.SIGHTED, opacity=0.85), words).properties(
            width=alt.Step(54), height=110
        )

    return one_each(frame, "ask", draw)
