"""Position preference: which place a model picks more often than the right choice is found there."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from eyetest.errors import param
from eyetest.measures.means import mean_columns
from eyetest.measures.results import Measured, NotMeasurable, Results, Settings
from eyetest.measures.together import with_adjusted

_NOTE = "only answers to options in the order as written count: where another order put a choice is not in the table"


class Positions:
    """How often each place is picked, against how often the gold is there."""

    name = "positions"
    summary = "which place each model picks, against where the right choices are"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {}

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a series, tag value and place; ``total_variation`` and ``p`` are of all places together.

        ``p_adjusted`` is of the place by itself, by Holm's rule over all places of all models.
        """
        if not results.items.get_column("gold").is_not_null().any():
            raise NotMeasurable(f"positions: no right choice is known; name the benchmark with {param('bench')}")
        tags = results.by_tags(settings.by)
        keys = [*results.keys(), *tags]
        rows = results.with_items("cluster", "gold", *tags).filter(
            pl.col("order") == 0,
            pl.col("method") == "generate",
            pl.col("choice").is_not_null(),
            pl.col("gold").is_not_null(),
        )
        seen = rows.select(pl.col("choice", "gold").cast(pl.String).unique().implode()).collect(engine="streaming")
        places = sorted({*seen.item(0, "choice"), *seen.item(0, "gold")})
        if not places:
            raise NotMeasurable("positions: no answer was read to options in the order as written (order 0)")
        of_item = rows.group_by(*keys, "cluster", "item", "gold").agg(
            (pl.col("choice") == place).mean().alias(f"picked {place}") for place in places
        )
        of_item = of_item.with_columns(
            (pl.col("gold") == place).cast(pl.Float64).alias(f"gold {place}") for place in places
        ).with_columns(
            (pl.col(f"picked {place}") - pl.col(f"gold {place}")).alias(f"difference {place}") for place in places
        )
        return Measured(_table(of_item, keys, places, settings.level), (_NOTE,))


def _table(of_item: pl.LazyFrame, keys: Sequence[str], places: Sequence[str], level: float) -> pl.DataFrame:
    gaps = [f"difference {place}" for place in places]
    values = [f"{kind} {place}" for kind in ("picked", "gold") for place in places]
    means = mean_columns(of_item, keys, [*values, *gaps], signed=gaps, level=level)
    of_cluster = of_item.group_by(*keys, "cluster").agg(pl.col(gaps).sum()).sort(*keys, "cluster")
    tests = {
        key: (homogeneity(each := part.select(gaps).to_numpy()), *(homogeneity(column[:, None]) for column in each.T))
        for key, part in of_cluster.collect(engine="streaming").group_by(*keys, maintain_order=True)
    }
    found = [tests[key] for key in means.select(keys).rows()]
    apart = pl.sum_horizontal(pl.col(gap).abs() for gap in gaps) / 2
    rows = means.with_columns(
        apart.alias("total_variation"),
        *(pl.Series(name, p, pl.Float64) for name, p in zip(["p", *places], zip(*found, strict=True), strict=True)),
    )
    by_place = [
        rows.select(
            *keys,
            pl.lit(place).alias("place"),
            pl.col(f"picked {place}").alias("picked"),
            pl.col(f"gold {place}").alias("gold"),
            *(pl.col(f"difference {place}{end}").alias(f"difference{end}") for end in ("", "_low", "_high")),
            *("total_variation", "p"),
            pl.col(place).alias("of place"),
            pl.col(f"difference {place}_n").alias("n"),
        )
        for place in places
    ]
    families = [key for key in keys if key != "model"]
    return with_adjusted(pl.concat(by_place).sort(*keys, "place"), families, "of place").drop("of place")


def homogeneity(gaps: NDArray[np.float64]) -> float | None:
    """The chance of gaps like these, were no place preferred: Stuart and Maxwell's test, a row a cluster.

    A row holds, for each place, how often it was picked less how often the gold was there. Where every cluster is one
    answer this is the usual test. None where nothing was ever picked that was not the gold.
    """
    covariance = gaps.T @ gaps
    rank = int(np.linalg.matrix_rank(covariance))
    if not rank:
        return None
    total = gaps.sum(axis=0)
    return float(stats.chi2.sf(total @ np.linalg.pinv(covariance, hermitian=True) @ total, rank))


MEASURES = (Positions(),)
