"""Where a file keeps what an item needs: which column is the question, where the options are, how golds are given.

Answers point at options by letter, by text, by index from 0 or by number from 1. Files differ, and a wrong guess
would silently spoil every gold. So the style is taken from the first rows of a file only when one reading fits them
better than all others; otherwise the user is asked.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal, get_args

import msgspec

from eyetest.errors import InputError, heading, nearest, param
from eyetest.records import Item, OptionProvenance, letter
from eyetest.tabular.literals import looks_like_list
from eyetest.tabular.table import listed_columns, parse_pairs, refuse_unknown_field, split_columns

GoldStyle = Literal["letter", "text", "index", "number"]
GOLD_STYLES: tuple[GoldStyle, ...] = get_args(GoldStyle)
_LETTERS = re.compile(r"\(?([A-Za-z])\)?[.:]?")
_SEVERAL = re.compile(r"[A-Z](?:\s*(?:[,;]\s*)?[A-Z])+")
_HIDDEN = ("", "?")
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?")

Options = Sequence[str]

KNOWN_COLUMNS: dict[str, tuple[str, ...]] = {
    "id": ("id", "index", "question_id", "qid", "pid"),
    "question": ("question", "query", "prompt"),
    "images": ("images", "image", "image_path"),
    "options": ("options", "choices"),
    "answer": ("answer", "answers"),
    "answer_letter": ("answer_letter",),
    "hint": ("hint",),
    "history": ("history",),
    "description": ("description",),
    "group": ("group", "g_index"),
    "lineage": ("lineage",),
    "option_provenance": ("option_provenance",),
    "tags": ("tags",),
}
"""Our fields, and the names under which files are known to keep them, best first."""

_OWN_NAMES = dict.fromkeys(("correct_answer", "correct", "gold", "gold_answer"), "answer")
"""How people call our fields in sheets of their own."""
_SEVERAL_COLUMNS = ("images", "options")
_NUMBERED_IMAGES = tuple(f"image_{number}" for number in range(1, 27))
_PICTURE_COLUMN = re.compile(
    r"(?:image|img|picture|photo)s?[ _-]?(?:path|file|file_?name|name|id|url|link|source)?s?|file[ _-]?name",
    re.IGNORECASE,
)
"""What strangers call the column that keeps pictures, or the names of pictures that lie elsewhere."""
_PICTURE_FILE = re.compile(r"\S.*\.(?:jpe?g|png|gif|webp|bmp|tiff?)", re.IGNORECASE)
_LONGEST_NAME = 1024
RESERVED = {name for names in KNOWN_COLUMNS.values() for name in names} | set(_NUMBERED_IMAGES) | set(ascii_uppercase)
"""Column names that mean something; a tag of such a name is kept where it cannot be mistaken."""


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a user may have to say about a file."""

    format: str | None = None
    sheet: str = ""
    """Of an Excel file; the first if none is named."""
    limit: int | None = None
    """Only the first items, so many."""
    fields: dict[str, str] = {}
    """Our field → the file's column; several columns joined by ``+`` for images and options."""
    drop: tuple[str, ...] = ()
    images: Path | None = None
    """The folder that image paths are relative to and may not leave; the file's own by default."""
    gold_style: GoldStyle | None = None
    gold_required: bool = True
    pictures_required: bool = True
    """Whether a picture that is named and not there is an error. Else its name is kept as a tag of the item."""


class ItemLayout(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions for one file. Empty where the file has no such column."""

    id: str = ""
    question: str = ""
    images: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """One column that holds a list, or one column an option."""
    inline_options: bool = False
    """Options are part of the question text."""
    letters: int = 0
    """Of a file without questions: how many options items have of which no row says it."""
    answer: str = ""
    answer_letter: str = ""
    gold_style: GoldStyle = "letter"
    hint: str = ""
    history: str = ""
    description: str = ""
    group: str = ""
    lineage: str = ""
    option_provenance: str = ""
    tags: str = ""
    tag_columns: tuple[str, ...] = ()

    @property
    def fields(self) -> dict[str, str]:
        """Our field → the column or columns that hold it, as ``--map`` would say it."""
        columns = {name: getattr(self, name) for name in KNOWN_COLUMNS}
        return {n: c if isinstance(c, str) else "+".join(c) for n, c in columns.items() if c}


def is_picture_column(name: str) -> bool:
    """Whether a column is called as columns of pictures are."""
    return _PICTURE_COLUMN.fullmatch(name.strip()) is not None


def named_pictures(tags: dict[str, Any]) -> dict[str, str]:
    """The names of pictures among an item's tags, by tag: by what the tag is called or by what it says."""
    return {
        name: str(value[0] if isinstance(value, list) else value)
        for name, value in tags.items()
        if _is_name(value) and (is_picture_column(name) or is_picture_file(value))
    }


def is_picture_file(value: Any) -> bool:
    """Whether a value is the name of a picture's file, or a list that begins with one."""
    if isinstance(value, list) and value:
        return is_picture_file(value[0])
    return isinstance(value, str) and len(value) <= _LONGEST_NAME and bool(_PICTURE_FILE.fullmatch(value.strip()))


def _is_name(value: Any) -> bool:
    return not isinstance(value, bool) and value not in (None, "", [], {})


def parse_map(pairs: Iterable[str]) -> dict[str, str]:
    """``question=prompt,options=choices`` as a mapping from our fields to the file's columns."""
    takes = f"{param('fields')} takes FIELD=COLUMN pairs, such as question=prompt"
    fields = {}
    for name, column in parse_pairs(pairs, takes):
        if not column:
            raise InputError(f'{takes}; found "{name}="')
        field = "images" if name == "image" else name
        refuse_unknown_field(field, "fields", KNOWN_COLUMNS)
        fields[field] = column
    return fields


def find_columns(columns: Sequence[str], options: ReadOptions, where: str) -> ItemLayout:
    """Which column holds what, by the user's word first and by known names otherwise."""
    for name in options.drop:
        if name not in columns:
            raise InputError(f'{where}: {heading("drop")}: no column "{name}"; {nearest(name, columns)}')
    for field, names in options.fields.items():
        _check_mapped(field, split_columns(names), columns, where)
    mapped = {column for value in options.fields.values() for column in split_columns(value)}
    free = [column for column in columns if column not in mapped and column not in options.drop]
    known = {name: name for name in free}
    if "question" not in options.fields and not any(name in known for name in KNOWN_COLUMNS["question"]):
        known = {_usual_name(name): name for name in reversed(free)}
    layout: dict[str, Any] = {
        field: options.fields.get(field) or next((known[name] for name in names if name in known), "")
        for field, names in KNOWN_COLUMNS.items()
    }
    if not (layout["question"] or layout["answer"] or layout["answer_letter"]):
        raise no_question(columns, where)
    if "answer" in options.fields and "answer_letter" not in options.fields:
        layout["answer_letter"] = ""
    numbered = tuple(known[name] for name in _NUMBERED_IMAGES if name in known)
    layout["images"] = split_columns(layout["images"]) or numbered
    lettered = tuple(known[name] for name in takewhile(known.__contains__, ascii_uppercase))
    layout["options"] = split_columns(layout["options"]) or lettered
    used = {name for value in layout.values() for name in ((value,) if isinstance(value, str) else value)}
    return ItemLayout(**layout, tag_columns=tuple(column for column in free if column not in used))


class NoQuestionError(InputError):
    """A file in which nothing is asked."""


def no_question(columns: Sequence[str], where: str) -> NoQuestionError:
    """What to say of a file in which nothing is asked."""
    return NoQuestionError(
        f"{where}: no column for the question among {listed_columns(columns)}; "
        f"name it with {param('fields', 'question=COLUMN')} (and likewise id, images, options, answer)"
    )


def _check_mapped(field: str, names: Sequence[str], columns: Sequence[str], where: str) -> None:
    if len(names) > 1 and field not in _SEVERAL_COLUMNS:
        several = " and ".join(_SEVERAL_COLUMNS)
        raise InputError(f"{where}: {heading('fields', field)}: only {several} may have several columns")
    for name in names:
        if name not in columns:
            known = nearest(name, columns)
            raise InputError(f'{where}: {heading("fields", field)}: no column "{name}"; {known}')


def _usual_name(column: str) -> str:
    """What people mean by the columns of a sheet of their own: ``Question``, ``Option A``, ``Image path``."""
    name = re.sub(r"\W+", "_", column.strip().lower()).strip("_")
    option = re.fullmatch(r"(?:(?:option|choice|answer)_?)?([a-z])", name)
    is_letter = option is not None and name not in RESERVED  # "options" is no option S
    return option[1].upper() if option and is_letter else _OWN_NAMES.get(name, name)


def is_missing(answer: Any) -> bool:
    """Whether a choice item's answer says that there is none, as held-back test sets do."""
    return answer is None or (isinstance(answer, str) and answer.strip() in _HIDDEN) or answer == []


def find_gold(answer: Any, options: Options, style: GoldStyle) -> tuple[int, ...] | None:
    """Positions of the right options, or None where the answer points at none of them."""
    if isinstance(answer, list | tuple):
        golds = [find_gold(part, options, style) for part in answer]
        return None if None in golds else tuple(sorted({i for part in golds if part for i in part}))
    return _STYLES[style](answer, options)


def _by_letter(answer: Any, options: Options) -> tuple[int, ...] | None:
    if not isinstance(answer, str):
        return None
    text = answer.strip()
    match = _LETTERS.fullmatch(text)
    if match:
        names = [match[1].upper()]
    elif _SEVERAL.fullmatch(text):
        names = re.findall("[A-Z]", text)
    else:
        return None
    positions = [ord(name) - ord("A") for name in names]
    return tuple(positions) if positions == sorted(set(positions)) and positions[-1] < len(options) else None


def _by_text(answer: Any, options: Options) -> tuple[int, ...] | None:
    text = str(answer)
    for same in (str, str.strip):
        for position, option in enumerate(options):
            if same(option) == same(text):
                return (position,)
    equal = [i for i, option in enumerate(options) if _NUMBER.fullmatch(option.strip()) and _equals(option, text)]
    return (equal[0],) if len(equal) == 1 else None


def _equals(option: str, text: str) -> bool:
    """Whether two numbers are one: spreadsheets write 0.50 as 0.5."""
    return _NUMBER.fullmatch(text.strip()) is not None and float(option) == float(text)


def _by_index(answer: Any, options: Options) -> tuple[int, ...] | None:
    if isinstance(answer, bool) or not (
        isinstance(answer, int) or (isinstance(answer, str) and re.fullmatch(r"\d{1,2}", answer.strip()))
    ):
        return None
    return (int(answer),) if 0 <= int(answer) < len(options) else None


def _by_number(answer: Any, options: Options) -> tuple[int, ...] | None:
    from_zero = _by_index(answer, [*options, ""])
    return (from_zero[0] - 1,) if from_zero and from_zero[0] >= 1 else None


_STYLES: dict[str, Callable[[Any, Options], tuple[int, ...] | None]] = {
    "letter": _by_letter,
    "text": _by_text,
    "index": _by_index,
    "number": _by_number,
}


def choose_style(sample: Iterable[tuple[Any, Options]], where: str) -> GoldStyle:
    """The one style in which every sampled answer, or else most of them, points at an option."""
    answers = [(answer, options) for answer, options in sample if not is_missing(answer)]
    readings = {style: [find_gold(answer, options, style) for answer, options in answers] for style in GOLD_STYLES}
    fits = {style: sum(gold is not None for gold in golds) for style, golds in readings.items()}
    fitting = [style for style in GOLD_STYLES if fits[style] == max(fits.values())]
    for style in fitting[1:]:
        if readings[style] != readings[fitting[0]]:
            raise InputError(
                f"{where}: answers can be read as {fitting[0]} or as {style}, with different results; "
                f"say which with {param('gold_style', fitting[0])} or {param('gold_style', style)}"
            )
    return fitting[0]


def unreserved(name: str, _value: Any = None) -> bool:
    """Whether a tag can be a column of its own without being taken for something else."""
    return name not in RESERVED


def plain_row(item: Item, is_column: Callable[[str, Any], bool] = unreserved) -> dict[str, Any]:
    """Everything but the pictures, under our own column names; what is empty is left out."""
    return {**field_columns(item), **tag_columns(item, is_column)}


def field_columns(item: Item) -> dict[str, Any]:
    """The item's fields but for pictures and tags, under our own names; what is empty is left out."""
    row: dict[str, Any] = {"id": item.id}
    if item.question or item.images:
        row["question"] = item.question
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
