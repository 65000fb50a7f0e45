"""Where a file keeps what an item needs: which column is the question, where the options are, how golds are given."""

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import msgspec

from eyetest.benchmarks.rows.gold import AnswerStyle
from eyetest.errors import InputError, heading, nearest, param

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
    fields: dict[str, str] = {}
    """Our field → the file's column; several columns joined by ``+`` for images and options."""
    drop: tuple[str, ...] = ()
    images: Path | None = None
    """The folder that image paths are relative to and may not leave; the file's own by default."""
    answers: AnswerStyle | None = None
    gold_required: bool = True
    pictures_required: bool = True
    """Whether a picture that is named and not there is an error. Else its name is kept as a tag of the item."""


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions for one file. Empty where the file has no such column."""

    id: str = ""
    question: str = ""
    images: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """One column that holds a list, or one column an option."""
    inline_options: bool = False
    """Options are part of the question text."""
    answer: str = ""
    answer_letter: str = ""
    answers: AnswerStyle = "letter"
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
    fields = {}
    for pair in (part for text in pairs for part in text.split(",")):
        field, equals, column = pair.partition("=")
        if not (equals and field and column):
            raise InputError(f'{param("fields")} takes FIELD=COLUMN pairs, such as question=prompt; found "{pair}"')
        field = {"image": "images"}.get(field.strip(), field.strip())
        if field not in KNOWN_COLUMNS:
            raise InputError(f'{heading("fields")}: no field "{field}"; {nearest(field, KNOWN_COLUMNS)}')
        fields[field] = column.strip()
    return fields


def find_columns(columns: Sequence[str], options: ReadOptions, where: str) -> Layout:
    """Which column holds what, by the user's word first and by known names otherwise."""
    for name in options.drop:
        if name not in columns:
            raise InputError(f'{where}: {heading("drop")}: no column "{name}"; {nearest(name, columns)}')
    found: dict[str, Any] = {field: _find(field, columns, options, where) for field in KNOWN_COLUMNS}
    if not found["question"]:
        raise InputError(
            f"{where}: no column for the question among {_listed(columns)}; "
            f"name it with {param('fields', 'question=COLUMN')} (and likewise id, images, options, answer)"
        )
    if "answer" in options.fields and "answer_letter" not in options.fields:
        found["answer_letter"] = ""
    mapped = {column for value in options.fields.values() for column in split_columns(value)}
    free = [column for column in columns if column not in mapped and column not in options.drop]
    found["images"] = split_columns(found["images"]) or tuple(c for c in _NUMBERED_IMAGES if c in free)
    found["options"] = split_columns(found["options"]) or tuple(takewhile(free.__contains__, ascii_uppercase))
    used = {name for value in found.values() for name in ((value,) if isinstance(value, str) else value)}
    return Layout(**found, tag_columns=tuple(column for column in free if column not in used))


def _find(field: str, columns: Sequence[str], options: ReadOptions, where: str) -> str:
    if field in options.fields:
        if "+" in options.fields[field] and field not in _SEVERAL_COLUMNS:
            raise InputError(
                f"{where}: {heading('fields', field)}: only {' and '.join(_SEVERAL_COLUMNS)} may have several columns"
            )
        for column in split_columns(options.fields[field]):
            if column not in columns:
                known = nearest(column, columns)
                raise InputError(f'{where}: {heading("fields", field)}: no column "{column}"; {known}')
        return options.fields[field]
    taken = {column for value in options.fields.values() for column in split_columns(value)} | set(options.drop)
    return next((name for name in KNOWN_COLUMNS[field] if name in columns and name not in taken), "")


def split_columns(value: str) -> tuple[str, ...]:
    """The columns that ``A+B+C`` names."""
    return tuple(value.split("+")) if value else ()


def _listed(columns: Sequence[str]) -> str:
    shown = ", ".join(c[:40] for c in columns[:12])
    return f"{shown} … ({len(columns)} columns)" if len(columns) > 12 else shown
