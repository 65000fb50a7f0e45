"""Differences: is one model better than another on the same items, and how small a difference could be seen?"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.errors import InputError, nearest, short
from eyetest.measures.results import PROTOCOL, Measured, NotMeasurable, Results, Settings
from eyetest.measures.side_by_side import SideBySide, side_by_side
from eyetest.measures.stats.paired import Paired, against, bootstrapped, holm
from eyetest.measures.stats.power import smallest_difference, smallest_shift

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


MEASURES = (Differences(),)
