"""Layout of a file: which column is the question, where the options are, how golds are given."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
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

KNOWN_COLUMNS: dict[str, tuple[str, ...]] = {
    "id": ("id", "index", "question_id", "qid", "pid", "item_id"),
    "question": ("question", "query", "prompt"),
    "images": ("images", "image", "image_path"),
    "options": ("options", "choices"),
    "answer": ("answer", "answers"),
    "group": ("group", "g_index"),
    **{name: (name,) for name in ("answer_letter", "hint", "history", "description")},
    **{name: (name,) for name in ("lineage", "option_provenance", "tags")},
}
"""Field names, and the column names that files use for them, best first."""

_OWN_NAMES = dict.fromkeys(("correct_answer", "correct", "gold", "gold_answer"), "answer")
_SEVERAL_COLUMNS = ("images", "options")
_NUMBERED_IMAGES = tuple(f"image_{number}" for number in range(1, 27))
_IMAGE_COLUMN = re.compile(
    r"(?:image|img|picture|photo)s?[ _-]?(?:path|file|file_?name|name|id|url|link|source)?s?|file[ _-]?name",
    re.IGNORECASE,
)
_IMAGE_FILE = re.compile(r"\S.*\.(?:jpe?g|png|gif|webp|bmp|tiff?)", re.IGNORECASE)
_LONGEST_NAME = 1024
RESERVED = {name for names in KNOWN_COLUMNS.values() for name in names} | set(_NUMBERED_IMAGES) | set(ascii_uppercase)
"""Column names with a meaning; a tag of such a name is stored where it cannot be mistaken."""


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """User settings for reading a file."""

    format: str | None = None
    sheet: str = ""
    limit: int | None = None
    fields: dict[str, str] = {}
    """Field → the file's column; several columns joined by ``+`` for images and options."""
    drop: tuple[str, ...] = ()
    images: Path | None = None
    """The folder that image paths are relative to and may not leave; the file's own by default."""
    gold_style: GoldStyle | None = None
    gold_required: bool = True
    images_required: bool = True
    """Whether a named image that is missing is an error. Else its name is kept as a tag of the item."""


class ItemLayout(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions for one file. Empty where the file has no such column."""

    id: str = ""
    question: str = ""
    images: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  # one column that holds a list, or one column per option
    inline_options: bool = False
    letters: int = 0  # for a file without questions: the number of options of items whose rows do not state it
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
        """Field → the column or columns that hold it, as ``--map`` takes it."""
        columns = {name: getattr(self, name) for name in KNOWN_COLUMNS}
        return {n: c if isinstance(c, str) else "+".join(c) for n, c in columns.items() if c}


def is_image_column(name: str) -> bool:
    """Whether a column has a name that is used for images."""
    return _IMAGE_COLUMN.fullmatch(name.strip()) is not None


def named_images(tags: dict[str, Any]) -> dict[str, str]:
    """The image names among an item's tags, by tag: recognised by the tag's name or its value."""
    return {
        name: str(value[0] if isinstance(value, list) else value)
        for name, value in tags.items()
        if not isinstance(value, bool) and value not in (None, "", [], {})
        if is_image_column(name) or is_image_file(value)
    }


def is_image_file(value: Any) -> bool:
    """Whether a value is the name of an image file, or a list that begins with one."""
    if isinstance(value, list) and value:
        return is_image_file(value[0])
    return isinstance(value, str) and len(value) <= _LONGEST_NAME and bool(_IMAGE_FILE.fullmatch(value.strip()))


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
    """The column of each field: the user's mapping first, then known names."""
    wrong = [name for name in options.drop if name not in columns]
    problems = [f'{heading("drop")}: no column "{name}"; {nearest(name, columns)}' for name in wrong]
    for field, names in options.fields.items():
        problems += _unmapped(field, split_columns(names), columns)
    if problems:
        raise InputError(f"{where}: {'; '.join(problems)}")
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
    """A file without questions."""


def no_question(columns: Sequence[str], where: str) -> NoQuestionError:
    """The message about a file without questions."""
    return NoQuestionError(
        f"{where}: no column for the question among {listed_columns(columns)}; "
        f"name it with {param('fields', 'question=COLUMN')} (and likewise id, images, options, answer)"
    )


def _unmapped(field: str, names: Sequence[str], columns: Sequence[str]) -> Iterator[str]:
    """What is wrong with the columns that are mapped to a field."""
    at = heading("fields", field)
    if len(names) > 1 and field not in _SEVERAL_COLUMNS:
        yield f"{at}: only {' and '.join(_SEVERAL_COLUMNS)} may have several columns"
    yield from (f'{at}: no column "{name}"; {nearest(name, columns)}' for name in names if name not in columns)


def _usual_name(column: str) -> str:
    """The field that a hand-written column name stands for: ``Question``, ``Option A``, ``Image path``."""
    name = re.sub(r"\W+", "_", column.strip().lower()).strip("_")
    option = re.fullmatch(r"(?:(?:option|choice|answer)_?)?([a-z])", name)
    is_letter = option is not None and name not in RESERVED  # "options" is no option S
    return option[1].upper() if option and is_letter else _OWN_NAMES.get(name, name)


def unreserved(name: str, _value: Any = None) -> bool:
    """Whether a tag can be a column of its own without being mistaken for a field."""
    return name not in RESERVED


def plain_row(item: Item, is_column: Callable[[str, Any], bool] = unreserved) -> dict[str, Any]:
    """Everything but the images, under eyetest's column names; empty values are left out."""
    return {**field_columns(item), **tag_columns(item, is_column)}


def field_columns(item: Item) -> dict[str, Any]:
    """The item's fields except images and tags, under eyetest's column names; empty values are left out."""
    row: dict[str, Any] = {"id": item.id}
    if item.question or item.images:
        row["question"] = item.question
    if item.choices:
        row["options"] = [choice.text for choice in item.choices]
        if item.gold:
            texts = [item.choices[i].text for i in item.gold]
            row |= {"answer": texts[0] if len(texts) == 1 else texts, "answer_letter": gold_letters(item)}
        if any(choice.provenance for choice in item.choices):
            row["option_provenance"] = msgspec.to_builtins([c.provenance or OptionProvenance() for c in item.choices])
    elif item.references:
        row["answer"] = one_or_list(item.references)
    others = ("hint", "description", "group", "history", "lineage")
    return row | {name: msgspec.to_builtins(value) for name in others if (value := getattr(item, name))}


def tag_columns(item: Item, is_column: Callable[[str, Any], bool]) -> dict[str, Any]:
    """The item's tags: those that can be columns as such, the others together in the column ``tags``."""
    columns = {name: value for name, value in item.tags.items() if value is not None and is_column(name, value)}
    held = {name: value for name, value in item.tags.items() if name not in columns}
    return {**columns, "tags": held} if held else columns


def as_cell(value: object) -> str:
    """A value as the text of a cell, as JSON if it is not text."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def gold_letters(item: Item) -> str:
    """The right options by their letters: ``B``, or ``AC`` where two are right."""
    return "".join(letter(position) for position in item.gold)


def one_or_list(references: tuple[str, ...]) -> str | list[str]:
    """A single reference as itself, unless a reader would take it for a list."""
    single = len(references) == 1 and not looks_like_list(references[0])
    return references[0] if single else list(references)
