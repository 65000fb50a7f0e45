"""Files of tools whose layout is known, and matrices of verdicts, as plain rows."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from eyetest.errors import InputError, short
from eyetest.runs.importing.files import EXCEL_CELL, Row

_API_FAILURE = "Failed to obtain answer via API"
_REQUEST_FAILED = "[REQUEST_FAILED"
Name = Callable[[int], str]
"""The id of the item at a position of the benchmark."""


def as_rows(rows: Iterator[Row], *, excel: bool, item_at: Name | None) -> Iterator[Row]:
    """Rows in which a known tool's columns have our names besides their own; other rows as they are."""
    for row in rows:
        if "doc_id" in row and ("resps" in row or "filtered_resps" in row):
            yield _lmms_eval(row, item_at)
        elif "prediction" in row and "index" in row:
            yield _vlmevalkit(row, excel=excel)
        else:
            yield row


def _vlmevalkit(row: Row, *, excel: bool) -> Row:
    text = row["prediction"]
    text = text if isinstance(text, str) or text is None else str(text)
    known: Row = {"item": row["index"], "text": text}
    if text and _API_FAILURE in text:
        known |= {"text": None, "outcome": "failed"}
    elif excel and text and len(text) == EXCEL_CELL:
        known["outcome"] = "truncated"
    return row | {name: value for name, value in known.items() if name not in row}


def _lmms_eval(row: Row, item_at: Name | None) -> Row:
    """``resps`` is left out of the log where it equals ``filtered_resps``; the item is only known by its position."""
    said: Any = row.get("resps") or row.get("filtered_resps")
    while isinstance(said, list):
        said = said[0] if said else ""
    text = "" if said is None else str(said)
    failed = text.startswith(_REQUEST_FAILED)
    position = row["doc_id"]
    if not isinstance(position, int):
        raise InputError(f"doc_id: found {short(position)}, expected a position in the benchmark")
    known: Row = {
        "item": item_at(position) if item_at else str(position),
        "text": None if failed else text,
        "outcome": "failed" if failed else "answered",
    }
    return row | {name: value for name, value in known.items() if name not in row}


def unfold(rows: Iterator[Row], names: str, header: str | None) -> Iterator[Row]:
    """A matrix of verdicts as one row a cell. ``names`` says what a row of the matrix is: an item or a model.

    The other of the two is in the column's name, or, with a ``header`` pattern, whatever its named groups say.
    """
    pattern = _pattern(header) if header else None
    other = "model" if names == "item" else "item"
    parsed: dict[str, Row] = {}
    for row in rows:
        cells = iter(row.items())
        name = str(next(cells)[1])
        for column, value in cells:
            if column not in parsed:
                parsed[column] = _parse(pattern, column) if pattern else {other: column}
            if value not in ("", None):
                yield {names: name, **parsed[column], "given": value, "text": None}


def _pattern(header: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(header)
    except re.error as error:
        raise InputError(f"--header: {short(header)} is no pattern: {error}") from None
    if not pattern.groupindex:
        raise InputError("--header needs named groups, such as (?P<model>[^|]+)")
    return pattern


def _parse(pattern: re.Pattern[str], column: str) -> Row:
    found = pattern.fullmatch(column)
    if found is None:
        raise InputError(f"--header: the column {short(column)} does not fit the pattern")
    return {name: value or "" for name, value in found.groupdict().items()}
