"""Small results for tests: rows as short as the test allows, the rest as usual."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from eyetest.measures import Results
from eyetest.measures.results import ITEM_TYPES, REPLY_TYPES
from eyetest.records import ModelEntry

_USUAL = {
    "benchmark": "bench",
    "model": "m",
    "sight": "image",
    "ask": "direct",
    "shots": "none",
    "template": 0,
    "order": 0,
    "marks": "upper",
    "method": "generate",
    "history": "gold",
    "trial": 0,
    "request": "",
    "outcome": "answered",
    "reading": "chosen",
    "choice": None,
    "rule": "eyetest/2 bare mark",
    "metric": "accuracy",
    "score": None,
    "marked": None,
}
_TYPES: dict[str, type[pl.DataType]] = dict.fromkeys(_USUAL, pl.String) | {
    "template": pl.Int64,
    "order": pl.Int64,
    "trial": pl.Int64,
    "score": pl.Float64,
    "marked": pl.Boolean,
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


def grid(
    scores: Mapping[str, Sequence[float | None]], items: Iterable[Mapping[str, Any]] = (), **axes: Any
) -> Results:
    """Results of models that answered the same items once: ``grid({"a": [1, 0], "b": [1, 1]})``."""
    rows = [
        {"model": model, "item": str(i), "score": score, **axes}
        for model, column in scores.items()
        for i, score in enumerate(column)
    ]
    return results(rows, items)


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
        text = None if weights is None else json.dumps(weights)
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
