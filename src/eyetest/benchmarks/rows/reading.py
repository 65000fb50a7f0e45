"""A row of named values becomes an item.

Every format reduces its file to such rows; what a row means is decided once for the whole file (`plan`), from
its columns and its first rows, and then applied to each (`RowReader`).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from string import ascii_uppercase
from typing import Any, NamedTuple, Protocol

import msgspec

from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows.gold import ANSWER_STYLES, choose_style, find_gold, is_missing
from eyetest.benchmarks.rows.inline import split_options
from eyetest.benchmarks.rows.layout import Layout, ReadOptions, find_columns
from eyetest.benchmarks.rows.literals import parse_list
from eyetest.benchmarks.rows.pictures import PictureLoader
from eyetest.errors import ImageError, InputError, ItemError, short
from eyetest.records import MAX_CHOICES, Choice, ImageRef, Item, Lineage, Turn, letter

_SAMPLE = 500
_SAMPLE_LENGTH = 64 * 2**20
_MAX_DEPTH = 50
_MOST_OPTIONS = 1_000
"""There are letters for so many; `check` refuses items with fewer that are still too many."""
MAX_FIELD = 64 * 2**20


class Row(NamedTuple):
    """One row of a file: its place from 0, its name for a person, and its values by column."""

    number: int
    where: str
    values: dict[str, Any]


class Rows(Protocol):
    """A file as rows; each iteration starts anew."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the values that its rows may have."""

    @property
    def done(self) -> float:
        """Share of the file that the latest iteration has passed, from 0 to 1."""

    def __iter__(self) -> Iterator[Row]: ...


def plan(rows: Rows, options: ReadOptions) -> Layout:
    """Decide what the columns of a file mean."""
    if not rows.columns:
        raise InputError(f"{rows.path.name} holds no items")
    layout = find_columns(rows.columns, options, rows.path.name)
    decisive = {layout.question, layout.answer, *layout.options}
    sample = _sample(rows, decisive)
    if not sample:
        raise InputError(f"{rows.path.name} holds no items")
    if not layout.options:
        layout = msgspec.structs.replace(layout, inline_options=_options_are_inline(layout, sample))
    if options.answers:
        return msgspec.structs.replace(layout, answers=options.answers)
    if not layout.answer or layout.answer_letter:
        return layout
    answers = [(row.get(layout.answer), texts) for row in sample if (texts := _sampled_options(layout, row))]
    return msgspec.structs.replace(layout, answers=choose_style(answers, rows.path.name))


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


class RowReader:
    """Turns the rows of a file into items, taking their pictures into a store."""

    def __init__(self, rows: Rows, options: ReadOptions, store: ImageStore) -> None:
        self.rows = rows
        self.layout = plan(rows, options)
        self.pictures = PictureLoader(store, options.images or rows.path.parent)

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
        """The row's pictures."""
        cells = [(column, row.values.get(column)) for column in self.layout.images]
        missing = ""
        found: list[ImageRef] = []
        for column, value in cells:
            try:
                images = self.pictures.load(value)
            except ImageError as error:
                raise ItemError(row.where, column, str(error), "a PNG, JPEG, GIF, WebP, BMP or TIFF") from None
            if images and missing:
                raise ItemError(row.where, missing, "nothing", f"a picture, since {column} has one")
            missing = missing or ("" if images else column)
            found.extend(images)
        return tuple(found)

    def build(self, row: Row, images: tuple[ImageRef, ...]) -> Item:
        """The row as an item that shows these pictures."""
        layout = self.layout
        self._check_sizes(row)
        question = _text(row, layout.question)
        options = _options(layout, row, question)
        if layout.inline_options and options:
            question = _split_inline(question)[0]
        return Item(
            id=_text(row, layout.id) if layout.id else str(row.number),
            question=question,
            images=images,
            choices=self._choices(row, options),
            references=() if options else _references(row, layout.answer),
            hint=_text(row, layout.hint),
            history=_records(row, layout.history, tuple[Turn, ...]),
            description=_text(row, layout.description),
            group=_text(row, layout.group),
            tags=_tags(layout, row),
            lineage=_records(row, layout.lineage, tuple[Lineage, ...]),
        )

    def _choices(self, row: Row, options: dict[str, str]) -> tuple[Choice, ...]:
        if not options:
            return ()
        gold = self._gold(row, list(options), list(options.values()))
        return tuple(Choice(text, i in gold) for i, text in enumerate(options.values()))

    def _gold(self, row: Row, names: Sequence[str], options: Sequence[str]) -> tuple[int, ...]:
        layout = self.layout
        marked = row.values.get(layout.answer_letter) if layout.answer_letter else None
        answer = row.values.get(layout.answer) if layout.answer else None
        if not is_missing(marked):
            by_letter = _find_letters(marked, names)
            if by_letter is None:
                raise _bad_gold(row, layout.answer_letter, marked, names)
            if not is_missing(answer) and not _agrees(answer, by_letter, options):
                raise ItemError(row.where, layout.answer, short(answer), f"what {layout.answer_letter} says")
            return by_letter
        if is_missing(answer):
            return ()
        if layout.answers == "letter":
            gold = _find_letters(answer, names) or find_gold(answer, options, "text")
        else:
            gold = find_gold(answer, options, layout.answers)
        if gold is None:
            raise _bad_gold(row, layout.answer, answer, names)
        return gold


def _options(layout: Layout, row: Row, question: str) -> dict[str, str]:
    """The options by the letters under which the file itself knows them; there may be gaps."""
    if layout.inline_options:
        texts = _split_inline(question)[1]
        if not texts:
            found, expected = "no options that can be told apart", "options A, B … in the text"
            raise ItemError(row.where, layout.question, found, expected)
        return _lettered(texts)
    if len(layout.options) > 1 or layout.options == ("A",):
        cells = ((letter(i), _text(row, column)) for i, column in enumerate(layout.options))
        return {name: text for name, text in cells if text}
    return _option_cell(row, layout.options[0]) if layout.options else {}


def _lettered(texts: Iterable[str]) -> dict[str, str]:
    return {letter(position): text for position, text in enumerate(texts)}


def _bad_gold(row: Row, column: str, found: Any, names: Sequence[str]) -> ItemError:
    return ItemError(row.where, column, short(found), f"one of the {len(names)} options ({', '.join(names[:26])})")


def _agrees(answer: Any, gold: tuple[int, ...], options: Sequence[str]) -> bool:
    """Whether an answer, in any style, means the same texts as the gold that was marked by letters."""
    marked = {options[i] for i in gold}
    said = (find_gold(answer, options, style) for style in ANSWER_STYLES)
    return any({options[i] for i in found} == marked for found in said if found)


def _find_letters(answer: Any, names: Sequence[str]) -> tuple[int, ...] | None:
    """Positions of options by the letters the file gives them, which may have gaps."""
    found = find_gold(answer, ascii_uppercase, "letter")
    if found is None or any(letter(i) not in names for i in found):
        return None
    return tuple(names.index(letter(i)) for i in found)


def _split_inline(question: str) -> tuple[str, tuple[str, ...]]:
    return split_options(question) or (question, ())


def _options_are_inline(layout: Layout, sample: Iterable[dict[str, Any]]) -> bool:
    """True where every sampled answer is letters and nearly every question shows lettered options."""
    rows = list(sample)
    answers = [answer for row in rows if not is_missing(answer := row.get(layout.answer))]
    if any(find_gold(answer, ascii_uppercase, "letter") is None for answer in answers):
        return False
    split = [isinstance(q := row.get(layout.question), str) and bool(split_options(q)) for row in rows]
    return sum(split) >= 0.9 * len(rows)


def _sampled_options(layout: Layout, row: dict[str, Any]) -> tuple[str, ...]:
    try:
        return tuple(_options(layout, Row(0, "", row), str(row.get(layout.question, ""))).values())
    except ItemError:
        return ()


def _text(row: Row, column: str) -> str:
    return _as_text(row, column, row.values.get(column)) if column else ""


def _as_text(row: Row, column: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise ItemError(row.where, column, short(value), "UTF-8 text" if isinstance(value, bytes) else "text")
    return str(value)


def _option_cell(row: Row, column: str) -> dict[str, str]:
    """Options that one cell holds: as a list, as text that holds one, or as an object by letter."""
    value = row.values.get(column)
    if isinstance(value, str):
        value = parse_list(value) if value.strip() else []
    if isinstance(value, dict) and all(len(name) == 1 and name in ascii_uppercase for name in value):
        return {name: _as_text(row, column, value[name]) for name in sorted(value) if value[name] is not None}
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]  # one item of MMMU-Pro's release is wrapped twice
    if row.values.get(column) is None:
        return {}
    if not isinstance(value, list | tuple) or any(part is None for part in value):
        raise ItemError(row.where, column, short(row.values[column]), "a list of options")
    if len(value) > _MOST_OPTIONS:
        raise ItemError(row.where, column, f"{len(value):,} options", f"at most {MAX_CHOICES}")
    return _lettered(_as_text(row, column, part) for part in value)


def _references(row: Row, column: str) -> tuple[str, ...]:
    value = row.values.get(column) if column else None
    if isinstance(value, str):
        parsed = parse_list(value, quoted=True)
        value = [value] if parsed is None else parsed
    elif not isinstance(value, list | tuple):
        value = [] if value is None else [value]
    return tuple(_as_text(row, column, part) for part in value if part is not None)


def _records(row: Row, column: str, kind: Any) -> Any:
    """Structured columns (dialogue, lineage), as lists of objects or as JSON text."""
    value = row.values.get(column) if column else None
    if value is None or value == "":
        return ()
    try:
        return msgspec.json.decode(value, type=kind) if isinstance(value, str) else msgspec.convert(value, kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ItemError(row.where, column, short(value), f"a list of records ({error})") from None


def _tags(layout: Layout, row: Row) -> dict[str, Any]:
    values = row.values
    tags = {c: v for c in layout.tag_columns if (v := values.get(c)) is not None}
    for column, value in tags.items():
        if found := _unfit(value):
            raise ItemError(row.where, column, found, f"text or numbers (leave the column out with --drop {column})")
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
        return next((found for part in value if (found := _unfit(part, depth + 1))), "")
    return "bytes" if isinstance(value, bytes) else ""
