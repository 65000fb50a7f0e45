"""How options are chosen: right under every order, entropy over repeated tests of an item (ReForm-Eval)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from eyetest.errors import counted, listed, param
from eyetest.measures.results import TESTS, Measured, NotMeasurable, Results, Settings, measure, split
from eyetest.measures.stats.paired import is_verdict
from eyetest.measures.tables import mean_columns, mean_table
from eyetest.records import GIVEN, Asked

_IS_CHOICE = pl.col("metric").is_in(["accuracy", GIVEN]) & (pl.col("reading") != "text").fill_null(True)
_VALUES = ("circular", "plain", "difference")


@measure(
    "circular",
    "share of items right under every order of their options, or of groups (pairs, rotations) right as a whole",
    unread="plain",
)
def circular(results: Results, settings: Settings) -> Measured:
    """One row a series and tag value, beside ``plain`` accuracy. A unit is a group of items, or an item in its
    orders; a wrong answer settles it, else all of its items need a score. Others are ``undecided``.
    """
    keys = results.keys(settings.by)
    score, order, members = pl.col("score"), pl.col("order"), pl.col("members").first().fill_null(1)
    about = ["benchmark", "group", *results.by_tags(settings.by)]
    groups = results.items.drop_nulls("group").group_by(about).len("members")
    whole = pl.col("item").n_unique() == members if len(groups) else pl.lit(True)
    complete = (score.null_count() == 0) & whole
    units = (
        results.with_items("cluster", "group", by=settings.by)
        .filter(_IS_CHOICE | pl.col("group").is_not_null())
        .join(groups.lazy(), on=about, how="left", nulls_equal=True)
        .group_by(*keys, pl.coalesce("group", "item").alias("unit"))
        .agg(
            ((order.min() != order.max()) | (members > 1)).alias("turned"),
            ((score.min() < 1) | complete).fill_null(False).alias("settled"),
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
    sums = ("one_order", "undecided")
    table = mean_table(rows, keys, _VALUES, settings.level, sums=sums, signed=("difference",)).drop("clusters")
    if not table.get_column("n").sum():
        why = "no item was asked in two orders, and no items are grouped"
        raise NotMeasurable(f"circular: {why}; ask with {param('condition', 'image,reversed')}")
    notes = []
    if also := results.varied(["template", "letters", "sample"]):
        notes.append(f"{listed(also)} varied too: an item counts only if it is right under these as well")
    if alone := int(table.get_column("one_order").sum()):
        notes.append(f"{counted(alone, 'item')} of some model seen in one order only: left out")
    return Measured(table, tuple(notes))


SOURCES = {"instruction": "template", "order": "order", "letters": "letters", "sample": "sample"}
"""Sources of differing choices, and their axes."""
_PAPERS_TESTS = 5
_SCALED, _SHARES = ("entropy", "corrected"), ("normalised", "accuracy")  # in nats; from 0 to 1
_ENTROPIES = (*_SCALED, *_SHARES)
_LARGEST = [f"{value} most" for value in _SCALED]
_IS_TEST = (pl.col("metric") == "accuracy") | ((pl.col("metric") == GIVEN) & (pl.col("reading") != "text"))


def sources(tests: pl.DataFrame) -> dict[str, pl.Expr]:
    """For each source the rows where only its axis varies, out of the ``TESTS`` that occur on a benchmark."""
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
    """One row a source, series and tag value: means over items tested twice or more."""
    asked = results.scores.filter(_IS_TEST & (pl.col("outcome") != "failed"))
    tests = asked.group_by("benchmark", "model", *TESTS).agg(pl.col("choice").count()).collect(engine="streaming")
    if not tests.get_column("choice").sum():
        raise NotMeasurable("instability: no answer was read as one of several choices")
    named = list[pl.LazyFrame]()
    for key, part in split(tests.sort("benchmark"), ["benchmark"]):
        of_benchmark = asked.filter(pl.col("benchmark") == key["benchmark"])
        for name, only in sources(part).items():
            named.append(of_benchmark.filter(only).with_columns(pl.lit(name).alias("source")))
    item = ["benchmark", "item"]
    of_item = _counted(pl.concat(named), ["source", *results.keys(), *results.members, *item])
    of_item = of_item.with_columns(pl.col(item).cast(pl.String))
    texts = results.items.lazy().filter(pl.col("options").is_null()).select(item)
    known = replace(results, scores=of_item.join(texts, on=item, how="anti")).with_items(
        "cluster", "options", by=settings.by
    )
    measured = _entropies(known, ["source", *results.keys(settings.by)], results.members, settings.level)
    whole = measured.filter(pl.col("source") == "all")
    if not whole.get_column("n").sum():
        raise NotMeasurable(
            "instability: no choice item has two answers that were read; ask again with other templates, orders, "
            "letters or samples"
        )
    return Measured(measured, _few_tests(whole))


def _counted(tests: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """By item and source: tests, choices read and seen, their entropy, and the mean score."""
    unit, score, number = dict.fromkeys(keys), pl.col("score"), pl.col("tests")
    of_choice = tests.group_by(*unit, "choice").agg(
        pl.len().cast(pl.Float64).alias("tests"), score.sum(), score.count().alias("scored")
    )
    read = pl.when(pl.col("choice").is_not_null()).then(number)
    entropy = read.sum().log() - (read * read.log()).sum() / read.sum()
    return of_choice.group_by(*unit).agg(
        number.sum(),
        read.sum().alias("read"),
        read.count().alias("seen"),
        pl.when(read.count() > 1).then(entropy).otherwise(0.0).alias("entropy"),
        pl.when(pl.col("scored").sum() > 0).then(score.sum() / pl.col("scored").sum()).alias("accuracy"),
    )


def _entropies(of_item: pl.LazyFrame, keys: Sequence[str], members: Sequence[str], level: float) -> pl.DataFrame:
    """With fewer than two answers read an item has no entropy. ``corrected`` is Miller and Madow's: plus (choices
    seen − 1) / (2 × tests), never more than ln(options).

    Most items of a stable model have an entropy of 0 and few a large one, so that Student's interval ends too low.
    An entropy is a share of the largest possible one: its interval is Wilson's for the effective number of items, as
    that of an accuracy (`bounds`). Checked by ``tests/measures/test_instability.py``.
    """
    unit, entropy, is_measured = [*keys, "item", "cluster"], pl.col("entropy"), pl.col("read") > 1
    most = pl.when(pl.col("options") > 0).then(pl.col("options").log())
    corrected = pl.min_horizontal(entropy + (pl.col("seen") - 1) / (2 * pl.col("read")), most)
    of_item = of_item.filter(pl.col("tests") > 1).select(
        *unit,
        *("accuracy", "tests", "read"),
        pl.when(is_measured).then(entropy),
        pl.when(is_measured).then(corrected).alias("corrected"),
        pl.when(is_measured & (most > 0)).then(entropy / most).alias("normalised"),
        pl.min_horizontal(most, pl.col("read").log()).alias("entropy most"),
        pl.coalesce(most, pl.col("read").log() + 0.5).alias("corrected most"),
        pl.lit(1).alias("items"),
    )
    of_item = of_item.group_by(unit).mean() if members else of_item
    of_item = _as_shares(of_item, keys)
    means = mean_columns(of_item, keys, _ENTROPIES, ("tests", "read", "items"), level=level)
    largest = of_item.group_by(keys).agg(pl.col(_LARGEST).first()).collect(engine="streaming")
    means = means.join(largest, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return means.select(
        *keys,
        *(pl.col(value + end) * pl.col(f"{value} most") for value in _SCALED for end in ("", "_low", "_high")),
        *(value + end for value in _SHARES for end in ("", "_low", "_high")),
        (1 - pl.col("read") / pl.col("tests")).alias("unread"),
        (pl.col("tests") / pl.col("items")).alias("tests"),
        pl.col("entropy_n").alias("n"),
        (pl.col("items") - pl.col("entropy_n")).cast(pl.Int64).alias("unmeasured"),
    )


def _as_shares(of_item: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Entropies as shares of the largest that any item of the row can have, which stays beside them."""
    largest = of_item.with_columns(pl.col(name).max().over(keys) for name in _LARGEST)
    largest = largest.with_columns(pl.when(pl.col(name) > 0).then(pl.col(name)).otherwise(1.0) for name in _LARGEST)
    shares = largest.with_columns((pl.col(value) / pl.col(f"{value} most")).clip(0, 1) for value in _SCALED)
    return shares.with_columns(pl.lit(True).alias(f"{value} binary") for value in _ENTROPIES)


def _few_tests(overall: pl.DataFrame) -> tuple[str, ...]:
    notes = []
    fewest = overall.get_column("tests").min()
    if isinstance(fewest, float) and fewest < _PAPERS_TESTS:
        notes.append(f"as few as {fewest:.3g} tests an item: the paper has at least {_PAPERS_TESTS}; see corrected")
    if unmeasured := int(overall.get_column("unmeasured").sum()):
        notes.append(f"{counted(unmeasured, 'item')} of some model with fewer than two answers read: no entropy")
    return tuple(notes)


MEASURES = (circular, instability)
