"""Rows of named values become items, and back.

The meaning of a file's columns is decided once (`plan`): which is the question, where the options are, how golds are
given. Then it is applied to each row (`ItemReader`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, time
from functools import lru_cache
from itertools import islice, takewhile
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import msgspec
from msgspec import UNSET

from eyetest.benchmarks import options as option_texts
from eyetest.benchmarks.images import ImageLoader, ImageStore
from eyetest.benchmarks.media import MediaReader, columns_of, could_be_medium, find_media, without_media
from eyetest.benchmarks.options import GOLD_STYLES, GoldStyle, Offered, find_gold, is_missing, listed_options
from eyetest.errors import ImageError, InputError, ItemError, MissingImage, heading, param, short
from eyetest.records import (
    MAX_CHOICES,
    MEDIA_KINDS,
    Choice,
    ImageRef,
    Item,
    Lineage,
    Media,
    OptionProvenance,
    Turn,
    letter,
)
from eyetest.tabular.table import (
    Grid,
    Row,
    Table,
    listed_columns,
    looks_like_list,
    named_columns,
    parse_fields,
    parse_list,
    parse_object,
    split_columns,
    unknown_columns,
    usual_columns,
    usual_name,
)

KNOWN_COLUMNS: dict[str, tuple[str, ...]] = {
    "id": ("id", "index", "question_id", "qid", "pid", "item_id"),
    "question": ("question", "query", "prompt"),
    "images": ("images", "image", "image_path", "img"),
    "options": ("options", "choices"),
    "answer": ("answer", "answers", "correct_answer", "gold"),
    "group": ("group", "g_index"),
    **{name: (name,) for name in ("answer_letter", "hint", "history", "description", "eyetest")},
    **dict.fromkeys((*MEDIA_KINDS, "tags"), ()),  # columns of media are recognised in `media`
}
"""Field names, and the column names that files use for them, best first; capitals and spaces do not count."""

_SEVERAL_COLUMNS = ("images", "options", *MEDIA_KINDS, "tags")
_NUMBERED_IMAGES = tuple(f"image_{number}" for number in range(1, 27))
_NUMBERED_OPTION = re.compile(r"(option|opt|choice|candidate|alternative|ans|a)_?(\d{1,2})")
_OPTION_COLUMN = re.compile(r"(?:option|choice)_([a-z])")
_IMAGE_COLUMN = re.compile(
    r"(?:image|img|picture|photo)s?[ _-]?(?:path|file|file_?name|name|id|url|link|source)?s?|file[ _-]?name",
    re.IGNORECASE,
)
_IMAGE_FILE = re.compile(r"\S.*\.(?:jpe?g|png|gif|webp|bmp|tiff?)", re.IGNORECASE)
_LONGEST_NAME = 1024
RESERVED = {name for names in KNOWN_COLUMNS.values() for name in names} | set(_NUMBERED_IMAGES) | set(ascii_uppercase)
"""Column names with a meaning; a tag of such a name is stored where it cannot be mistaken."""


class OtherFields(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What no other tool has a column for; exports hold it as JSON in the column ``eyetest``."""

    provenance: tuple[OptionProvenance, ...] = ()
    lineage: tuple[Lineage, ...] = ()
    tags: dict[str, Any] = {}
    media: tuple[Media, ...] = ()


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """User settings for reading a file."""

    format: str | None = None
    limit: int | None = None
    fields: dict[str, str] = {}
    """Field → the file's column; several columns joined by ``+`` for images, options, media and ``tags``, which stay
    tags."""
    drop: tuple[str, ...] = ()
    images: Path | None = None
    """The folder that image paths are relative to and may not leave; the file's own by default."""
    gold_style: GoldStyle | None = None
    gold_required: bool = True
    skip_bad: bool = False
    """Whether rows that cannot be read are left out."""
    images_required: bool = True
    """Whether a named image that is missing is an error. Else its name is kept as a tag of the item."""


class ItemLayout(msgspec.Struct, frozen=True, kw_only=True):
    """The decisions for one file."""

    fields: dict[str, str]  # field → its column, or its columns joined by +, as ``--map`` takes them
    images: tuple[str, ...] = ()
    options: tuple[str, ...] = ()  # one column that holds a list, or one column per option
    tag_columns: tuple[str, ...] = ()
    inline_options: bool = False
    listed_answers: bool = False  # whether texts spell lists of references; then an empty one is no reference
    gold_style: GoldStyle = "letter"

    def column(self, field: str) -> str:
        """The column of a field; empty where the file has none."""
        return self.fields.get(field, "")


def named_images(tags: dict[str, Any]) -> dict[str, str]:
    """The image names among an item's tags, by tag: recognised by the tag's name or its value."""
    return {
        name: str(value[0] if isinstance(value, list) else value)
        for name, value in tags.items()
        if not isinstance(value, bool) and value not in (None, "", [], {})
        if _IMAGE_COLUMN.fullmatch(name.strip()) or is_image_file(value)
    }


def is_image_file(value: Any) -> bool:
    """Whether a value is the name of an image file, or a list that begins with one."""
    if isinstance(value, list) and value:
        return is_image_file(value[0])
    return isinstance(value, str) and len(value) <= _LONGEST_NAME and bool(_IMAGE_FILE.fullmatch(value.strip()))


def parse_map(pairs: Iterable[str]) -> dict[str, str]:
    """``question=prompt,options=choices`` as a mapping from our fields to the file's columns."""
    fields = parse_fields(pairs, "fields", (*KNOWN_COLUMNS, "image"), "question=prompt")
    return {"images" if field == "image" else field: columns for field, columns in fields.items()}


def find_columns(columns: Sequence[str], options: ReadOptions, where: str) -> ItemLayout:
    """The column of each field: the user's mapping first, then known names."""
    _refuse_unknown_columns(columns, options, where)
    mapped = named_columns(options.fields)
    free = [column for column in columns if column and column not in mapped and column not in options.drop]
    known = {_usual_name(name): name for name in reversed(free)} | {name: name for name in free}
    found = usual_columns(KNOWN_COLUMNS, known)
    lettered = tuple(known[name] for name in takewhile(known.__contains__, ascii_uppercase))
    if len(lettered) > 1:
        found.setdefault("options", "+".join(lettered))
    elif numbered := _numbered_options(free):
        found.setdefault("options", "+".join(numbered))
    found.setdefault("images", "+".join(known[name] for name in _NUMBERED_IMAGES if name in known))
    if "answer" in options.fields:
        found.pop("answer_letter", None)
    found |= options.fields
    if not found.get("question"):
        hint = f"name it with {param('fields', 'question=COLUMN')} (and likewise id, images, options, answer)"
        raise InputError(f"{where}: no column for the question among {listed_columns(columns)}; {hint}")
    used = named_columns({field: column for field, column in found.items() if field != "tags"})
    images, choices = (split_columns(found.get(field, "")) for field in ("images", "options"))
    free += split_columns(options.fields.get("tags", ""))
    tags = tuple(column for column in free if column not in used)
    fields = {field: column for field, column in found.items() if column}
    return ItemLayout(fields=fields, images=images, options=choices, tag_columns=tags)


def _numbered_options(columns: Sequence[str]) -> list[str]:
    """The columns that hold one option each and are numbered from 0 or 1: ``option 0``, ``choice_1``, ``a0``."""
    families: dict[str, dict[int, str]] = {}
    for column in columns:
        match = _NUMBERED_OPTION.fullmatch(usual_name(column))
        if match:
            families.setdefault(match[1], {}).setdefault(int(match[2]), column)
    for family in families.values():
        first = min(family)
        numbers = range(first, first + len(family))
        if first <= 1 and len(family) >= _FEWEST_OPTIONS and set(numbers) == set(family):
            return [family[number] for number in numbers]
    return []


def _refuse_unknown_columns(columns: Sequence[str], options: ReadOptions, where: str) -> None:
    problems = [f"{heading('drop')}: {problem}" for problem in unknown_columns(options.drop, columns)]
    for field, value in options.fields.items():
        names, at = split_columns(value), heading("fields", field)
        if len(names) > 1 and field not in _SEVERAL_COLUMNS:
            problems.append(f"{at}: only {', '.join(_SEVERAL_COLUMNS)} may have several columns")
        problems += [f"{at}: {problem}" for problem in unknown_columns(names, columns)]
    if problems:
        raise InputError(f"{where}: {'; '.join(problems)}")


@lru_cache(maxsize=4_096)
def _usual_name(column: str) -> str:
    """The known name that a column's stands for: ``Question``, ``Option A``, ``Image path``."""
    name = usual_name(column)
    option = _OPTION_COLUMN.fullmatch(name)
    return option[1].upper() if option else name


_SAMPLE = 500
_SAMPLE_LENGTH = 64 * 2**20
_MAX_DEPTH = 50
_BETWEEN_OPTIONS = ("\n", "|", ";")
_ALL_LETTERS = option_texts.plain_offer(ascii_uppercase)
MAX_FIELD = 64 * 2**20


def plan(rows: Table, options: ReadOptions) -> ItemLayout:
    """Decide what the columns of a file mean."""
    if not rows.columns:
        raise InputError(f"{rows.path.name} holds no items")
    layout = find_columns(rows.columns, options, rows.path.name)
    unmapped = () if layout.options else layout.tag_columns
    sample = _sample(rows, {layout.column("question"), layout.column("answer"), *layout.options, *unmapped})
    if not sample:
        raise InputError(f"{rows.path.name} holds no items")
    if not layout.options and "options" not in options.fields:
        layout = _with_listed_options(layout, sample)
    inline = not layout.options and _options_are_inline(layout, sample)
    if not layout.options and not inline:
        _refuse_unmapped_options(layout, sample, rows.path.name)
    layout = msgspec.structs.replace(layout, inline_options=inline, gold_style=options.gold_style or "letter")
    answer = layout.column("answer")
    listed = any(isinstance(row.get(answer), str) and parse_list(row[answer], quoted=True) for row in sample)
    layout = msgspec.structs.replace(layout, listed_answers=listed)
    if options.gold_style or not answer or layout.column("answer_letter"):
        return layout
    offers = []
    for row in sample:
        with suppress(ItemError):  # it is raised again when the row is read
            offered = _offer(layout, Row("", row))
            offers += [(row.get(answer), offered)] if offered.texts else []
    return msgspec.structs.replace(layout, gold_style=option_texts.choose_style(offers, rows.path.name))


_OPTIONS_NAME = re.compile(r"(?:.*_)?(?:option|choice|candidate|alternative)s?(?:_(?:list|text|texts))?")
_GOLDS_NAME = re.compile(r"(?:^|_)(?:correct|right|gold|true)(?:_|$)")
_FEWEST_OPTIONS = 2
_MOST_LISTS = 0.9  # of the rows; some questions beside choice questions may be open


def _with_listed_options(layout: ItemLayout, sample: Sequence[dict[str, Any]]) -> ItemLayout:
    """The layout with the column that holds lists and is named after options, such as ``Choice``, if there is one."""
    for column in layout.tag_columns:
        name = usual_name(column)
        if _OPTIONS_NAME.fullmatch(name) is None or _GOLDS_NAME.search(name) is not None:
            continue
        lists = [listed_options(row.get(column)) for row in sample if row.get(column) not in (None, "", [])]
        long_lists = [options for options in lists if options is not None and len(options) >= _FEWEST_OPTIONS]
        if lists and len(long_lists) >= _MOST_LISTS * len(lists):
            tags = tuple(name for name in layout.tag_columns if name != column)
            fields = layout.fields | {"options": column}
            return msgspec.structs.replace(layout, fields=fields, options=(column,), tag_columns=tags)
    return layout


def _refuse_unmapped_options(layout: ItemLayout, sample: Sequence[dict[str, Any]], where: str) -> None:
    """Refuse to take choice questions for open ones: every answer is a place in the list of an unmapped column."""
    answers = [row.get(layout.column("answer") or layout.column("answer_letter")) for row in sample]
    fewest = [_fewest_options(answer) for answer in answers]
    if any(number is None and not is_missing(answer) for number, answer in zip(fewest, answers, strict=True)):
        return
    rows = [(row, number) for row, number in zip(sample, fewest, strict=True) if number is not None]
    answer = next((answer for answer in answers if not is_missing(answer)), None)
    is_letter = isinstance(answer, str) and not answer.strip().isdigit()
    kind = "a letter" if is_letter else "a small number"
    for column in layout.tag_columns if rows else ():
        if all(_lists_options(row.get(column), number, numbers=is_letter) for row, number in rows):
            ways = f"{param('fields', f'options={column}')} if they are, {param('drop', column)} if not"
            raise InputError(
                f"{where}: every answer is {kind} such as {short(answer)}, and the column {short(column)} holds "
                f"lists of so many texts, which may be the options: say {ways}"
            )


def _fewest_options(answer: Any) -> int | None:
    """How many options there are at least if an answer is a letter or a small number; None where it is neither."""
    if isinstance(answer, float) and answer.is_integer():
        answer = int(answer)
    if isinstance(answer, str | int) and re.fullmatch(r"\d{1,2}", str(answer).strip()):
        return max(int(answer), _FEWEST_OPTIONS)
    letters = find_gold(answer, _ALL_LETTERS, "letter") if isinstance(answer, str) else None
    return None if letters is None or len(letters) != 1 else max(letters[0] + 1, _FEWEST_OPTIONS)


def _lists_options(cell: Any, fewest: int, *, numbers: bool) -> bool:
    """Whether a cell lists so many texts. A list of numbers counts only on demand, since a box is one."""
    options = listed_options(cell)
    if options is None or len(options) < fewest:
        return False
    return numbers or not all(_is_number(text) for text in options.values())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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


def _options_are_inline(layout: ItemLayout, sample: Sequence[dict[str, Any]]) -> bool:
    """True where every sampled answer is letters and nearly every question shows lettered options."""
    answers = [answer for row in sample if not is_missing(answer := row.get(layout.column("answer")))]
    if any(find_gold(answer, _ALL_LETTERS, "letter") is None for answer in answers):
        return False
    questions = [row.get(layout.column("question")) for row in sample]
    return sum(isinstance(q, str) and bool(option_texts.split_options(q)) for q in questions) >= 0.9 * len(sample)


class ItemReader:
    """Turns the rows of a file into items and stores their images."""

    def __init__(self, rows: Table, options: ReadOptions, store: ImageStore) -> None:
        self.rows = rows
        rows.skips_bad = options.skip_bad
        self.loader = ImageLoader(store, options.images or rows.path.parent)
        self.images_required = options.images_required
        self.layout = plan(rows, options)
        columns = find_media(rows, self.layout.tag_columns, self.layout.images, self.layout.fields)
        self.media = MediaReader(columns)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def item(self, row: Row, number: int) -> Item:
        """The row as an item, whose id may be its number from 0; an error names the row."""
        if isinstance(self.rows, Grid):  # an empty cell of a sheet is missing
            row = row._replace(values={name: cell for name, cell in row.values.items() if cell != ""})
        for column, value in row.values.items():
            for text in value if isinstance(value, list) else (value,):
                if isinstance(text, str) and len(text) > MAX_FIELD:
                    raise ItemError(row.where, column, f"{len(text):,} characters", f"at most {MAX_FIELD:,}")
        layout, offered = self.layout, _offer(self.layout, row)
        row, inside = self._without_media(row)
        images = self._images(row)
        media, used = self.media.read(row.values, has_images=bool(images))
        others = _records(row, layout.column("eyetest"), OtherFields) or OtherFields()
        texts = {name: _text_of(row, layout.column(name)) for name in ("hint", "description", "group")}
        if others.media:
            used, media, inside = set(), others.media, ()
        row = row._replace(values={name: cell for name, cell in row.values.items() if name not in used})
        tags = _tags(layout, row, others.tags) | ({} if images else _absent_images(layout, row))
        return Item(
            id=_text_of(row, layout.column("id")) if layout.column("id") else str(number),
            question=offered.question,
            images=images,
            media=tuple(dict.fromkeys((*inside, *media))),
            choices=self._choices(row, offered, others.provenance),
            references=() if offered.texts else self._references(row),
            history=_records(row, layout.column("history"), tuple[Turn, ...]),
            lineage=others.lineage,
            tags=tags,
            **texts,
        )

    def _without_media(self, row: Row) -> tuple[Row, tuple[Media, ...]]:
        """A row whose columns of images hold nothing else, and the media that they held."""
        values = dict(row.values)
        found: list[Media] = []
        for column in self.layout.images:
            values[column], media = without_media(values.get(column))
            found += media
        return row._replace(values=values) if found else row, tuple(found)

    def _images(self, row: Row) -> tuple[ImageRef, ...]:
        """The row's images; none of them where one is missing and that is allowed."""
        missing = ""
        refs: list[ImageRef] = []
        for column in self.layout.images:
            try:
                images = self.load(row.values.get(column))
            except ImageError as error:
                if isinstance(error, MissingImage) and not self.images_required:
                    return ()
                raise ItemError(row.where, column, str(error), "a PNG, JPEG, GIF, WebP, BMP or TIFF") from None
            if images and missing:
                raise ItemError(row.where, missing, "nothing", f"an image, since {column} has one")
            missing = missing or ("" if images else column)
            refs.extend(images)
        return tuple(refs)

    def load(self, cell: Any) -> tuple[ImageRef, ...]:
        """The images of a cell."""
        return self.loader.load(cell)

    def _choices(self, row: Row, offered: Offered, provenance: Sequence[OptionProvenance]) -> tuple[Choice, ...]:
        if not offered.texts:
            return ()
        gold = self._gold(row, offered)
        known = {place: own for place, own in enumerate(provenance) if own != OptionProvenance()}
        return tuple(Choice(text, i in gold, known.get(i, UNSET)) for i, text in enumerate(offered.texts))

    def _gold(self, row: Row, offered: Offered) -> tuple[int, ...]:
        """Positions of the right options. Where a row gives them by letter and otherwise, both must agree."""
        letters, answers = self.layout.column("answer_letter"), self.layout.column("answer")
        by_letter, answer = (row.values.get(column) if column else None for column in (letters, answers))
        if is_missing(by_letter):
            column, gold = answers, () if is_missing(answer) else find_gold(answer, offered, self.layout.gold_style)
            if gold is None and self.layout.gold_style == "letter":
                gold = find_gold(answer, offered, "text")
        else:
            column, gold = letters, find_gold(by_letter, offered, "letter")
        texts = offered.texts
        if gold is None:
            expected = f"one of the {len(texts)} options ({', '.join(offered.names[:26])})"
            raise ItemError(row.where, column, short(row.values[column]), expected)
        if not is_missing(by_letter) and not is_missing(answer):
            readings = (find_gold(answer, offered, style) for style in GOLD_STYLES)
            if {texts[i] for i in gold} not in ({texts[i] for i in found} for found in readings if found):
                raise ItemError(row.where, answers, short(answer), f"what {letters} says")
        return gold

    def _references(self, row: Row) -> tuple[str, ...]:
        """The references of a row; the text ``[]`` is one, unless other rows spell lists of references."""
        column = self.layout.column("answer")
        value = row.values.get(column) if column else None
        if isinstance(value, str):
            parsed = parse_list(value, quoted=True)
            is_text = parsed == [] and not self.layout.listed_answers
            value = [value] if parsed is None or is_text else parsed
        elif not isinstance(value, list | tuple):
            value = [] if value is None else [value]
        value = [part.get("answer", part) if isinstance(part, dict) else part for part in value]  # ten people's votes
        return tuple(_as_text(row, column, part) for part in value if part is not None)


def _absent_images(layout: ItemLayout, row: Row) -> dict[str, Any]:
    """The values of the image columns of a row without images: the names of missing files."""
    values = {column: row.values.get(column) for column in layout.images}
    names = {column: value.get("path") if isinstance(value, dict) else value for column, value in values.items()}
    return {column: name for column, name in names.items() if name not in (None, "", b"", [], ())}


def _records(row: Row, column: str, kind: Any) -> Any:
    value = row.values.get(column) if column else None
    if value is None or value == "":
        return ()
    try:
        return msgspec.json.decode(value, type=kind) if isinstance(value, str) else msgspec.convert(value, kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ItemError(row.where, column, short(value), f"a list of records ({error})") from None


def _tags(layout: ItemLayout, row: Row, others: dict[str, Any]) -> dict[str, Any]:
    found = {column: value for column in layout.tag_columns if (value := row.values.get(column)) is not None}
    tags = {column: str(value) if isinstance(value, date | time) else value for column, value in found.items()}
    tags |= others
    for name, value in tags.items():
        if problem := _unfit(value):
            hint = f"leave the column out with {param('drop', name)}"
            raise ItemError(row.where, name, problem, f"text or numbers ({hint})")
    return tags


def _unfit(value: Any, depth: int = 0) -> str:
    """Why a value cannot be a tag: bytes, or nesting too deep for JSON readers; empty if it can."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        if depth > _MAX_DEPTH:
            return "values nested too deeply"
        return next((problem for part in value if (problem := _unfit(part, depth + 1))), "")
    return "bytes" if isinstance(value, bytes) else ""


def _text_of(row: Row, column: str) -> str:
    """A cell as text; empty where the file has no such column."""
    return _as_text(row, column, row.values.get(column)) if column else ""


def _as_text(row: Row, column: str, value: Any) -> str:
    """A value as text; an error names the row and the column."""
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        kind = "UTF-8 text" if isinstance(value, bytes) else "text"
        hint = " (Excel made it a date: format the column as text)" if isinstance(value, date | time) else ""
        raise ItemError(row.where, column, short(value), kind + hint)
    return str(value)


def _offer(layout: ItemLayout, row: Row) -> Offered:
    """The question and its options, which may be in columns of their own or inside the question."""
    question = _text_of(row, layout.column("question"))
    if layout.inline_options:
        found = option_texts.split_options(question)
        if found is None:
            raise ItemError(row.where, layout.column("question"), "no distinct options", "options A, B … in the text")
        return option_texts.plain_offer(found[1], found[0])
    if len(layout.options) > 1:
        cells = {letter(i): _text_of(row, column) for i, column in enumerate(layout.options)}
        cells = {name: text for name, text in cells.items() if text}
    else:
        cells = _option_cell(row, layout.options[0]) if layout.options else {}
    written = tuple(cells.values())
    return Offered(question, tuple(cells), option_texts.without_letters(written), written)


def _option_cell(row: Row, column: str) -> dict[str, str]:
    """Options in one cell: a list, a text that contains one, or an object by letter."""
    value = row.values.get(column)
    if value is None:
        return {}
    options = listed_options(_listed_in(value) if isinstance(value, str) else value)
    if options is None:
        parts = [*value.values()] if isinstance(value, dict) else value
        for part in parts if isinstance(parts, list) else ():
            _as_text(row, column, part)  # says which of them is no text
        raise ItemError(row.where, column, short(value), "a list of options")
    if len(options) > MAX_CHOICES:
        raise ItemError(row.where, column, f"{len(options):,} options", f"at most {MAX_CHOICES}")
    return options


def _listed_in(cell: str) -> Any:
    """The options in a text: the literal of a list or an object, or parts on lines or between ``|`` or ``;``."""
    if not cell.strip():
        return []
    if looks_like_list(cell):
        return cell  # `listed_options` reads it
    if (options := parse_object(cell)) is not None:
        return options
    separator = next((mark for mark in _BETWEEN_OPTIONS if mark in cell), None)
    return [part.strip() for part in cell.split(separator) if part.strip()] if separator else None


def _is_free(tag: str, value: Any) -> bool:
    """Whether a tag can be a column of its own, which no reader takes for a field or a medium."""
    return RESERVED.isdisjoint((tag, _usual_name(tag))) and not could_be_medium(tag, value)


def plain_row(item: Item, *, text_tags: bool = False) -> dict[str, Any]:
    """Everything but the images, under eyetest's column names; empty values are left out.

    The column ``eyetest`` has what could be mistaken for a field; with ``text_tags`` also all tags that are not text.
    """
    row: dict[str, Any] = {"id": item.id, "question": item.question}
    if item.choices:
        row["options"] = [choice.text for choice in item.choices]
        if item.gold:
            texts = [item.choices[i].text for i in item.gold]
            letters = "".join(map(letter, item.gold))
            row |= {"answer": texts[0] if len(texts) == 1 else texts, "answer_letter": letters}
    elif item.references:
        first, *more = item.references  # a single one as itself, unless a reader would take it for a list
        row["answer"] = [first, *more] if more or looks_like_list(first) else first
    known = ("hint", "description", "group", "history")
    row |= {name: msgspec.to_builtins(value) for name in known if (value := getattr(item, name))}
    free = {name: value for name, value in item.tags.items() if _is_free(name, value)}
    columns = {n: v for n, v in free.items() if (isinstance(v, str) and v if text_tags else v is not None)}
    provenance = tuple(choice.provenance or OptionProvenance() for choice in item.choices)
    media = columns_of(item)
    others = OtherFields(
        provenance=provenance if any(choice.provenance for choice in item.choices) else (),
        lineage=item.lineage,
        tags={name: value for name, value in item.tags.items() if name not in columns},
        media=() if media else item.media,
    )
    return row | media | columns | ({"eyetest": msgspec.to_builtins(others)} if others != OtherFields() else {})
