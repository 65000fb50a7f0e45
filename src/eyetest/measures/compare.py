"""Models against each other: paired differences, their places, and each pair in one plain sentence."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from eyetest.errors import InputError, nearest, short
from eyetest.measures.aligned import SideBySide, side_by_side
from eyetest.measures.ranks import Ranks
from eyetest.measures.results import PROTOCOL, Measured, NotMeasurable, Results, Settings
from eyetest.measures.settings import narrowed
from eyetest.measures.stats.paired import Paired, against, bootstrapped, holm, smallest_difference, smallest_shift
from eyetest.wording import counted

_VALUES = {
    "a_mean": pl.Float64,
    "b_mean": pl.Float64,
    "difference": pl.Float64,
    "difference_low": pl.Float64,
    "difference_high": pl.Float64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "test": pl.String,
    "only_a": pl.Int64,
    "only_b": pl.Int64,
    "detectable": pl.Float64,
    "detectable_adjusted": pl.Float64,
    "n": pl.Int64,
    "clusters": pl.Int64,
}


RIGHT = 0.5
"""The mean score over its tests from which on an item counts as right."""


_BETWEEN_MODELS: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("a", "b", "only", "item"), pl.String),
    **dict.fromkeys(("a_score", "b_score"), pl.Float64),
    **dict.fromkeys(("flips", "n"), pl.Int64),
}


class Differences:
    """Pairs of models under one protocol, on the items that both answered."""

    name = "differences"
    summary = "paired differences of models with intervals, tests, and the smallest difference that could be seen"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {
        "models": ("", "compare only these models: A,B"),
        "against": ("", "compare every model with this one"),
        "power": (0.8, "with what chance the smallest detectable difference would be found"),
        "bootstrap": (False, "bootstrap what is not right or wrong, in the place of Student's interval and test"),
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a pair: a − b. Holm's adjustment is over the pairs of one benchmark, protocol and tag value.

        ``detectable`` is for a test of one pair, ``detectable_adjusted`` for one of so many, whatever the others say.
        """
        tags = results.by_tags(settings.by)
        families = [*results.varied(("benchmark", *PROTOCOL)), *tags]
        parts = side_by_side(results, families)
        power = float(settings.own.get("power", 0.8))
        if not 0 < power < 1:
            raise InputError(f"power: found {power}, expected a share between 0 and 1")
        wanted = pairs_of(sorted({model for part in parts for (model,) in part.columns}), settings.own)
        rows = []
        for part in parts:
            found = list(_compared(part, wanted, settings))
            adjusted = holm([pair.p for _, _, pair in found])
            levels = (settings.level, 1 - (1 - settings.level) / max(len(found), 1))
            for (a, b, pair), p in zip(found, adjusted, strict=True):
                detectable = [_detectable(pair, power, level) for level in levels]
                rows.append(
                    (*part.key.values(), a, b, *_values(pair, p, settings), *detectable, pair.n, pair.clusters)
                )
        if not rows:
            raise NotMeasurable(
                "differences: no two models answered the same items under one protocol; ask another one"
            )
        schema = dict.fromkeys((*families, "a", "b"), pl.String) | _VALUES
        return Measured(pl.DataFrame(rows, schema=schema, orient="row"))


def pairs_of(models: Sequence[str], own: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The pairs to compare; a reference is always the second of its pair."""
    named = own.get("models", "")
    words = [name.strip() for name in named.split(",") if name.strip()] if isinstance(named, str) else named
    chosen = list(dict.fromkeys(words))
    reference = own.get("against", "")
    for name in (*chosen, *([reference] if reference else [])):
        if name not in models:
            raise InputError(f"no scores of model {short(name)}; {nearest(name, models)}")
    if len(chosen) == 1 and not reference:
        raise InputError(f"models: found only {short(chosen[0])}, expected at least two names: A,B")
    chosen = chosen or list(models)
    if reference:
        return [(name, reference) for name in chosen if name != reference]
    return list(combinations(chosen, 2))


def _compared(
    part: SideBySide, wanted: Sequence[tuple[str, str]], settings: Settings
) -> Iterator[tuple[str, str, Paired]]:
    """Those of the pairs that share items."""
    column = {model: i for i, (model,) in enumerate(part.columns)}
    clusters = np.unique(part.clusters, return_inverse=True)[1]
    seconds: dict[str, list[str]] = {}
    for a, b in wanted:
        if a in column and b in column:
            seconds.setdefault(a, []).append(b)
    for a, others in seconds.items():
        mine, rivals = part.scores[:, column[a]], part.scores[:, [column[b] for b in others]]
        for place, pair in enumerate(against(mine, rivals, clusters, settings.level)):
            drawing = (settings.level, settings.resamples, settings.seed)
            again = _is_bootstrapped(pair, settings)
            found = bootstrapped(pair, mine - rivals[:, place], clusters, *drawing) if again else pair
            if pair.n:
                yield a, others[place], found


def _is_bootstrapped(pair: Paired, settings: Settings) -> bool:
    return bool(settings.own.get("bootstrap")) and not pair.binary and pair.low is not None


def _detectable(pair: Paired, power: float, level: float) -> float | None:
    if pair.binary and pair.worth is not None and pair.spread is not None:
        return smallest_difference(pair.worth, pair.spread, power, level)
    return None if pair.error is None else smallest_shift(pair.error, pair.clusters, power, level)


def _values(pair: Paired, adjusted: float | None, settings: Settings) -> tuple[Any, ...]:
    by = "mcnemar" if pair.binary else "paired bootstrap" if _is_bootstrapped(pair, settings) else "paired t"
    estimate = (pair.a, pair.b, pair.difference, pair.low, pair.high)
    return (*estimate, pair.p, adjusted, None if pair.p is None else by, pair.only_a, pair.only_b)


_FIRST_AND_SECOND = {"a": "b", "a_mean": "b_mean", "only_a": "only_b"}


@dataclass(frozen=True)
class Contest:
    """What came of it. ``pairs`` has the columns of `Differences` and a ``verdict``; ``families`` say under what.

    Adjustments are for all pairs that were tested ``together``, whichever are in the table: who stands next to whom
    was found by looking at the scores.
    """

    ranking: pl.DataFrame
    pairs: pl.DataFrame
    families: tuple[str, ...]
    together: int
    notes: tuple[str, ...] = ()


def contest(results: Results, models: Sequence[str], settings: Settings, all_pairs: bool = False) -> Contest:
    """Rank some models, or all, and compare them: all pairs of those that were named, else neighbours in the ranking.

    ``settings.own`` is that of `Differences`.
    """
    scored = _scored(results)
    if models:
        settings = replace(settings, own={**settings.own, "models": list(models)})
        pairs_of(scored, settings.own)
        results = narrowed(results, [("model", models)])
    families = tuple(results.varied(("benchmark", *PROTOCOL)))
    found, ranked = Differences().measure(results, settings).table, Ranks().measure(results, settings)
    rows = list(found.iter_rows(named=True))
    together = Counter(_family(row, families) for row in rows)
    most = results.scores.select(pl.col("score").max()).collect(engine="streaming").item()
    if not models:
        rows = _in_order(rows, families, ranked.table, all_pairs)
    power, sentences = float(settings.own.get("power", 0.8)), []
    for row in rows:
        about = _family(row, families)
        terms = Terms(settings.level, power, together[about], in_points=most <= 1)
        sentences.append(": ".join([*([", ".join(about)] if about else []), verdict(row, terms)]))
    pairs = pl.DataFrame(rows, schema=found.schema).with_columns(pl.Series("verdict", sentences, pl.String))
    return Contest(ranked.table, pairs, families, max(together.values()), ranked.notes)


def flips_of(results: Results, contested: Contest) -> pl.DataFrame:
    """The items that only one model of a pair has right, for each pair in the table, in its order."""
    keys = [*contested.families, "a", "b"]
    pairs = contested.pairs.select("a", "b").unique(maintain_order=True).rows()
    every = flips_between(side_by_side(results, contested.families), pairs)
    order = contested.pairs.select(keys).with_row_index("pair")
    return every.join(order, on=keys, how="inner").sort("pair", maintain_order=True).drop("pair")


def _scored(results: Results) -> list[str]:
    """The models that have scores: two at least."""
    scored = results.scores.filter(pl.col("score").is_not_null()).select(pl.col("model").unique())
    models = sorted(scored.collect(engine="streaming").to_series())
    if not models:
        raise NotMeasurable("compare: no answer has a score")
    if len(models) < 2:
        raise NotMeasurable(f"compare: only {models[0]} has scores, and it takes two; ask another model the same")
    return models


def _family(row: Mapping[str, Any], families: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in families)


def _in_order(
    rows: list[dict[str, Any]], families: Sequence[str], ranking: pl.DataFrame, all_pairs: bool
) -> list[dict[str, Any]]:
    """Pairs with the better model first, the best pair first; without ``all_pairs`` those of neighbours alone."""
    places: dict[tuple[str, ...], dict[str, int]] = {}
    for row in ranking.iter_rows(named=True):
        of_family = places.setdefault(_family(row, families), {})
        of_family[row["model"]] = len(of_family)
    kept = []
    for row in rows:
        here = places[_family(row, families)]
        first, second = sorted((here[row["a"]], here[row["b"]]))
        if all_pairs or second == first + 1:
            turned = row if here[row["a"]] == first else _turned(row)
            kept.append((_family(row, families), first, second, turned))
    return [row for *_, row in sorted(kept, key=lambda entry: entry[:3])]


def _turned(row: Mapping[str, Any]) -> dict[str, Any]:
    """The same pair, seen from the other model."""
    swapped = {a: row[b] for a, b in _FIRST_AND_SECOND.items()} | {b: row[a] for a, b in _FIRST_AND_SECOND.items()}
    signs = {"difference": "difference", "difference_low": "difference_high", "difference_high": "difference_low"}
    return {**row, **swapped, **{to: None if row[of] is None else 0.0 - row[of] for to, of in signs.items()}}


class Terms(NamedTuple):
    """What a verdict rests on beside its pair: ``pairs`` counts those that were tested together."""

    level: float = 0.95
    power: float = 0.8
    pairs: int = 1
    in_points: bool = True


def verdict(pair: Mapping[str, Any], terms: Terms) -> str:
    """A row of `Differences` as a sentence. ``in_points``: scores go from 0 to 1, and are told from 0 to 100."""
    return f"{_lead(pair, terms)} on {_basis(pair)}: {_judgement(pair, terms)}"


def _lead(pair: Mapping[str, Any], terms: Terms) -> str:
    gap = pair["difference"]
    leader, other = (pair["a"], pair["b"]) if gap >= 0 else (pair["b"], pair["a"])
    bounds = sorted(bound if gap >= 0 else -bound for bound in _bounds(pair))
    interval = f" [{', '.join(_number(bound, terms) for bound in bounds)}]" if bounds else ""
    if gap == 0:
        return f"{leader} and {other} are level{interval}"
    unit = " points" if terms.in_points else ""
    return f"{leader} leads {other} by {_number(abs(gap), terms)}{unit}{interval}"


def _bounds(pair: Mapping[str, Any]) -> list[float]:
    found = (pair["difference_low"], pair["difference_high"])
    return [bound for bound in found if bound is not None]


def _basis(pair: Mapping[str, Any]) -> str:
    """What the difference was seen on; clusters are told where items share them."""
    items = counted(pair["n"], "item")
    return items if pair["clusters"] == pair["n"] else f"{items} in {counted(pair['clusters'], 'cluster')}"


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
    return f"{called}; {_sight(pair, terms)}"


def _sight(pair: Mapping[str, Any], terms: Terms) -> str:
    """The smallest difference that could have been seen."""
    smallest = pair["detectable_adjusted"]
    if pair["only_a"] == 0 and pair["only_b"] == 0:
        return "both are right on the same items"
    at = f"at {100 * terms.power:g} % power"
    if smallest is None or (terms.in_points and smallest > 1):
        return f"too few items differ to find any lead {at}"
    return f"this benchmark can tell {_number(smallest, terms)}{' points' if terms.in_points else ''} apart {at}"


def _number(value: float, terms: Terms) -> str:
    told = f"{100 * value:.1f}" if terms.in_points else f"{value:.3g}"
    return told.replace("-", "−") if float(told) else told.removeprefix("-")


def flips_between(parts: Sequence[SideBySide], wanted: Sequence[tuple[str, str]], cut: float = RIGHT) -> pl.DataFrame:
    """For each pair of models, the items that only one of them has right: those of the first, then of the second."""
    rows = [row for part in parts for a, b in wanted for row in _only_one(part, a, b, cut)]
    around = dict.fromkeys(parts[0].key if parts else (), pl.String)
    schema: dict[str, type[pl.DataType]] = {**around, **_BETWEEN_MODELS}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _only_one(part: SideBySide, a: str, b: str, cut: float) -> Sequence[tuple[Any, ...]]:
    scores = part.table([(a,), (b,)])
    shared = int((~np.isnan(scores)).all(axis=1).sum())
    found = []
    for model, mine, other in ((a, 0, 1), (b, 1, 0)):
        alone = ((scores[:, mine] >= cut) & (scores[:, other] < cut)).nonzero()[0].tolist()
        found += [
            (*part.key.values(), a, b, model, part.items[row], *scores[row].tolist(), len(alone), shared)
            for row in alone
        ]
    return found


MEASURES = (Differences(),)
