"""Columns of somebody's table that say how a question was put, and that nobody has mapped.

Left alone, a column ``condition`` with ``text`` and ``image`` in it makes one model of two. So what looks like a
condition by its name is told before anything is written, and what tells two answers apart that would otherwise be one
is named when they are refused.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from eyetest.errors import InputError, param, short
from eyetest.runs.importing.values import WORDS, plain
from eyetest.tabular.table import Values
from eyetest.wording import listed

FEW_VALUES = 50
"""A column with more values than this holds texts, names or figures, and no conditions."""
_LIKE = {
    "sight": "sight condition blind modality modalities vision captioned grey gray",
    "ask": "ask cot mode setting settings strategy prompting reasoning thinking",
    "shots": "shot shots fewshot nshot",
    "template": "template prompt instruction wording",
    "order": "order shuffle shuffled permutation rotation rotated circular reversed swapped",
    "trial": "trial seed repeat repetition rep attempt run",
    "model": "temperature variant augment augmentation decoding perturbation corruption noise language",
}
"""By which words in its name a column is taken for one of our fields; ``model`` for what no field of ours can say."""
_FIELDS = {word: field for field, words in _LIKE.items() for word in words.split()}
_LONGEST_WORD = 80
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_SHOWN = 4


class Unmapped:
    """The columns that nobody mapped, each with its values as long as these are few."""

    def __init__(self, used: Collection[str]) -> None:
        self._used = used
        self._values: dict[str, dict[str, None] | None] = {}

    def see(self, row: Values) -> None:
        """Note the values of a row."""
        for name, value in row.items():
            if name in self._used:
                continue
            values = self._values.setdefault(name, {})
            if values is None:
                continue
            word = _word(value)
            if word is None or (word not in values and len(values) == FEW_VALUES):
                self._values[name] = None
            else:
                values[word] = None

    def conditions(self) -> dict[str, list[str]]:
        """The columns that look like conditions, with their values."""
        return {name: [*values] for name, values in self._values.items() if values and _field(name)}

    def telling_apart(self, one: Values, other: Values) -> dict[str, list[str]]:
        """The columns of few values in which two rows differ; those that look like conditions where there are any."""
        differing = {
            name: [*values]
            for name, values in self._values.items()
            if values and _word(one.get(name)) != _word(other.get(name))
        }
        return {name: values for name, values in differing.items() if _field(name)} or differing


def told(columns: Mapping[str, Iterable[str]]) -> str:
    """Columns and what stands in them, in words."""
    return "; ".join(
        f"{name[:_LONGEST_WORD]} ({listed([short(v, 30) for v in values], _SHOWN)})"
        for name, values in columns.items()
    )


def suggestion(name: str, values: Collection[str], model: str | None) -> str:
    """What a user may say of a column; ``model`` is the column that names the models, if one does."""
    field = _field(name)
    if field == "order" or (field in ("template", "trial") and all(value.isdigit() for value in values)):
        return param("columns", f"{field}={name}")
    if field in WORDS and all(value in WORDS[field] for value in values):
        return param("columns", f"{field}={name}")
    if field in WORDS:
        theirs = next((value for value in values if value not in WORDS[field]), "")
        return param("values", f"{field}={name}:{theirs[:40]}>OURS,…")
    if model:
        return param("columns", f"model={model}+{name}")
    return param("where", f"{name}={next(iter(values), '')[:40]}")


def _word(value: Any) -> str | None:
    """A value as a word; None for texts, lists and objects, which are no conditions."""
    try:
        word = plain(value)
    except InputError:
        return None
    return word if len(word) <= _LONGEST_WORD else None


def _field(name: str) -> str | None:
    return next((_FIELDS[word] for part in _WORDS.findall(name) if (word := part.lower()) in _FIELDS), None)
