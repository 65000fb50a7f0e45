"""Files of tools whose layout is known, and matrices of verdicts, as plain rows."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.runs.importing.mapping import AnswerFile
from eyetest.runs.importing.values import FIELDS, plain, score
from eyetest.tabular.table import Values

ItemAt = Callable[[int], str]
"""The id of the item at a position of the benchmark."""
Location = int | tuple[int, str]
"""A row's number, or that and a column's name."""
Located = tuple[Location, Values]
TOOL_COLUMNS = frozenset({"doc_id", "resps", "filtered_resps", "index", "prediction"})
INSTANCE_COLUMNS = {"schema_version", "evaluation_id", "model_id", "sample_id", "evaluation"}
"""By which a line of Every Eval Ever's is known, which says itself who answered."""
"""Columns by which a tool's layout is known; what they say is in ours."""


def at(location: Location) -> str:
    """A location in a file, in words."""
    return f"row {location}" if isinstance(location, int) else f"row {location[0]}, column {short(location[1])}"


def as_rows(rows: Iterable[tuple[int, Values]], source: AnswerFile, item_at: ItemAt | None) -> Iterator[Located]:
    """Rows in which a known tool's columns have our names besides their own; other rows as they are."""
    judged = "given" in source.fields.columns
    for number, row in rows:
        if "doc_id" in row and ("resps" in row or "filtered_resps" in row):
            try:
                yield from ((number, known) for known in _lmms_eval(row, item_at, judged=judged))
            except InputError as error:
                raise InputError(f"{source.name} {at(number)}: {error}") from None
        elif "prediction" in row and "index" in row:
            yield number, row | {"item": row["index"], "text": row["prediction"]}
        elif row.keys() >= INSTANCE_COLUMNS:
            yield from ((number, known) for known in _every_eval_ever(row, known=item_at is not None))
        elif row.keys() == {"key", "value"}:  # MMMU's: an answer by the item's id
            yield number, {"item": row["key"], "text": row["value"]}
        elif {"id", "response"} <= row.keys() and not row.keys() & {"item", "text"}:  # MMMU's and MMMU-Pro's outputs
            yield number, _mmmu(row, known=item_at is not None)
        else:
            yield number, row


def _every_eval_ever(row: Values, *, known: bool) -> Iterator[Values]:
    """An instance of Every Eval Ever's schema, its score as a column; of one that eyetest wrote, all of the key."""
    inside = {name: row.get(name) or {} for name in ("input", "output", "evaluation", "metadata")}
    if not all(isinstance(part, dict) for part in inside.values()):
        raise InputError("input, output, evaluation and metadata: expected objects, as Every Eval Ever has them")
    said = inside["output"].get("raw") or _last_words(row.get("messages")) or [None]
    about, metadata = {"item": row["sample_id"], "model": row["model_id"]}, inside["metadata"]
    common = {name: value for name, value in row.items() if not isinstance(value, list | dict)}
    common |= inside["evaluation"] | about
    if "eyetest" in metadata:
        yield {name: metadata.get(name) for name in FIELDS} | about | {"text": said[0]}
        return
    if known and inside["input"].get("choices"):
        common["order"] = inside["input"]["choices"]
    if row.get("error") and not any(said):
        said, common = [None], common | {"outcome": "failed"} | dict.fromkeys(inside["evaluation"])
    trials = [{"trial": trial} for trial in range(len(said))] if len(said) > 1 else [{}]
    yield from (common | {"text": text} | trial for text, trial in zip(said, trials, strict=True))


def _last_words(messages: Any) -> list[Any]:
    """What the model said at the end of a conversation."""
    said = [one for one in messages or () if isinstance(one, dict) and one.get("role") == "assistant"]
    return [said[-1].get("content")] if said else []


def _mmmu(row: Values, *, known: bool) -> Values:
    """``index2ans`` has the options by the letters under which they were shown."""
    shown = row.get("index2ans")
    order = (
        {"order": [shown[letter] for letter in sorted(shown)]} if known and isinstance(shown, dict) and shown else {}
    )
    return row | {"item": row["id"], "text": row["response"]} | order


def _lmms_eval(row: Values, item_at: ItemAt | None, *, judged: bool) -> Iterator[Values]:
    """``resps`` is left out of the log where it equals ``filtered_resps``; the item is only known by its position.

    Several responses are repeats of one request, so each is a trial. Where the user wants a verdict from the log
    (``judged``), it need not hold texts as well.
    """
    said = list(_leaves(row.get("resps"))) or list(_leaves(row.get("filtered_resps")))
    position = row["doc_id"]
    if type(position) is not int or position < 0:
        raise InputError(f"doc_id: found {short(position)}, expected a position in the benchmark")
    known = row | {"item": item_at(position) if item_at else str(position)}
    if any(isinstance(part, int | float) for part in said):
        if not judged:
            mend = f"name the metric to take: {param('columns', 'given=METRIC')}"
            raise InputError(f"resps: found likelihoods, expected texts; {mend}")
        yield {"method": "likelihood"} | known | {"text": None}
    elif len(said) < 2 or "trial" in row:
        yield known | {"text": said[0] if said else None}
    else:
        for trial, text in enumerate(said):
            yield known | {"text": text, "trial": trial}


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    elif value is not None:
        yield value


def unfold(rows: Iterable[tuple[int, Values]], source: AnswerFile) -> Iterator[Located]:
    """A matrix of verdicts as one row a cell; a row of the matrix is an item or a model.

    Its name is in the first column, unless the user names another. The other of the two is in a column's name, or,
    with a ``--header`` pattern, whatever its named groups say.
    """
    pattern = _pattern(source.header) if source.header else None
    names, label = source.matrix, source.label
    other = "model" if names == "item" else "item"
    parsed: dict[str, Values] = {}
    for number, row in rows:
        if label is None:
            label = next(iter(row), "")
        if label not in row:
            raise InputError(f'{source.name} {at(number)}: no column "{label}"; {nearest(label, row)}')
        name = plain(row[label])
        for column, value in row.items():
            if column == label:
                continue
            if column not in parsed:
                parsed[column] = _parse(pattern, column) if pattern else {other: column}
            try:
                given = score(value)
            except InputError as error:
                raise InputError(f"{source.name} {at((number, column))}: {error}") from None
            if given is not None:
                yield (number, column), {names: name, **parsed[column], "given": given, "text": None}


def _pattern(header: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(header)
    except re.error as error:
        raise InputError(f"{heading('header')}: {short(header)} is no pattern: {error}") from None
    if not pattern.groupindex:
        raise InputError(f"{param('header')} needs named groups, such as (?P<model>[^|]+)")
    return pattern


def _parse(pattern: re.Pattern[str], column: str) -> Values:
    match = pattern.fullmatch(column)
    if match is None:
        raise InputError(f"{heading('header')}: the column {short(column)} does not fit the pattern")
    return {name: value or "" for name, value in match.groupdict().items()}
