"""Answers as one table: who was asked what, how, and what they said."""

from collections.abc import Iterator
from pathlib import Path

from eyetest.errors import InputError, nearest
from eyetest.records import Answer, columns
from eyetest.runs.folder import is_run
from eyetest.runs.importing.files import read_rows
from eyetest.runs.importing.mapping import convert
from eyetest.runs.plan import read_plan
from eyetest.runs.stored import read_responses


def read_answers(folder: Path) -> Iterator[Answer]:
    """The answers of a run in the order of its plan; what has not been asked yet is not there."""
    found = {response.request: response for response in read_responses(folder)}
    for planned in read_plan(folder):
        response = found.get(planned.request)
        if response is not None:
            asked = {name: getattr(planned, name) for name in planned.__struct_fields__ if name != "request"}
            yield Answer(**asked, text=response.text, outcome=response.outcome, given=response.given)


def open_answers(path: Path) -> Iterator[Answer]:
    """The answers of a run folder, or of a table with the columns of ours."""
    if is_run(path):
        yield from read_answers(path)
        return
    known = set(columns(Answer))
    for number, row in enumerate(read_rows(path), 1):
        for name in row.keys() - known:
            raise InputError(f'{path}: "{name}" is no column of an answers table; {nearest(name, known)}')
        yield convert({name: value for name, value in row.items() if value is not None}, f"{path} row {number}")
