"""Models against each other: paired differences, their places, and each pair in a sentence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import polars as pl

from eyetest.errors import counted
from eyetest.measures import Measured, NotMeasurable, Results, Settings
from eyetest.measures.ranks import ranks
from eyetest.measures.results import measure, narrowed, table_of, values_of
from eyetest.measures.stats.paired import Paired, every_pair, holm, smallest_difference, smallest_shift
from eyetest.measures.tables import SideBySide, side_by_side

POWER = 0.8  # of the smallest detectable difference
RIGHT = 0.5  # the mean score over its tests from which on an item counts as right
_TYPES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("p", "p_adjusted", "detectable", "detectable_adjusted"), pl.Float64),
    **{"test": pl.String, "only_a": pl.Int64, "only_b": pl.Int64},
}


@measure(
    "differences",
    "paired differences of models with intervals, tests, and the smallest difference that could be seen",
    pools=True,
)
def differences(results: Results, settings: Settings) -> Measured:
    """One row a pair: a − b. Holm's adjustment and ``detectable_adjusted`` are over the pairs of one family."""
    families = results.families(settings.by)
    return Measured(_pairs(side_by_side(results, families), families, settings.level))


def _pairs(parts: Iterable[SideBySide], families: Sequence[str], level: float) -> pl.DataFrame:
    """The pairs of models of each part, in the order of its columns."""
    rows = []
    for part in parts:
        pairs = [
            (*(part.columns[at][0] for at in (first, second)), pair)
            for first, second, pair in every_pair(part.scores, part.clusters, level)
            if pair.n
        ]
        levels = (level, 1 - (1 - level) / max(len(pairs), 1))
        for (a, b, pair), adjusted in zip(pairs, holm([pair.p for *_, pair in pairs]), strict=True):
            alone, among_all = (_detectable(pair, level) for level in levels)
            row = {**part.key, "a": a, "b": b, "a_mean": pair.a, "b_mean": pair.b, **pair.gap.named("difference")}
            row |= {"p": pair.p, "p_adjusted": adjusted}
            test = "mcnemar" if pair.binary else "paired t"
            row |= {"test": None if pair.p is None else test, "only_a": pair.only_a, "only_b": pair.only_b}
            row |= {"detectable": alone, "detectable_adjusted": among_all, "n": pair.n, "clusters": pair.clusters}
            rows.append(row)
    if not rows:
        raise NotMeasurable("differences: no two models answered the same items under one protocol; ask another one")
    return table_of(rows, **_TYPES, **dict.fromkeys(families, pl.String))


def _detectable(pair: Paired, level: float) -> float | None:
    if pair.binary and pair.worth is not None and pair.spread is not None:
        return smallest_difference(pair.worth, pair.spread, POWER, level)
    return None if pair.error is None else smallest_shift(pair.error, pair.effective, POWER, level)


@dataclass(frozen=True)
class Contest:
    """The ranking, and the pairs with a ``verdict``; p-values are adjusted for all pairs tested ``together``."""

    ranking: pl.DataFrame
    pairs: pl.DataFrame
    families: tuple[str, ...]
    together: int
    notes: tuple[str, ...] = ()


def contest(results: Results, models: Sequence[str], settings: Settings) -> Contest:
    """Rank models, or the named ones, and compare all pairs."""
    results = narrowed(results, [("model", models)]) if models else results
    scored = values_of(replace(results, scores=results.scores.filter(pl.col("score").is_not_null())), "model")
    if not scored:
        raise NotMeasurable("compare: no answer has a score")
    if len(scored) < 2:
        raise NotMeasurable(f"compare: only {scored[0]} has scores, and it takes two; name or ask another model")
    families, ranked = tuple(results.families()), ranks.measure(results, settings)
    pairs = _pairs(_best_first(results, families, ranked.table), families, settings.level)
    together = Counter(_family(row, families) for row in pairs.iter_rows(named=True))
    most = results.scores.select(pl.col("score").max()).collect(engine="streaming").item()
    sentences = []
    for row in pairs.iter_rows(named=True):
        about = _family(row, families)
        terms = Terms(settings.level, together[about], in_points=most <= 1)
        sentences.append(": ".join([*([", ".join(about)] if about else []), verdict(row, terms)]))
    pairs = pairs.with_columns(pl.Series("verdict", sentences, pl.String))
    return Contest(ranked.table, pairs, families, max(together.values()), ranked.notes)


def flips_of(results: Results, contested: Contest) -> pl.DataFrame:
    """The items that only one model of a pair has right, for each pair in the table, in its order."""
    families = [*contested.families]
    pairs = contested.pairs.select(*families, "a", "b").with_row_index("pair").lazy()
    scores = results.item_means([*families, "model"]).with_columns(pl.col(*families, "model", "item").cast(pl.String))
    for side in "ab":
        own = scores.select(*families, pl.col("model").alias(side), "item", pl.col("score").alias(f"{side}_score"))
        pairs = pairs.join(own, on=[*families, side, *(["item"] if side == "b" else [])])
    a, b = (pl.col(f"{side}_score") >= RIGHT for side in "ab")
    only = pl.when(a & ~b).then(pl.col("a")).when(b & ~a).then(pl.col("b")).alias("only")
    shared = pairs.with_columns(only, pl.len().over("pair").cast(pl.Int64).alias("n"))
    flips = pl.len().over("pair", "only").cast(pl.Int64).alias("flips")
    kept = shared.drop_nulls("only").sort("pair", pl.col("only") == pl.col("b"), "item")
    about = (*families, "a", "b", "only", "item", "a_score", "b_score")
    return kept.select(*about, flips, "n").collect(engine="streaming")


def _family(row: Mapping[str, Any], families: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in families)


def _best_first(results: Results, families: Sequence[str], ranking: pl.DataFrame) -> Iterator[SideBySide]:
    """The parts in the order of their names, each with its models as they are ranked."""
    models: dict[tuple[str, ...], list[tuple[str]]] = {}
    for row in ranking.iter_rows(named=True):
        models.setdefault(_family(row, families), []).append((row["model"],))
    for part in sorted(side_by_side(results, families), key=lambda part: _family(part.key, families)):
        columns = models[_family(part.key, families)]
        yield replace(part, columns=columns, scores=part.table(columns))


class Terms(NamedTuple):
    """Basis of a verdict beside its pair: ``pairs`` counts those that were tested together."""

    level: float = 0.95
    pairs: int = 1
    in_points: bool = True


def verdict(pair: Mapping[str, Any], terms: Terms) -> str:
    """A row of `Differences` as a sentence. ``in_points``: scores from 0 to 1 are shown from 0 to 100."""
    items = counted(pair["n"], "item")
    if pair["clusters"] != pair["n"]:
        items += f" in {counted(pair['clusters'], 'cluster')}"
    return f"{_lead(pair, terms)} on {items}: {_judgement(pair, terms)}"


def _lead(pair: Mapping[str, Any], terms: Terms) -> str:
    gap = pair["difference"]
    leader, other = (pair["a"], pair["b"]) if gap >= 0 else (pair["b"], pair["a"])
    known = [pair[name] for name in ("difference_low", "difference_high") if pair[name] is not None]
    bounds = sorted(bound if gap >= 0 else -bound for bound in known)
    interval = f" [{', '.join(_number(bound, terms) for bound in bounds)}]" if bounds else ""
    if gap == 0:
        return f"{leader} and {other} are level{interval}"
    return f"{leader} leads {other} by {_number(abs(gap), terms, unit=True)}{interval}"


def _judgement(pair: Mapping[str, Any], terms: Terms) -> str:
    alone, adjusted = pair["p"], pair["p_adjusted"]
    if alone is None or pair["clusters"] < 2:
        return "too little to test"
    after = f" after Holm's correction for {terms.pairs:,} pairs" if terms.pairs > 1 else ""
    if adjusted < 1 - terms.level:
        return f"a clear lead (p = {adjusted:.2g}{after})"
    called = "too close to call"
    if alone < 1 - terms.level:
        called += f" among so many (p = {alone:.2g} alone, {adjusted:.2g}{after})"
    return f"{called}; {_detectable_words(pair, terms)}"


def _detectable_words(pair: Mapping[str, Any], terms: Terms) -> str:
    """The smallest detectable difference, in words."""
    smallest = pair["detectable_adjusted"]
    if pair["only_a"] == 0 and pair["only_b"] == 0:
        return "both are right on the same items"
    at = f"at {100 * POWER:g} % power"
    if smallest is None or (terms.in_points and smallest > 1):
        return f"too few items differ to find any lead {at}"
    return f"this benchmark can tell {_number(smallest, terms, unit=True)} apart {at}"


def _number(value: float, terms: Terms, *, unit: bool = False) -> str:
    digits = f"{100 * value:.1f}" if terms.in_points else f"{value:.3g}"
    plain = digits.replace("-", "−") if float(digits) else digits.removeprefix("-")
    return f"{plain} points" if unit and terms.in_points else plain


MEASURES = (differences,)
