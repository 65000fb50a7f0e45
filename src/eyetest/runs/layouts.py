"""Known tools' answer files, matrices of verdicts, and folders of such files, as plain rows."""

import math
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from eyetest.errors import InputError, RowError, heading, param, short
from eyetest.records.finishes import INSPECT_FINISHES, stored_outcome
from eyetest.runs.answer_values import FIELDS, is_absent, plain, score
from eyetest.runs.inspect_logs import Header, Sample, is_inspect_log, read_inspect_log
from eyetest.runs.mapping import ALIASES, AnswerFile
from eyetest.tabular.files import known_table
from eyetest.tabular.table import ENDINGS, Row, Values

_SHUFFLED = "Choices were shuffled before generating a response, the following was sent to the model:\n\n"
_THEN = "\nShuffled answer:\n"
_MARKED = re.compile(r"^([A-Z])\) ", re.MULTILINE)
_VERDICTS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}  # correct, incorrect, partly correct, no answer


def inspect_rows(path: Path) -> Iterator[Row]:
    """One row per sample and epoch; each scorer is a column, to be selected by name."""
    for number, (log, sample) in enumerate(read_inspect_log(path), 1):
        yield Row(f"{path.name} row {number}", _values(log, sample))


def _values(log: Header, sample: Sample) -> Values:
    scores = sample.scores or {}
    shown, text = _shown(sample, [score.explanation or "" for score in scores.values()])
    outcome = _outcome(sample, text)
    row: Values = {name: None if outcome == "failed" else _value(score.value) for name, score in scores.items()}
    reasons = any(s.params.get("cot") is True or s.solver.endswith("chain_of_thought") for s in log.plan.steps)
    row |= {
        "item": sample.id,
        "model": log.eval.model,
        "ask": "cot" if reasons else "direct",
        "sample": max(sample.epoch - 1, 0),
        "text": None if outcome == "failed" else text,
        "outcome": outcome,
        "doc": {"input": sample.question, "choices": sample.choices or [], "target": sample.target},
    }
    return row | ({"order": shown} if shown else {})


def _outcome(sample: Sample, text: str | None) -> str:
    """The outcome; a failed or withdrawn sample is no wrong answer."""
    if sample.error or sample.invalidation or text is None:
        return "failed"
    outcome = stored_outcome("answered", sample.output.choices[0].stop_reason, "", INSPECT_FINISHES)
    return "truncated" if sample.limit and outcome == "answered" else outcome


def _shown(sample: Sample, explanations: Sequence[str]) -> tuple[list[str], str | None]:
    """The options as the model saw them, and its reply."""
    if not sample.choices:
        return [], sample.completion
    for text in explanations:
        listed, then, letters = text.removeprefix(_SHUFFLED).partition(_THEN)
        if text.startswith(_SHUFFLED) and then and (shown := _listed(listed, sample.choices)):
            return shown, sample.spoken or letters
    return _listed(sample.prompt, sample.choices) or sample.choices, sample.completion


def _listed(prompt: str, choices: Sequence[str]) -> list[str]:
    """The options in the order of a lettered list; empty unless a list holds them all."""
    starts = [match for match in _MARKED.finditer(prompt) if ord(match[1]) - ord("A") < len(choices)]
    first = len(starts) - len(choices)
    if first < 0:
        return []
    listed, by_length = [], sorted(choices, key=len, reverse=True)
    for number, match in enumerate(starts[first:]):
        text = next((text for text in by_length if prompt.startswith(text, match.end())), None)
        if text is None or ord(match[1]) - ord("A") != number:
            return []
        listed.append(text)
    return listed if sorted(listed) == sorted(choices) else []


def _value(value: Any) -> Any:
    """A score from 0 to 1 where it is one; else unchanged."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return _VERDICTS.get(value, value) if isinstance(value, str) else value


TOOL_COLUMNS = frozenset({"doc_id", "doc", "input", "arguments", "resps", "filtered_resps", "index", "prediction"})
"""Columns that identify a tool's layout; their contents are in ours."""


def is_numbered(row: Values) -> bool:
    """Whether a row of lmms-eval or lm-eval names its item by a row number."""
    return "doc_id" in row and ("resps" in row or "filtered_resps" in row)


def as_rows(
    rows: Iterable[Row], refuse: Callable[[RowError], None], *, judged: bool, has_items: bool
) -> Iterator[Row]:
    """Rows in which a known tool's columns have our names besides their own; other rows unchanged.

    ``refuse`` is called with what is wrong with a row, which is left out unless it raises; ``judged``: verdicts are
    enough; ``has_items``: the items of the benchmark are known.
    """
    for row in rows:
        values = row.values
        if is_numbered(values):
            try:
                yield from (row._replace(values=known) for known in _lmms_eval(values, judged=judged))
            except RowError as error:
                refuse(RowError(f"{row.where}: {error}"))
            except InputError as error:
                raise InputError(f"{row.where}: {error}") from None
        elif "prediction" in values and "index" in values:
            yield row._replace(values=values | {"item": values["index"], "text": values["prediction"]})
        elif values.keys() == {"key", "value"}:  # MMMU's: an answer by the item's id
            yield row._replace(values={"item": values["key"], "text": values["value"]})
        elif {"id", "response"} <= values.keys() and not values.keys() & {"item", "text"}:  # MMMU's, MMMU-Pro's
            yield row._replace(values=_mmmu(values, known=has_items))
        else:
            yield row


def _mmmu(row: Values, *, known: bool) -> Values:
    """``index2ans`` has the options by their shown letters."""
    shown = row.get("index2ans") if known else None
    order = {"order": [shown[letter] for letter in sorted(shown)]} if isinstance(shown, dict) and shown else {}
    return row | {"item": row["id"], "text": row["response"]} | order


def _lmms_eval(row: Values, *, judged: bool) -> Iterator[Values]:
    """A line of lmms-eval's log, its item by row number, a sample per response."""
    texts = list(_leaves(row.get("resps"))) or list(_leaves(row.get("filtered_resps")))
    position = row["doc_id"]
    if type(position) is not int or position < 0:
        raise RowError(f"doc_id: found {short(position)}, expected a position in the benchmark")
    known = row | {"item": str(position)}
    if any(isinstance(part, int | float) for part in texts):
        if not judged:
            hint = f"name the metric to take: {param('columns', 'given=METRIC')}"
            raise InputError(f"resps: found likelihoods, expected texts; {hint}")
        yield {"method": "likelihood"} | known | {"text": None}
    elif len(texts) < 2 or "sample" in row:
        yield known | {"text": texts[0] if texts else None}
    else:
        for sample, text in enumerate(texts):
            yield known | {"text": text, "sample": sample}


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for part in value:
            yield from _leaves(part)
    elif value is not None:
        yield value


def unfold(rows: Iterable[Row], source: AnswerFile) -> Iterator[Row]:
    """A matrix of verdicts as one row per cell; its rows are items or models, named in the first column."""
    pattern = _header_pattern(source.header) if source.header else None
    names, label = source.matrix, None
    other = "model" if names == "item" else "item"
    parsed: dict[str, tuple[str, Values]] = {}
    for row in rows:
        if label is None:
            label = next(iter(row.values), "")
        name = plain(row.values.get(label))
        for column, value in row.values.items():
            if column == label:
                continue
            if column not in parsed:
                parsed[column] = short(column), _parse(pattern, column) if pattern else {other: column}
            shown, about = parsed[column]
            where = f"{row.where}, column {shown}"
            try:
                given = score(value)
            except InputError as error:
                raise InputError(f"{where}: {error}") from None
            if given is not None:
                yield Row(where, {names: name, **about, "given": given, "text": None})


def _header_pattern(header: str) -> re.Pattern[str]:
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


_NOT_ANSWERS = ("logs.json", "eval-set.json")  # files of inspect-ai beside its logs


def answer_files(source: AnswerFile) -> list[AnswerFile]:
    """The files that a user means; of a folder, a file that names no model has its own name as the model's."""
    if not source.path.is_dir():
        return [source]
    here = [
        file for file in source.path.iterdir() if file.suffix.lower() in ENDINGS and file.name not in _NOT_ANSWERS
    ]
    files = sorted(path for path in {*here, *source.path.rglob("*.eval")} if path.is_file())
    if not files:
        raise InputError(f"{source.path}: there is no file of answers ({', '.join((*ENDINGS, '.eval'))})")
    return [_with_model(source, path) for path in files]


def _with_model(source: AnswerFile, path: Path) -> AnswerFile:
    fields = source.fields
    is_named = "model" in {*fields.columns, *fields.constants} or source.matrix or is_inspect_log(path)
    if not is_named and "model" not in next((row.values for row in known_table(path)), {}):
        name = path.stem.encode("utf-8", "replace").decode()
        fields = msgspec.structs.replace(fields, constants=fields.constants | {"model": name})
    return msgspec.structs.replace(source, path=path, fields=fields)


_FIRST_ROWS = 20
_REPLIES = ("prediction", "response", "resps", "filtered_resps")  # columns that no benchmark needs
_QUESTIONS = ("question", "query", "prompt")
_CELLS = {"0", "1", "0.0", "1.0", "true", "false"}


def holds_answers(path: Path) -> tuple[bool, str]:
    """Whether a file or folder holds answers, by its columns; and why, where it holds questions as well."""
    if is_inspect_log(path):
        return True, "a log of inspect-ai"
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in ENDINGS and file.is_file())
        return (True, "") if any(path.rglob("*.eval")) else holds_answers(files[0]) if files else (False, "")
    rows = first_rows(path)
    names = {name for row in rows for name in row}
    has_question = any(name.lower() in _QUESTIONS for name in names)
    if names >= {"item", "model"}:
        return True, ""
    replies = (*_REPLIES, "output") if "answer" in names or not has_question else _REPLIES
    if reply := next((name for name in replies if name in names), ""):
        return True, f"its column {reply}" if has_question else ""
    models = names & {"model", *ALIASES["model"]}
    is_table = "item" in names or bool(models and names & {"text", *ALIASES["text"]})
    return (is_table and not has_question) or bool(matrix_rows(rows)), ""


def first_rows(path: Path) -> list[Values]:
    """A table's first rows, up to one that cannot be read; where it has none, its columns without values."""
    rows: list[Values] = []
    with suppress(InputError, OSError), warnings.catch_warnings(action="ignore"):
        table = known_table(path)
        rows.extend(row.values for row in islice(table, _FIRST_ROWS))
        rows += [] if rows else [dict.fromkeys(table.columns)]
    return rows


def matrix_rows(rows: Sequence[Values], items: Collection[str] = ()) -> str:
    """What the rows of a 0/1 matrix are, ``item`` or ``model``; empty where a table is no such matrix."""
    label, *others = (rows[0] if rows else None) or [""]
    cells = {str(cell).strip().lower() for row in rows for name in others if not is_absent(cell := row.get(name))}
    known = {*FIELDS, *(name for names in ALIASES.values() for name in names)}
    if not cells or not cells <= _CELLS or {*others} & known:
        return ""
    names = {str(row.get(label)) for row in rows}
    return "model" if {*others} & {*items} or ("model" in label.lower() and not names & {*items}) else "item"
