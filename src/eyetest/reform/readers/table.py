"""Any table whose columns are said: CSV, TSV, Excel, JSON, JSON Lines, Parquet. For datasets of one's own."""

from collections.abc import Iterator
from typing import Any

import msgspec

from eyetest.errors import InputError, nearest, short
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import TABLES, AnnotationFiles, Reader
from eyetest.tabular.files import read_rows
from eyetest.tabular.literals import looks_like_list, parse_list

_LISTS = ("images", "answers", "options", "also", "captions", "steps")
_WORDS = ("id", "question", "hint", "label")
_FIELDS = (*_WORDS, *_LISTS, "gold")


class TableSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which column holds what."""

    fields: dict[str, str]
    """A field of an annotation and the column that holds it; ``a.b`` is ``b`` inside the object ``a``."""
    tags: tuple[str, ...] = ()
    """Columns to sort items by."""
    gold_from: int = 0
    """The number that means the first option."""

    def __post_init__(self) -> None:
        for name in self.fields:
            if name not in _FIELDS:
                raise ValueError(f'no field "{name}"; {nearest(name, _FIELDS)}')


class TableReader(Reader):
    """One record a row."""

    name = "table"
    summary = "any CSV, TSV, Excel, JSON, JSON Lines or Parquet file, with the columns named under read: fields:"
    settings = TableSettings

    def read(self, files: AnnotationFiles, settings: TableSettings) -> Annotations:
        """The rows of all tables, in order."""
        tables = files.ending(*TABLES)
        if not tables:
            raise files.unlike(f"a table ({', '.join(TABLES)})")

        def records() -> Iterator[Annotation]:
            for path in tables:
                for number, values in read_rows(path):
                    yield _annotation(values, settings, f"{path.name} row {number}", str(number))

        return Annotations(records)


def _annotation(values: dict[str, Any], settings: TableSettings, where: str, number: str) -> Annotation:
    fields: dict[str, Any] = {"id": number}
    for name, column in settings.fields.items():
        value = values[column] if column in values else _inside(values, column, where)
        if value is not None:
            fields[name] = _list(value) if name in _LISTS else value if name == "gold" else _text(value)
    if "gold" in fields:
        fields["gold"] = _gold(fields["gold"], fields.get("options", ()), settings.gold_from, where)
    return Annotation(**fields, tags={tag: _inside(values, tag, where) for tag in settings.tags})


def _inside(values: dict[str, Any], column: str, where: str) -> Any:
    if column in values:
        return values[column]
    value: Any = values
    for part in column.split("."):
        if not isinstance(value, dict) or part not in value:
            raise InputError(f'{where}: no column "{column}"; {nearest(column, values)}')
        value = value[part]
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _list(value: Any) -> tuple[Any, ...]:
    """Several values: a list, a text that spells one, or one value alone."""
    if isinstance(value, str):
        parts = parse_list(value) if looks_like_list(value) else None
        if parts is None:
            return (value,) if value else ()
        value = parts
    values = value if isinstance(value, list | tuple) else (value,)
    return tuple(one if isinstance(one, bytes) else _text(one) for one in values if one not in (None, ""))


def _gold(value: Any, options: tuple[str, ...], first: int, where: str) -> int:
    """Which option is right: by its number, by its letter, or by its words."""
    text = str(value).strip()
    if text in options:
        return options.index(text)
    if text.lstrip("-").isdigit():
        number = int(text) - first
    else:
        number = ord(text.upper()) - ord("A") if len(text) == 1 and text.isascii() and text.isalpha() else -1
    if not 0 <= number < len(options):
        raise InputError(f"{where}: gold: found {short(value)}, expected one of {len(options)} options")
    return number


READER = TableReader()
