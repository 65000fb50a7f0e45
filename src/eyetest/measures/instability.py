"""Instability: how much a model's choice depends on the way of asking."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from eyetest.measures.means import mean_columns
from eyetest.measures.results import TESTS, Measured, NotMeasurable, Results, Settings, measure
from eyetest.measures.stats.ranking import entropies
from eyetest.records import GIVEN, Asked
from eyetest.wording import counted

SOURCES = {"instruction": "template", "order": "order", "letters": "letters", "sample": "sample"}
"""Sources of differing choices, and their axes."""
_MOST_ROWS = 20_000_000
_MOST_CELLS = 600_000_000  # answers to look at together, and answers times columns
_PAPERS_TESTS = 5
_ENTROPIES = ("entropy", "corrected", "normalised")
_VALUES = (*_ENTROPIES, "accuracy")
_IS_CHOICE = (pl.col("metric") == "accuracy") | ((pl.col("metric") == GIVEN) & (pl.col("reading") != "text"))
_KNOWN = ("cluster", "options")


def sources(tests: pl.DataFrame) -> dict[str, pl.Expr]:
    """For each source the rows where only its axis varies; the very expression of all where nothing else does."""
    usual: dict[str, Any] = {axis: getattr(Asked(item="", model=""), axis) for axis in TESTS}
    for axis, default in usual.items():
        if not (tests.get_column(axis) == default).any():
            usual[axis] = tests.get_column(axis).min()
    rows_of = {"all": pl.col("template").is_not_null()}
    for source, axis in SOURCES.items():
        only = pl.all_horizontal(pl.col(other) == usual[other] for other in TESTS if other != axis)
        some = tests.filter(only)
        if some.get_column(axis).n_unique() > 1:
            rows_of[source] = rows_of["all"] if len(some) == len(tests) else only
    return rows_of


def batches(tests: pl.DataFrame, columns: int) -> list[list[str]]:
    """Models in groups with so few answers (``len`` in ``tests``) that their columns fit into memory."""
    groups: list[list[str]] = []
    room = 0
    for model, rows in tests.group_by("model").agg(pl.col("len").sum()).sort("model").rows():
        if rows > room:
            groups.append([])
            room = min(_MOST_ROWS, _MOST_CELLS // columns)
        groups[-1].append(model)
        room -= rows
    return groups


@measure(
    "instability", "entropy of the choices over repeated tests of an item, plain, corrected and normalised, by source"
)
def instability(results: Results, settings: Settings) -> Measured:
    """One row a source, series and tag value."""
    tags, keys = results.by_tags(settings.by), results.keys()
    asked = results.scores.filter(_IS_CHOICE & (pl.col("outcome") != "failed"))
    tests = asked.group_by("model", *TESTS, "choice").len().collect(engine="streaming")
    choices = sorted(tests.get_column("choice").drop_nulls().unique())
    if not choices:
        raise NotMeasurable("instability: no answer was read as one of several choices")
    rows_of, items = sources(tests), _items(results, keys, tags)
    by_source = {source: only for source, only in rows_of.items() if source == "all" or only is not rows_of["all"]}
    parts: list[pl.DataFrame] = []
    for models in batches(tests, len(choices) * len(by_source)):
        some = asked.filter(pl.col("model").is_in(models))
        of_item = _counted(some, keys, choices, by_source).join(items, on=_item_key(keys), how="left")
        known = of_item.filter(pl.col("text").not_().fill_null(True)).collect(engine="streaming")
        for source in by_source:
            rows = _of_source(known, source, [*keys, *tags], choices)
            table = _table(rows, [*keys, *tags], settings.level)
            parts.append(table.select(pl.lit(source).alias("source"), pl.all()))
    whole = pl.concat(parts).filter(pl.col("source") == "all")
    if not whole.get_column("n").sum():
        raise NotMeasurable(
            "instability: no choice item has two answers that were read; ask again with other templates, orders, "
            "letters or samples"
        )
    same = [whole.with_columns(pl.lit(source).alias("source")) for source in rows_of if source not in by_source]
    return Measured(pl.concat([*parts, *same]).sort("source", *keys, *tags), _notes(whole))


def _item_key(keys: Sequence[str]) -> list[str]:
    return ["benchmark", "item"] if "benchmark" in keys else ["item"]


def _items(results: Results, keys: Sequence[str], tags: Sequence[str]) -> pl.LazyFrame:
    """Data of the items, keyed as the scores are. Text items have no options."""
    types = results.scores.collect_schema()
    items = results.items.lazy()
    if "benchmark" not in keys:
        benchmark = results.scores.select(pl.col("benchmark").cast(pl.String)).head(1).collect().item()
        items = items.filter(pl.col("benchmark") == benchmark)
    return items.select(
        *(pl.col(name).cast(types[name]) for name in _item_key(keys)),
        *(*_KNOWN, *tags),
        pl.col("options").is_null().alias("text"),
    )


def _counted(
    tests: pl.LazyFrame, keys: Sequence[str], choices: Sequence[str], by_source: Mapping[str, pl.Expr]
) -> pl.LazyFrame:
    """One row per item: for each source the number of tests, counts of each choice, and accuracy."""
    columns: list[pl.Expr] = []
    for source, only in by_source.items():
        columns += [
            *(((pl.col("choice") == choice) & only).sum().alias(f"{source} {choice}") for choice in choices),
            only.sum().alias(f"{source} tests"),
            pl.when(only).then(pl.col("score")).mean().alias(f"{source} accuracy"),
        ]
    return tests.group_by(*keys, "item").agg(columns)


def _of_source(of_item: pl.DataFrame, source: str, keys: Sequence[str], choices: Sequence[str]) -> pl.LazyFrame:
    """Items tested twice or more; with fewer than two answers read they have no entropy."""
    columns = [pl.col(f"{source} {name}").alias(name) for name in (*choices, "tests", "accuracy")]
    rows = of_item.lazy().select(*keys, "item", *_KNOWN, *columns).filter(pl.col("tests") > 1)
    return rows.with_columns(
        pl.struct(*choices, "options")
        .map_batches(_entropies, return_dtype=pl.Struct(dict.fromkeys(_ENTROPIES, pl.Float64)), is_elementwise=True)
        .struct.unnest(),
        pl.sum_horizontal(choices).alias("read"),
        pl.coalesce("cluster", pl.col("item").cast(pl.String)),
    ).with_columns(pl.when(pl.col("read") > 1).then(pl.col(_ENTROPIES)))


def _entropies(rows: pl.Series) -> pl.Series:
    table = rows.struct.unnest()
    columns = entropies(table.drop("options").to_numpy(), table.get_column("options").cast(pl.Float64).to_numpy())
    return pl.DataFrame(dict(zip(_ENTROPIES, columns, strict=True)), nan_to_null=True).to_struct()


def _table(of_item: pl.LazyFrame, keys: Sequence[str], level: float) -> pl.DataFrame:
    rows = of_item.with_columns(
        pl.lit(1).alias("items"), pl.col("accuracy").is_between(0, 1).alias("accuracy binary")
    )
    means = mean_columns(rows, keys, _VALUES, ("tests", "read", "items"), level=level)
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
