"""Rows of named values become items, and back.

The meaning of a file's columns is decided once (`plan`): which is the question, where the options are, how golds are
given. Then it is applied to each row (`ItemReader`).
"""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, takewhile
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import msgspec
from msgspec import UNSET

from eyetest.benchmarks.images import ImageLoader, ImageStore, holds_images
from eyetest.benchmarks.options import (
    GOLD_STYLES,
    GoldStyle,
    Offered,
    choose_style,
    find_gold,
    is_missing,
    named_letters,
    plain_offer,
    split_options,
    without_letters,
)
from eyetest.errors import (
    ImageError,
    InputError,
    ItemError,
    MissingImage,
    ReadingWarning,
    heading,
    nearest,
    param,
    short,
)
from eyetest.records import MAX_CHOICES, Choice, ImageRef, Item, Lineage, OptionProvenance, Turn, letter
from eyetest.tabular.table import (
    Row,
    Table,
    listed_columns,
    looks_like_list,
    parse_list,
    parse_pairs,
    refuse_unknown_field,
)

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


def split_columns(value: str) -> tuple[str, ...]:
    """The columns that ``A+B+C`` names."""
    return tuple(value.split("+")) if value else ()


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
    for field, value in options.fields.items():
        names, at = split_columns(value), heading("fields", field)
        if len(names) > 1 and field not in _SEVERAL_COLUMNS:
            problems.append(f"{at}: only {' and '.join(_SEVERAL_COLUMNS)} may have several columns")
        unknown = [name for name in names if name not in columns]
        problems += [f'{at}: no column "{name}"; {nearest(name, columns)}' for name in unknown]
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


def _usual_name(column: str) -> str:
    """The field that a hand-written column name stands for: ``Question``, ``Option A``, ``Image path``."""
    name = re.sub(r"\W+", "_", column.strip().lower()).strip("_")
    option = re.fullmatch(r"(?:(?:option|choice|answer)_?)?([a-z])", name)
    is_letter = option is not None and name not in RESERVED  # "options" is no option S
    return option[1].upper() if option and is_letter else _OWN_NAMES.get(name, name)


_SAMPLE = 500
_SAMPLE_LENGTH = 64 * 2**20
_MAX_DEPTH = 50
_MOST_OPTIONS = 1_000  # there are letters for so many; `check` refuses items with fewer that are still too many
_BETWEEN_OPTIONS = ("\n", "|", ";")
_ALL_LETTERS = plain_offer(ascii_uppercase)
_FEWEST = 2
_ASKED = re.compile(r".*[?？]\s*", re.DOTALL)
_OFTEN = 0.5  # a column in which more rows than this share end with a question mark holds questions
MAX_FIELD = 64 * 2**20


def plan(rows: Table, options: ReadOptions) -> ItemLayout:
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


def _sample(rows: Table, columns: set[str]) -> list[dict[str, Any]]:
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

    def __init__(self, rows: Table, options: ReadOptions, store: ImageStore) -> None:
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


def text_of(row: Row, column: str) -> str:
    """A cell as text; empty where the file has no such column."""
    return as_text(row, column, row.values.get(column)) if column else ""


def as_text(row: Row, column: str, value: Any) -> str:
    """A value as text; an error names the row and the column."""
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise ItemError(row.where, column, short(value), "UTF-8 text" if isinstance(value, bytes) else "text")
    return str(value)


def offer(layout: ItemLayout, row: Row) -> Offered:
    """The question and its options, which may be in columns of their own or inside the question."""
    question = text_of(row, layout.question)
    if not layout.question and (letters := lettered(layout, row)):
        return plain_offer(letters)
    options = _option_columns(layout, row)
    if not options:
        return _offer_inside(layout, row, question)
    marked = without_letters(list(options.values()), list(options))
    return Offered(question, tuple(options), marked.texts, marked.letters, tuple(options.values()))


def _option_columns(layout: ItemLayout, row: Row) -> dict[str, str]:
    if len(layout.options) > 1 or layout.options == ("A",):
        cells = ((letter(i), text_of(row, column)) for i, column in enumerate(layout.options))
        return {name: text for name, text in cells if text}
    return _option_cell(row, layout.options[0]) if layout.options else {}


def _offer_inside(layout: ItemLayout, row: Row, question: str) -> Offered:
    """Options inside the question, if the answer names one of them; required for an item of such a file."""
    bare, texts = split_options(question) or (question, ())
    if layout.inline_options and not texts:
        expected = "options A, B … in the text"
        raise ItemError(row.where, layout.question, "no distinct options", expected)
    if not layout.inline_options and not _names_option(layout, row, texts):
        bare, texts = question, named_letters(question)
        if not _names_option(layout, row, texts):
            return Offered(question)
    return plain_offer(texts, bare)


def _names_option(layout: ItemLayout, row: Row, texts: tuple[str, ...]) -> bool:
    answer, offered = _answer(layout, row.values), plain_offer(texts)
    if not texts or answer is None:
        return False
    by_text = isinstance(answer, str) and find_gold(answer, offered, "text") is not None
    return by_text or find_gold(answer, offered, "letter") is not None


def _option_cell(row: Row, column: str) -> dict[str, str]:
    """Options in one cell: a list, a text that contains one, or an object by letter."""
    value = row.values.get(column)
    if isinstance(value, str):
        value = _listed_in(value)
    if isinstance(value, dict) and all(len(name) == 1 and name in ascii_uppercase for name in value):
        return {name: as_text(row, column, value[name]) for name in sorted(value) if value[name] is not None}
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]  # one item of MMMU-Pro's release is wrapped twice
    if row.values.get(column) is None:
        return {}
    if not isinstance(value, list | tuple) or any(part is None for part in value):
        raise ItemError(row.where, column, short(row.values[column]), "a list of options")
    if len(value) > _MOST_OPTIONS:
        raise ItemError(row.where, column, f"{len(value):,} options", f"at most {MAX_CHOICES}")
    return {letter(position): as_text(row, column, part) for position, part in enumerate(value)}


def _listed_in(cell: str) -> list[str] | None:
    """The options in a text: a list literal, or parts on separate lines or between ``|`` or ``;``."""
    if not cell.strip() or looks_like_list(cell):
        return parse_list(cell) if cell.strip() else []
    separator = next((mark for mark in _BETWEEN_OPTIONS if mark in cell), None)
    return [part.strip() for part in cell.split(separator) if part.strip()] if separator else None


def options_are_inline(layout: ItemLayout, sample: Iterable[dict[str, Any]]) -> bool:
    """True where every sampled answer is letters and nearly every question shows lettered options."""
    rows = list(sample)
    answers = [answer for row in rows if not is_missing(answer := row.get(layout.answer))]
    if any(find_gold(answer, _ALL_LETTERS, "letter") is None for answer in answers):
        return False
    split = [isinstance(q := row.get(layout.question), str) and bool(split_options(q)) for row in rows]
    return sum(split) >= 0.9 * len(rows)


def sampled(layout: ItemLayout, row: dict[str, Any]) -> Offered:
    """The question and options of a row before the file's layout is known."""
    try:
        return offer(layout, Row(0, "", row))
    except ItemError:
        return Offered("")


def is_gold_list(layout: ItemLayout, sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a file without a question column contains golds only: no images and no questions."""
    images = (*layout.images, *filter(is_image_column, layout.tag_columns))
    if any(row.get(name) not in (None, "", []) for row in sample for name in images):
        return False
    columns = ([row.get(name) for row in sample] for name in layout.tag_columns)
    asked = (sum(isinstance(value, str) and bool(_ASKED.fullmatch(value)) for value in values) for values in columns)
    return all(count <= _OFTEN * len(sample) for count in asked)


def count_letters(layout: ItemLayout, rows: Iterable[Row], name: str) -> int:
    """The number of options where no row states it: the number of letters that golds use, 0 if none does."""
    highest, unstated = 0, 0
    for row in rows:
        gold = letters_of(layout, row.values)
        if gold and (not layout.options or row.values.get(layout.options[0]) in (None, "")):
            highest, unstated = max(highest, gold[-1] + 1), unstated + 1
    if not unstated:
        return 0
    letters = max(highest, _FEWEST)
    taken = f"{letters} (A to {ascii_uppercase[letters - 1]}), the highest gold"
    column = f"a column with their number is named with {param('fields', 'options=COLUMN')}"
    message = f"{name} does not say how many options there are: taken to be {taken}; {column}"
    warnings.warn(message, ReadingWarning, stacklevel=2)
    return letters


def letters_of(layout: ItemLayout, values: Mapping[str, Any]) -> tuple[int, ...]:
    """Positions of options that a row's gold names by letter, or as the user declared; empty otherwise."""
    answer = _answer(layout, values)
    return (find_gold(answer, _ALL_LETTERS, layout.gold_style) or ()) if answer is not None else ()


def _answer(layout: ItemLayout, values: Mapping[str, Any]) -> Any:
    answers = (values.get(column) for column in (layout.answer_letter, layout.answer) if column)
    return next((answer for answer in answers if not is_missing(answer)), None)


def lettered(layout: ItemLayout, row: Row) -> tuple[str, ...]:
    """The options of a row that states their number or letters (``4``, ``ABCD``), or whose gold is a letter."""
    stated = row.values.get(layout.options[0]) if layout.options else None
    if stated in (None, ""):
        gold = letters_of(layout, row.values)
        return tuple(ascii_uppercase[: max(layout.letters, gold[-1] + 1)]) if gold else ()
    text = re.sub(r"[\s,;|]", "", str(stated))
    if text and ascii_uppercase.startswith(text):
        return tuple(text)
    if not text.isdecimal():
        return ()
    if not _FEWEST <= int(text) <= MAX_CHOICES:
        expected = f"a number of options from {_FEWEST} to {MAX_CHOICES}"
        raise ItemError(row.where, layout.options[0], short(stated), expected)
    return tuple(ascii_uppercase[: int(text)])


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
