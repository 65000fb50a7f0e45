"""Items as cells of a VLMEvalKit TSV, in the file's own spelling where it came from one."""

from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

import msgspec
import pybase64

from eyetest.benchmarks.folder import Benchmark
from eyetest.benchmarks.rows.layout import as_cell, field_columns, gold_letters, one_or_list, tag_columns, unreserved
from eyetest.errors import ExportError, short
from eyetest.records import Item, letter
from eyetest.tabular.table import split_columns

LONGEST_REFERENCE = 64
_READ_AS_MISSING = {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
                    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}  # fmt: skip
_OPTION_FIELDS = ("options", "answer", "answer_letter")
ROTATION = 1_000_000
_LONGEST_INDEX = 18
OPTIONS_UNIT = "options and answer"
IMAGE_UNIT = "picture"
PICTURE = "\0"
_FIRST = ("index", "g_index", "image", "question", "hint", *ascii_uppercase, "answer")


def our_template(pictures: int) -> str:
    """How we write an image cell, with a mark where each picture's base64 stands."""
    return PICTURE if pictures == 1 else str([PICTURE] * pictures).replace("\\x00", PICTURE)


def fill_in(template: str, encoded: list[bytes]) -> bytes:
    """An image cell: the template with the pictures in place."""
    between = [part.encode() for part in template.split(PICTURE)]
    return between[0] + b"".join(picture + after for picture, after in zip(encoded, between[1:], strict=True))


def image_key(item: Item) -> str:
    """The item's pictures, as a short text that changes when they do."""
    return ",".join(image.sha256 for image in item.images)


class Names:
    """Which column holds which field: those of the file a benchmark came from, or VLMEvalKit's own."""

    def __init__(self, fields: dict[str, str], columns: Sequence[str], *, has_group: bool) -> None:
        self.columns = tuple(columns)
        self.has_group = has_group
        self.options = split_columns(fields.get("options", ""))
        self._fields = {"id": "index", "group": "g_index", **fields}
        taken = {column for value in fields.values() for column in split_columns(value)} - {"image_path"}
        self._tags = set(columns) - taken

    def column(self, field: str) -> str:
        """The column of one of our fields."""
        return self._fields.get(field, field)

    def options_as_list(self) -> bool:
        """Whether one column holds all options."""
        return len(self.options) == 1 and self.options != ("A",)

    def option(self, position: int) -> str:
        """The column of an option."""
        return self.options[position] if position < len(self.options) else letter(position)

    def is_tag(self, name: str, value: object) -> bool:
        """Whether a tag can be a column: non-empty text under a name that means nothing else here."""
        return isinstance(value, str) and bool(value) and (unreserved(name) or name in self._tags)


def option_cells(item: Item, names: Names) -> dict[str, str]:
    """Options and answer, which belong together: one cannot change without the other."""
    texts = [choice.text for choice in item.choices]
    if names.options_as_list():
        cells = {names.options[0]: str(texts) if texts else ""}
    else:
        cells = {names.option(i): "" for i in range(max(len(names.options), len(texts)))}
        cells.update({names.option(i): text for i, text in enumerate(texts)})
        if "" in texts:
            mark = letter(texts.index(""))
            raise ExportError(f"item {short(item.id)}: option {mark} is empty, which a TSV cannot hold")
    answer = gold_letters(item) if texts else _reference_cell(item)
    cells[names.column("answer")] = answer
    if "answer_letter" in names.columns:
        cells["answer_letter"] = answer if texts else ""
    return cells


def plain_cells(item: Item, names: Names) -> dict[str, str]:
    """Everything but pictures, options and answer. Tags that are not text go into one JSON cell."""
    fields = field_columns(item)
    if is_rotation(item) and not names.has_group:
        del fields["group"]
    elif names.has_group:
        fields["group"] = item.group or item.id
    cells = {names.column(name): as_cell(value) for name, value in fields.items() if name not in _OPTION_FIELDS}
    if not item.images and IMAGE_UNIT in item.spellings:
        item = msgspec.structs.replace(item, tags={name: v for name, v in item.tags.items() if name != "image"})
    return cells | {name: as_cell(value) for name, value in tag_columns(item, names.is_tag).items()}


def is_rotation(item: Item) -> bool:
    """Whether the index alone tells which item this one rotates: a million lower, or several."""
    if not item.group or not item.id.isdecimal() or len(item.id) > _LONGEST_INDEX:
        return False
    return int(item.id) >= ROTATION and str(int(item.id) % ROTATION) == item.group


def _reference_cell(item: Item) -> str:
    if not item.references:
        return ""
    value = one_or_list(item.references)
    return value if isinstance(value, str) else str(value)


def column_unit(column: str) -> str:
    """The name under which the spelling of one column is kept; units of several columns have names of their own."""
    return f"column {column}"


class CellWriter:
    """Writes the items of one benchmark, knowing which columns and which reused pictures it has."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark
        origin = benchmark.manifest.origin
        self._theirs = origin.format == "vlmevalkit"
        self._names = self._find_names()
        self._pictures: dict[str, str] = {}
        self._references: dict[str, str] = {}
        used: dict[str, None] = dict.fromkeys(origin.columns if self._theirs else ("index", "question", "answer"))
        unreadable: list[str] = []
        for item in benchmark:
            cells = self._cells(item)
            used.update(dict.fromkeys(name for name, cell in cells.items() if cell))
            if item.images:
                used["image"] = None
                self._pictures[item.id] = image_key(item)
                self._note_reference(item)
            if any(choice.text in _READ_AS_MISSING for choice in item.choices):
                unreadable.append(item.id)
        self.columns = tuple(used) if self._theirs else _in_order(used)
        self._first_with = {} if self._theirs else self._holders()
        self.notes = _notes(unreadable)

    def cells(self, item: Item) -> list[bytes]:
        """The item's row."""
        cells = self._cells(item)
        return [self._image(item) if c == "image" else cells.get(c, "").encode() for c in self.columns]

    def _find_names(self) -> Names:
        origin = self._benchmark.manifest.origin
        if self._theirs:
            return Names(origin.fields, origin.columns, has_group="group" in origin.fields)
        return Names({}, (), has_group=any(item.group for item in self._benchmark))

    def _cells(self, item: Item) -> dict[str, str]:
        """Every cell but the picture's. Options, answer and a question that held them are spelt all or not at all."""
        cells = {**self._plain_cells(item), **option_cells(item, self._names)}
        spelling = item.spellings.get(OPTIONS_UNIT)
        if self._theirs and spelling:
            ours = msgspec.json.decode(spelling.ours, type=dict[str, str])
            if ours == {**{name: cells.get(name, "") for name in ours}, **option_cells(item, self._names)}:
                cells |= msgspec.json.decode(spelling.theirs, type=dict[str, str])
        return cells

    def _plain_cells(self, item: Item) -> dict[str, str]:
        cells = plain_cells(item, self._names)
        for column in self._names.columns if self._theirs else ():
            spelling = item.spellings.get(column_unit(column))
            if spelling and cells.get(column, "") == spelling.ours:
                cells[column] = spelling.theirs
        return cells

    def _note_reference(self, item: Item) -> None:
        theirs = self._their_image(item)
        if theirs and len(theirs) <= LONGEST_REFERENCE and PICTURE not in theirs:
            self._references[item.id] = theirs

    def _their_image(self, item: Item) -> str:
        """How the source wrote this image cell, if it wrote these pictures and not as we would."""
        spelling = item.spellings.get(IMAGE_UNIT)
        return spelling.theirs if self._theirs and spelling and spelling.ours == image_key(item) else ""

    def _leads_to(self, item: Item) -> str | None:
        """The row that this item's source referred to, if following it still ends at these very pictures."""
        seen = {item.id}
        reference = name = self._references.get(item.id)
        while name is not None:
            if name in seen or self._pictures.get(name) != image_key(item):
                return None
            seen.add(name)
            name = self._references.get(name)
        return reference

    def _image(self, item: Item) -> bytes:
        if not item.images:
            return self._their_image(item).encode()
        holder = self._leads_to(item) or self._first_with.get(image_key(item), item.id)
        if holder != item.id:
            return holder.encode()
        encoded = [pybase64.b64encode(self._benchmark.images.read(image)) for image in item.images]
        theirs = self._their_image(item)
        if PICTURE in theirs:
            return fill_in(theirs, encoded)
        if len(theirs) > LONGEST_REFERENCE:
            return theirs.encode()
        if len(encoded) == 1 and len(encoded[0]) <= LONGEST_REFERENCE:
            raise ExportError(
                f"item {short(item.id)}: a picture of {item.images[0].size} bytes is so small that VLMEvalKit "
                "would take it for a reference to another row"
            )
        return fill_in(our_template(len(encoded)), encoded)

    def _holders(self) -> dict[str, str]:
        """The first item with each set of pictures, where later ones can refer to it by an id that stays itself."""
        if not _ids_survive_pandas(list(self._pictures)):
            return {}
        holders: dict[str, str] = {}
        for item_id, key in self._pictures.items():
            if len(item_id) <= LONGEST_REFERENCE:
                holders.setdefault(key, item_id)
        return holders


def _ids_survive_pandas(ids: list[str]) -> bool:
    """Whether VLMEvalKit, reading the column with pandas, sees these very ids."""
    if all(i.isdecimal() and i.isascii() and (i == "0" or i[0] != "0") and len(i) < 19 for i in ids):
        return True
    return any(_is_word(i) for i in ids) and not any(i in _READ_AS_MISSING for i in ids)


def _is_word(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.lower() not in ("true", "false")
    return False


def _in_order(used: dict[str, Any]) -> tuple[str, ...]:
    return (*(name for name in _FIRST if name in used), *(name for name in used if name not in _FIRST))


def _notes(unreadable: list[str]) -> list[str]:
    if not unreadable:
        return []
    listed = ", ".join(unreadable[:5]) + (" …" if len(unreadable) > 5 else "")
    return [
        f'{len(unreadable)} items have an option like "None" or "NA", which VLMEvalKit takes for no option: {listed}'
    ]
