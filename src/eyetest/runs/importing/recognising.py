"""What a file holds, judged by its first rows: answers, a 0/1 matrix of models and items, or neither."""

import warnings
from collections.abc import Collection, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from eyetest.errors import InputError
from eyetest.runs.importing.layouts import INSTANCE_COLUMNS, KNOW_WHO
from eyetest.runs.importing.mapping import ALIASES
from eyetest.runs.importing.values import FIELDS, is_absent, plain
from eyetest.tabular.files import ENDINGS, TableFile, is_sheet, read_rows
from eyetest.tabular.inspect_log import is_inspect_log
from eyetest.tabular.table import Values, kind_of

_FIRST_ROWS = 20
_REPLIES = ("prediction", "response", "resps", "filtered_resps")  # columns that no benchmark needs
_QUESTIONS = ("question", "query", "prompt")
_VERDICTS = {"0", "1", "0.0", "1.0", "true", "false"}


def holds_answers(path: Path) -> tuple[bool, str]:
    """Whether a file or folder holds answers; and why, where it holds questions as well."""
    if is_inspect_log(path):
        return True, "a log of inspect-ai"
    if not path.is_dir():
        rows = first_rows(path)
        return _judged(rows) or (bool(matrix_rows(rows)), "")
    if next((file for pattern in KNOW_WHO for file in path.rglob(pattern)), None):
        return True, ""
    files = sorted(file for file in path.iterdir() if kind_of(file) in ENDINGS and file.is_file())
    return holds_answers(files[0]) if files else (False, "")


def _judged(rows: Sequence[Values]) -> tuple[bool, str] | None:
    """The decision by the names of columns; None where they do not decide."""
    names = {name for row in rows for name in row}
    has_question = any(name.lower() in _QUESTIONS for name in names)
    if names >= {"item", "model"} or names >= INSTANCE_COLUMNS:
        return True, ""
    replies = (*_REPLIES, "output") if "answer" in names or not has_question else _REPLIES
    if reply := next((name for name in replies if name in names), ""):
        return True, f"its column {reply}" if has_question else ""
    models = names & {"model", *ALIASES["model"]}
    is_table = "item" in names or (models and names & {"text", *ALIASES["text"]})
    return (True, "") if is_table and not has_question else None


def first_rows(path: Path) -> list[Values]:
    """The first rows of a table, up to one that cannot be read; where none can be, its columns without values."""
    rows: list[Values] = []
    with suppress(InputError, OSError), warnings.catch_warnings(action="ignore"):
        rows.extend(row for _, row in islice(read_rows(path), _FIRST_ROWS))
    with suppress(InputError, OSError, KeyError), warnings.catch_warnings(action="ignore"):
        if not rows and (is_sheet(path) or kind_of(path) == ".parquet"):
            rows.append(dict.fromkeys(TableFile(path).columns))
    return rows


def matrix_rows(rows: Sequence[Values], items: Collection[str] = ()) -> str:
    """What the rows of a 0/1 matrix are, ``item`` or ``model``; empty where a table is no such matrix.

    ``items``: the ids of the benchmark, if known. A first column without a telling name holds items.
    """
    label, *others = (rows[0] if rows else None) or [""]
    cells = [row.get(name) for row in rows for name in others]
    filled = {str(cell).strip().lower() for cell in cells if not is_absent(cell)}
    known = {*FIELDS, *(name for names in ALIASES.values() for name in names)}
    if not filled or not filled <= _VERDICTS or {*others} & known:
        return ""
    if {*others} & {*items}:
        return "model"
    names = {plain(row.get(label)) for row in rows if not isinstance(row.get(label), list | dict | bytes)}
    return "model" if "model" in label.lower() and not names & {*items} else "item"
