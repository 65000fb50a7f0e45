"""What a row of another tool's answer file says about the item that was asked: question, options and answer key.

Tools write the same question in many ways: inside a prompt, with image placeholders, with other white space, cut off
by a spreadsheet. So texts are compared as sequences of words and signs (`comparable`).
"""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from eyetest.benchmarks.options import listed_options, without_letters
from eyetest.runs.answer_values import without_marks
from eyetest.runs.layouts import is_numbered
from eyetest.tabular.files import was_cut
from eyetest.tabular.table import Values, usual_name
from eyetest.text.folding import composed

QUESTIONS = ("question", "query", "problem", "question_text", "stem")
_PROMPTS = ("prompt", "input", "inputs", "instruction", "arguments", "messages", "full_prompt", "user_prompt")
OPTIONS = (
    *("options", "choices", "choice", "candidates", "answer_choices", "answer_options", "index2ans"),
    *("all_options", "multi_choice", "mc_options", "mc_choices"),
)
_LETTERED = re.compile(r"(?:(?:option|choice|candidate|answer|ans)_?)?([a-z])|(?:option|choice|candidate|ans)_?(\d)")
_KEYS = (
    *("target", "gold", "correct_answer", "ground_truth", "groundtruth", "gt", "gt_answer", "reference"),
    *("references", "answer_letter", "expected_answer", "ideal", "answerkey", "answer_key", "answer_index"),
    "answer_idx",
)
_KEYS_BESIDE_A_QUESTION = ("answer", "answers")  # elsewhere this may be what a program took for a model's answer
_KEYS_INSIDE = ("label", "correct", "correct_option", "solution")  # a record of the item has no verdicts
_KEY_HASH = "target_hash"
_IDS = ("id", "index", "question_id", "qid", "pid", "item_id", "sample_id", "uid")
_SENT = ("input", "arguments")  # what lmms-eval and lm-eval sent
_INSIDE = ("doc", "sample")  # columns with the whole item as the tool read it
_MOST_TEXTS = 200
_LONGEST_TEXT = 100_000
_LONGEST_WORD = 1_000  # no text has a longer one; base64 has
_DEEPEST = 5
_FEWEST_WORDS = 3  # of a text that may be a question although its column does not say so

_PLACEHOLDER = re.compile(
    r"<[|/\s]{0,3}(?:image|img|picture|photo|video|audio|sound|speech|document|page|pdf|vision|media)s?[\w\s.:#-]{0,30}"
    r"[|/]{0,2}>|\[(?:image|img|video|audio)[\s_]?\d*\]|\{(?:image|img|video|audio)[\s_]?\d*\}|!\[[^\]]{0,200}\]\([^)]*\)",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\[nrt]|_x000[dD]_")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u00ad\u200b-\u200f\u2060\ufeff]")
_ALIKE = str.maketrans("‘’‚‛′´`“”„‟″«»–—−‐‑‒―", "'" * 7 + '"' * 7 + "-" * 7)
_SCRIPTS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"  # scripts without blanks between words
_TOKEN = re.compile(rf"[{_SCRIPTS}]|[^\W{_SCRIPTS}]+|[^\w\s]")
_DOTS = re.compile(r"(?: \.){3}$| …$")


@lru_cache(maxsize=20_000)
def comparable(text: str) -> str:
    """A text as its words and signs with one blank between them, without case and placeholders of media."""
    plain = _ESCAPED.sub(" ", text[:_LONGEST_TEXT])
    if "&" in plain:
        plain = html.unescape(plain)
    plain = _PLACEHOLDER.sub(" ", plain)
    plain = _UNSEEN.sub("", composed(plain).translate(_ALIKE))
    return " ".join(_TOKEN.findall(plain.casefold()))


def holds(whole: str, part: str) -> bool:
    """Whether one comparable text contains another, by whole words."""
    return f" {part} " in f" {whole} "


def uncut(text: str) -> str:
    """A comparable text without the dots that a program puts where it cut."""
    return _DOTS.sub("", text)


class QuestionText(NamedTuple):
    """A text of a row that is, or contains, the question."""

    column: str
    text: str  # as written
    is_named: bool  # whether its column says that it is the question
    was_cut: bool  # whether it fills a cell of a spreadsheet


class RowContent(NamedTuple):
    """What a row says about its item; empty where it says nothing."""

    questions: tuple[QuestionText, ...] = ()
    options: tuple[str, ...] = ()
    keys: tuple[Any, ...] = ()
    key_hash: str = ""
    ids: tuple[str, ...] = ()  # inside the tool's own record of the item

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to compare."""
        return not (self.questions or self.options or self.keys or self.key_hash)


class ContentReader:
    """Reads what rows of one file say about their items, without the columns that hold the answers themselves."""

    def __init__(self, sample: Sequence[Values]) -> None:
        self._prompts = frozenset(
            name
            for name in dict.fromkeys(name for row in sample for name in row)
            if usual_name(name) in _PROMPTS and _is_written_anew([row.get(name) for row in sample])
        )

    def read(self, row: Values) -> RowContent:
        """The content of a row, and of the record of the item that it may hold."""
        inner = [record for name in _INSIDE if (record := _record(row.get(name)))]
        questions: list[QuestionText] = []
        for record in inner:
            questions += _texts_inside(record)
        questions += self._named_questions(row)
        options = next((found for part in (row, *inner) if (found := _options(part))), ())
        names = (*_KEYS, *_KEYS_BESIDE_A_QUESTION) if questions or options else _KEYS
        keys = _keys(row, names)
        for record in inner:
            keys = keys or _keys(record, (*_KEYS, *_KEYS_BESIDE_A_QUESTION, *_KEYS_INSIDE))
        key_hash = row.get(_KEY_HASH)
        ids = [str(value) for record in inner for name, value in record.items() if _is_id(name, value)]
        return RowContent(
            questions=tuple(questions[:_MOST_TEXTS]),
            options=options,
            keys=keys,
            key_hash=key_hash if isinstance(key_hash, str) else "",
            ids=tuple(ids),
        )

    def _named_questions(self, row: Values) -> Iterator[QuestionText]:
        for name, value in row.items():
            is_sent = name in _SENT and is_numbered(row)
            if usual_name(name) in QUESTIONS or name in self._prompts or is_sent:
                for text in _strings(_decoded(value)):
                    yield QuestionText(name, text, True, was_cut(text))


def _is_written_anew(values: Sequence[Any]) -> bool:
    """Whether the texts of a column differ from row to row as questions do; the name of a prompt does not."""
    texts = [" ".join(_strings(_decoded(value))) for value in values if value not in (None, "")]
    if not texts or sum(len(text.split()) >= _FEWEST_WORDS for text in texts) * 2 < len(texts):
        return False
    return len(texts) == 1 or len(set(texts)) > 1


def _record(value: Any) -> Values:
    record = _decoded(value)
    return record if isinstance(record, dict) else {}


def _texts_inside(record: Values) -> Iterator[QuestionText]:
    """The questions of a record: where no column is named so, every text of some words."""
    named = [name for name in record if usual_name(name) in (*QUESTIONS, *_PROMPTS)]
    for name in named:
        for text in _strings(record[name]):
            yield QuestionText(name, text, True, False)
    for name, value in record.items():
        for text in () if name in named else _strings(value):
            if len(text.split()) >= _FEWEST_WORDS or not text.isascii():
                yield QuestionText(name, text, False, False)


def _decoded(value: Any) -> Any:
    """A value, or what a text spells as JSON."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return value
    return value


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    """Every text inside a value, such as the parts of a message; no base64."""
    if isinstance(value, str):
        if value.strip() and not (len(value) > _LONGEST_WORD and " " not in value[:_LONGEST_WORD]):
            yield value
        return
    parts: Sequence[Any] = ()
    if isinstance(value, Mapping):
        parts = [*value.values()]
    elif isinstance(value, list | tuple):
        parts = value
    for part in parts[:_MOST_TEXTS] if depth < _DEEPEST else ():
        yield from _strings(part, depth + 1)


def _options(record: Values) -> tuple[str, ...]:
    """The options in a record, without letters: a list in one column, or a column for each."""
    for name, value in record.items():
        if usual_name(name) in OPTIONS:
            options = listed_options(value)
            if options is not None and len(options) > 1:
                return _bare(tuple(options.values()))
    cells: dict[str, str] = {}
    for name, value in record.items():
        match = _LETTERED.fullmatch(usual_name(name))
        if match is not None and isinstance(value, str | int | float | None):
            written = "" if value is None or value != value else str(value)  # noqa: PLR0124 (NaN)
            cells.setdefault(match[1] or match[2], written)
    first = next((start for start in "a01" if start in cells), "")
    texts: list[str] = []
    while first and (mark := chr(ord(first) + len(texts))) in cells:
        texts.append(cells[mark])
    while texts and not texts[-1]:
        texts.pop()
    return _bare(tuple(texts)) if sum(map(bool, texts)) > 1 else ()


def _bare(options: tuple[str, ...]) -> tuple[str, ...]:
    """Options without their letters, also where two of them are equal."""
    return without_marks(without_letters(options))


def _keys(record: Values, names: Sequence[str]) -> tuple[Any, ...]:
    values = [value for name, value in record.items() if usual_name(name) in names]
    return tuple(value for value in values if _may_be_key(value))


def _may_be_key(value: Any) -> bool:
    """Whether a value may be an answer key; an empty cell and a verdict are none."""
    is_verdict = isinstance(value, bool)
    return isinstance(value, str | int | float | list) and not is_verdict and value not in ("", []) and value == value  # noqa: PLR0124


def _is_id(name: str, value: Any) -> bool:
    return usual_name(name) in _IDS and isinstance(value, str | int) and not isinstance(value, bool)
