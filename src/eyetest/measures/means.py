"""Common parts of tables of estimates: means with clustered intervals, and adjusted p-values."""

from collections.abc import Container, Iterator, Sequence

import polars as pl

from eyetest.measures.results import split
from eyetest.measures.stats.intervals import ClusteredMeans, bounds
from eyetest.measures.stats.paired import WITHOUT_SPREAD, Paired, holm, is_verdict, paired, with_imaginary_items

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
    told = {f"{value} binary" for value in values} & set(rows.collect_schema().names())
    of_cluster = rows.group_by(*keys, "cluster").agg(
        *(part for value in values for part in _in_cluster(value, told)), pl.col(list(sums)).sum()
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


def compared(rows: pl.DataFrame, one: str, other: str, level: float) -> Paired:
    """How two columns of shares of right answers compare, row by row. Rows have a ``cluster``."""
    a, b, clusters = (rows.get_column(name).to_numpy() for name in (one, other, "cluster"))
    pair = with_imaginary_items(paired(a, b, clusters, level), level)
    level_within_rounding = pair.difference is not None and abs(pair.difference) < WITHOUT_SPREAD
    return pair._replace(difference=0.0) if level_within_rounding else pair


def _in_cluster(value: str, told: Container[str]) -> Iterator[pl.Expr]:
    column, binary = pl.col(value), f"{value} binary"
    yield column.sum().cast(pl.Float64).alias(f"{value} s")
    yield column.count().cast(pl.Float64).alias(f"{value} m")
    yield (pl.col(binary) if binary in told else is_verdict(column)).all().alias(binary)


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


def with_adjusted(table: pl.DataFrame, families: Sequence[str], p: str = "p") -> pl.DataFrame:
    """The table with ``p_adjusted`` after its p: over all rows that agree in some columns, or over all rows."""
    adjusted: list[float | None] = [None] * len(table)
    for _, part in split(table.with_row_index("row"), families):
        for row, value in zip(part.get_column("row"), holm(part.get_column(p).to_list()), strict=True):
            adjusted[row] = value
    after = table.columns.index(p) + 1
    return table.clone().insert_column(after, pl.Series(ADJUSTED, adjusted, pl.Float64))
