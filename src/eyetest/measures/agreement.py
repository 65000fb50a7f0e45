"""Agreement: do models choose alike, do reviewers decide alike, beyond what chance would give?"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from eyetest.errors import InputError
from eyetest.measures.aligned import pivoted
from eyetest.measures.results import TESTS, Measured, NotMeasurable, Results, Settings, measure, split, table_of
from eyetest.measures.stats.agreement import Resampling, all_raters, cohen_pairs
from eyetest.measures.stats.intervals import IntervalEstimate

_VALUES: dict[str, type[pl.DataType]] = {
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
    {"pairs": (True, "also Cohen's kappa of every pair of models")},
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
    table = table_of(rows, **_VALUES).cast({name: chosen.schema[name] for name in families})
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
    return pl.DataFrame(rows, schema={"round": decisions.schema["round"], **_VALUES})


def _coefficients(
    given: pl.DataFrame, unit: Sequence[str], columns: tuple[str, str], settings: Settings
) -> list[dict[str, Any]]:
    """Rows of values: over all raters, then by pair. ``columns``: raters and ratings."""
    rater, label = columns
    units, raters, cells = pivoted(given, [*unit, "cluster"], [rater], label)
    ratings, names = cells.tolist(), raters.to_series().to_list()
    resampling = Resampling(units.get_column("cluster"), settings.level, settings.resamples, settings.seed)

    def row(coefficient: str, value: IntervalEstimate, *pair: str) -> dict[str, Any]:
        a, b = pair or (None, None)
        about = {"coefficient": coefficient, "a": a, "b": b}
        if value.n < FEWEST_ITEMS and coefficient != "observed":
            value = IntervalEstimate(None, None, None, value.n)
        return about | value.named("agreement") | {"n": value.n, "raters": len(pair) or len(names)}

    rows = [row(name, value) for name, value in all_raters(ratings, resampling).items()]
    if settings.own.get("pairs", True):
        for (first, second), kappa in cohen_pairs(ratings, resampling).items():
            rows.append(row("cohen", kappa, names[first], names[second]))
    return rows


MEASURES = (agreement,)
