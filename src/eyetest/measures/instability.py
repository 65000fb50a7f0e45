"""How choices depend on the way of asking: entropy over repeated tests of an item (ReForm-Eval)."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from eyetest.errors import counted
from eyetest.measures import Measured, NotMeasurable, Results, Settings
from eyetest.measures.results import MEMBER, TESTS, measure
from eyetest.measures.tables import mean_columns
from eyetest.records import GIVEN, Asked

SOURCES = {"instruction": "template", "order": "order", "letters": "letters", "sample": "sample"}
"""Sources of differing choices, and their axes."""
_PAPERS_TESTS = 5
_VALUES = ("entropy", "corrected", "normalised", "accuracy")
_IS_CHOICE = (pl.col("metric") == "accuracy") | ((pl.col("metric") == GIVEN) & (pl.col("reading") != "text"))


def sources(tests: pl.DataFrame) -> dict[str, pl.Expr]:
    """For each source the rows where only its axis varies, out of the ``TESTS`` that occur."""
    usual: dict[str, Any] = {axis: getattr(Asked(item="", model=""), axis) for axis in TESTS}
    for axis, default in usual.items():
        if not (tests.get_column(axis) == default).any():
            usual[axis] = tests.get_column(axis).min()
    rows_of = {"all": pl.col("template").is_not_null()}
    for source, axis in SOURCES.items():
        only = pl.all_horizontal(pl.col(other) == usual[other] for other in TESTS if other != axis)
        if tests.filter(only).get_column(axis).n_unique() > 1:
            rows_of[source] = only
    return rows_of


@measure(
    "instability",
    "entropy of the choices over repeated tests of an item, plain, corrected and normalised, by source",
    pools=True,
)
def instability(results: Results, settings: Settings) -> Measured:
    """One row a source, series and tag value."""
    tags, keys = results.by_tags(settings.by), results.keys()
    asked = results.scores.filter(_IS_CHOICE & (pl.col("outcome") != "failed"))
    tests = asked.group_by("model", *TESTS).agg(pl.col("choice").count()).collect(engine="streaming")
    if not tests.get_column("choice").sum():
        raise NotMeasurable("instability: no answer was read as one of several choices")
    rows_of = sources(tests)
    of_item = _by_item_and_source(asked, [*keys, *results.members], rows_of).join(
        _items(results, keys, tags), on=_item_key(keys), how="left"
    )
    known = of_item.filter(pl.col("text").not_().fill_null(True)).collect(engine="streaming")
    parts = [
        _table(known, source, [*keys, *tags], settings.level).select(pl.lit(source).alias("source"), pl.all())
        for source in rows_of
    ]
    measured = pl.concat(parts).sort("source", *keys, *tags)
    whole = measured.filter(pl.col("source") == "all")
    if not whole.get_column("n").sum():
        raise NotMeasurable(
            "instability: no choice item has two answers that were read; ask again with other templates, orders, "
            "letters or samples"
        )
    return Measured(measured, _notes(whole))


def _item_key(keys: Sequence[str]) -> list[str]:
    return ["benchmark", "item"] if "benchmark" in keys else ["item"]


def _items(results: Results, keys: Sequence[str], tags: Sequence[str]) -> pl.LazyFrame:
    """Data of the items, keyed as the scores are. Text items have no options."""
    types = results.scores.collect_schema()
    items = results.items.lazy()
    if "benchmark" not in keys:
        benchmark = results.scores.select(pl.col("benchmark").cast(pl.String)).head(1).collect().item()
        items = items.filter(pl.col("benchmark") == benchmark)
    key = (pl.col(name).cast(types[name]) for name in _item_key(keys))
    return items.select(*key, "cluster", "options", *tags, pl.col("options").is_null().alias("text"))


def _by_item_and_source(tests: pl.LazyFrame, keys: Sequence[str], rows_of: Mapping[str, pl.Expr]) -> pl.LazyFrame:
    """One row per item: for each source its tests, choices read and seen, Σ n ln n over choices, and scores."""
    score, chosen = pl.col("score"), pl.col("choice").is_not_null()
    of_choice, of_item = [], []
    for source, only in rows_of.items():
        n = pl.col(f"{source} tests").cast(pl.Float64)
        read = pl.when(chosen & (n > 0)).then(n)
        scored = pl.when(only).then(score)
        of_choice += [only.sum().alias(f"{source} tests"), scored.sum().alias(f"{source} score")]
        of_choice.append(scored.count().alias(f"{source} scored"))
        of_item += [pl.col(f"{source} {name}").sum() for name in ("tests", "score", "scored")]
        of_item += [read.sum().alias(f"{source} read"), read.count().alias(f"{source} seen")]
        of_item.append((read * read.log()).sum().alias(f"{source} n ln n"))
    return tests.group_by(*keys, "item", "choice").agg(of_choice).group_by(*keys, "item").agg(of_item)


def _table(of_item: pl.DataFrame, source: str, keys: Sequence[str], level: float) -> pl.DataFrame:
    """Means over items tested twice or more; with fewer than two answers read they have no entropy. ``corrected`` is
    Miller and Madow's: plus (choices seen − 1) / (2 × tests), never more than ln(options).
    """
    tests, read, seen = (pl.col(f"{source} {name}") for name in ("tests", "read", "seen"))
    plain = pl.when(seen > 1).then(read.log() - pl.col(f"{source} n ln n") / read).otherwise(0.0)
    most = pl.when(pl.col("options") > 0).then(pl.col("options").log())
    values = (plain, pl.min_horizontal(plain + (seen - 1) / (2 * read), most), plain / pl.when(most > 0).then(most))
    entropies = [pl.when(read > 1).then(value).alias(name) for name, value in zip(_VALUES, values, strict=False)]
    scored = pl.col(f"{source} scored")
    rows = of_item.filter(tests > 1).select(
        *keys,
        "item",
        pl.coalesce("cluster", pl.col("item").cast(pl.String)).alias("cluster"),
        *entropies,
        pl.when(scored > 0).then(pl.col(f"{source} score") / scored).alias("accuracy"),
        tests.alias("tests"),
        read.alias("read"),
        pl.lit(1).alias("items"),
    )
    if MEMBER in of_item.columns:
        rows = rows.group_by(*keys, "item", "cluster").mean()
    rows = rows.with_columns(pl.col("accuracy").is_between(0, 1).alias("accuracy binary"))
    means = mean_columns(rows.lazy(), keys, _VALUES, ("tests", "read", "items"), level=level)
    return means.select(
        *keys,
        *(value + end for value in _VALUES for end in ("", "_low", "_high")),
        (1 - pl.col("read") / pl.col("tests")).alias("unread"),
        (pl.col("tests") / pl.col("items")).alias("tests"),
        pl.col("entropy_n").alias("n"),
        (pl.col("items") - pl.col("entropy_n")).alias("unmeasured"),
    )


def _notes(overall: pl.DataFrame) -> tuple[str, ...]:
    notes = []
    fewest = overall.get_column("tests").min()
    if isinstance(fewest, float) and fewest < _PAPERS_TESTS:
        notes.append(f"as few as {fewest:.3g} tests an item: the paper has at least {_PAPERS_TESTS}; see corrected")
    if unmeasured := int(overall.get_column("unmeasured").sum()):
        notes.append(f"{counted(unmeasured, 'item')} of some model with fewer than two answers read: no entropy")
    return tuple(notes)


MEASURES = (instability,)
