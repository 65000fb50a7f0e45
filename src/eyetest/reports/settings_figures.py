"""The figures of linked settings: scores from setting to setting, differences, ranks, blind, words."""

from typing import Any, NamedTuple

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.results import PROTOCOL, TAG
from eyetest.measures.three_settings import EVERYBODY, WORDS
from eyetest.pages import palette
from eyetest.pages.labels import spread_apart
from eyetest.pages.narrow import HIGHEST
from eyetest.pages.plots import (
    PERCENT,
    POINTS,
    across,
    bounded,
    dashed,
    intervals,
    layered,
    named,
    one_each,
    rows,
    step,
    values,
)
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material
from eyetest.reports.settings_replies import (
    ASKED,
    draw_lengths,
    draw_lost,
    draw_sentences,
    lengths,
    lost,
    sentences,
    settings_in,
    settings_of,
)

_WIDTH, _SIDE, _HEIGHT = 460, 190, 320
_GAP = 17
"""Between the names of two lines, in pixels."""
_SETTINGS = (*WORDS, "overall")
_WORDS = {**WORDS, "overall": "overall"}
_DELTAS = {"delta1": "Δ1 ten options", "delta2": "Δ2 vision", "delta3": "Δ3 overall"}


def _three(material: Material) -> pl.DataFrame:
    table = named(material.measured("three-settings", scope="all"))
    return table.with_columns(pl.col("ask").cast(pl.String)) if "ask" in table.columns else table


def _scores(material: Material) -> pl.DataFrame:
    """One row a series and setting; ``rank`` is among those that were asked alike and in every setting."""
    table, parts = _three(material), []
    how = [axis for axis in PROTOCOL if axis in table.columns and axis not in ("sight", "ask")]
    table = table.with_columns(pl.concat_str("model", *how, separator=" · ").alias("model"))
    ask = [name for name in ("ask",) if name in table.columns]
    for name in _SETTINGS:
        if name in table.columns:
            bounds = [pl.col(f"{name}{end}").alias(f"accuracy{end}") for end in ("", "_low", "_high")]
            parts.append(table.select("model", *ask, pl.lit(_WORDS[name]).alias("setting"), *bounds, "n"))
    long = pl.concat(parts).drop_nulls("accuracy")
    if ask:
        long = long.sort(pl.col("ask").replace_strict(ASKED, default=9), maintain_order=True)
    whole = pl.len().over([*ask, "model"]) == pl.col("setting").n_unique().over(ask or [pl.lit(1)])
    rank = pl.col("accuracy").rank("min", descending=True).over([*ask, "setting", whole]).cast(pl.Int64)
    return _with_guessing(long.with_columns(pl.when(whole).then(rank).alias("rank")), material)


def _with_guessing(long: pl.DataFrame, material: Material) -> pl.DataFrame:
    """Beside each score what guessing scores in its setting, where the options are known."""
    chance = {}
    for role, where in settings_of(material).where.items():
        known = material.results.items.filter(pl.col("benchmark") == where["benchmark"]).get_column("options")
        chance[WORDS[role]] = (1 / known.drop_nulls()).mean() if "benchmark" in where and len(known) else None
    return long.with_columns(
        pl.col("setting").replace_strict(chance, default=None).cast(pl.Float64).alias("guessing")
    )


class _Look(NamedTuple):
    """What a model looks like, the same in all charts of a figure."""

    names: list[str]

    @classmethod
    def of(cls, frame: pl.DataFrame) -> "_Look":
        """Of all models of a figure."""
        return cls(sorted(set(frame.get_column("model"))))

    def colour(self, **more: Any) -> alt.Color:
        """Up to six can be told by colour alone, more by colour and shape."""
        colours = [palette.CATEGORIES[number % len(palette.CATEGORIES)] for number in range(len(self.names))]
        return alt.Color("model:N", **more).scale(domain=self.names, range=colours)

    def shape(self, **more: Any) -> alt.Shape:
        """The shape of its dots."""
        kinds = len(palette.CATEGORIES)
        shapes = [palette.SHAPES[(number // kinds + number) % kinds] for number in range(len(self.names))]
        return alt.Shape("model:N", **more).scale(domain=self.names, range=shapes)


def _slope(
    frame: pl.DataFrame, field: str, y: alt.Y, look: _Look, height: int, ends: tuple[float, float]
) -> alt.LayerChart:
    """A line for each model from setting to setting, with its name at the end; ``ends`` are those of the axis."""
    y = y.scale(domain=list(ends), nice=False)
    there = settings_in(frame)
    place = pl.col("setting").replace_strict({word: number for number, word in enumerate(there)})
    placed = frame.with_columns(place.alias("place"))
    x = alt.X("setting:N", sort=there, title=None).scale(domain=there, padding=0.12)
    x = x.axis(labelAngle=0, labelFontSize=13, labelColor=palette.INK, domain=False, ticks=False, labelPadding=10)
    colour = look.colour(legend=None)
    lines = alt.Chart(values(placed)).encode(x=x, y=y, color=colour)
    last = placed.sort("place").unique(["model"], keep="last", maintain_order=True)
    names = alt.Chart(values(_apart(last, field, height, ends))).mark_text(align="left", dx=12, limit=210)
    return layered(
        lines.mark_line(strokeWidth=2, opacity=0.85).encode(order=alt.Order("place:Q"), detail="model:N"),
        lines.mark_point(filled=True, size=64, opacity=1).encode(shape=look.shape(legend=None)),
        names.encode(x=x, y=alt.Y("label:Q", title=None), color=colour, text="model:N"),
    ).properties(width=_WIDTH, height=height)


def _apart(last: pl.DataFrame, field: str, height: int, ends: tuple[float, float]) -> pl.DataFrame:
    """The ends of lines with a place for each name (``label``), no two of them on top of each other."""
    gap = _GAP / min(height, HIGHEST) * (ends[1] - ends[0])
    labels: dict[str, float] = {}
    for _, part in last.group_by("setting", maintain_order=True):
        models, wanted = (part.sort(field).get_column(name).to_list() for name in ("model", field))
        labels |= dict(zip(models, spread_apart([float(value) for value in wanted], gap), strict=True))
    return last.with_columns(pl.col("model").replace_strict(labels).cast(pl.Float64).alias("label"))


def _domain(frame: pl.DataFrame, field: str) -> tuple[float, float]:
    known = [float(one) for one in frame.get_column(field).drop_nulls()]
    low, high = min(known), max(known)
    room = (high - low or 1.0) * 0.08
    return low - room, high + room


def _draw_scores(frame: pl.DataFrame) -> ChartType:
    shown = frame.filter(pl.col("setting") != "overall")
    look = _Look.of(shown)

    def draw(part: pl.DataFrame) -> ChartType:
        chance = part.drop_nulls("guessing").unique("setting").select("setting", "guessing")
        both = pl.concat([part.select("accuracy"), chance.select(pl.col("guessing").alias("accuracy"))])
        y = alt.Y("accuracy:Q", title=None).axis(format=PERCENT, tickCount=6, grid=True, labelColor=palette.SOFT)
        mark = alt.Chart(values(chance)).mark_point(shape="stroke", size=2_400, strokeWidth=4, color=palette.QUIET)
        guess = mark.encode(x=alt.X("setting:N"), y=alt.Y("guessing:Q", title=None).scale(zero=False))
        return layered(_slope(part, "accuracy", y, look, _HEIGHT, _domain(both, "accuracy")), guess)

    return one_each(shown, "ask", draw)


def _draw_ranks(frame: pl.DataFrame) -> ChartType:
    known = frame.filter(pl.col("setting") != "overall").drop_nulls("rank")
    shown = known.with_columns((-pl.col("rank")).alias("from top"))
    look = _Look.of(shown)

    def draw(part: pl.DataFrame) -> ChartType:
        most = int(part.select(pl.col("rank").max()).item())
        ticks = [-number for number in range(1, most + 1)]
        y = alt.Y("from top:Q", title=None).axis(
            values=ticks, labelExpr="-datum.value", grid=False, labelOverlap=False
        )
        return _slope(part, "from top", y, look, max(90, 30 * most), (-most - 0.5, -0.5))

    return one_each(shown, "ask", draw)


def _deltas(material: Material) -> pl.DataFrame:
    table = _three(material)
    known = table.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in _DELTAS))
    if known.is_empty():
        raise NotMeasurable("three-settings: no model was asked in a setting to start from")
    return known.select("series", *bounded(*_DELTAS), "^.*_risen$", "paired", "n")


def _draw_deltas(frame: pl.DataFrame) -> ChartType:
    order = frame.sort("delta3", "delta1", descending=True, nulls_last=True).get_column("series").to_list()
    panels: list[ChartType] = []
    for name, title in _DELTAS.items():
        known = frame.drop_nulls(name)
        if len(known):
            y = rows(order) if not panels else rows(order).axis(None)
            x = across(title, form=POINTS, ticks=4)
            dots = intervals(alt.Chart(values(known)), name, x, y=y)
            panels.append(layered(dashed(), dots).properties(width=_SIDE, height=step(len(order))))
    return alt.hconcat(*panels, spacing=16)


def _blind(material: Material) -> pl.DataFrame:
    return material.measured("blind-steps", scope="all")


def _draw_blind(frame: pl.DataFrame) -> ChartType:
    steps = frame.get_column("step").unique(maintain_order=True).to_list()
    whole, single = frame.filter(pl.col("model") == EVERYBODY), frame.filter(pl.col("model") != EVERYBODY)
    x, y = across("accuracy without the picture"), rows(steps, "step")
    swarm = alt.Chart(values(single)).mark_point(filled=True, size=30, opacity=0.55)
    guess = alt.Chart(values(whole)).mark_tick(color=palette.INK, thickness=2, height=26, strokeDash=[3, 2])
    dots = intervals(alt.Chart(values(whole)), "accuracy", x, y=y, color=alt.value(palette.BLIND))
    return alt.layer(
        swarm.encode(x=x("accuracy"), y=y, color=alt.value(palette.QUIET)), guess.encode(x=x("guessing"), y=y), dots
    ).properties(width=_WIDTH + 60, height=alt.Step(44))


def _thinking(material: Material) -> pl.DataFrame:
    """Chain of thought less direct, by tag and setting."""
    if not material.tags:
        raise NotMeasurable("no tag sorts the items into a few groups")
    (tag, *_), parts = material.tags, []
    for role, where in settings_of(material).where.items():
        told = ",".join(f"{axis}={value}" for axis, value in where.items())
        own = {"from": f"{told},ask=direct", "to": f"{told},ask=cot"}
        try:
            table = material.with_own(**own).measured("linked", (tag,), scope="all")
        except NotMeasurable:
            continue
        value, setting = pl.col(TAG + tag).alias("value"), pl.lit(WORDS[role]).alias("setting")
        parts.append(
            table.select(pl.lit(tag).alias("tag"), value, setting, "model", *bounded("difference"), "from_n")
        )
    if not parts:
        raise NotMeasurable("nobody was asked both directly and with a chain of thought in one setting")
    return pl.concat(parts).drop_nulls("value")


def _draw_thinking(frame: pl.DataFrame) -> ChartType:
    look = _Look.of(frame)
    order = frame.group_by("value").agg(pl.col("difference").mean()).sort("difference", descending=True)
    tags = order.get_column("value").to_list()

    def draw(part: pl.DataFrame) -> ChartType:
        dots = intervals(
            *(alt.Chart(values(part)), "difference", across("chain of thought − direct", form=POINTS)),
            y=rows(tags, "value").scale(domain=tags, paddingInner=0.3),
            yOffset=alt.YOffset("model:N", sort=look.names),
            color=look.colour(),
            shape=look.shape(),
        )
        return layered(dashed(), dots).properties(width=_WIDTH, height=alt.Step(10, **{"for": "offset"}))

    return one_each(frame, "setting", draw)


_THREE_RUNS = "runs over few options, ten options and screenshots of the same items"
FIGURES = (
    Figure(
        *("settings", 10, "From setting to setting", _scores, _draw_scores),
        reading="A line is a model, from few options to ten to everything in one picture; the grey bar is what "
        "guessing scores there. Only items that a model has in all of its settings count.",
        needs=_THREE_RUNS,
        by="",
    ),
    Figure(
        *("deltas", 20, "What hardening costs", _deltas, _draw_deltas),
        reading="Ten options, vision and the mean of both, each less where it began, in points, with intervals. "
        "Paired where the items are the same.",
        needs=_THREE_RUNS,
        by="",
    ),
    Figure(
        *("ranks", 30, "Who stands where", _scores, _draw_ranks),
        reading="Ranks in each setting, the best on top. A line that crosses another has changed places with it; "
        "whether they differ at all is for eyetest compare to say.",
        needs=_THREE_RUNS,
        by="",
    ),
    Figure(
        *("blind", 40, "Answered without the picture", _blind, _draw_blind),
        reading="After each step, every model that was asked without the picture (grey) and all of them together "
        "with an interval; the dark mark is what guessing scores there. The nearer to it, the less is answered "
        "blind.",
        needs="models that were asked without the picture: eyetest run --sight blind",
        by="",
    ),
    Figure(
        *("thinking", 50, "Thinking aloud", _thinking, _draw_thinking),
        reading="What a chain of thought adds to a direct answer, by kind of item, in points, with intervals.",
        needs="runs with --ask direct,cot, and tags",
        by="",
    ),
    Figure(
        *("lengths", 60, "How much is said", lengths, draw_lengths),
        reading="Words in a reply, by setting; the bar spans the settings of one model.",
        needs="answers in words",
        by="",
    ),
    Figure(
        *("sentences", 70, "Describing and analysing", sentences, draw_sentences),
        reading="Sentences of a reply that describe and that analyse, as a judge labelled them.",
        needs="a judge: eyetest score RUN --sentences MODEL",
        by="",
    ),
    Figure(
        *("lost-at-ten", 80, "Right with few options, wrong with ten", lost("four", "ten"), draw_lost),
        reading="Items by how many models lost them when options were added; the numbers name them and the models.",
        needs="runs over few and over ten options",
        by="",
    ),
    Figure(
        *("lost-in-vision", 90, "Right with ten options, wrong in one picture", lost("ten", "vision"), draw_lost),
        reading="Items by how many models lost them when everything went into one picture.",
        needs="runs over ten options and over screenshots",
        by="",
    ),
)
"""As the story goes. They are of linked settings alone, so they stand on their page and not in every report."""
