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

from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.runs.answer_values import FIELDS, is_absent, plain, score
from eyetest.runs.mapping import ALIASES, AnswerFile
from eyetest.tabular.files import (
    ENDINGS,
    Header,
    Sample,
    is_inspect_log,
    is_sheet,
    open_table,
    read_inspect_log,
    read_rows,
)
from eyetest.tabular.table import Values, kind_of, unpacked_name

_SHUFFLED = "Choices were shuffled before generating a response, the following was sent to the model:\n\n"
_THEN = "\nShuffled answer:\n"
_MARKED = re.compile(r"^([A-Z])\) ", re.MULTILINE)
_CUT_OFF = ("max_tokens", "model_length")
_VERDICTS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}  # correct, incorrect, partly correct, no answer


def inspect_rows(path: Path) -> Iterator[tuple[int, Values]]:
    """One row per sample and epoch; each scorer is a column, to be selected by name."""
    for number, (log, sample) in enumerate(read_inspect_log(path), 1):
        yield number, _row(log, sample)


def _row(log: Header, sample: Sample) -> Values:
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
    }
    return row | ({"order": shown} if shown else {})


def _outcome(sample: Sample, text: str | None) -> str:
    """The outcome; a failed or withdrawn sample is no wrong answer."""
    if sample.error or sample.invalidation or text is None:
        return "failed"
    why = sample.output.choices[0].stop_reason
    if why == "content_filter":
        return "blocked"
    return "truncated" if sample.limit or why in _CUT_OFF else "answered"


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


ItemAt = Callable[[int], str]  # the id of the item at a position of the benchmark
Location = int | tuple[int, str]  # a row's number, or that and a column's name
Located = tuple[Location, Values]
TOOL_COLUMNS = frozenset({"doc_id", "resps", "filtered_resps", "index", "prediction"})
"""Columns that identify a tool's layout; their contents are in ours."""
INSTANCE_COLUMNS = {"schema_version", "evaluation_id", "model_id", "sample_id", "evaluation"}
"""Identify a line of Every Eval Ever's, which names its model."""


def at(location: Location) -> str:
    """A location in a file, as text."""
    return f"row {location}" if isinstance(location, int) else f"row {location[0]}, column {short(location[1])}"


def as_rows(rows: Iterable[tuple[int, Values]], source: AnswerFile, item_at: ItemAt | None) -> Iterator[Located]:
    """Rows in which a known tool's columns have our names besides their own; other rows unchanged."""
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
    """An instance of Every Eval Ever's schema, its score as a column; of eyetest's own, all of the key."""
    inside = {name: row.get(name) or {} for name in ("input", "output", "evaluation", "metadata")}
    if not all(isinstance(part, dict) for part in inside.values()):
        raise InputError("input, output, evaluation and metadata: expected objects, as Every Eval Ever has them")
    replies = [m for m in row.get("messages") or () if isinstance(m, dict) and m.get("role") == "assistant"]
    texts = inside["output"].get("raw") or [message.get("content") for message in replies[-1:]] or [None]
    about, metadata = {"item": row["sample_id"], "model": row["model_id"]}, inside["metadata"]
    common = {name: value for name, value in row.items() if not isinstance(value, list | dict)}
    common |= inside["evaluation"] | about
    if "eyetest" in metadata:
        yield {name: metadata.get(name) for name in FIELDS} | about | {"text": texts[0]}
        return
    if known and inside["input"].get("choices"):
        common["order"] = inside["input"]["choices"]
    if row.get("error") and not any(texts):
        texts, common = [None], common | {"outcome": "failed"} | dict.fromkeys(inside["evaluation"])
    samples = [{"sample": sample} for sample in range(len(texts))] if len(texts) > 1 else [{}]
    yield from (common | {"text": text} | sample for text, sample in zip(texts, samples, strict=True))


def _mmmu(row: Values, *, known: bool) -> Values:
    """``index2ans`` has the options by their shown letters."""
    shown = row.get("index2ans") if known else None
    order = {"order": [shown[letter] for letter in sorted(shown)]} if isinstance(shown, dict) and shown else {}
    return row | {"item": row["id"], "text": row["response"]} | order


def _lmms_eval(row: Values, item_at: ItemAt | None, *, judged: bool) -> Iterator[Values]:
    """A line of lmms-eval's log, its item by position, a sample per response; ``judged``: verdicts are enough."""
    texts = list(_leaves(row.get("resps"))) or list(_leaves(row.get("filtered_resps")))
    position = row["doc_id"]
    if type(position) is not int or position < 0:
        raise InputError(f"doc_id: found {short(position)}, expected a position in the benchmark")
    known = row | {"item": item_at(position) if item_at else str(position)}
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


def unfold(rows: Iterable[tuple[int, Values]], source: AnswerFile) -> Iterator[Located]:
    """A matrix of verdicts as one row per cell; its rows are items or models, named in the first column."""
    pattern = _header_pattern(source.header) if source.header else None
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


_PLACE = re.compile(r"\{(\w*)\}")
MOST_FILES = 10_000
_NOT_ANSWERS = ("logs.json", "eval-set.json")  # files of inspect-ai beside its logs
KNOW_WHO = ("*.eval", "*_samples.jsonl")  # inspect-ai's and Every Eval Ever's, with model names: found in subfolders


def answer_files(source: AnswerFile) -> list[AnswerFile]:
    """The files that a user means, each with the fields in its name."""
    if not source.path.is_dir():
        if source.names:
            raise InputError(f"{heading('names')}: {source.path} is a file, and no folder of files")
        return [source]
    found = _named(source) if source.names else _all(source)
    if not found:
        what = f"that is called {source.names}" if source.names else f"of answers ({', '.join((*ENDINGS, '.eval'))})"
        hint = "" if source.names else f"; say where they lie: {param('names', '{model}/answers.jsonl')}"
        raise InputError(f"{source.path}: there is no file {what}{hint}")
    return found


def _all(source: AnswerFile) -> list[AnswerFile]:
    here = [path for path in source.path.iterdir() if kind_of(path) in ENDINGS and path.name not in _NOT_ANSWERS]
    below = (path for pattern in KNOW_WHO for path in source.path.rglob(pattern))
    files = sorted(path for path in {*here, *below} if path.is_file())
    return [
        _with_fields(
            source, path, {} if _names_model(source, path) else {"model": Path(unpacked_name(path.name)).stem}
        )
        for path in files
        if not path.with_name(f"{path.stem}_samples.jsonl").is_file()  # an aggregate of Every Eval Ever
    ]


def _names_model(source: AnswerFile, path: Path) -> bool:
    named = {*source.fields.columns, *source.fields.constants}
    if "model" in named or source.matrix or is_inspect_log(path):
        return True
    first = next((row for _, row in read_rows(path)), {})
    return "model" in first or first.keys() >= INSTANCE_COLUMNS


def _named(source: AnswerFile) -> list[AnswerFile]:
    pattern = _name_pattern(source.names)
    found = []
    for number, path in enumerate(sorted(source.path.rglob("*"))):
        if number > MOST_FILES:
            raise InputError(f"{source.path} holds more than {MOST_FILES:,} files")
        match = pattern.fullmatch(path.relative_to(source.path).as_posix())
        if match and path.is_file():
            found.append(_with_fields(source, path, match.groupdict()))
    return found


def _name_pattern(names: str) -> re.Pattern[str]:
    """A pattern in which names in braces and ``*`` match any part of a name, but no folder."""
    fields = _PLACE.findall(names)
    for field in fields:
        if field not in FIELDS:
            raise InputError(f'{heading("names")}: no field "{short(field)[1:-1]}"; {nearest(field, FIELDS)}')
    if len(set(fields)) < len(fields):
        raise InputError(f"{heading('names')}: {names} names a field twice")
    parts = _PLACE.split(names)
    plain = (re.escape(part).replace(r"\*", "[^/]*") for part in parts[::2])
    places = (*(f"(?P<{field}>[^/]+)" for field in fields), "")
    return re.compile("".join(text + place for text, place in zip(plain, places, strict=True)))


def _with_fields(source: AnswerFile, path: Path, named: dict[str, str]) -> AnswerFile:
    for field in named.keys() & {*source.fields.columns, *source.fields.constants}:
        raise InputError(f"{heading('names')}: {field} is given twice; give it once")
    constants = {field: value.encode("utf-8", "replace").decode() for field, value in named.items()}
    fields = msgspec.structs.replace(source.fields, constants=source.fields.constants | constants)
    return msgspec.structs.replace(source, path=path, fields=fields, names="")


_FIRST_ROWS = 20
_REPLIES = ("prediction", "response", "resps", "filtered_resps")  # columns that no benchmark needs
_QUESTIONS = ("question", "query", "prompt")
_CELLS = {"0", "1", "0.0", "1.0", "true", "false"}


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
            rows.append(dict.fromkeys(open_table(path).columns))
    return rows


def matrix_rows(rows: Sequence[Values], items: Collection[str] = ()) -> str:
    """What the rows of a 0/1 matrix are, ``item`` or ``model``; empty where a table is no such matrix."""
    label, *others = (rows[0] if rows else None) or [""]
    cells = [row.get(name) for row in rows for name in others]
    filled = {str(cell).strip().lower() for cell in cells if not is_absent(cell)}
    known = {*FIELDS, *(name for names in ALIASES.values() for name in names)}
    if not filled or not filled <= _CELLS or {*others} & known:
        return ""
    if {*others} & {*items}:
        return "model"
    names = {plain(row.get(label)) for row in rows if not isinstance(row.get(label), list | dict | bytes)}
    return "model" if "model" in label.lower() and not names & {*items} else "item"
