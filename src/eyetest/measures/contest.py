"""Models held against each other: their places, the pairs among them, and each pair in one plain sentence."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from eyetest.measures.comparison import Differences, pairs_of
from eyetest.measures.flips import flips_between
from eyetest.measures.narrowing import narrowed
from eyetest.measures.ranks import Ranks
from eyetest.measures.results import PROTOCOL, NotMeasurable, Results, Settings
from eyetest.measures.side_by_side import side_by_side
from eyetest.measures.verdicts import Terms, verdict

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
