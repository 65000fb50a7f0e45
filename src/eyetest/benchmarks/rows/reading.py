"""A row of named values becomes an item.

Every format reduces its file to such rows; what a row means is decided once for the whole file (`plan`), from
its columns and its first rows, and then applied to each (`ItemReader`).
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import msgspec

from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows.gold_list import count_letters, is_gold_list
from eyetest.benchmarks.rows.layout import (
    GOLD_STYLES,
    ItemLayout,
    ReadOptions,
    choose_style,
    find_columns,
    find_gold,
    is_missing,
    is_picture_column,
    no_question,
)
from eyetest.benchmarks.rows.options import (
    Offered,
    as_text,
    by_own_mark,
    offer,
    options_are_inline,
    plain_answers,
    sampled,
    text_of,
    without_mark,
)
from eyetest.benchmarks.rows.pictures import PictureLoader, holds_pictures
from eyetest.errors import ImageError, InputError, ItemError, MissingImage, param, short
from eyetest.records import Choice, ImageRef, Item, Lineage, OptionProvenance, Turn, letter
from eyetest.tabular.literals import parse_list
from eyetest.tabular.table import Row, Rows

_SAMPLE = 500
_FEWEST = 2
"""Columns from which on each holds an option."""
_SAMPLE_LENGTH = 64 * 2**20
_MAX_DEPTH = 50
MAX_FIELD = 64 * 2**20


def plan(rows: Rows, options: ReadOptions) -> ItemLayout:
    """Decide what the columns of a file mean."""
    if not rows.columns:
        raise InputError(f"{rows.path.name} holds no items")
    layout = find_columns(rows.columns, options, rows.path.name)
    maybe_pictures = [] if layout.images else [name for name in layout.tag_columns if is_picture_column(name)]
    decisive = {layout.question, layout.answer, *layout.options, *maybe_pictures}
    if not layout.question:
        decisive |= {*layout.images, *layout.tag_columns}
    sample = _sample(rows, decisive)
    if not sample:
        raise InputError(f"{rows.path.name} holds no items")
    if not layout.question:
        if not is_gold_list(layout, sample):
            raise no_question(rows.columns, rows.path.name)
        layout = msgspec.structs.replace(layout, gold_style=options.gold_style or "letter")
        letters = count_letters(layout, rows, rows.path.name) if len(layout.options) < _FEWEST else 0
        return msgspec.structs.replace(layout, letters=letters)
    root = options.images or rows.path.parent
    if column := next((c for c in maybe_pictures if any(holds_pictures(row.get(c), root) for row in sample)), ""):
        tags = tuple(name for name in layout.tag_columns if name != column)
        layout = msgspec.structs.replace(layout, images=(column,), tag_columns=tags)
    if not layout.options:
        layout = msgspec.structs.replace(layout, inline_options=options_are_inline(layout, sample))
    if options.gold_style:
        return msgspec.structs.replace(layout, gold_style=options.gold_style)
    if not layout.answer or layout.answer_letter:
        return layout
    offers = [(row.get(layout.answer), offer) for row in sample if (offer := sampled(layout, row)).texts]
    return msgspec.structs.replace(layout, gold_style=choose_style(plain_answers(offers), rows.path.name))


def _sample(rows: Rows, columns: set[str]) -> list[dict[str, Any]]:
    """Some columns of the first rows; fewer of them where they are long."""
    sample: list[dict[str, Any]] = []
    length = 0
    for row in islice(rows, _SAMPLE):
        sample.append({name: row.values.get(name) for name in columns})
        length += sum(len(value) for value in sample[-1].values() if isinstance(value, str | bytes))
        if length > _SAMPLE_LENGTH:
            break
    return sample


class ItemReader:
    """Turns the rows of a file into items, taking their pictures into a store."""

    def __init__(self, rows: Rows, options: ReadOptions, store: ImageStore) -> None:
        self.rows = rows
        self.pictures = PictureLoader(store, options.images or rows.path.parent)
        self.pictures_required = options.pictures_required
        self.layout = plan(rows, options)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The file's columns."""
        return self.rows.columns

    @property
    def fields(self) -> dict[str, str]:
        """Our field → the column it is read from."""
        return self.layout.fields

    @property
    def done(self) -> float:
        """Share of the file that was read."""
        return self.rows.done

    @property
    def files(self) -> tuple[Path, ...]:
        """Picture files that were read."""
        return tuple(self.pictures.files)

    def item(self, row: Row) -> Item:
        """The row as an item; an error names the row."""
        return self.build(row, self.images(row))

    def _check_sizes(self, row: Row) -> None:
        for column, value in row.values.items():
            for text in value if isinstance(value, list) else (value,):
                if isinstance(text, str) and len(text) > MAX_FIELD:
                    raise ItemError(row.where, column, f"{len(text):,} characters", f"at most {MAX_FIELD:,}")

    def images(self, row: Row) -> tuple[ImageRef, ...]:
        """The row's pictures; none of them where one is missing and that is allowed."""
        cells = [(column, row.values.get(column)) for column in self.layout.images]
        missing = ""
        refs: list[ImageRef] = []
        for column, value in cells:
            try:
                images = self.pictures.load(value)
            except ImageError as error:
                if isinstance(error, MissingImage) and not self.pictures_required:
                    return ()
                raise ItemError(row.where, column, str(error), "a PNG, JPEG, GIF, WebP, BMP or TIFF") from None
            if images and missing:
                raise ItemError(row.where, missing, "nothing", f"a picture, since {column} has one")
            missing = missing or ("" if images else column)
            refs.extend(images)
        return tuple(refs)

    def build(self, row: Row, images: tuple[ImageRef, ...]) -> Item:
        """The row as an item that shows these pictures."""
        layout = self.layout
        self._check_sizes(row)
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
            tags=_tags(layout, row) if images else {**_tags(layout, row), **_absent_pictures(layout, row)},
            lineage=_records(row, layout.lineage, tuple[Lineage, ...]),
        )

    def _choices(self, row: Row, offered: Offered) -> tuple[Choice, ...]:
        if not offered.texts:
            return ()
        gold = self._gold(row, offered)
        choices = tuple(Choice(text, i in gold) for i, text in enumerate(offered.texts))
        column = self.layout.option_provenance
        said = _records(row, column, tuple[OptionProvenance, ...])
        if said and len(said) != len(choices):
            raise ItemError(row.where, column, f"{len(said)} records", f"one for each of {len(choices)} options")
        return tuple(_with_provenance(*pair) for pair in zip(choices, said, strict=True)) if said else choices

    def _gold(self, row: Row, offered: Offered) -> tuple[int, ...]:
        layout, names = self.layout, offered.names
        marked = row.values.get(layout.answer_letter) if layout.answer_letter else None
        answer = without_mark(row.values.get(layout.answer), offered) if layout.answer else None
        if not is_missing(marked):
            by_letter = by_own_mark(marked, offered) or _find_letters(marked, names)
            if by_letter is None:
                raise _bad_gold(row, layout.answer_letter, marked, names)
            if not is_missing(answer) and not _agrees(answer, by_letter, offered):
                raise ItemError(row.where, layout.answer, short(answer), f"what {layout.answer_letter} says")
            return by_letter
        if is_missing(answer):
            return ()
        if layout.gold_style == "letter":
            gold = by_own_mark(answer, offered) or _find_letters(answer, names)
            gold = gold or find_gold(answer, offered.texts, "text")
        else:
            gold = find_gold(answer, offered.texts, layout.gold_style)
        if gold is None:
            raise _bad_gold(row, layout.answer, row.values.get(layout.answer), names)
        return gold


def _with_provenance(choice: Choice, provenance: OptionProvenance) -> Choice:
    known = provenance != OptionProvenance()
    return msgspec.structs.replace(choice, provenance=provenance) if known else choice


def _absent_pictures(layout: ItemLayout, row: Row) -> dict[str, Any]:
    """What the picture columns of a row without pictures say: the names of those that are not here."""
    absent = {}
    for column in layout.images:
        value = row.values.get(column)
        if isinstance(value, dict):
            value = value.get("path")
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if value not in (None, "", [], ()):
            absent[column] = value
    return absent


def _bad_gold(row: Row, column: str, answer: Any, names: Sequence[str]) -> ItemError:
    return ItemError(row.where, column, short(answer), f"one of the {len(names)} options ({', '.join(names[:26])})")


def _agrees(answer: Any, gold: tuple[int, ...], offered: Offered) -> bool:
    """Whether an answer, in any style, means the same texts as the gold that was marked by letters."""
    options = offered.texts
    marked = {options[i] for i in gold}
    said = (find_gold(answer, options, style) for style in GOLD_STYLES)
    return any({options[i] for i in positions} == marked for positions in said if positions)


def _find_letters(answer: Any, names: Sequence[str]) -> tuple[int, ...] | None:
    """Positions of options by the letters the file gives them, which may have gaps."""
    positions = find_gold(answer, ascii_uppercase, "letter")
    if positions is None or any(letter(i) not in names for i in positions):
        return None
    return tuple(names.index(letter(i)) for i in positions)


def _references(row: Row, column: str) -> tuple[str, ...]:
    value = row.values.get(column) if column else None
    if isinstance(value, str):
        parsed = parse_list(value, quoted=True)
        value = [value] if parsed is None else parsed
    elif not isinstance(value, list | tuple):
        value = [] if value is None else [value]
    return tuple(as_text(row, column, part) for part in value if part is not None)


def _records(row: Row, column: str, kind: Any) -> Any:
    """Structured columns (dialogue, lineage), as lists of objects or as JSON text."""
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
            mend = f"leave the column out with {param('drop', column)}"
            raise ItemError(row.where, column, problem, f"text or numbers ({mend})")
    held = values.get(layout.tags) if layout.tags else None
    if isinstance(held, bytes):
        raise ItemError(row.where, layout.tags, short(held), "UTF-8 text")
    if isinstance(held, str):
        try:
            held = msgspec.json.decode(held)
        except (msgspec.DecodeError, RecursionError):
            return {**tags, layout.tags: held}
    if isinstance(held, dict):
        return {**tags, **held}
    return tags if held is None else {**tags, layout.tags: held}


def _unfit(value: Any, depth: int = 0) -> str:
    """What keeps a value from being a tag: bytes, or nesting that no JSON reader takes; empty if nothing does."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        if depth > _MAX_DEPTH:
            return "values nested too deeply"
        return next((problem for part in value if (problem := _unfit(part, depth + 1))), "")
    return "bytes" if isinstance(value, bytes) else ""
