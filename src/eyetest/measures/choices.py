"""How options are chosen: preferred places, consistency over orders, whether the mark is named."""

from collections.abc import Sequence

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from eyetest.errors import param
from eyetest.measures.means import mean_columns, mean_table, with_adjusted
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings, measure
from eyetest.measures.stats.paired import is_verdict
from eyetest.records import GIVEN
from eyetest.wording import counted, listed

_IS_CHOICE = pl.col("metric").is_in(["accuracy", GIVEN]) & (pl.col("reading") != "text").fill_null(True)
_VALUES = ("circular", "plain", "difference")
_WRITTEN = ("answered", "truncated")
_NOTE = "only answers to options in the order as written count: where another order put a choice is not in the table"


@measure("positions", "which place each model picks, against where the right choices are")
def positions(results: Results, settings: Settings) -> Measured:
    """One row a series, tag value and place; ``p`` is of all places, ``p_adjusted`` (Holm) of the place alone."""
    if not results.items.get_column("gold").is_not_null().any():
        raise NotMeasurable(f"positions: no right choice is known; name the benchmark with {param('bench')}")
    keys = results.keys(settings.by)
    rows = results.with_items("cluster", "gold", by=settings.by).filter(
        pl.col("order") == 0,
        pl.col("method") != "likelihood",
        pl.col("choice").is_not_null(),
        pl.col("gold").is_not_null(),
    )
    seen = rows.select(pl.col("choice", "gold").cast(pl.String).unique().implode()).collect(engine="streaming")
    letters = sorted({*seen.item(0, "choice"), *seen.item(0, "gold")})
    if not letters:
        raise NotMeasurable("positions: no answer was read to options in the order as written (order 0)")
    of_item = rows.group_by(*keys, "cluster", "item", "gold").agg(
        (pl.col("choice") == letter).mean().alias(f"picked {letter}") for letter in letters
    )
    of_item = of_item.with_columns(
        (pl.col("gold") == letter).cast(pl.Float64).alias(f"gold {letter}") for letter in letters
    ).with_columns(
        (pl.col(f"picked {letter}") - pl.col(f"gold {letter}")).alias(f"difference {letter}") for letter in letters
    )
    return Measured(_table(of_item, keys, letters, settings.level), (_NOTE,))


def _table(of_item: pl.LazyFrame, keys: Sequence[str], letters: Sequence[str], level: float) -> pl.DataFrame:
    gaps = [f"difference {letter}" for letter in letters]
    values = [f"{kind} {letter}" for kind in ("picked", "gold") for letter in letters]
    means = mean_columns(of_item, keys, [*values, *gaps], signed=gaps, level=level)
    of_cluster = of_item.group_by(*keys, "cluster").agg(pl.col(gaps).sum()).sort(*keys, "cluster")
    tests = {
        key: (homogeneity(each := part.select(gaps).to_numpy()), *(homogeneity(column[:, None]) for column in each.T))
        for key, part in of_cluster.collect(engine="streaming").group_by(*keys, maintain_order=True)
    }
    columns = zip(*(tests[key] for key in means.select(keys).rows()), strict=True)
    apart = pl.sum_horizontal(pl.col(gap).abs() for gap in gaps) / 2
    rows = means.with_columns(
        apart.alias("total_variation"),
        *(pl.Series(name, p, pl.Float64) for name, p in zip(["p", *letters], columns, strict=True)),
    )
    by_letter = [
        rows.select(
            *keys,
            pl.lit(letter).alias("place"),
            pl.col(f"picked {letter}").alias("picked"),
            pl.col(f"gold {letter}").alias("gold"),
            *(pl.col(f"difference {letter}{end}").alias(f"difference{end}") for end in ("", "_low", "_high")),
            *("total_variation", "p"),
            pl.col(letter).alias("of place"),
            pl.col(f"difference {letter}_n").alias("n"),
        )
        for letter in letters
    ]
    families = [key for key in keys if key != "model"]
    return with_adjusted(pl.concat(by_letter).sort(*keys, "place"), families, "of place").drop("of place")


def homogeneity(gaps: NDArray[np.float64]) -> float | None:
    """Stuart and Maxwell's test that no place is preferred, from picks less golds (clusters × places)."""
    covariance = gaps.T @ gaps
    rank = int(np.linalg.matrix_rank(covariance))
    if not rank:
        return None
    total = gaps.sum(axis=0)
    return float(scipy.stats.chi2.sf(total @ np.linalg.pinv(covariance, hermitian=True) @ total, rank))


@measure(
    "circular", "share of items right under every order of their options, against plain accuracy", unread="plain"
)
def circular(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value. An item's orders are those it was asked in, or the items of its group."""
    keys = results.keys(settings.by)
    score, order, item = pl.col("score"), pl.col("order"), pl.col("item")
    turned = order.min() != order.max()
    if results.items.get_column("group").is_not_null().any():
        turned |= item.min() != item.max()
    units = (
        results.with_items("cluster", "group", by=settings.by)
        .filter(_IS_CHOICE)
        .group_by(*keys, pl.coalesce("group", "item").alias("unit"))
        .agg(
            turned.alias("turned"),
            ((score.min() < 1) | (score.null_count() == 0)).fill_null(False).alias("settled"),
            (score.min() == 1).cast(pl.Float64).alias("circular"),
            score.mean().alias("plain"),
            is_verdict(score).all().alias("plain binary"),
            pl.col("cluster").min(),
        )
    )
    counts = pl.col("turned") & pl.col("settled")
    rows = units.with_columns(
        *(pl.when(counts).then(pl.col(value)) for value in ("circular", "plain")),
        pl.when(counts).then(pl.col("circular") - pl.col("plain")).alias("difference"),
        (~pl.col("turned")).alias("one_order"),
        (pl.col("turned") & ~pl.col("settled")).alias("undecided"),
    )
    more = {"sums": ("one_order", "undecided"), "signed": ("difference",)}
    table = mean_table(rows, keys, _VALUES, settings.level, **more).drop("clusters")
    if not table.get_column("n").sum():
        raise NotMeasurable(
            f"circular: no item was asked in two orders, and no items are grouped; ask with {param('order')}"
        )
    notes = []
    if also := results.varied(["template", "letters", "sample"]):
        notes.append(f"{listed(also)} varied too: an item counts only if it is right under these as well")
    if alone := int(table.get_column("one_order").sum()):
        notes.append(f"{counted(alone, 'item')} of some model seen in one order only: left out")
    return Measured(table, tuple(notes))


@measure("format-hits", "share of answers to choice items that carry an option mark, by model and protocol")
def format_hits(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value; tests of an item are averaged first."""
    keys = results.keys(settings.by)
    is_chosen = pl.col("reading") == "chosen"
    rows = (
        results.with_items("cluster", "options", by=settings.by)
        .filter(
            (pl.col("metric") == "accuracy") | ((pl.col("metric") == GIVEN) & pl.col("options").is_not_null()),
            pl.col("method") == "generate",
            pl.col("outcome").is_in(_WRITTEN),
            pl.col("reading") != "text",
            ~is_chosen | pl.col("marked").is_not_null(),
        )
        .group_by(*keys, "item", "cluster")
        .agg(
            (is_chosen & pl.col("marked")).fill_null(False).mean().alias("format_hits"),
            pl.lit(True).alias("format_hits binary"),
            pl.len().alias("answers"),
        )
    )
    table = mean_table(rows, keys, ["format_hits"], settings.level, sums=["answers"])
    if table.is_empty():
        raise NotMeasurable("format-hits: no answer to a choice item has a known reading")
    return Measured(table)


MEASURES = (positions, circular, format_hits)
