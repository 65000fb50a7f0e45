"""Spreadsheets: what waits, with columns to fill in, and what was decided, as CSV that comes back as it was."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyetest.errors import InputError, short
from eyetest.records import Decision, columns
from eyetest.review.decisions import OBJECTS, find_item, read_row, sheet_rows
from eyetest.review.exchange.answers import questions, read_answers
from eyetest.review.exchange.assignment import Assignment, Expected, checked, universal
from eyetest.tabular.sheets import sheet_text

_SHOWN = ("item", "round", "adjudicates", "question", "options", "gold", "pictures", "evidence", "earlier", "asks")
_SEPARATOR = ";"
"""Between several values in one cell."""


def write_sheet(decisions: Iterable[Decision]) -> str:
    """Decisions as a table with all their columns."""
    names = columns(Decision)
    rows = ([_cell(name, getattr(decision, name)) for name in names] for decision in decisions)
    return sheet_text(names, rows, mark=True)


def _cell(name: str, value: Any) -> Any:
    if name in OBJECTS:
        return msgspec.json.encode(value).decode() if value else ""
    if isinstance(value, bool):
        return "true" if value else ""
    return value


def write_waiting(assignments: Sequence[Assignment]) -> str:
    """What waits, a line for each, with empty columns for whoever decides. Copy a line for a second reviewer."""
    empty = dict.fromkeys(
        question.name for one in assignments for question in questions(one.form, len(one.item.choices))
    )
    rows = []
    for one in assignments:
        asks = {question.name: question for question in questions(one.form, len(one.item.choices))}
        told = [f"{name}: {' | '.join(question.values)}" for name, question in asks.items() if question.values]
        row = [one.item.id, one.round, "true" if one.adjudicates else "", one.question, one.options, one.gold]
        row += ["\n".join(one.pictures), one.evidence, one.told if one.adjudicates else ""]
        rows.append([*row, "\n".join([one.form.words, *told]), "", *("" for _ in empty)])
    return sheet_text([*_SHOWN, "reviewer", *empty], rows, mark=True)


def read_sheet(path: Path, expected: Expected) -> list[Decision]:
    """The decisions of either table; a line without one is none yet."""
    rows = ((where, row) for where, row in sheet_rows(path) if (row.get("decision") or "").strip())
    return [_read(row, expected, f"{where} ({(row['item'] or '').strip()[:60]})") for where, row in rows]


def _read(row: Mapping[str, Any], expected: Expected, where: str) -> Decision:
    filled_in = any(name.startswith(("edit_", "label_")) or name == "reason_text" for name in row)
    decision = _filled_in(row, expected, where) if filled_in else read_row(row, expected.items, where)
    decision = msgspec.structs.replace(
        decision,
        reviewer=expected.reviewer((row.get("reviewer") or "").strip(), where),
        time=universal(decision.time, where) if decision.time else "",
    )
    key = (decision.item, decision.round, decision.adjudicates)
    return checked(decision, expected.assignment(key, where), where)


def _filled_in(row: Mapping[str, Any], expected: Expected, where: str) -> Decision:
    """A decision from the columns that the queue has for it."""
    item = find_item(row["item"] or "", expected.items)
    if item is None:
        raise InputError(f"{where}: no item {short(row['item'])} in this review")
    number, settles = (row.get("round") or "1").strip(), (row.get("adjudicates") or "").strip().lower()
    if not number.isdecimal() or len(number) > 4:
        raise InputError(f"{where}: round: found {short(number)}, expected a number")
    assignment = expected.assignment((item, int(number), settles in ("true", "yes", "1")), where)
    asks = {one.name: one for one in questions(assignment.form, len(assignment.item.choices))}
    said: dict[str, str | list[str]] = {}
    for name, cell in row.items():
        text = (cell or "").strip()
        if text and (name in asks or name.startswith(("edit_", "label_"))):
            several = name in asks and asks[name].kind == "several"
            said[name] = [word.strip() for word in text.split(_SEPARATOR) if word.strip()] if several else text
    said["decision"] = str(said["decision"]).lower()
    return msgspec.structs.replace(read_answers(said, assignment, where), time=(row.get("time") or "").strip())
