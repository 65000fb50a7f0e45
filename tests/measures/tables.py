"""Small results for tests: rows as short as the test allows, the rest as usual."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from eyetest.measures import MEASURES, Measured, Results, Settings
from eyetest.measures.ranks import over_tasks
from eyetest.measures.results import ITEM_TYPES, REPLY_TYPES
from eyetest.measures.stats.paired import clustered_mcnemar
from eyetest.records import ModelEntry

_USUAL = {
    **{"benchmark": "bench", "model": "m", "modality": "image", "ask": "direct", "shots": "none", "template": 0},
    **{"order": 0, "letters": "upper", "method": "generate", "history": "gold", "prompts": "eyetest"},
    **{"sample": 0, "request": ""},
    **{"outcome": "answered", "reading": "chosen", "choice": None, "rule": "eyetest/2 bare mark"},
    **{"metric": "accuracy", "score": None, "marked": None},
}
_TYPES: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(_USUAL, pl.String),
    **dict.fromkeys(("template", "order", "sample"), pl.Int64),
    **{"score": pl.Float64, "marked": pl.Boolean},
}


def results(
    rows: Iterable[Mapping[str, Any]],
    items: Iterable[Mapping[str, Any]] = (),
    models: Mapping[str, ModelEntry] | None = None,
) -> Results:
    """Results of rows that say only what matters: ``{"item": "1", "model": "a", "score": 1}``."""
    scores = pl.DataFrame([_USUAL | dict(row) for row in rows], schema={"item": pl.String, **_TYPES})
    rows_of_items = [{"benchmark": "bench"} | dict(item) for item in items]
    tags = dict.fromkeys((name for row in rows_of_items for name in row if name.startswith("tag.")), pl.String)
    return Results(scores.lazy(), pl.DataFrame(rows_of_items, schema={**ITEM_TYPES, **tags}), models or {})


def asked(model: str, scores: Iterable[float | None], modality: str = "image", **axes: Any) -> list[dict[str, Any]]:
    """The rows of a model that answered the items 0, 1, … once."""
    return [
        {"model": model, "item": str(i), "modality": modality, "score": score, **axes}
        for i, score in enumerate(scores)
    ]


def grid(
    scores: Mapping[str, Sequence[float | None]], items: Iterable[Mapping[str, Any]] = (), **axes: Any
) -> Results:
    """Results of models that answered the same items once: ``grid({"a": [1, 0], "b": [1, 1]})``."""
    return results((row for model, column in scores.items() for row in asked(model, column, **axes)), items)


def both(direct: Mapping[str, Sequence[float | None]], cot: Mapping[str, Sequence[float | None]]) -> Results:
    """Results of models that answered the same items directly and after reasoning."""
    one, other = grid(direct, ask="direct"), grid(cot, ask="cot")
    return Results(pl.concat([one.scores, other.scores]), one.items)


def measure(name: str, found: Results, by: tuple[str, ...] = (), resamples: int = 2_000, **own: Any) -> Measured:
    """Measure with the default settings of a measure, some of them changed."""
    return MEASURES[name].measure(found, Settings(by=by, resamples=resamples, own=own))


def by_model(table: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """The rows of a table that has one for each model."""
    return {row["model"]: row for row in table.iter_rows(named=True)}


Weight = float | tuple[float | None, int, int] | None
"""A choice's log-probability, or that with its tokens and bytes."""


def weighed(
    rows: Iterable[Mapping[str, Any]],
    items: Iterable[Mapping[str, Any]] = (),
    models: Mapping[str, ModelEntry] | None = None,
) -> Results:
    """Results of rows some of which say what their choices weigh: ``{"item": "1", "weights": [-1.0, -2.0]}``."""
    scores, replies = [], []
    for number, row in enumerate(rows):
        said = dict(row)
        weights: Sequence[Weight] | None = said.pop("weights", None)
        usual = {"request": f"r{number}", "method": "generate" if weights is None else "likelihood", "score": 0.0}
        scores.append(usual | said)
        text = None if weights is None else json.dumps([w if isinstance(w, tuple | list) else (w,) for w in weights])
        replies.append({"benchmark": "bench", "request": scores[-1]["request"], "candidates": text})
    of = results(scores, items, models)
    table = pl.LazyFrame(replies, schema=REPLY_TYPES).unique(("benchmark", "request"))
    return replace(of, replies=table)


def choice_items(golds: Sequence[Sequence[int]], options: int) -> list[dict[str, Any]]:
    """Items of so many options, by their numbers, with the places of what is right."""
    return [
        {"item": str(number), "options": options, "golds": list(places), "position": places[0]}
        for number, places in enumerate(golds)
    ]


class Entropy(NamedTuple):
    """The entropies of one question."""

    plain: float
    corrected: float
    normalised: float


def entropy(counts: Sequence[int], options: int | None = None) -> Entropy:
    """The entropies of one question's answers, counted by choice, by their definitions."""
    shares = [count / sum(counts) for count in counts]
    plain, most = -sum(share * math.log(share) for share in shares), math.log(options) if options else math.inf
    return Entropy(plain, min(plain + (len(counts) - 1) / (2 * sum(counts)), most), plain / most)


def weighted_mean(scores: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """The overall score of tasks with so many items, as the measure computes it."""
    bare = dict.fromkeys(("score_low", "score_high"), pl.Series([None] * len(scores), dtype=pl.Float64))
    counts = {"score_n": weights or [1] * len(scores), "score_clusters": 2, "unread": 0, "asked": 1}
    mean: float = over_tasks(pl.DataFrame({"over": "", "score": scores} | counts | bare), ["over"])["weighted"].item()
    return mean


def mcnemar(only_a: int, only_b: int) -> float:
    """McNemar's test where every item is its own cluster."""
    return clustered_mcnemar(np.repeat([1, -1], [only_a, only_b]))
