"""Whether a benchmark tells models apart: within all of them, within a series and within a size class (LIME)."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import polars as pl

from eyetest.errors import InputError, short
from eyetest.measures.results import PROTOCOL, Measured, NotMeasurable, Results, Settings
from eyetest.measures.side_by_side import side_by_side
from eyetest.measures.stats.intervals import Estimate
from eyetest.measures.stats.spread import separable_pairs, spread
from eyetest.records import ModelEntry

_UNEVEN = "models rest on different items: gini and sd mix who is better with which items are easier"
_NOTE = "gini rises when scores fall: separable pairs say whether models are told apart"


class Spread:
    """Gini and standard deviation of mean scores, and the share of pairs that are told apart, all tested together."""

    name = "spread"
    summary = "how far models lie apart: Gini, standard deviation, separable pairs; by series and size"
    own: ClassVar[Mapping[str, tuple[Any, str]]] = {
        "sizes": (
            "",
            "where size classes begin, in billions, such as 3,10,30 (default: a class for each whole billion)",
        )
    }

    def measure(self, results: Results, settings: Settings) -> Measured:
        """One row a benchmark, protocol, tag value and group of at least two models."""
        cuts = _cuts(settings.own.get("sizes") or ())
        around = results.varied(("benchmark", *PROTOCOL)) + results.by_tags(settings.by)
        rows, uneven = [], False
        for found in side_by_side(results, around):
            uneven |= bool(np.isnan(found.scores).any())
            models = [str(model) for (model,) in found.columns]
            for grouping, group, members in _groups(models, results.models, cuts):
                table = found.table([(model,) for model in members])
                gini, sd = spread(table, found.clusters, settings.level, settings.resamples, settings.seed)
                pairs = separable_pairs(table, found.clusters, settings.level)
                told: dict[str, Any] = {"grouping": grouping, "group": group}
                told |= {"gini": gini.value, "gini_low": gini.low, "gini_high": gini.high}
                told |= {"sd": sd.value, "sd_low": sd.low, "sd_high": sd.high}
                rows.append({**found.key, **told, "separable": pairs.value, **_counts(pairs), "n": len(members)})
        if not rows:
            raise NotMeasurable(
                "spread: only one model has scores; models are compared with each other, so add another"
            )
        floats = ("gini", "gini_low", "gini_high", "sd", "sd_low", "sd_high", "separable")
        types = dict.fromkeys(floats, pl.Float64)
        notes = (_NOTE, _UNEVEN) if uneven else (_NOTE,)
        return Measured(pl.DataFrame(rows, infer_schema_length=None, schema_overrides=types), notes)


def _counts(pairs: Estimate) -> dict[str, int]:
    """Pairs that are told apart, and pairs that could be tested."""
    return {"apart": round((pairs.value or 0.0) * pairs.n), "pairs": pairs.n}


def size_class(size_b: float, cuts: Sequence[float] = ()) -> str:
    """The class of a model's size in billions: between cuts or, without any, the size in whole billions."""
    if not cuts:
        return f"{size_b:.0f}B" if size_b >= 2 else f"{size_b:.1f}B"
    if size_b < cuts[0]:
        return f"under {cuts[0]:g}B"
    for low, high in pairwise(cuts):
        if low <= size_b < high:
            return f"{low:g}B to {high:g}B"
    return f"{cuts[-1]:g}B and over"


def _groups(
    models: Sequence[str], known: Mapping[str, ModelEntry], cuts: Sequence[float]
) -> Iterator[tuple[str, str, list[str]]]:
    """All models, then those of a series and those of a size, where these are known and at least two."""
    found: dict[tuple[str, str], list[str]] = {("all", "all models"): list(models)}
    entries = [(model, known[model]) for model in models if model in known]
    for model, entry in sorted(entries, key=lambda pair: pair[1].series or ""):
        if entry.series is not None:
            found.setdefault(("series", entry.series), []).append(model)
    for model, entry in sorted(entries, key=lambda pair: pair[1].size_b or 0.0):
        if entry.size_b is not None:
            found.setdefault(("size", size_class(entry.size_b, cuts)), []).append(model)
    return ((*name, members) for name, members in found.items() if len(members) > 1)


def _cuts(given: str | Sequence[float]) -> list[float]:
    parts = given.split(",") if isinstance(given, str) else given
    try:
        return sorted(float(part) for part in parts)
    except ValueError:
        raise InputError(f"spread: sizes: found {short(given)}, expected numbers such as 3,10,30") from None


MEASURES = (Spread(),)
