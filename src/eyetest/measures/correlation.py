"""Whether scores go together over models: between tasks, between benchmarks, and with a score from elsewhere."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.measures.means import with_adjusted
from eyetest.measures.results import TAG, Measure, Measured, NotMeasurable, Own, Results, Settings
from eyetest.measures.stats.correlation import METHODS
from eyetest.wording import counted, listed

_ELSEWHERE = "external"
_VALUES = ("correlation", "correlation_low", "correlation_high", "p")
_NOTE = "intervals are over models: how far other models like these could move a correlation"


class Correlation(Measure):
    """Pearson's, Spearman's and Kendall's correlations of models' mean scores."""

    name = "correlation"
    summary = "correlation over models between tag values, between benchmarks and with an external score"
    own: ClassVar[Own] = {
        "external": (None, "a score of each model from elsewhere, such as an arena's Elo: model → score")
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a pair of columns of mean scores and a method; ``p_adjusted`` is over the pairs of a method."""
        external: Mapping[str, float] = settings.own.get("external") or {}
        tags = results.by_tags(settings.by)
        series = results.families()
        across: list[str | None] = [*(["benchmark"] if "benchmark" in series else []), *tags]
        if external and "benchmark" not in series:
            across = [None, *across]
        if not across:
            raise NotMeasurable(
                "correlation: nothing to correlate; name a tag, add another benchmark or give an external score"
            )
        rows = [row for column in across for row in _rows(results, series, column, external, settings.level)]
        most = max((row["n"] for row in rows), default=0)
        if most < 3:
            raise NotMeasurable(f"correlation: {counted(most, 'model')} with both scores; at least 3 are needed")
        types = dict.fromkeys(_VALUES, pl.Float64)
        table = pl.DataFrame(rows, infer_schema_length=None, schema_overrides=types)
        table = with_adjusted(table, [*series, "across", "method"])
        return Measured(table, (_NOTE, *_unmatched(results, external)))


def _rows(
    results: Results, series: Sequence[str], across: str | None, external: Mapping[str, float], level: float
) -> Iterator[dict[str, Any]]:
    """All pairs of the values of one column, and each of them with the external score."""
    around = [key for key in series if key != across]
    means = _means(results, around, across)
    named = "all" if across is None else across.removeprefix(TAG)
    for key, part in means.group_by(*around, maintain_order=True) if around else [((), means)]:
        columns: dict[str, dict[str, float]] = {}
        for value, model, score in part.select("value", "model", "score").iter_rows():
            columns.setdefault(value, {})[model] = score
        pairs = [*combinations(columns, 2), *((value, _ELSEWHERE) for value in columns if external)]
        for one, other in pairs:
            right = external if other == _ELSEWHERE else columns[other]
            models = sorted(columns[one].keys() & right.keys())
            if not models:
                continue
            x, y = (np.array([scores[model] for model in models], float) for scores in (columns[one], right))
            about = {**dict.fromkeys(series), **dict(zip(around, key, strict=True))}
            for method, correlate in METHODS.items():
                value, low, high, n, p = correlate(x, y, level)
                told = dict(zip(_VALUES, (value, low, high, p), strict=True))
                yield {**about, "across": named, "one": one, "other": other, "method": method, **told, "n": n}


def _means(results: Results, around: Sequence[str], across: str | None) -> pl.DataFrame:
    """Mean scores by model and value, each item's tests averaged first: ``*around, value, model, score``."""
    value = pl.lit("all items") if across is None else pl.col(across).cast(pl.String)
    tags = [across] if across is not None and across.startswith(TAG) else []
    return (
        results.with_items(*tags)
        .with_columns(value.alias("value"))
        .drop_nulls("value")
        .group_by(*around, "value", "model", "item")
        .agg(pl.col("score").mean())
        .group_by(*around, "value", "model")
        .agg(pl.col("score").mean())
        .drop_nulls("score")
        .sort(*around, "value", "model")
        .collect(engine="streaming")
    )


def _unmatched(results: Results, external: Mapping[str, float]) -> tuple[str, ...]:
    if not external:
        return ()
    models = results.scores.select(pl.col("model").unique()).collect().get_column("model").to_list()
    without = sorted(set(models) - set(external))
    return (f"{counted(len(without), 'model')} without an external score: {listed(without)}",) if without else ()


MEASURES = (Correlation(),)
