"""Calls that gave no answer to score as meant: failed, blocked, refused, ambiguous, unreadable."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.results import PROTOCOL
from eyetest.pages import palette
from eyetest.pages.plots import named, one_each, rows, step, values
from eyetest.reports.figures import Figure
from eyetest.reports.material import Material
from eyetest.wording import counted

ABOVE = "scored above 0"
"""Of those, the ones that score nevertheless, because others scored them."""
_COLOURS = {
    "failed": palette.VERDICTS["drop"],
    "blocked": palette.BASE,
    "refused": palette.BLIND,
    "ambiguous": palette.CATEGORIES[5],
    "unreadable": palette.QUIET,
}


def _numbers(material: Material) -> pl.DataFrame:
    if not material.is_answered:
        raise NotMeasurable("no answers were given: name a run beside the benchmark")
    results = material.results
    kind = (
        pl.when(pl.col("outcome").cast(pl.String).is_in(["failed", "blocked"]))
        .then(pl.col("outcome").cast(pl.String))
        .otherwise(pl.col("reading").cast(pl.String).replace("unparsed", "unreadable"))
    )
    keys = [*results.varied(["benchmark"]), "model", *results.varied(PROTOCOL)]
    counts = [(kind == name).fill_null(False).sum().cast(pl.Int64).alias(name) for name in _COLOURS]
    above = kind.is_in(list(_COLOURS)) & (pl.col("score") > 0)
    sums = [above.fill_null(False).sum().cast(pl.Int64).alias(ABOVE), pl.len().cast(pl.Int64).alias("calls")]
    table = results.scores.group_by(keys).agg(*counts, *sums).sort(keys)
    calls = table.collect(engine="streaming").with_columns(pl.col(pl.Categorical).cast(pl.String))
    if not calls.select(pl.sum_horizontal(*_COLOURS).sum()).item():
        raise NotMeasurable(f"all {counted(int(calls['calls'].sum()), 'call')} gave an answer that could be read")
    lost = pl.sum_horizontal(*_COLOURS) / pl.col("calls")
    around = [name for name in ("benchmark", "sight") if name in calls.columns]
    told = named(calls).with_columns(lost.alias("share"))
    return told.select(*around, "series", "share", *_COLOURS, ABOVE, "calls")


def _draw_all(frame: pl.DataFrame) -> ChartType:
    shown = [name for name in _COLOURS if frame.get_column(name).sum()]
    return one_each(frame, "benchmark", lambda part: one_each(part, "sight", lambda one: _draw(one, shown)))


def _draw(frame: pl.DataFrame, shown: list[str]) -> ChartType:
    order = frame.sort("share", "series", descending=[True, False]).get_column("series").to_list()
    long = frame.unpivot(list(_COLOURS), index=["series", "calls"]).with_columns(
        (pl.col("value") / pl.col("calls")).alias("part"),
        pl.col("variable").replace_strict({name: i for i, name in enumerate(_COLOURS)}).alias("layer"),
    )
    colour = alt.Color("variable:N").scale(domain=shown, range=[_COLOURS[name] for name in shown])
    x = alt.X("part:Q", title="share of calls", stack="zero", axis=alt.Axis(format=".1~%", tickCount=5))
    bars = alt.Chart(values(long.filter(pl.col("value") > 0))).mark_bar(height=9)
    y = rows(order)
    drawn = bars.encode(x=x, y=y, color=colour, order="layer:Q")
    words = alt.Chart(values(frame)).mark_text(align="left", dx=5).encode(
        x=alt.X("share:Q"), y=y, text=alt.Text("share:Q", format=".1%")
    )  # fmt: skip
    return alt.layer(drawn, words).properties(width=420, height=step(len(order)))


FIGURE = Figure(
    *("failures", 80, "Failed, refused and unreadable answers", _numbers, _draw_all),
    reading="The share of calls that gave no readable answer. Failed calls have no score and are left out of every "
    "measure. By our rules the others score 0; where somebody else scored the answers, their scores stand, and the "
    "numbers count those above 0.",
    needs="calls that failed or were blocked, or answers that refuse or cannot be read",
)
