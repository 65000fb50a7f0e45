"""How options are chosen: preferred positions, every order right, letters named, agreement beyond chance, entropy
over repeated tests of an item (ReForm-Eval).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from eyetest.errors import InputError, counted, listed, param
from eyetest.measures.results import (
    MEMBER,
    TESTS,
    Measured,
    NotMeasurable,
    Results,
    Settings,
    measure,
    split,
    table_of,
)
from eyetest.measures.stats.agreement import all_raters, cohen_pairs
from eyetest.measures.stats.intervals import IntervalEstimate
from eyetest.measures.stats.paired import is_verdict
from eyetest.measures.tables import mean_columns, mean_table, pivoted, with_adjusted
from eyetest.records import GIVEN, Asked

_IS_CHOICE = pl.col("metric").is_in(["accuracy", GIVEN]) & (pl.col("reading") != "text").fill_null(True)
_VALUES = ("circular", "plain", "difference")
_WRITTEN = ("answered", "truncated")
_NOTE = "only answers to options in the order as written count: where another order put a choice is not in the table"


@measure(
    "positions",
    "which place each model picks, against where the right ones are",
)
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
    more = {"sums": ("one_order", "undecided"), "signed": ("difference",)}
    table = mean_table(rows, keys, _VALUES, settings.level, **more).drop("clusters")
    if not table.get_column("n").sum():
        why = "no item was asked in two orders, and no items are grouped"
        raise NotMeasurable(f"circular: {why}; ask with {param('order')}")
    notes = []
    if also := results.varied(["template", "letters", "sample"]):
        notes.append(f"{listed(also)} varied too: an item counts only if it is right under these as well")
    if alone := int(table.get_column("one_order").sum()):
        notes.append(f"{counted(alone, 'item')} of some model seen in one order only: left out")
    return Measured(table, tuple(notes))


@measure(
    "format-hits", "share of answers to choice items that carry an option mark, by model and protocol", pools=True
)
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


_AGREEMENT: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("coefficient", "a", "b"), pl.String),
    **dict.fromkeys(("agreement", "agreement_low", "agreement_high"), pl.Float64),
    **{"n": pl.Int64, "raters": pl.Int64},
}
FEWEST_ITEMS = 10
TOO_FEW = f"no agreement beyond chance where fewer than {FEWEST_ITEMS} items were rated twice"
_DECISION = ("item", "round", "reviewer", "decision")


@measure(
    "agreement",
    "how far models choose alike beyond chance: Fleiss, Krippendorff, Gwet over all, Cohen by pair",
)
def agreement(results: Results, settings: Settings) -> Measured:
    """Coefficients of each protocol and benchmark. An answer without a choice is a rating that is missing."""
    families, unit = results.families(settings.by), ["item", *results.varied(TESTS)]
    chosen = (
        results.with_items("cluster", by=settings.by)
        .select(*dict.fromkeys((*families, "model", *unit, "cluster", "choice")))
        .drop_nulls("choice")
        .sort(*families, *unit)
        .collect(engine="streaming")
    )
    rows = []
    for family, part in split(chosen, families):
        if part.get_column("model").n_unique() > 1:
            rows += [family | row for row in _coefficients(part, unit, ("model", "choice"), settings)]
    if not rows:
        raise NotMeasurable("agreement: needs choices of at least two models under one protocol; ask another one")
    table = table_of(rows, **_AGREEMENT).cast({name: chosen.schema[name] for name in families})
    return Measured(table, (TOO_FEW,) if (table["n"] < FEWEST_ITEMS).any() else ())


def decisions_agreement(decisions: pl.DataFrame, settings: Settings | None = None) -> pl.DataFrame:
    """Agreement of reviewers, by round, from a table of decisions. A person's last decision on an item counts."""
    missing = [name for name in _DECISION if name not in decisions.columns]
    if missing:
        raise InputError(f"decisions: found no column {', '.join(missing)}, expected {', '.join(_DECISION)}")
    ordered = decisions.sort("time", maintain_order=True) if "time" in decisions.columns else decisions
    last = ordered.unique(["item", "round", "reviewer"], keep="last", maintain_order=True).drop_nulls("decision")
    clustered = last.with_columns(pl.col("item").alias("cluster")).sort("round", "item", maintain_order=True)
    rows = [
        family | row
        for family, part in split(clustered, ["round"])
        for row in _coefficients(part, ["item"], ("reviewer", "decision"), settings or Settings())
    ]
    return pl.DataFrame(rows, schema={"round": decisions.schema["round"], **_AGREEMENT})


def _coefficients(
    given: pl.DataFrame, unit: Sequence[str], columns: tuple[str, str], settings: Settings
) -> list[dict[str, Any]]:
    """Rows of values: over all raters, then by pair. ``columns``: raters and ratings."""
    rater, label = columns
    units, raters, cells = pivoted(given, [*unit, "cluster"], [rater], label)
    ratings, names = cells.tolist(), raters.to_series().to_list()
    resampling = settings.resampling(units.get_column("cluster"))

    def row(coefficient: str, value: IntervalEstimate, *pair: str) -> dict[str, Any]:
        a, b = pair or (None, None)
        about = {"coefficient": coefficient, "a": a, "b": b}
        if value.n < FEWEST_ITEMS and coefficient != "observed":
            value = IntervalEstimate(None, None, None, value.n)
        return about | value.named("agreement") | {"n": value.n, "raters": len(pair) or len(names)}

    rows = [row(name, value) for name, value in all_raters(ratings, resampling).items()]
    for (first, second), kappa in cohen_pairs(ratings, resampling).items():
        rows.append(row("cohen", kappa, names[first], names[second]))
    return rows


SOURCES = {"instruction": "template", "order": "order", "letters": "letters", "sample": "sample"}
"""Sources of differing choices, and their axes."""
_PAPERS_TESTS = 5
_ENTROPIES = ("entropy", "corrected", "normalised", "accuracy")
_IS_TEST = (pl.col("metric") == "accuracy") | ((pl.col("metric") == GIVEN) & (pl.col("reading") != "text"))


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
    asked = results.scores.filter(_IS_TEST & (pl.col("outcome") != "failed"))
    tests = asked.group_by("model", *TESTS).agg(pl.col("choice").count()).collect(engine="streaming")
    if not tests.get_column("choice").sum():
        raise NotMeasurable("instability: no answer was read as one of several choices")
    named = (asked.filter(only).with_columns(pl.lit(name).alias("source")) for name, only in sources(tests).items())
    types, item = asked.collect_schema(), ["benchmark", "item"] if "benchmark" in keys else ["item"]
    there = asked.select(pl.col("benchmark").cast(pl.String).unique())
    items = results.items.lazy().join(there, on="benchmark", how="semi")
    about = (pl.col(name).cast(types[name]) for name in item)
    items = items.select(*about, "cluster", "options", *tags, pl.lit(True).alias("known"))
    of_item = _counts(pl.concat(named), ["source", *keys, *results.members, "item"]).join(items, on=item, how="left")
    is_text = pl.col("known").is_not_null() & pl.col("options").is_null()
    known = of_item.filter(~is_text).collect(engine="streaming")
    measured = _entropies(known, ["source", *keys, *tags], settings.level)
    whole = measured.filter(pl.col("source") == "all")
    if not whole.get_column("n").sum():
        raise NotMeasurable(
            "instability: no choice item has two answers that were read; ask again with other templates, orders, "
            "letters or samples"
        )
    return Measured(measured, _few_tests(whole))


def _counts(tests: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """By item and source: tests, choices read and seen, Σ n ln n over choices, and the mean score."""
    score = pl.col("score")
    read = pl.when(pl.col("choice").is_not_null()).then(pl.col("tests").cast(pl.Float64))
    sums = pl.len().alias("tests"), score.sum(), score.count().alias("scored")
    of_item = tests.group_by(*keys, "choice").agg(sums).group_by(keys)
    return of_item.agg(
        pl.col("tests", "score", "scored").sum(),
        read.sum().alias("read"),
        read.count().alias("seen"),
        (read * read.log()).sum().alias("n ln n"),
    ).with_columns(pl.when(pl.col("scored") > 0).then(score / pl.col("scored")).alias("accuracy"))


def _entropies(of_item: pl.DataFrame, keys: Sequence[str], level: float) -> pl.DataFrame:
    """Means over items tested twice or more; with fewer than two answers read they have no entropy. ``corrected`` is
    Miller and Madow's: plus (choices seen − 1) / (2 × tests), never more than ln(options).
    """
    read, seen = pl.col("read"), pl.col("seen")
    plain = pl.when(seen > 1).then(read.log() - pl.col("n ln n") / read).otherwise(0.0)
    most = pl.when(pl.col("options") > 0).then(pl.col("options").log())
    values = (plain, pl.min_horizontal(plain + (seen - 1) / (2 * read), most), plain / pl.when(most > 0).then(most))
    entropies = [pl.when(read > 1).then(value).alias(name) for name, value in zip(_ENTROPIES, values, strict=False)]
    cluster = pl.coalesce("cluster", pl.col("item").cast(pl.String)).alias("cluster")
    counts = ("accuracy", "tests", "read", pl.lit(1).alias("items"))
    rows = of_item.filter(pl.col("tests") > 1).select(*keys, "item", cluster, *entropies, *counts)
    if MEMBER in of_item.columns:
        rows = rows.group_by(*keys, "item", "cluster").mean()
    rows = rows.with_columns(pl.col("accuracy").is_between(0, 1).alias("accuracy binary"))
    means = mean_columns(rows.lazy(), keys, _ENTROPIES, ("tests", "read", "items"), level=level)
    return means.select(
        *keys,
        *(value + end for value in _ENTROPIES for end in ("", "_low", "_high")),
        (1 - pl.col("read") / pl.col("tests")).alias("unread"),
        (pl.col("tests") / pl.col("items")).alias("tests"),
        pl.col("entropy_n").alias("n"),
        (pl.col("items") - pl.col("entropy_n")).alias("unmeasured"),
    )


def _few_tests(overall: pl.DataFrame) -> tuple[str, ...]:
    notes = []
    fewest = overall.get_column("tests").min()
    if isinstance(fewest, float) and fewest < _PAPERS_TESTS:
        notes.append(f"as few as {fewest:.3g} tests an item: the paper has at least {_PAPERS_TESTS}; see corrected")
    if unmeasured := int(overall.get_column("unmeasured").sum()):
        notes.append(f"{counted(unmeasured, 'item')} of some model with fewer than two answers read: no entropy")
    return tuple(notes)


MEASURES = (positions, circular, format_hits, agreement, instability)
