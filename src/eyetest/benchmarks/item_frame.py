"""A benchmark's items as one table to filter and count: texts, golds in words, and a column for each tag."""

from collections.abc import Iterable
from typing import Any

import msgspec
import polars as pl

from eyetest.records import Item, gold_text

_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String,
    "question": pl.String,
    "options": pl.List(pl.String),
    "gold": pl.String,
    "images": pl.Int64,
    "group": pl.String,
    "hint": pl.String,
    "description": pl.String,
}


def item_frame(items: Iterable[Item]) -> pl.DataFrame:
    """One row an item. A tag that is called as another column is, stands as ``tags.NAME``."""
    rows: list[tuple[Any, ...]] = []
    tags: dict[str, list[Any]] = {}
    for number, item in enumerate(items):
        options = [choice.text for choice in item.choices]
        about = (item.group, item.hint, item.description)
        rows.append((item.id, item.question, options, gold_text(item), len(item.images), *about))
        for tag, value in item.tags.items():
            values = tags.setdefault(tag, [])
            values.extend([None] * (number - len(values)))
            values.append(value)
    for values in tags.values():
        values.extend([None] * (len(rows) - len(values)))
    named = {f"tags.{tag}" if tag in _COLUMNS else tag: values for tag, values in tags.items()}
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row").with_columns(_tag(*one) for one in named.items())


def _tag(name: str, values: list[Any]) -> pl.Series:
    """A tag as a column: of one type where its values have one, else each value as JSON."""
    there = [value for value in values if value is not None]
    if len({type(value) for value in there}) <= 1 and all(isinstance(one, str | bool | int | float) for one in there):
        return pl.Series(name, values, dtype=None if there else pl.String)
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in there):
        return pl.Series(name, values, dtype=pl.Float64, strict=False)
    return pl.Series(name, [one if one is None else msgspec.json.encode(one).decode() for one in values], pl.String)
