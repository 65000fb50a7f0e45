"""How choices depend on the way of asking: repeats, order, format, position, dialogue turns."""

from collections.abc import Iterable
from functools import partial

import altair as alt
import numpy as np
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.dialogue import HISTORIES
from eyetest.measures.instability import SOURCES
from eyetest.measures.means import ADJUSTED
from eyetest.pages import palette, plots
from eyetest.pages.page import clip
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material

_SOURCES = ("all", *SOURCES)
_SCATTER_SIZE = (460, 260)
_WORDS = {"all": "all together", "instruction": "wording", "order": "order of options"}
_WORDS |= {"letters": "letters", "sample": "chance"}


def _instability_numbers(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("instability")).filter(pl.col("n") > 0)
    known = [source for source in _SOURCES if source in set(table.get_column("source"))]
    single = [source for source in known if source != "all"]
    kept = table.filter(pl.col("source").is_in(single if len(single) == 1 else known))
    told = plots.bounded("normalised", "entropy", "corrected")
    return kept.select(*plots.benchmark_of(table), "source", "series", *told, "tests", "n")


def _draw_instability(frame: pl.DataFrame) -> ChartType:
    sources = [source for source in _SOURCES if source in set(frame.get_column("source"))]
    first = frame.filter(pl.col("source") == sources[0]).sort("normalised", nulls_last=True)
    order = first.get_column("series").to_list()
    most = max(0.1, frame.select(pl.max_horizontal("normalised", "normalised_high").max()).item() or 0)
    x = plots.across("entropy", form=".2~f", domain=(0, most * 1.05), ticks=3)
    panels = []
    for source, colour in zip(sources, palette.CATEGORIES, strict=False):
        part = frame.filter(pl.col("source") == source)
        dots = partial(plots.panel, part, "normalised", x, at=None, color=alt.value(colour))
        panels.append((dots, 480 // max(len(sources), 2), _WORDS[source]))
    return plots.side_by_side(order, panels, 12)


def _against_accuracy(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("instability")).filter((pl.col("source") == "all") & (pl.col("n") > 0))
    return table.select(
        *plots.benchmark_of(table), "series", *plots.bounded("accuracy", "normalised", "entropy"), "n"
    )


def _scatter(frame: pl.DataFrame) -> ChartType:
    x = plots.across("accuracy on items with options")
    y = alt.Y("normalised:Q", title="entropy").axis(format=".2~f", tickCount=5, title="entropy", grid=True)
    chart = alt.Chart(plots.values(frame)).encode(color=alt.value(palette.SIGHTED))
    low = alt.Y("normalised_low:Q", title="entropy")
    upright = chart.mark_rule(strokeWidth=1.2, opacity=0.35).encode(x=x("accuracy"), y=low, y2="normalised_high")
    level = chart.mark_rule(strokeWidth=1.2, opacity=0.35).encode(x=x("accuracy_low"), x2="accuracy_high", y=y)
    dots = chart.mark_point(filled=True, size=50, opacity=1).encode(x=x("accuracy"), y=y)
    words = alt.Chart(plots.values(frame.filter(_name_fits(frame))))
    words = words.mark_text(align="left", dx=plots.NAME_AWAY, fontSize=11, limit=150, color=palette.INK)
    words = words.encode(x=x("accuracy"), y=y, text="series:N")
    return alt.layer(upright, level, dots, words).properties(width=_SCATTER_SIZE[0], height=_SCATTER_SIZE[1])


def _name_fits(frame: pl.DataFrame) -> list[bool]:
    """Which dots have space for their names; the axes extend as far as the intervals."""
    dots = []
    for name, size, floor in zip(("accuracy", "normalised"), _SCATTER_SIZE, (1.0, 0.0), strict=True):
        ends = frame.select(plots.bounded(name)).to_numpy()
        low, high = min(np.nanmin(ends), floor), np.nanmax(ends)
        dots.append([size * ((value or 0.0) - low) / ((high - low) or 1.0) for value in frame.get_column(name)])
    return plots.fitting(list(zip(*dots, strict=True)), [clip(name, 26) for name in frame.get_column("series")])


_SHOTS = {"none": "without an example", "format": "with the format shown", "two": "with two examples"}


def _hits(material: Material) -> pl.DataFrame:
    table = material.measured("format-hits", scope="all")
    if "shots" not in table.columns:
        raise NotMeasurable("format hits: all answers were asked for with the same examples")
    kept = material.under_usual(table, but="shots")
    shots = pl.col("shots").cast(pl.String).replace(_SHOTS).alias("asked")
    series = pl.col("model").cast(pl.String).alias("series")
    return kept.select(*plots.benchmark_of(kept), series, shots, *plots.bounded("format_hits"), "n")


_TURNED = {"plain": "on average", "circular": "in every order"}


def _turned(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("circular"))
    about = [*plots.benchmark_of(table), "series"]
    parts = [
        table.select(*about, pl.lit(word).alias("counted"), *plots.rebounded(value, "accuracy"), "n")
        for value, word in _TURNED.items()
    ]
    return pl.concat(parts).filter(pl.col("n") > 0)


def _choices_dots(way: str, value: str, title: str, words: Iterable[str], frame: pl.DataFrame) -> ChartType:
    """One dot per model and way of asking or counting; models in the order of the first way."""
    there = [word for word in words if word in set(frame.get_column(way))]
    first = frame.filter(pl.col(way) == there[0]).sort(value, "series", descending=[True, False])
    order = list(dict.fromkeys([*first.get_column("series"), *frame.get_column("series")]))
    return plots.grouped(frame, value, plots.across(title), plots.rows(order, paddingInner=0.4), way, there)


_MOST_SERIES = 12
_LONGEST_NAME = 24


def _dialogue_numbers(material: Material) -> pl.DataFrame:
    """One row per series, history and turn, with the slope over its turns; of several modalities the image."""
    table = plots.named(material.measured("dialogue", scope="all"))
    if "modality" in table.columns:
        table = table.filter(pl.col("modality").cast(pl.String) == "image")
    parts = []
    for history in (name for name in HISTORIES if name in table.columns):
        count = pl.col(f"n_{history}" if f"n_{history}" in table.columns else "n").alias("n")
        about, name = [*plots.benchmark_of(table), "series"], pl.lit(history).alias("history")
        scores, slopes = plots.rebounded(history, "accuracy"), plots.rebounded(f"{history}_slope", "slope")
        parts.append(table.select(*about, name, "turn", *scores, count, *slopes))
    return pl.concat(parts).filter(pl.col("n") > 0)


def _draw_dialogue(frame: pl.DataFrame) -> ChartType:
    means = frame.group_by("series").agg(pl.col("accuracy").mean())
    best = means.sort("accuracy", "series", descending=[True, False])
    names = best.get_column("series").head(_MOST_SERIES).to_list()
    low = frame.select(pl.min_horizontal("accuracy", "accuracy_low").min()).item()
    high = frame.select(pl.max_horizontal("accuracy", "accuracy_high").max()).item()
    panels = [_dialogue_panel(frame.filter(pl.col("series") == name), name, (low, high)) for name in names]
    return alt.concat(*panels, columns=4, spacing=14)


def _dialogue_panel(part: pl.DataFrame, name: str, domain: tuple[float, float]) -> ChartType:
    looks = plots.styled("history", HISTORIES)
    y = alt.Scale(domain=list(domain), nice=False)
    axis = alt.Axis(format=plots.PERCENT, tickCount=4)
    chart = alt.Chart(plots.values(part)).encode(x=alt.X("turn:O", title="turn", axis=alt.Axis(labelAngle=0)))
    bars = chart.mark_rule(strokeWidth=1.6, opacity=0.5).encode(
        y=alt.Y("accuracy_low:Q", title=None, scale=y, axis=axis), y2="accuracy_high", color=looks["color"]
    )
    line = chart.mark_line(strokeWidth=1.6).encode(y=alt.Y("accuracy:Q", scale=y), color=looks["color"])
    dots = chart.mark_point(filled=True, size=36, opacity=1).encode(y=alt.Y("accuracy:Q"), **looks)
    slopes = part.unique("history", maintain_order=True).drop_nulls("slope")
    changes = [f"{history} {100 * slope:+.1f}" for history, slope in slopes.select("history", "slope").rows()]
    told = f"{', '.join(changes)} points a turn" if changes else ""
    title = alt.TitleParams(clip(name, _LONGEST_NAME), subtitle=told, subtitleColor=palette.SOFT)
    return plots.layered(bars, line, dots).properties(width=150, height=120, title=title)


_MOST_LETTERS = 10
_RARE = 0.02  # places that are hardly ever right or picked say nothing; they stand in the numbers only


def _positions_numbers(material: Material) -> pl.DataFrame:
    table = plots.named(material.measured("positions"))
    known = table.with_columns((pl.col(ADJUSTED) < 1 - material.settings.level).alias("preferred"))
    told = ["series", "place", "picked", "gold", *plots.bounded("difference"), "total_variation", "p", ADJUSTED]
    return known.select(*plots.benchmark_of(table), *told, "preferred", "n")


def _draw_positions(frame: pl.DataFrame) -> ChartType:
    order = frame.sort("total_variation", descending=True).get_column("series").unique(maintain_order=True).to_list()
    used = frame.filter(pl.max_horizontal("picked", "gold").max().over("place") >= _RARE).get_column("place")
    letters = sorted(set(used))[:_MOST_LETTERS]
    widest = pl.max_horizontal(pl.col("difference_low", "difference_high").abs()).max()
    most = float(frame.select(widest).item() or 0.1)
    edge = max(0.01, round(0.7 * most, 2))
    x = plots.across("", form=plots.POINTS, domain=(-most * 1.05, most * 1.05), at=(-edge, 0, edge))
    colour = alt.condition("datum.preferred", alt.value(palette.BLIND), alt.value(palette.QUIET))
    panels = []
    for letter in letters:
        dots = partial(plots.panel, frame.filter(pl.col("place") == letter), "difference", x, color=colour)
        panels.append((dots, max(52, 480 // len(letters)), letter))
    return plots.side_by_side(order, panels, 8)


FIGURE = (
    Figure(
        *("instability", 60, "Instability by source", _instability_numbers, _draw_instability),
        reading="Entropy of a model's choices over tests of the same item: 0, always the same; 1, all options alike. "
        "A panel changes one thing only: the wording, the order of the options, their letters, or nothing at all "
        "(chance).",
        needs="items that were asked several times: eyetest run --condition reform-eval or --samples 5",
    ),
    Figure(
        *("steadiness", 62, "Instability against accuracy", _against_accuracy, _scatter),
        reading="A dot is a model: how often it is right, and how much its choice of the same item varies over all "
        "tests, with both intervals. A model may be steady and wrong.",
        needs="items that were asked several times: eyetest run --condition reform-eval or --samples 5",
    ),
    Figure(
        *("format-hits", 64, "Format hit rate", _hits),
        partial(_choices_dots, "asked", "format_hits", "answers with an option mark", _SHOTS.values()),
        reading="The share of answers to items with options that carry the mark of an option, without and with an "
        "example that shows the format of answers. Rules read more than letters: a miss is not a wrong answer.",
        needs="answers under several ways of giving examples: eyetest run --condition image,format-shot",
    ),
    Figure(
        *("circular", 66, "CircularEval: right in every order", _turned),
        partial(_choices_dots, "counted", "accuracy", "accuracy", _TURNED.values()),
        reading="What a model scores over all tests of an item, and the share of items that are right in every one "
        "of them (CircularEval): the further apart, the more a score owes to where the right option happened to be.",
        needs="items that were asked in several orders: eyetest run --condition perturb=order",
    ),
    Figure(
        *("dialogue", 65, "Accuracy by dialogue turn", _dialogue_numbers, _draw_dialogue),
        reading="Each model's accuracy at each turn of the dialogues, told the right answers to the turns before "
        "(gold) or what it said itself (own). Where own falls below gold, a model is led astray by its own mistakes. "
        "Slopes are within dialogues; the best twelve models are drawn.",
        needs="items with the tags dialogue and turn: eyetest run --condition history=gold/own",
    ),
    Figure(
        *("positions", 70, "Position bias", _positions_numbers, _draw_positions),
        reading="How much more often a model picks an option position than the gold stands there, with intervals; in "
        "colour where that is significant, all positions of all models being tested together (Holm). A model without "
        "position bias stands on the dashed line everywhere.",
        needs="answers to items with options, in the order as written",
    ),
)
