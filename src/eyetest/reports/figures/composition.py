"""What a benchmark is made of: its items by tag, and what is there twice."""

import altair as alt
import polars as pl
from altair.typing import ChartType

from eyetest.measures import NotMeasurable
from eyetest.measures.results import TAG
from eyetest.pages.item_counts import ItemCount
from eyetest.pages.plots import told_bars
from eyetest.reports.figures import Figure
from eyetest.reports.material import MOST_VALUES, Material
from eyetest.reports.report_items import Counts, ReportItems

_ALWAYS = ("duplicate-items", "identical-images")
"""What is told even where there is none of it."""


def _by_tag(material: Material) -> pl.DataFrame:
    if not material.tags:
        raise NotMeasurable("no tag sorts the items into a few groups")
    parts = [
        material.results.items.group_by(pl.col(TAG + tag).alias("value"))
        .len("items")
        .drop_nulls("value")
        .sort("items", "value", descending=[True, False])
        .select(pl.lit(tag).alias("tag"), "value", pl.col("items").cast(pl.Int64))
        for tag in material.tags
    ]
    return pl.concat(parts)


def _tagged(frame: pl.DataFrame, items: ReportItems) -> Counts:
    rows = frame.select("tag", "value", "items").iter_rows()
    return {"items": [items.count(number, tags=((tag, value),)) for tag, value, number in rows]}


def _values(frame: pl.DataFrame, items: ReportItems | None = None) -> ChartType:
    shown = frame.head(MOST_VALUES)
    if items is not None:
        shown = shown.with_columns(items.marks(_tagged(shown, items)["items"]))
    return told_bars(shown, "value", alt.Text("items:Q", format=","), 420)


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


def _kinds(frame: pl.DataFrame, items: ReportItems | None = None) -> ChartType:
    if items is not None:
        frame = frame.with_columns(items.marks(_repeated(frame, items)["items"]))
    groups = pl.when(pl.col("groups") == 1).then(pl.lit("group")).otherwise(pl.lit("groups"))
    some = pl.format("{} items in {} {}", "items", "groups", groups)
    told = pl.when(pl.col("items") > 0).then(some).otherwise(pl.lit("none"))
    return told_bars(frame.with_columns(told.alias("told")), "kind", alt.Text("told:N"), 320)


FIGURE = (
    Figure(
        *("composition", 5, "Composition", _by_tag, _values),
        by="tag",
        reading="How many items have each value of a tag.",
        needs="tags that sort items into a few groups; name them with --by",
        counts=_tagged,
        linked=True,
    ),
    Figure(
        *("duplicates", 100, "Duplicates", _duplicates, _kinds),
        reading="Items that repeat a question or share a picture. Only what costs nothing to see was looked for: "
        "equal bytes and nearly equal words; eyetest audit also finds pictures that were re-encoded or cropped.",
        needs="a benchmark whose items are known",
        counts=_repeated,
        linked=True,
    ),
)
