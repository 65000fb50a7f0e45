"""Tables of scores: side by side on the same items, means with clustered intervals, adjusted p-values."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.measures.results import PROTOCOL, TAG, Results, split
from eyetest.measures.stats.intervals import ClusteredMeans, Floats, bounds
from eyetest.measures.stats.paired import Paired, holm, is_verdict, paired
from eyetest.records import BLIND_MODALITIES, Condition

Protocol = tuple[str, ...]  # one value for each axis of `PROTOCOL`
_USUAL = Condition()
_NEARLY_ALL = 0.9  # a modality with fewer answered items than this share of another's is no rival to it


@dataclass(frozen=True)
class SideBySide:
    """Scores of items × columns, nan where missing. ``key``: what they share, ``columns``: what not."""

    key: Mapping[str, Any]
    columns: Sequence[tuple[Any, ...]]
    scores: Floats
    clusters: NDArray[np.str_]
    items: Sequence[str] = ()

    def table(self, columns: Sequence[tuple[Any, ...]]) -> Floats:
        """These columns in this order; a missing one is nan."""
        index = {column: i for i, column in enumerate(self.columns)}
        nothing = np.full(len(self.scores), np.nan)
        return np.column_stack([self.scores[:, index[c]] if c in index else nothing for c in columns])


def side_by_side(results: Results, around: Sequence[str], across: Sequence[str] = ("model",)) -> list[SideBySide]:
    """One array for each value of ``around``, with a column for each value of ``across``; tests are averaged."""
    tags = [name for name in across if name.startswith(TAG)]
    scores = results.per_item([*around, *across])
    scores = scores.drop_nulls(tags) if tags else scores
    sides = []
    for key, part in split(scores, around):
        rows, columns, table = pivoted(part, ("item", "cluster"), across, "score")
        clusters = rows.get_column("cluster").to_numpy().astype(np.str_)
        sides.append(SideBySide(key, columns.rows(), table, clusters, rows.get_column("item").to_list()))
    return sides


@dataclass(frozen=True)
class DistinctBenchmarks:
    """Benchmarks that may be averaged: none of them shares an item with another one."""

    names: Sequence[str]
    repeats: Mapping[str, str]
    """The others, each with a larger one of which it has items: its source, or another refinement."""

    def is_shared(self, name: str) -> bool:
        """Whether a benchmark shares items with another one."""
        return name in self.repeats or name in self.repeats.values()

    @property
    def notes(self) -> tuple[str, ...]:
        """Which benchmarks are left out of a mean over benchmarks, and why."""
        return tuple(
            f"{name} has items of {source}, and is in no mean over benchmarks"
            for name, source in self.repeats.items()
        )


def distinct_benchmarks(results: Results) -> DistinctBenchmarks:
    """The benchmarks with scores that share no item (by id and content) with a larger one, by their names."""
    scored = results.scores.select(pl.col("benchmark").cast(pl.String).unique()).collect(engine="streaming")
    items = results.items.drop_nulls("content").select("benchmark", pl.coalesce("own_id", "item"), "content")
    contents: dict[str, set[tuple[str, ...]]] = {name: set() for name in scored.to_series().sort()}
    for (name,), part in items.group_by("benchmark"):
        if name in contents:
            contents[str(name)] = set(part.drop("benchmark").rows())
    names, repeats = list[str](), dict[str, str]()
    for name in sorted(contents, key=lambda name: (-len(contents[name]), name)):
        source = next((larger for larger in names if contents[larger] & contents[name]), None)
        if source is None:
            names.append(name)
        else:
            repeats[name] = source
    return DistinctBenchmarks(sorted(names), dict(sorted(repeats.items())))


def only_benchmarks(results: Results, names: Sequence[str]) -> Results:
    """The results on some benchmarks alone."""
    is_wanted = pl.col("benchmark").cast(pl.String).is_in(names)
    return replace(results, scores=results.scores.filter(is_wanted), items=results.items.filter(is_wanted))


def pivoted(
    rows: pl.DataFrame, units: Sequence[str], across: Sequence[str], value: str
) -> tuple[pl.DataFrame, pl.DataFrame, NDArray[Any]]:
    """The sorted values of ``units`` and of ``across``, and the value of each pair of both (nan if none)."""
    names, heads = (rows.select(columns).unique().sort(columns) for columns in (units, across))
    placed = rows.join(names.with_row_index("__row"), on=units, nulls_equal=True, maintain_order="left").join(
        heads.with_row_index("__column"), on=across, nulls_equal=True, maintain_order="left"
    )
    values = placed.get_column(value)
    table = np.full((len(names), len(heads)), np.nan, float if values.dtype.is_numeric() else object)
    table[placed.get_column("__row").to_numpy(), placed.get_column("__column").to_numpy()] = values.to_numpy()
    return names, heads, table


def like(protocols: Sequence[Protocol], wanted: Protocol) -> list[Protocol]:
    """The protocols that differ in modality alone; or else those of the only other way of asking, then named."""
    same = [protocol for protocol in protocols if protocol[1:] == wanted[1:]]
    return same or (list(protocols) if len({protocol[1:] for protocol in protocols}) == 1 else [])


def protocol_label(protocol: Protocol | None) -> str | None:
    """Short form of a protocol: its modality, its ask, and whatever else is not as usual."""
    if protocol is None:
        return None
    axes = zip(PROTOCOL, protocol, strict=True)
    return " ".join(value for axis, value in axes if axis in ("modality", "ask") or value != getattr(_USUAL, axis))


ADJUSTED = "p_adjusted"


def mean_columns(
    rows: pl.LazyFrame,
    keys: Sequence[str],
    values: Sequence[str],
    sums: Sequence[str] = (),
    signed: Sequence[str] = (),
    level: float = 0.95,
) -> pl.DataFrame:
    """By keys: of each value its mean, interval, ``VALUE_n`` and ``VALUE_clusters``; of each sum its sum; nulls left
    out. ``signed`` values are no shares even where all are 0 or 1; ``VALUE binary``: whether a row is a mean of
    verdicts. Clusters are sorted because sums of fractions depend on order.
    """
    known = {f"{value} binary" for value in values} & set(rows.collect_schema().names())
    of_cluster = rows.group_by(*keys, "cluster").agg(
        *(part for value in values for part in _in_cluster(value, known)), pl.col(list(sums)).sum()
    )
    in_order = of_cluster.collect(engine="streaming").sort(f"{value} {part}" for value in values for part in "ms")
    tally = (
        in_order.group_by(*keys)
        .agg(*(part for value in values for part in _over_clusters(value)), pl.col(list(sums)).sum())
        .sort(*keys)
    )
    columns: list[pl.Expr | pl.Series] = []
    for value in values:
        parts = ClusteredMeans(*(tally.get_column(f"{value} {part}").to_numpy() for part in ClusteredMeans._fields))
        low, high = bounds(parts._replace(binary=parts.binary & (value not in signed)), level)
        columns += [
            (pl.col(f"{value} total") / pl.col(f"{value} n")).alias(value),
            pl.Series(f"{value}_low", low, nan_to_null=True),
            pl.Series(f"{value}_high", high, nan_to_null=True),
            pl.col(f"{value} n").cast(pl.Int64).alias(f"{value}_n"),
            pl.col(f"{value} clusters").cast(pl.Int64).alias(f"{value}_clusters"),
        ]
    table = tally.select(*keys, *columns, *sums)
    return table.with_columns(
        pl.when(pl.col(f"{value}_n") > 0).then(pl.col(f"{value}{end}"))
        for value in values
        for end in ("", "_low", "_high")
    )


def mean_table(
    rows: pl.LazyFrame, keys: Sequence[str], values: Sequence[str], level: float, **more: Sequence[str]
) -> pl.DataFrame:
    """The means with their intervals, then ``n`` and ``clusters`` of the first, and sums: what most tables are."""
    means = mean_columns(rows, keys, values, **more, level=level)
    bounded = [value + end for value in values for end in ("", "_low", "_high")]
    counts = [pl.col(f"{values[0]}_{count}").alias(count) for count in ("n", "clusters")]
    return means.select(*keys, *bounded, *counts, *more.get("sums", ()))


def uneven_items(table: pl.DataFrame, around: Sequence[str]) -> list[str]:
    """A note where models that agree in some columns have different numbers of items (``n``)."""
    spans = [
        part.select(pl.col("n").min().alias("least"), pl.col("n").max()).row(0) for _, part in split(table, around)
    ]
    uneven = [f"n from {least:,} to {most:,}" for least, most in spans if least < most]
    return [f"models rest on different items ({uneven[0]}): see differences, which pairs"] if uneven else []


def paired_columns(rows: pl.DataFrame, first: str, second: str, level: float) -> Paired:
    """How two columns of scores compare, row by row; null is missing. Rows have a ``cluster``."""
    a, b, clusters = (rows.get_column(name).to_numpy() for name in (first, second, "cluster"))
    return paired(a, b, clusters, level)


def _in_cluster(value: str, known: Container[str]) -> Iterator[pl.Expr]:
    column, binary = pl.col(value), f"{value} binary"
    yield column.sum().cast(pl.Float64).alias(f"{value} s")
    yield column.count().cast(pl.Float64).alias(f"{value} m")
    yield (pl.col(binary) if binary in known else is_verdict(column)).all().alias(binary)


def _over_clusters(value: str) -> Iterator[pl.Expr]:
    """Values of `ClusteredMeans.of` from arrays."""
    s, m = pl.col(f"{value} s"), pl.col(f"{value} m")
    clusters, others = (m > 0).sum().cast(pl.Float64), m.sum() - m
    moved, odds = (s - s.sum() / m.sum() * m) / others, m / others
    squares = (odds * odds).sum()
    freedom = odds.sum() ** 2 / (squares + squares**2 - (odds * odds * odds * odds).sum())
    yield s.sum().alias(f"{value} total")
    yield m.sum().alias(f"{value} n")
    yield clusters.alias(f"{value} clusters")
    yield ((moved * moved).sum() * (clusters - 1) / clusters).alias(f"{value} variance")
    yield (1 + freedom).alias(f"{value} effective")
    yield ((m <= 1).all() & is_verdict(s).all()).alias(f"{value} independent")
    yield pl.col(f"{value} binary").all()


def with_adjusted(table: pl.DataFrame, families: Sequence[str]) -> pl.DataFrame:
    """The table with ``p_adjusted`` after its p: over all rows that agree in some columns, or over all rows."""
    adjusted: list[float | None] = [None] * len(table)
    for _, part in split(table.with_row_index("row"), families):
        for row, value in zip(part.get_column("row"), holm(part.get_column("p").to_list()), strict=True):
            adjusted[row] = value
    after = table.columns.index("p") + 1
    return table.clone().insert_column(after, pl.Series(ADJUSTED, adjusted, pl.Float64))


def strictest(columns: Mapping[str, Floats]) -> str:
    """The modality with the most right answers on the items that all have; nan where one is missing."""
    counts = {modality: np.count_nonzero(~np.isnan(column)) for modality, column in columns.items()}
    most = max(counts.values())
    rivals = sorted((modality for modality, n in counts.items() if n >= _NEARLY_ALL * most), key=way_rank)
    table = np.column_stack([columns[modality] for modality in rivals])
    shared = table[~np.isnan(table).any(axis=1)]
    if not len(shared):
        return max(rivals, key=lambda modality: counts[modality])
    return rivals[int(np.argmax(shared.mean(axis=0)))]


def way_rank(way: str) -> tuple[int, str]:
    """The order of ways of asking without the image."""
    modality = way.partition(" ")[0]
    return (BLIND_MODALITIES.index(modality) if modality in BLIND_MODALITIES else len(BLIND_MODALITIES)), way
