"""An item becomes a row of named values, from which the same item can be read again."""

from collections.abc import Callable
from typing import Any

import msgspec

from eyetest.benchmarks.rows.layout import RESERVED
from eyetest.records import Item, OptionProvenance, letter
from eyetest.tabular.literals import looks_like_list


def unreserved(name: str, _value: Any = None) -> bool:
    """Whether a tag can be a column of its own without being taken for something else."""
    return name not in RESERVED


def plain_row(item: Item, is_column: Callable[[str, Any], bool] = unreserved) -> dict[str, Any]:
    """Everything but the pictures, under our own column names; what is empty is left out."""
    return {**field_columns(item), **tag_columns(item, is_column)}


def field_columns(item: Item) -> dict[str, Any]:
    """The item's fields but for pictures and tags, under our own names; what is empty is left out."""
    row: dict[str, Any] = {"id": item.id, "question": item.question}
    if item.choices:
        row["options"] = [choice.text for choice in item.choices]
        if item.gold:
            texts = [item.choices[i].text for i in item.gold]
            row["answer"] = texts[0] if len(texts) == 1 else texts
            row["answer_letter"] = gold_letters(item)
        if any(choice.provenance for choice in item.choices):
            row["option_provenance"] = msgspec.to_builtins([c.provenance or OptionProvenance() for c in item.choices])
    elif item.references:
        row["answer"] = one_or_list(item.references)
    for name in ("hint", "description", "group"):
        if value := getattr(item, name):
            row[name] = value
    for name in ("history", "lineage"):
        if records := getattr(item, name):
            row[name] = msgspec.to_builtins(records)
    return row


def tag_columns(item: Item, is_column: Callable[[str, Any], bool]) -> dict[str, Any]:
    """The item's tags: those that can be columns as such, the others together in the column ``tags``."""
    columns = {name: value for name, value in item.tags.items() if value is not None and is_column(name, value)}
    held = {name: value for name, value in item.tags.items() if name not in columns}
    return {**columns, "tags": held} if held else columns


def as_cell(value: object) -> str:
    """A value as the text of a cell, JSON where it is none."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def gold_letters(item: Item) -> str:
    """The right options by their letters: ``B``, or ``AC`` where two are right."""
    return "".join(letter(position) for position in item.gold)


def one_or_list(references: tuple[str, ...]) -> str | list[str]:
    """A single reference as itself, unless a reader would take it for a list."""
    single = len(references) == 1 and not looks_like_list(references[0])
    return references[0] if single else list(references)
