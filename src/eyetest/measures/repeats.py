"""Tests of the same question: what varied between them, and how many fit into memory at once."""

from typing import Any

import polars as pl

from eyetest.measures.results import TESTS
from eyetest.records import Asked

SOURCES = {"instruction": "template", "order": "order", "marks": "marks", "trial": "trial"}
"""What may make a model choose differently, and the axis that it is."""
_USUAL = Asked(item="", model="")
_MOST_ROWS = 20_000_000
_MOST_CELLS = 600_000_000
"""Answers to look at together, and answers times columns."""


def sources(tests: pl.DataFrame) -> dict[str, pl.Expr]:
    """Which rows to look at for each source: all, or those where its axis varies and the others are as usual.

    ``tests`` has a row for each way in which anything was asked. A source that never varies alone is not there;
    one that nothing varies beside has the very expression of all.
    """
    usual = {axis: _usual(tests.get_column(axis)) for axis in TESTS}
    found = {"all": pl.col("template").is_not_null()}
    for source, axis in SOURCES.items():
        only = pl.all_horizontal(pl.col(other) == usual[other] for other in TESTS if other != axis)
        some = tests.filter(only)
        if some.get_column(axis).n_unique() > 1:
            found[source] = found["all"] if len(some) == len(tests) else only
    return found


def _usual(values: pl.Series) -> Any:
    """The value that nobody had to ask for; where it was never used, the first one."""
    default = getattr(_USUAL, values.name)
    return default if (values == default).any() else values.min()


def batches(tests: pl.DataFrame, columns: int) -> list[list[str]]:
    """Models in groups of so few answers (``len`` in ``tests``) that as many columns of them fit into memory."""
    found: list[list[str]] = []
    room = 0
    for model, rows in tests.group_by("model").agg(pl.col("len").sum()).sort("model").rows():
        if rows > room:
            found.append([])
            room = min(_MOST_ROWS, _MOST_CELLS // columns)
        found[-1].append(model)
        room -= rows
    return found
