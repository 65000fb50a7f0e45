"""Some of the scores: those of some models, under some settings, on items that have some tags."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.measures.results import TAG, Results
from eyetest.records.order import SHOWN, order_word
from eyetest.wording import counted, listed

Wanted = tuple[str, Sequence[str]]
"""A column or a tag, and the values that may stand there, as a user writes them."""
_OF_ITEMS = ("benchmark", "item")
_OF_ANSWERS = ("outcome", "reading", "choice", "rule", "metric", "score")
"""What an answer came to: whoever keeps to some of it asks about the items that have such answers."""
_USUAL_SIGHT = "image"


def read_where(words: Iterable[str]) -> list[Wanted]:
    """What ``model=A,B`` means: A or B, or the one model whose name has a comma."""
    found: list[Wanted] = []
    for said in words:
        column, equals, values = said.partition("=")
        if not equals:
            raise InputError(f"{heading('where')}: found {short(said)}, expected COLUMN=VALUE")
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
            known = nearest(column, [*types, *results.tags])
            raise InputError(f"{heading('where')}: no column or tag {short(column)}; {known}")
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
            raise InputError(f"{heading('where', f'{column}={short(wanted[0])}')}: nothing is left; {known}")
        if column in _OF_ANSWERS:
            items = items.join(
                kept.select("benchmark", "item").unique().collect(), on=("benchmark", "item"), how="semi"
            )
        scores = kept
    return replace(results, scores=scores, items=items)


def under_one_sight(results: Results, said: str | None) -> tuple[Results, tuple[str, ...]]:
    """The scores under the sights that the user names; where nothing is said and there are several, under image."""
    sights = values_of(results, "sight")
    if said is not None:
        [(_, wanted)] = read_where([f"sight={said}"])
        unknown = [name for name in wanted[1:] if name not in sights]
        if unknown and wanted[0] not in sights:
            raise InputError(
                f"{heading('sight')}: no answers under {short(unknown[0])}; {nearest(unknown[0], sights)}"
            )
        return narrowed(results, [("sight", wanted)]), ()
    if len(sights) < 2:
        return results, ()
    if _USUAL_SIGHT not in sights:
        raise InputError(
            f"answers under several sights, and none is {_USUAL_SIGHT}; "
            f"choose with {param('sight')}: {listed(sights)}"
        )
    kept = narrowed(results, [("sight", [_USUAL_SIGHT])])
    others = listed([sight for sight in sights if sight != _USUAL_SIGHT])
    notes = [f"compared under sight {_USUAL_SIGHT}; there are answers under {others} too ({param('sight')})"]
    there = {*values_of(kept, "model")}
    absent = [model for model in values_of(results, "model") if model not in there]
    if absent:
        notes.append(f"{counted(len(absent), 'model')} without answers under {_USUAL_SIGHT}: {listed(absent)}")
    return kept, tuple(notes)


def values_of(results: Results, column: str) -> list[str]:
    """What stands in a column of the scores."""
    return sorted(results.scores.select(pl.col(column).unique()).collect(engine="streaming").to_series())


def as_written(value: Any) -> str:
    """A value as a user writes it: the score 1.0 is 1, an order that was shown is what was shown."""
    if isinstance(value, int) and value >= SHOWN:
        return order_word(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
