"""VLMEvalKit's TSV: base64 images in cells, or the ``index`` of a row whose images are reused; options in A, B …"""

import csv
import re
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from string import ascii_uppercase

import msgspec
import pybase64

from eyetest.benchmarks.folder import Benchmark, refuse_gold_list
from eyetest.benchmarks.formats import Format
from eyetest.benchmarks.formats.items_file import SheetReader, SheetTable
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions
from eyetest.benchmarks.rows.layout import (
    as_cell,
    field_columns,
    find_columns,
    gold_letters,
    one_or_list,
    tag_columns,
    unreserved,
)
from eyetest.benchmarks.rows.reading import decode_base64
from eyetest.errors import ExportError, ImageError, InputError, ItemError, MissingImage, short
from eyetest.records import ImageRef, Item, letter
from eyetest.tabular.sheets import UTF8, Dialect, SeparatedTable
from eyetest.tabular.table import Row
from eyetest.wording import listed

_LONGEST_REFERENCE = 64
_EXPECTED_IMAGE = "base64 of an image, a list of them, or the index of a row that has one"
_ROTATION = 1_000_000
_LONGEST_INDEX = 18
_READ_AS_MISSING = {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
                    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}  # fmt: skip
_FIRST = ("index", "g_index", "image", "question", "hint", *ascii_uppercase, "answer")


class TsvTable(SeparatedTable):
    """The file as rows of text; empty cells are absent, and a cell that is not UTF-8 stays bytes."""

    errors = "surrogateescape"

    def __init__(self, path: Path) -> None:
        super().__init__(path, Dialect(UTF8, "\t"))
        if any(isinstance(_decoded(name), bytes) for name in self.columns):
            raise InputError(f"{path.name}: its first line is not UTF-8 text")

    def values(self, where: str, cells: list[str]) -> dict[str, str | bytes]:
        """A row's values by column."""
        if len(cells) > len(self.columns):
            raise InputError(f"{where} has {len(cells)} cells, the header has {len(self.columns)}")
        return {column: _decoded(cell) for column, cell in zip(self.columns, cells, strict=False) if cell}


class TsvReader(ItemReader):
    """Rows of the TSV as items, with images found by index."""

    def __init__(self, rows: TsvTable, options: ReadOptions, store: ImageStore) -> None:
        free = [column for column in rows.columns if column not in options.drop]
        letters = tuple(takewhile(free.__contains__, ascii_uppercase))
        usual = {"id": "index", "images": "image", "options": "+".join(letters)}  # what VLMEvalKit itself reads
        present = {field: column for field, column in usual.items() if column and column.split("+")[0] in free}
        fields = {**present, **options.fields}
        gold_style = options.gold_style or "letter"
        super().__init__(rows, msgspec.structs.replace(options, gold_style=gold_style, fields=fields), store)
        self._images: dict[str, tuple[ImageRef, ...]] = {}
        self._references: dict[str, str] | None = None
        self._questions: dict[str, int] = {}
        if self.layout.images == ("image_path",):
            tags = (*self.layout.tag_columns, "image_path")
            self.layout = msgspec.structs.replace(self.layout, tag_columns=tags)

    def item(self, row: Row) -> Item:
        """The row as an item."""
        images = self.images(row)
        item = self.build(row, images)
        if images:
            self._images.setdefault(item.id, images)
        base = "" if item.group else self._base_of_rotation(item)
        return msgspec.structs.replace(item, group=base) if base else item

    def images(self, row: Row) -> tuple[ImageRef, ...]:
        """The row's own images or those of the row it names."""
        cell = row.values.get("image")
        if self.layout.images != ("image",) or cell is None:
            return super().images(row)
        try:
            return self._from_cell(cell)
        except ImageError as error:
            if isinstance(error, MissingImage) and not self.images_required:
                return ()
            raise ItemError(row.where, "image", str(error), _EXPECTED_IMAGE) from None

    def _from_cell(self, cell: str | bytes) -> tuple[ImageRef, ...]:
        name, passed = cell, dict[str, None]()
        while isinstance(name, str) and len(name) <= _LONGEST_REFERENCE and name not in self._images:
            if name in passed:
                raise ImageError(f"{short(name)}, which leads back to itself")
            if self._references is None:
                self._references = self._read_ahead()
            elif name in self._references:
                passed[name] = None
                name = self._references[name]
                if not name:
                    raise MissingImage(f"{short(next(reversed(passed)))}, a row without an image")
            else:
                break
        images = self._images[name] if name in self._images else self._decode(name)
        self._images.update(dict.fromkeys(passed, images))
        return images

    def _read_ahead(self) -> dict[str, str]:
        """Load the images of all rows, once a later row is referred to; returns what the other rows refer to."""
        references: dict[str, str] = {}
        for row in self.rows if self.layout.id else ():
            name, cell = str(row.values.get(self.layout.id, "")), row.values.get("image", "")
            if name in references or name in self._images:
                continue
            if isinstance(cell, str) and len(cell) <= _LONGEST_REFERENCE:
                references[name] = cell
            else:
                with suppress(ImageError):  # reported at its own row
                    self._images[name] = self._decode(cell)
        return references

    def _decode(self, cell: str | bytes) -> tuple[ImageRef, ...]:
        data = cell if isinstance(cell, bytes) else cell.encode()
        if data[:1] == b"[":
            return self.loader.load(data.decode("ascii", "replace"))
        try:
            return self.loader.load(decode_base64(data))
        except ImageError:
            if len(cell) <= _LONGEST_REFERENCE:
                raise MissingImage(short(cell)) from None
            raise

    def _base_of_rotation(self, item: Item) -> str:
        """The row that this one rotates: its index is a million or more lower, its question the same."""
        if not item.is_choice or not item.id.isdecimal() or len(item.id) > _LONGEST_INDEX:
            return ""
        question = hash(item.question)
        self._questions.setdefault(item.id, question)
        base = str(int(item.id) % _ROTATION)
        return base if int(item.id) >= _ROTATION and self._questions.get(base) == question else ""


class Vlmevalkit(Format):
    """The format itself."""

    name = "vlmevalkit"
    summary = "VLMEvalKit TSV: base64 images, options in columns A, B, C …"
    endings = (".tsv",)

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading. A list of golds is not a VLMEvalKit file."""
        table = TsvTable(path)
        if not find_columns(table.columns, options, path.name).question:
            return SheetReader(SheetTable(path), options, store)
        return TsvReader(table, options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write one TSV, every cell quoted; an image that several items share is written once, where ids allow it."""
        refuse_gold_list(benchmark, f"write for {self.name}")
        grouped = any(item.group for item in benchmark)
        used = {"index": None, "question": None, "answer": None}
        keys: dict[str, str] = {}
        unreadable: list[str] = []
        for item in benchmark:
            used.update(dict.fromkeys(name for name, cell in _cells(item, grouped=grouped).items() if cell))
            if item.images:
                used["image"], keys[item.id] = None, _image_key(item)
            if any(choice.text in _READ_AS_MISSING for choice in item.choices):
                unreadable.append(item.id)
        plain = all(re.fullmatch(r"0|[1-9]\d{0,17}", name, re.ASCII) for name in keys)
        holders = {keys[name]: name for name in reversed(keys)} if plain else {}  # pandas would change other ids
        columns = sorted(used, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
        with to.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
            writer.writerow(columns)
            for item in benchmark:
                holder = holders.get(_image_key(item), item.id)
                image = _image_cell(item, benchmark) if holder == item.id else holder
                cells = {**_cells(item, grouped=grouped), "image": image}
                writer.writerow([cells.get(name, "") for name in columns])
        what = 'items have an option like "None" or "NA", which VLMEvalKit takes for no option'
        return [f"{len(unreadable)} {what}: {listed(unreadable, 5)}"] if unreadable else []


def _cells(item: Item, *, grouped: bool) -> dict[str, str]:
    """Every cell except the image. Tags that are not text go into one JSON cell."""
    fields = field_columns(item)
    for name in ("id", "group", "options", "answer", "answer_letter"):
        fields.pop(name, None)
    cells = {"index": item.id, **fields} | ({"g_index": item.group or item.id} if grouped else {})
    for position, choice in enumerate(item.choices):
        if not choice.text:
            raise ExportError(f"item {short(item.id)}: option {letter(position)} is empty, which a TSV cannot hold")
        cells[letter(position)] = choice.text
    if item.choices:
        cells["answer"] = gold_letters(item)
    elif item.references:
        cells["answer"] = str(one_or_list(item.references))
    tags = tag_columns(item, lambda name, value: isinstance(value, str) and bool(value) and unreserved(name))
    return {name: as_cell(value) for name, value in {**cells, **tags}.items()}


def _image_key(item: Item) -> str:
    return ",".join(image.sha256 for image in item.images)


def _image_cell(item: Item, benchmark: Benchmark) -> str:
    encoded = [pybase64.b64encode(benchmark.images.read(image)).decode() for image in item.images]
    if len(encoded) != 1:
        return str(encoded) if encoded else ""
    if len(encoded[0]) <= _LONGEST_REFERENCE:
        why = "is so small that VLMEvalKit would take it for a reference to another row"
        raise ExportError(f"item {short(item.id)}: an image of {item.images[0].size} bytes {why}")
    return encoded[0]


def _decoded(cell: str) -> str | bytes:
    try:
        cell.encode()
    except UnicodeEncodeError:
        return cell.encode("utf-8", "surrogateescape")
    return cell


FORMAT = Vlmevalkit()
