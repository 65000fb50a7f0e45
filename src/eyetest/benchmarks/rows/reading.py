"""Rows become items: the meaning of columns is decided once per file (`plan`), then applied (`ItemReader`)."""

import binascii
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pybase64
from msgspec import UNSET

from eyetest.benchmarks.images import MAX_BYTES, ImageStore
from eyetest.benchmarks.rows.layout import (
    GOLD_STYLES,
    ItemLayout,
    ReadOptions,
    find_columns,
    is_image_column,
    no_question,
)
from eyetest.benchmarks.rows.options import (
    Offered,
    as_text,
    choose_style,
    count_letters,
    find_gold,
    is_gold_list,
    is_missing,
    offer,
    options_are_inline,
    sampled,
    text_of,
)
from eyetest.errors import ImageError, InputError, ItemError, MissingImage, param, short
from eyetest.records import Choice, ImageRef, Item, Lineage, OptionProvenance, Turn
from eyetest.store.files import inside, open_regular
from eyetest.tabular.literals import looks_like_list, parse_list
from eyetest.tabular.table import Row, Rows

_SAMPLE = 500
_SAMPLE_LENGTH = 64 * 2**20
_MAX_DEPTH = 50
_LONGEST_PATH = 1024
_SHORTEST_BASE64 = 32
MAX_FIELD = 64 * 2**20


def plan(rows: Rows, options: ReadOptions) -> ItemLayout:
    """Decide what the columns of a file mean."""
    if not rows.columns:
        raise InputError(f"{rows.path.name} holds no items")
    layout = find_columns(rows.columns, options, rows.path.name)
    maybe_images = [] if layout.images else [name for name in layout.tag_columns if is_image_column(name)]
    decisive = {layout.question, layout.answer, *layout.options, *maybe_images}
    if not layout.question:
        decisive |= {*layout.images, *layout.tag_columns}
    sample = _sample(rows, decisive)
    if not sample:
        raise InputError(f"{rows.path.name} holds no items")
    if not layout.question:
        if not is_gold_list(layout, sample):
            raise no_question(rows.columns, rows.path.name)
        layout = msgspec.structs.replace(layout, gold_style=options.gold_style or "letter")
        letters = count_letters(layout, rows, rows.path.name) if len(layout.options) < 2 else 0
        return msgspec.structs.replace(layout, letters=letters)
    root = options.images or rows.path.parent
    if column := next((c for c in maybe_images if any(holds_images(row.get(c), root) for row in sample)), ""):
        tags = tuple(name for name in layout.tag_columns if name != column)
        layout = msgspec.structs.replace(layout, images=(column,), tag_columns=tags)
    if not layout.options:
        layout = msgspec.structs.replace(layout, inline_options=options_are_inline(layout, sample))
    if options.gold_style:
        return msgspec.structs.replace(layout, gold_style=options.gold_style)
    if not layout.answer or layout.answer_letter:
        return layout
    offers = [(row.get(layout.answer), offer) for row in sample if (offer := sampled(layout, row)).texts]
    return msgspec.structs.replace(layout, gold_style=choose_style(offers, rows.path.name))


def _sample(rows: Rows, columns: set[str]) -> list[dict[str, Any]]:
    """Some columns of the first rows; fewer rows where they are long."""
    sample: list[dict[str, Any]] = []
    length = 0
    for row in islice(rows, _SAMPLE):
        sample.append({name: row.values.get(name) for name in columns})
        length += sum(len(value) for value in sample[-1].values() if isinstance(value, str | bytes))
        if length > _SAMPLE_LENGTH:
            break
    return sample


class ItemReader:
    """Turns the rows of a file into items and stores their images."""

    def __init__(self, rows: Rows, options: ReadOptions, store: ImageStore) -> None:
        self.rows = rows
        self.loader = ImageLoader(store, options.images or rows.path.parent)
        self.images_required = options.images_required
        self.layout = plan(rows, options)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def item(self, row: Row) -> Item:
        """The row as an item; an error names the row."""
        return self.build(row, self.images(row))

    def images(self, row: Row) -> tuple[ImageRef, ...]:
        """The row's images; none of them where one is missing and that is allowed."""
        missing = ""
        refs: list[ImageRef] = []
        for column in self.layout.images:
            try:
                images = self.loader.load(row.values.get(column))
            except ImageError as error:
                if isinstance(error, MissingImage) and not self.images_required:
                    return ()
                raise ItemError(row.where, column, str(error), "a PNG, JPEG, GIF, WebP, BMP or TIFF") from None
            if images and missing:
                raise ItemError(row.where, missing, "nothing", f"an image, since {column} has one")
            missing = missing or ("" if images else column)
            refs.extend(images)
        return tuple(refs)

    def build(self, row: Row, images: tuple[ImageRef, ...]) -> Item:
        """The row as an item with these images."""
        layout = self.layout
        for column, value in row.values.items():
            for text in value if isinstance(value, list) else (value,):
                if isinstance(text, str) and len(text) > MAX_FIELD:
                    raise ItemError(row.where, column, f"{len(text):,} characters", f"at most {MAX_FIELD:,}")
        offered = offer(layout, row)
        return Item(
            id=text_of(row, layout.id) if layout.id else str(row.number),
            question=offered.question,
            images=images,
            choices=self._choices(row, offered),
            references=() if offered.texts else _references(row, layout.answer),
            hint=text_of(row, layout.hint),
            history=_records(row, layout.history, tuple[Turn, ...]),
            description=text_of(row, layout.description),
            group=text_of(row, layout.group),
            tags=_tags(layout, row) if images else {**_tags(layout, row), **_absent_images(layout, row)},
            lineage=_records(row, layout.lineage, tuple[Lineage, ...]),
        )

    def _choices(self, row: Row, offered: Offered) -> tuple[Choice, ...]:
        if not offered.texts:
            return ()
        gold = self._gold(row, offered)
        column, number = self.layout.option_provenance, len(offered.texts)
        records = _records(row, column, tuple[OptionProvenance, ...])
        if records and len(records) != number:
            raise ItemError(row.where, column, f"{len(records)} records", f"one for each of {number} options")
        known = [UNSET if record == OptionProvenance() else record for record in records] or [UNSET] * number
        return tuple(Choice(text, i in gold, known[i]) for i, text in enumerate(offered.texts))

    def _gold(self, row: Row, offered: Offered) -> tuple[int, ...]:
        layout, texts = self.layout, offered.texts
        marked = row.values.get(layout.answer_letter) if layout.answer_letter else None
        answer = row.values.get(layout.answer) if layout.answer else None
        if is_missing(marked) and is_missing(answer):
            return ()
        if is_missing(marked):
            column, gold = layout.answer, find_gold(answer, offered, layout.gold_style)
            if gold is None and layout.gold_style == "letter":
                gold = find_gold(answer, offered, "text")
        else:
            column, gold = layout.answer_letter, find_gold(marked, offered, "letter")
        if gold is None:
            expected = f"one of the {len(texts)} options ({', '.join(offered.names[:26])})"
            raise ItemError(row.where, column, short(row.values[column]), expected)
        if not is_missing(marked) and not is_missing(answer):
            readings = (find_gold(answer, offered, style) for style in GOLD_STYLES)
            if {texts[i] for i in gold} not in ({texts[i] for i in found} for found in readings if found):
                raise ItemError(row.where, layout.answer, short(answer), f"what {layout.answer_letter} says")
        return gold


def _absent_images(layout: ItemLayout, row: Row) -> dict[str, Any]:
    """The values of the image columns of a row without images: the names of missing files."""
    values = {column: row.values.get(column) for column in layout.images}
    names = {column: value.get("path") if isinstance(value, dict) else value for column, value in values.items()}
    texts = {c: n.decode("utf-8", "replace") if isinstance(n, bytes) else n for c, n in names.items()}
    return {column: name for column, name in texts.items() if name not in (None, "", [], ())}


def _references(row: Row, column: str) -> tuple[str, ...]:
    value = row.values.get(column) if column else None
    if isinstance(value, str):
        parsed = parse_list(value, quoted=True)
        value = [value] if parsed is None else parsed
    elif not isinstance(value, list | tuple):
        value = [] if value is None else [value]
    return tuple(as_text(row, column, part) for part in value if part is not None)


def _records(row: Row, column: str, kind: Any) -> Any:
    value = row.values.get(column) if column else None
    if value is None or value == "":
        return ()
    try:
        return msgspec.json.decode(value, type=kind) if isinstance(value, str) else msgspec.convert(value, kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ItemError(row.where, column, short(value), f"a list of records ({error})") from None


def _tags(layout: ItemLayout, row: Row) -> dict[str, Any]:
    values = row.values
    tags = {c: v for c in layout.tag_columns if (v := values.get(c)) is not None}
    for column, value in tags.items():
        if problem := _unfit(value):
            hint = f"leave the column out with {param('drop', column)}"
            raise ItemError(row.where, column, problem, f"text or numbers ({hint})")
    held = values.get(layout.tags) if layout.tags else None
    if isinstance(held, bytes):
        raise ItemError(row.where, layout.tags, short(held), "UTF-8 text")
    if isinstance(held, str):
        with suppress(msgspec.DecodeError, RecursionError):
            held = msgspec.json.decode(held)
    if isinstance(held, dict):
        return {**tags, **held}
    return tags if held is None else {**tags, layout.tags: held}


def _unfit(value: Any, depth: int = 0) -> str:
    """Why a value cannot be a tag: bytes, or nesting too deep for JSON readers; empty if it can."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        if depth > _MAX_DEPTH:
            return "values nested too deeply"
        return next((problem for part in value if (problem := _unfit(part, depth + 1))), "")
    return "bytes" if isinstance(value, bytes) else ""


class ImageLoader:
    """Stores images given in any supported form."""

    def __init__(self, store: ImageStore, root: Path) -> None:
        self._store = store
        self._root = root.resolve()
        self.files: dict[Path, None] = {}  # every file read or looked for, so that a cached import detects changes

    def load(self, value: Any) -> tuple[ImageRef, ...]:
        """All images of one cell, in order."""
        if value is None or value == "":
            return ()
        if isinstance(value, list | tuple):
            return tuple(image for part in value for image in self.load(part))
        if isinstance(value, bytes):
            return (self._store.put(value),)
        if isinstance(value, dict):
            return self._from_struct(value)
        if isinstance(value, str):
            return self._from_text(value)
        raise MissingImage(f"{short(value)} where an image should be")

    def _from_struct(self, value: dict[str, Any]) -> tuple[ImageRef, ...]:
        if value.get("bytes"):
            return self.load(value["bytes"])
        if value.get("path"):
            return (self._store.put(self._read_file(value["path"])),)
        if any(part not in (None, "", b"") for part in value.values()):
            raise ImageError(f"{short(value)}, a structure without bytes or path")
        return ()

    def _from_text(self, text: str) -> tuple[ImageRef, ...]:
        if looks_like_list(text):
            parts = parse_list(text)
            if parts is None:
                raise ImageError(f"{short(text)}, a list that cannot be read")
            return self.load(parts)
        if text.startswith(("http://", "https://")):
            raise MissingImage(f"address {short(text)}; eyetest downloads nothing, so fetch it first")
        if text.startswith("data:"):
            return (self._store.put(decode_base64(text.partition(",")[2].encode())),)
        may_be_base64 = len(text) >= _SHORTEST_BASE64 and "." not in text
        if len(text) <= _LONGEST_PATH and (is_file(self._root, text) or not may_be_base64):
            return (self._store.put(self._read_file(text)),)
        return (self._store.put(decode_base64(text.encode())),)

    def _read_file(self, name: str) -> bytes:
        try:
            path = self._root / name
            real = inside(path, self._root)
        except (InputError, TypeError, ValueError):
            raise ImageError(f"path {short(name)}, which leaves {self._root}") from None
        try:
            with open(open_regular(real), "rb") as file:  # noqa: PTH123 (a descriptor)
                data = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            self.files[path] = None
            raise MissingImage(f"path {short(name)} in {self._root} (no such file or directory)") from None
        except (OSError, InputError) as error:
            why = getattr(error, "strerror", "") or "not a file"
            raise ImageError(f"path {short(name)} in {self._root} ({why.lower()})") from None
        self.files[path] = None
        return data


def holds_images(value: Any, root: Path) -> bool:
    """Whether a cell seems to hold images, or names of existing files."""
    if isinstance(value, list | tuple):
        return any(holds_images(part, root) for part in value)
    if isinstance(value, dict):
        return holds_images(value.get("bytes"), root) or holds_images(value.get("path"), root)
    if isinstance(value, bytes):
        return bool(value)
    if not isinstance(value, str) or not value:
        return False
    return value.startswith("data:image/") or (len(value) <= _LONGEST_PATH and is_file(root, value))


def is_file(root: Path, text: str) -> bool:
    """Whether a text is the name of a file below a folder."""
    try:
        return (root / text).is_file()
    except (OSError, ValueError):
        return False


def decode_base64(data: bytes) -> bytes:
    """The bytes of a base64 text; line breaks are allowed, invalid characters and missing ends are not."""
    with suppress(binascii.Error):
        return pybase64.b64decode(b"".join(data.split()), validate=True)
    start = data[:16].decode("ascii", "replace")
    raise ImageError(f"{len(data):,} characters starting {start!r} that are not whole base64")
