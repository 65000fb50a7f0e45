"""How choices depend on the way of asking: repeated tests of an item, and turns of a dialogue."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from eyetest.errors import counted
from eyetest.measures import Measured, NotMeasurable, Results, Settings
from eyetest.measures.results import TAG, TESTS, measure, split, table_of
from eyetest.measures.stats.paired import is_verdict
from eyetest.measures.stats.ranking import slope_within
from eyetest.measures.tables import mean_columns, paired_columns
from eyetest.records import DIALOGUE, GIVEN, TURN, Asked

SOURCES = {"instruction": "template", "order": "order", "letters": "letters", "sample": "sample"}
"""Sources of differing choices, and their axes."""
_PAPERS_TESTS = 5
_MOST_ROWS = 20_000_000  # answers to look at together
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
    "instability", "entropy of the choices over repeated tests of an item, plain, corrected and normalised, by source"
)
def instability(results: Results, settings: Settings) -> Measured:
    """One row a source, series and tag value."""
    tags, keys = results.by_tags(settings.by), results.keys()
    asked = results.scores.filter(_IS_CHOICE & (pl.col("outcome") != "failed"))
    tests = asked.group_by("model", *TESTS).agg(pl.len(), pl.col("choice").count()).collect(engine="streaming")
    if not tests.get_column("choice").sum():
        raise NotMeasurable("instability: no answer was read as one of several choices")
    rows_of = sources(tests)
    items, models = _items(results, keys, tags), tests.get_column("model").unique().sort().to_list()
    at_once, parts = max(1, _MOST_ROWS * len(models) // int(tests.get_column("len").sum())), []
    for start in range(0, len(models), at_once):
        is_some = pl.col("model").is_in(models[start : start + at_once])
        some = asked.filter(is_some) if at_once < len(models) else asked
        of_item = _by_item_and_source(some, keys, rows_of).join(items, on=_item_key(keys), how="left")
        known = of_item.filter(pl.col("text").not_().fill_null(True)).collect(engine="streaming")
        for source in rows_of:
            table = _table(known, source, [*keys, *tags], settings.level)
            parts.append(table.select(pl.lit(source).alias("source"), pl.all()))
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
        pl.coalesce("cluster", pl.col("item").cast(pl.String)).alias("cluster"),
        *entropies,
        pl.when(scored > 0).then(pl.col(f"{source} score") / scored).alias("accuracy"),
        tests.alias("tests"),
        read.alias("read"),
        pl.lit(1).alias("items"),
    )
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


HISTORIES = ("gold", "own")


@measure("dialogue", "mean score by turn of a dialogue and its slope, with the gold history and with the model's own")
def dialogue(results: Results, settings: Settings) -> Measured:
    """One row a series and turn; ``difference`` is own less gold history; slopes are of the whole series."""
    rows, keys, histories = _by_item(results, settings)
    values, around = [*histories, *(["difference"] if len(histories) > 1 else [])], [*keys, "turn"]
    means = mean_columns(rows.lazy(), around, histories, level=settings.level)
    counts = [pl.col(f"{history}_n").alias(f"n_{history}" if len(histories) > 1 else "n") for history in histories]
    bounded = [history + end for history in histories for end in ("", "_low", "_high")]
    table = means.select(*around, *bounded, *counts)
    if len(histories) > 1:
        pairs = []
        for key, part in split(rows.sort(around), around):
            pair = paired_columns(part, "own", "gold", settings.level)
            pairs.append(key | pair.gap() | {"n": pair.n})
        table = _joined(table, pairs, around)
        rows = rows.with_columns((pl.col("own") - pl.col("gold")).alias("difference"))
    slopes = [key | _slopes(part, values, settings.level) for key, part in split(rows.sort(*keys, "item"), keys)]
    return Measured(_joined(table, slopes, keys))


def _joined(table: pl.DataFrame, rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> pl.DataFrame:
    more = table_of(rows).cast({key: table.schema[key] for key in keys})
    return table.join(more, on=keys, how="left", nulls_equal=True, maintain_order="left")


def _slopes(rows: pl.DataFrame, values: Sequence[str], level: float) -> dict[str, Any]:
    """Slope of each history, and of their difference, with the number of dialogues."""
    row: dict[str, Any] = {}
    for value in values:
        known = rows.drop_nulls(value)
        columns = (known[name].to_numpy() for name in ("turn", value, "dialogue", "cluster"))
        slope, dialogues = slope_within(*columns, level=level)
        row |= slope.named(f"{value}_slope") | {f"{value}_dialogues": dialogues}
    return row


def _by_item(results: Results, settings: Settings) -> tuple[pl.DataFrame, list[str], Sequence[str]]:
    """Scores by series, item, turn and history; a dialogue is in one cluster with all others about its images."""
    named = [TAG + DIALOGUE, TAG + TURN]
    if not set(named) <= set(results.items.columns):
        raise NotMeasurable(f"dialogue: no item says which turn of which dialogue it is (tags {DIALOGUE}, {TURN})")
    dialogue, turn = (pl.col(column) for column in named)
    items = results.items.with_columns(
        pl.coalesce("cluster", "item").min().over("benchmark", dialogue),
        dialogue.alias("dialogue"),
        turn.cast(pl.Int64, strict=False).alias("turn"),
    ).drop_nulls(["dialogue", "turn"])
    tags = results.by_tags(settings.by)
    keys = [key for key in results.keys(settings.by) if key != "history"]
    asked = {history: pl.col("history").cast(pl.String) == history for history in HISTORIES}
    scores = {history: pl.when(is_asked).then(pl.col("score")) for history, is_asked in asked.items()}
    rows = (
        replace(results, items=items)
        .with_items("cluster", "dialogue", "turn", *tags)
        .drop_nulls("turn")
        .group_by(*dict.fromkeys((*keys, "benchmark")), "item", "dialogue", "turn", "cluster")
        .agg(
            *(score.mean().alias(history) for history, score in scores.items()),
            *(is_verdict(score).all().alias(f"{history} binary") for history, score in scores.items()),
        )
        .with_columns(pl.concat_str("benchmark", "dialogue", separator="\0").alias("dialogue"))
        .collect(engine="streaming")
    )
    histories = [history for history in HISTORIES if rows[history].count()]
    if not histories:
        raise NotMeasurable("dialogue: no turn of a dialogue has a score")
    return rows, keys, histories


MEASURES = (instability, dialogue)
