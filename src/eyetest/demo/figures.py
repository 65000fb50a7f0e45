"""The figures of the world's page: found and missed, leakage beside the truth, gain beside skill, rankings."""

from collections.abc import Callable

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.demo.story import WorldStory
from eyetest.pages import palette
from eyetest.pages.labels import NamePlace, beside_dots
from eyetest.pages.plots import (
    POINTS,
    across,
    bounded,
    dashed,
    dumbbells,
    intervals,
    layered,
    names_beside,
    rows,
    step,
    values,
)

_WIDTH, _HALF, _HIGH = 620, 290, 270
_FOUND = {"found": palette.SIGHTED, "missed": palette.VERDICTS["drop"]}
_TRUE = "#b0457f"
"""What is known, in a colour of its own beside what was measured."""
_NARROWEST = 250
"""The width on a phone, where names need most of the room."""


def planted(story: WorldStory, mark: Callable[[list[str]], str] = lambda ids: "") -> ChartType:
    """A bar for each kind of flaw, split into what the whole refinement found and what it missed.

    ``mark`` says where a part of a bar leads, given its items.
    """
    flaws, counts, table = story.graded.flaws, alt.Axis(format="d", tickCount=6), []
    for one in flaws:
        found = story.graded.items[one.flaw].found
        missed = [item for item in story.planted(one.flaw) if item not in set(found)]
        for turn, (what, ids) in enumerate((("found", found), ("missed", missed))):
            table.append({"flaw": one.flaw, "what": what, "items": len(ids), "turn": turn, "href": mark(ids)})
    y = rows([one.flaw for one in flaws], "flaw")
    x = alt.X("items:Q", title="items", axis=counts)
    colour = alt.Color("what:N").scale(domain=list(_FOUND), range=list(_FOUND.values()))
    bars = alt.Chart(values(table)).mark_bar(size=13)
    bars = bars.encode(y=y, x=x, color=colour, order="turn:O", href="href:N")
    known = [{"flaw": one.flaw, "at": one.planted, "said": f"{one.found} of {one.planted}"} for one in flaws]
    words = alt.Chart(values(known)).mark_text(align="left", dx=5, color=palette.SOFT)
    said = words.encode(y=y, x=alt.X("at:Q", axis=counts), text="said:N")
    return layered(bars, said).properties(width=_WIDTH, height=step(len(known)))


def lost(story: WorldStory) -> ChartType:
    """The share of a flawless world that each recipe would take out, with its interval."""
    shares = [tried.lost for tried in story.tried]
    table = [
        {"recipe": tried.title} | dict(zip(bounded("lost"), share, strict=False))
        for tried, share in zip(story.tried, shares, strict=True)
    ]
    most = max((share.high or 0.0 for share in shares), default=0.0)
    x = across("share of good items taken out", domain=[0.0, 1.05 * most or 1.0], ticks=6)
    dots = intervals(alt.Chart(values(table)), "lost", x, y=rows([tried.title for tried in story.tried], "recipe"))
    return dots.properties(width=_WIDTH, height=step(len(table)))


def leakage(story: WorldStory) -> ChartType:
    """Measured leakage with its interval, and the share that truly leaked, for each vision model."""
    table = story.birds.sort("told", "unclipped", descending=True)
    marks = {"measured leakage": bounded("unclipped"), "truly leaked": ["told"] * 3}
    long = [
        {"model": row["model"], "what": what} | dict(zip(bounded("share"), map(row.get, names), strict=True))
        for row in table.iter_rows(named=True)
        for what, names in marks.items()
    ]
    colour = alt.Color("what:N").scale(domain=list(marks), range=[palette.SIGHTED, _TRUE])
    shape = alt.Shape("what:N").scale(domain=list(marks), range=["circle", "diamond"])
    y = rows(table.get_column("model").to_list(), "model")
    x = across("share of items", ticks=6)
    dots = intervals(alt.Chart(values(long)), "share", x, y=y, color=colour, shape=shape)
    return layered(dashed(), dots).properties(width=_WIDTH, height=step(len(table)))


def eyes(story: WorldStory) -> ChartType:
    """Blind, sighted, the language model and true skill of each vision model."""
    table = story.birds.sort("skill", descending=True)
    known = table.rename({"base": "language model", "skill": "true skill"})
    y = rows(known.get_column("model").to_list(), "model")
    styles = {
        "language model": (palette.BASE, "square"),
        "blind": (palette.BLIND, "circle"),
        "sighted": (palette.SIGHTED, "circle"),
        "true skill": (_TRUE, "diamond"),
    }
    return dumbbells(known, y, styles, 6).properties(width=_WIDTH, height=step(len(known)))


def gains(story: WorldStory) -> ChartType:
    """Gain against true skill, before and after the refinement."""
    parts = {"all items": story.birds, "refined items": story.refined_birds}
    both = pl.concat([table.select("gain", "skill") for table in parts.values()])
    x, y = _span(both, "skill"), _span(both, "gain")
    return alt.hconcat(*(_scatter(table, x, y).properties(title=name) for name, table in parts.items()), spacing=28)


def _scatter(table: pl.DataFrame, x_span: list[float], y_span: list[float]) -> alt.LayerChart:
    shown = table.select("model", *bounded("gain"), "skill")
    x = alt.X("skill", type="quantitative", title="true skill", axis=alt.Axis(format=".0%", tickCount=5))
    x = x.scale(domain=x_span, nice=False)
    side = alt.Axis(format=POINTS, tickCount=5, labelColor=palette.SOFT, title="gain", grid=True)
    scale = alt.Scale(domain=y_span, nice=False)
    y, low = (alt.Y(name, type="quantitative", axis=side, scale=scale) for name in ("gain", "gain_low"))
    chart = alt.Chart(values(shown))
    bar = chart.mark_rule(strokeWidth=1.6, opacity=0.5, color=palette.SIGHTED).encode(x=x, y=low, y2="gain_high")
    dot = chart.mark_point(filled=True, size=44, opacity=1, color=palette.SIGHTED).encode(x=x, y=y)
    at = {"x": x, "y": y, "text": "model:N", "color": alt.value(palette.SOFT)}
    names = names_beside(shown, _placed(shown, x_span, y_span), 10, **at)
    return layered(bar, dot, *names).properties(width=_HALF, height=_HIGH)


def _placed(table: pl.DataFrame, x_span: list[float], y_span: list[float]) -> list[NamePlace | None]:
    """Where each name stands beside its dot."""
    spans = ((x_span, "skill"), (y_span, "gain"))
    axes = ([(value - low) / (high - low) for value in table.get_column(name)] for (low, high), name in spans)
    return beside_dots(list(zip(*axes, strict=True)), table.get_column("model").to_list(), (_NARROWEST, _HIGH))


def ranking(story: WorldStory) -> ChartType:
    """Kendall's τ with true skill: of the spoilt benchmark, of random subsets, of the refined one."""
    ranks = story.rankings
    known = {"spoilt, all items": ranks.spoilt, "random, as few items": ranks.random, "refined": ranks.refined}
    table = [{"which": name} | dict(zip(bounded("tau"), one, strict=False)) for name, one in known.items()]
    colours = [palette.BLIND, palette.SOFT, palette.SIGHTED]
    colour = alt.Color("which:N", legend=None).scale(domain=list(known), range=colours)
    x = across("Kendall's τ with true skill", form=".1f", ticks=6)
    dots = intervals(alt.Chart(values(table)), "tau", x, y=rows(list(known), "which"), color=colour)
    return dots.properties(width=_WIDTH, height=step(len(table)))


def _span(table: pl.DataFrame, column: str) -> list[float]:
    """An axis that leaves room for the names beside the dots."""
    known = table.get_column(column).drop_nulls()
    low, high = float(known.min() or 0.0), float(known.max() or 1.0)  # type: ignore[arg-type]
    room = 0.18 * ((high - low) or 1.0)
    return [low - 1.2 * room, high + 1.4 * room]
