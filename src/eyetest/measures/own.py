"""A measure's own settings: its defaults, changed by what the user says, in words or in values."""

import csv
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from eyetest.errors import InputError, heading, nearest, short
from eyetest.measures.results import Measure

EXTERNAL = "external"
"""The setting that is a table from outside and no word: a score of each model."""
_YES_OR_NO = {"yes": True, "no": False, "True": True, "False": False, "true": True, "false": False}


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
    found: dict[str, float] = {}
    for number, row in enumerate(rows):
        try:
            model, score = row[0], _number(row[1])
        except (IndexError, ValueError):
            if number:
                raise InputError(
                    f"{path}, line {number + 1}: expected model,score; found {short(','.join(row))}"
                ) from None
        else:
            found[model] = score
    if not found:
        raise InputError(f"{path} holds no score: expected lines of model,score")
    return found
