"""Some of the scores: those of some models, under some settings, on items that have some tags."""

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from eyetest.errors import InputError, nearest, short
from eyetest.measures.results import TAG, Results

Wanted = tuple[str, Sequence[str]]
"""A column or a tag, and the values that may stand there, as a user writes them."""
_OF_ITEMS = ("benchmark", "item")


def read_where(words: Iterable[str]) -> list[Wanted]:
    """What ``model=A,B`` means: A or B, or the one model whose name has a comma."""
    found: list[Wanted] = []
    for said in words:
        column, equals, values = said.partition("=")
        if not equals:
            raise InputError(f"--where: found {short(said)}, expected COLUMN=VALUE")
        found.append((column, [values.strip(), *(value.strip() for value in values.split(","))]))
    return found


def narrowed(results: Results, where: Iterable[Wanted]) -> Results:
    """Only the scores that the user's words allow."""
    scores, items = results.scores, results.items
    types = scores.collect_schema()
    if not scores.head(1).collect().height:
        raise InputError("nothing to measure: no answer is about an item of the benchmark")
    for column, wanted in where:
        if column not in types and column not in results.tags:
            raise InputError(f"--where: no column or tag {short(column)}; {nearest(column, [*types, *results.tags])}")
        if column in types:
            there = scores.select(pl.col(column).unique()).collect().to_series()
            kept = scores.filter(pl.col(column).is_in([value for value in there if as_written(value) in wanted]))
        if column not in types or column in _OF_ITEMS:
            named = column if column in types else TAG + column
            there = items.get_column(named)
            items = items.filter(pl.col(named).is_in(wanted))
        if column not in types:
            kept = scores.join(items.lazy(), on=("benchmark", "item"), how="semi")
        if not kept.head(1).collect().height:
            known = nearest(wanted[0], {as_written(value) for value in there if value is not None})
            raise InputError(f"--where {column}={short(wanted[0])}: nothing is left; {known}")
        scores = kept
    return Results(scores, items, results.models)


def as_written(value: Any) -> str:
    """A value as a user writes it: the score 1.0 is 1."""
    return f"{value:g}" if isinstance(value, float) else str(value)
