"""Several benchmarks measured as one: every measure by tag then speaks of all of them together.

ReForm-Eval's tables are of this kind: dimensions are wider than any benchmark. An item is known by its benchmark and
its own name, and has three tags at least: dimension, task and dataset.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from eyetest.errors import InputError
from eyetest.measures import Results
from eyetest.measures.results import ITEM_TYPES, TAG
from eyetest.records.suite import SUITE_TAGS, SuiteBenchmark
from eyetest.wording import listed

BETWEEN = "/"
_TOLD = ("options", "gold", "position", "kinds", "golds")


class SuitePart(NamedTuple):
    """What is known of one benchmark of a suite."""

    name: str
    about: SuiteBenchmark
    results: Results


def united(parts: Sequence[SuitePart], name: str) -> Results:
    """The results of all parts, as of one benchmark of this name."""
    items = pl.concat([_items(part, name) for part in parts], how="diagonal")
    scores = pl.concat([_scores(part, name) for part in parts])
    models = {model: entry for part in parts for model, entry in part.results.models.items()}
    notes = dict.fromkeys(note for part in parts for note in part.results.notes)
    about = pl.lit(name).alias("benchmark")
    replies = pl.concat([part.results.replies.with_columns(about) for part in parts])
    exchanged = pl.concat([part.results.exchanged.with_columns(about, _own(part, "whose")) for part in parts])
    return Results(scores, items, models, tuple(notes), replies.unique(("benchmark", "request")), exchanged)


def keep_items(results: Results, ids: Sequence[str]) -> Results:
    """Only what is about some items."""
    kept = results.items.filter(pl.col("item").is_in(pl.Series(ids, dtype=pl.String).implode()))
    scores = results.scores.join(kept.lazy().select("item"), on="item", how="semi", maintain_order="left")
    return replace(results, scores=scores, items=kept)


def own_scores(results: Results, part: str) -> pl.LazyFrame:
    """The scores of one part, its items by their own names."""
    head = part + BETWEEN
    mine = results.scores.filter(pl.col("item").str.starts_with(head)).drop("benchmark")
    return mine.with_columns(pl.col("item").str.strip_prefix(head))


def _scores(part: SuitePart, name: str) -> pl.LazyFrame:
    return part.results.scores.with_columns(pl.lit(name).alias("benchmark"), _own(part, "item"))


def _items(part: SuitePart, name: str) -> pl.DataFrame:
    results = part.results
    known = results.every_item(*("cluster", "group", *_TOLD), *(TAG + tag for tag in results.tags))
    if len(about := sorted(known.get_column("benchmark").unique())) > 1:
        raise InputError(
            f'the runs of "{part.name}" are about several benchmarks: {listed(about)}; make each an entry'
        )
    table = known.select(
        pl.lit(name).alias("benchmark"),
        *(_own(part, column) for column in ("item", "cluster", "group")),
        pl.col("item").cast(pl.String).alias("own_id"),
        *(pl.col(column).cast(ITEM_TYPES[column]) for column in _TOLD),
        *(TAG + tag for tag in results.tags if tag not in SUITE_TAGS),
    )
    said = {tag: _said(part, tag, known) for tag in SUITE_TAGS}
    dataset = said["dataset"].fill_null(part.about.name)
    filled = {"dataset": dataset, "task": said["task"].fill_null(dataset)}
    filled["dimension"] = said["dimension"].fill_null(part.about.name)
    return table.with_columns(filled[tag].alias(TAG + tag) for tag in SUITE_TAGS)


def _own(part: SuitePart, column: str) -> pl.Expr:
    """A name as that of this part alone."""
    return (pl.lit(part.name + BETWEEN) + pl.col(column).cast(pl.String)).alias(column)


def _said(part: SuitePart, tag: str, known: pl.DataFrame) -> pl.Series:
    """What is said of the items: by the suite, or by their own tag."""
    if value := getattr(part.about, tag):
        return pl.Series([value] * len(known), dtype=pl.String)
    column = TAG + getattr(part.about.tags, tag)
    if column in known.columns:
        return known.get_column(column)
    if (named := getattr(part.about.tags, tag)) != tag:
        raise InputError(f'the items of "{part.name}" have no tag "{named}"; {_known(part.results)}')
    return pl.Series([None] * len(known), dtype=pl.String)


def _known(results: Results) -> str:
    return f"they have {listed(results.tags, 8)}" if results.tags else "they have none"
