"""What a user says of a measurement: a measure's own settings, and which scores count."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.measures.results import TAG, Measure, Results
from eyetest.records.order import SHOWN, order_word
from eyetest.wording import counted, listed

EXTERNAL = "external"
"""The setting that is a table from outside and no word: a score of each model."""
_YES_OR_NO = {"yes": True, "no": False, "True": True, "False": False, "true": True, "false": False}
Wanted = tuple[str, Sequence[str]]
"""A column or a tag, and the values that may stand there, as a user writes them."""
_OF_ITEMS = ("benchmark", "item")
_OF_ANSWERS = ("outcome", "reading", "choice", "rule", "metric", "score")
"""What an answer came to: whoever keeps to some of it asks about the items that have such answers."""
_USUAL_SIGHT = "image"


def own_settings(chosen: Measure, said: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a measure; a name that it does not know is refused."""
    own = {key: default for key, (default, _) in chosen.own.items()}
    for key, value in said.items():
        if key not in own:
            known = nearest(key, own) if own else "it has no settings of its own"
            raise InputError(f"{heading('own')}: {chosen.name} does not know {short(key)}; {known}")
        own[key] = value if key == EXTERNAL else _like(own[key], key, value)
    return own


def _like(default: Any, key: str, value: Any) -> Any:
    """What the user said as the kind of value that the default is. Several names are one list with commas."""
    if isinstance(value, type(default)):
        word = value
    else:
        word = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    readers: Mapping[type, Callable[[Any], Any]] = {bool: _yes_or_no, int: int, float: _number}
    try:
        return readers.get(type(default), str)(word)
    except KeyError:
        raise InputError(f"{heading('own', key)}: found {short(value)}, expected yes or no") from None
    except ValueError:
        raise InputError(f"{heading('own', key)}: found {short(value)}, expected a number") from None


def _yes_or_no(word: Any) -> bool:
    return word if isinstance(word, bool) else _YES_OR_NO[word]


def _number(word: Any) -> float:
    value = float(word)
    if not isfinite(value):
        raise ValueError(word)
    return value


def read_external(path: Path) -> dict[str, float]:
    """A score of each model that somebody else gave: an arena's Elo."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file) if row]
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"{path} is no CSV: expected lines of model,score") from None
    scores: dict[str, float] = {}
    for number, row in enumerate(rows):
        try:
            model, score = row[0], _number(row[1])
        except (IndexError, ValueError):
            if number:
                raise InputError(
                    f"{path}, line {number + 1}: expected model,score; found {short(','.join(row))}"
                ) from None
        else:
            scores[model] = score
    if not scores:
        raise InputError(f"{path} holds no score: expected lines of model,score")
    return scores


def read_where(words: Iterable[str]) -> list[Wanted]:
    """What ``model=A,B`` means: A or B, or the one model whose name has a comma."""
    wanted: list[Wanted] = []
    for said in words:
        column, equals, values = said.partition("=")
        if not equals:
            raise InputError(f"{heading('where')}: found {short(said)}, expected COLUMN=VALUE")
        wanted.append((column, [values.strip(), *(value.strip() for value in values.split(","))]))
    return wanted


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
