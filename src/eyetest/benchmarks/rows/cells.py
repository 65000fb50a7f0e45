"""One row of a file, and its cells as text."""

from typing import Any, NamedTuple

from eyetest.errors import ItemError, short


class Row(NamedTuple):
    """One row of a file: its place from 0, its name for a person, and its values by column."""

    number: int
    where: str
    values: dict[str, Any]


def text_of(row: Row, column: str) -> str:
    """A cell as text; empty where the file has no such column."""
    return as_text(row, column, row.values.get(column)) if column else ""


def as_text(row: Row, column: str, value: Any) -> str:
    """A value as text; an error names the row and the column."""
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise ItemError(row.where, column, short(value), "UTF-8 text" if isinstance(value, bytes) else "text")
    return str(value)
