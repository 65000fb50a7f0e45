"""Agreement: do models choose alike, do reviewers decide alike, beyond what chance would give?"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyetest.errors import InputError
from eyetest.measures.results import TESTS, Measure, Measured, NotMeasurable, Own, Results, Settings
from eyetest.measures.stats.agreement import Resampling, cohen_pairs, fleiss, gwet, krippendorff, observed
from eyetest.measures.stats.intervals import Estimate

_VALUES = {
    "coefficient": pl.String,
    "a": pl.String,
    "b": pl.String,
    "agreement": pl.Float64,
    "agreement_low": pl.Float64,
    "agreement_high": pl.Float64,
    "n": pl.Int64,
    "raters": pl.Int64,
}
_DECISION = ("item", "round", "reviewer", "decision")


class Agreement(Measure):
    """How far models choose the same option of the same items."""

    name = "agreement"
    summary = "how far models choose alike beyond chance: Fleiss, Krippendorff, Gwet over all, Cohen by pair"
    own: ClassVar[Own] = {
        "pairs": (True, "also Cohen's kappa of every pair of models"),
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """Coefficients of each protocol and benchmark. An answer without a choice is a rating that is missing."""
        tags = results.by_tags(settings.by)
        families = results.families(settings.by)
        unit = ["item", *results.varied(TESTS)]
        chosen = (
            results.with_items("cluster", *tags)
            .select(*dict.fromkeys((*families, "model", *unit, "cluster", "choice")))
            .drop_nulls("choice")
            .sort(*families, *unit)
            .collect(engine="streaming")
        )
        rows = []
        for family, part in _families(chosen, families):
            if part.get_column("model").n_unique() > 1:
                found = _coefficients(part, unit, ("model", "choice"), settings)
                rows += [(*family, *row) for row in found]
        if not rows:
            raise NotMeasurable("agreement: needs choices of at least two models under one protocol; ask another one")
        schema = {name: chosen.schema[name] for name in families} | _VALUES
        return Measured(pl.DataFrame(rows, schema=schema, orient="row"))


def decisions_agreement(decisions: pl.DataFrame, settings: Settings | None = None) -> pl.DataFrame:
    """How far people agree, by round, from a table of decisions. A person's last decision on an item counts."""
    missing = [name for name in _DECISION if name not in decisions.columns]
    if missing:
        raise InputError(f"decisions: found no column {', '.join(missing)}, expected {', '.join(_DECISION)}")
    ordered = decisions.sort("time", maintain_order=True) if "time" in decisions.columns else decisions
    last = ordered.unique(["item", "round", "reviewer"], keep="last", maintain_order=True).drop_nulls("decision")
    clustered = last.with_columns(pl.col("item").alias("cluster")).sort("round", "item", maintain_order=True)
    rows = []
    for family, part in _families(clustered, ["round"]):
        rows += [
            (*family, *row) for row in _coefficients(part, ["item"], ("reviewer", "decision"), settings or Settings())
        ]
    return pl.DataFrame(rows, schema={"round": decisions.schema["round"], **_VALUES}, orient="row")


def _coefficients(
    given: pl.DataFrame, unit: Sequence[str], columns: tuple[str, str], settings: Settings
) -> Iterator[tuple[Any, ...]]:
    """Rows of values: over all raters, then by pair."""
    rater, label = columns
    cells, clusters, names = _laid_out(given, unit, rater, label)
    ratings = cells.tolist()
    resampling = Resampling(clusters, settings.level, settings.resamples, settings.seed)

    def row(coefficient: str, found: Estimate, a: str | None = None, b: str | None = None) -> tuple[Any, ...]:
        raters = len(names) if a is None else 2
        return (coefficient, a, b, found.value, found.low, found.high, found.n, raters)

    yield row("observed", observed(ratings, resampling))
    yield row("fleiss", fleiss(ratings, resampling))
    yield row("krippendorff", krippendorff(ratings, resampling=resampling))
    yield row("gwet", gwet(ratings, resampling=resampling))
    if settings.own.get("pairs", True):
        for (first, second), found in cohen_pairs(ratings, resampling).items():
            yield row("cohen", found, names[first], names[second])


class _LaidOut(NamedTuple):
    """A label of each unit (row) and rater (column), None where there is none; the clusters of the units."""

    cells: NDArray[np.object_]
    clusters: NDArray[Any]
    names: list[str]


def _families(table: pl.DataFrame, keys: Sequence[str]) -> Iterator[tuple[tuple[Any, ...], pl.DataFrame]]:
    """The parts of a table by some keys, in its order; without keys the whole."""
    if keys:
        yield from table.group_by(*keys, maintain_order=True)
    else:
        yield (), table


def _laid_out(long: pl.DataFrame, unit: Sequence[str], across: str, value: str) -> _LaidOut:
    """A table with a row for each unit and a column for each of what stands in ``across``, both sorted."""
    units = long.select(*unit, "cluster").unique(unit).sort(*unit).with_row_index("__row")
    rows = long.select(*unit).join(units, on=unit, how="left", nulls_equal=True, maintain_order="left")
    names = sorted(set(long.get_column(across)))
    column = {name: i for i, name in enumerate(names)}
    cells = np.full((len(units), len(names)), None, object)
    columns = [column[name] for name in long.get_column(across)]
    cells[rows.get_column("__row").to_numpy(), columns] = long.get_column(value).to_list()
    return _LaidOut(cells, units.get_column("cluster").rank("dense").to_numpy(), names)


MEASURES = (Agreement(),)
