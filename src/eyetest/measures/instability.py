"""How choices depend on the way of asking: repeated tests of an item, and turns of a dialogue."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from eyetest.measures.results import TAG, TESTS, Measured, NotMeasurable, Results, Settings, measure, split, table_of
from eyetest.measures.stats.paired import is_verdict
from eyetest.measures.stats.ranking import entropies, slope_within
from eyetest.measures.tables import mean_columns, paired_columns
from eyetest.records import DIALOGUE, GIVEN, TURN, Asked
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
    left = 0
    for model, rows in tests.group_by("model").agg(pl.col("len").sum()).sort("model").rows():
        if rows > left:
            groups.append([])
            left = min(_MOST_ROWS, _MOST_CELLS // columns)
        groups[-1].append(model)
        left -= rows
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


def _of_source(of_item: pl.DataFrame, source: str, keys: Sequence[str], choices: Sequence[str]) -> pl.DataFrame:
    """Items tested twice or more; with fewer than two answers read they have no entropy."""
    columns = [pl.col(f"{source} {name}").alias(name) for name in (*choices, "tests", "accuracy")]
    rows = of_item.select(*keys, "item", *_KNOWN, *columns).filter(pl.col("tests") > 1)
    found = entropies(rows.select(choices).to_numpy(), rows.get_column("options").cast(pl.Float64).to_numpy())
    return rows.with_columns(
        *(pl.Series(name, values, nan_to_null=True) for name, values in zip(_ENTROPIES, found, strict=True)),
        pl.sum_horizontal(choices).alias("read"),
        pl.coalesce("cluster", pl.col("item").cast(pl.String)),
    ).with_columns(pl.when(pl.col("read") > 1).then(pl.col(_ENTROPIES)))


def _table(of_item: pl.DataFrame, keys: Sequence[str], level: float) -> pl.DataFrame:
    rows = of_item.with_columns(
        pl.lit(1).alias("items"), pl.col("accuracy").is_between(0, 1).alias("accuracy binary")
    )
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
