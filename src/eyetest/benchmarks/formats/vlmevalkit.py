"""VLMEvalKit's TSV: one file, base64 pictures in their cells, options in columns A, B, C …

A cell of at most 64 characters in ``image`` names the ``index`` of a row whose pictures are reused. What the
file wrote in another way than we would is kept as a spelling, so that it comes back cell for cell.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import msgspec
import pybase64

from eyetest.benchmarks.folder import Benchmark, refuse_gold_list
from eyetest.benchmarks.formats.support.sheet_rows import SheetReader, SheetTable
from eyetest.benchmarks.formats.support.vlmevalkit_cells import (
    IMAGE_UNIT,
    LONGEST_REFERENCE,
    OPTIONS_UNIT,
    PICTURE,
    CellWriter,
    Names,
    column_unit,
    image_key,
    is_rotation,
    option_cells,
    our_template,
    plain_cells,
)
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions
from eyetest.benchmarks.rows.layout import find_columns
from eyetest.benchmarks.rows.pictures import decode_base64
from eyetest.errors import ImageError, InputError, ItemError, MissingImage, short
from eyetest.records import ImageRef, Item, Spelling
from eyetest.tabular.separated import MAX_CELL, SeparatedFile, SeparatedTable, write_row
from eyetest.tabular.table import Row, plain_size

_QUOTE = re.compile("(['\"])")
_EXPECTED_IMAGE = "base64 of a picture, a list of them, or the index of a row that has one"


class TsvTable(SeparatedTable):
    """The file as rows of text; empty cells are absent, ``image`` cells stay bytes, and so does what is not UTF-8."""

    def __init__(self, path: Path) -> None:
        self._file = SeparatedFile(path)
        super().__init__(path)

    def rows(self) -> Iterator[list[Any]]:
        """The cells of all rows as bytes, but for the header."""
        size = plain_size(self.path)
        for number, (_, cells) in enumerate(self._file.rows()):
            self.done = self._file.position / size
            try:
                yield cells if number else [cell.decode() for cell in cells]
            except UnicodeDecodeError:
                raise InputError(f"{self.path.name}: its first line is not UTF-8 text") from None

    def offsets(self, column: str) -> dict[str, int]:
        """Where each row starts, by its value in a column; the first of equals counts."""
        at = self.columns.index(column)
        offsets: dict[str, int] = {}
        for offset, cells in SeparatedFile(self.path).rows():
            if at < len(cells):
                offsets.setdefault(cells[at].decode(errors="replace"), offset)
        return offsets

    def image_at(self, offset: int) -> bytes | None:
        """The picture of one row, by where it starts."""
        cells = next(SeparatedFile(self.path).rows(offset))[1]
        image: bytes | None = self.values(f"{self.path.name}", cells).get("image")
        return image

    def values(self, where: str, cells: list[bytes]) -> dict[str, Any]:
        """A row's values by column."""
        if len(cells) > len(self.columns):
            raise InputError(f"{where} has {len(cells)} cells, the header has {len(self.columns)}")
        values: dict[str, Any] = {}
        for column, cell in zip(self.columns, cells, strict=False):
            if not cell:
                continue
            if len(cell) > MAX_CELL:
                size, limit = len(cell) / 2**20, MAX_CELL // 2**20
                raise InputError(f"{where}: {column}: found {size:,.0f} MB, expected at most {limit} MB in a cell")
            values[column] = cell if column == "image" else _decoded(cell)
        return values


class TsvReader(ItemReader):
    """Rows of the TSV as items, with pictures found by index and the file's own spelling kept."""

    def __init__(self, rows: TsvTable, options: ReadOptions, store: ImageStore) -> None:
        free = [column for column in rows.columns if column not in options.drop]
        fields = {**_usual_fields(free), **options.fields}
        gold_style = options.gold_style or "letter"
        super().__init__(rows, msgspec.structs.replace(options, gold_style=gold_style, fields=fields), store)
        self._tsv = rows
        self._names = Names(self.fields, self.columns, has_group="group" in self.fields)
        self._images: dict[str, tuple[ImageRef, ...]] = {}
        self._offsets: dict[str, int] | None = None
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
        if not item.group and (base := self._base_of_rotation(item)):
            item = msgspec.structs.replace(item, group=base)
        return msgspec.structs.replace(item, spellings=self._spellings(item, row))

    def images(self, row: Row) -> tuple[ImageRef, ...]:
        """The row's own pictures or those of the row it names."""
        cell = row.values.get("image")
        if self.layout.images != ("image",) or cell is None:
            return super().images(row)
        try:
            return self._from_cell(cell)
        except ImageError as error:
            if isinstance(error, MissingImage) and not self.pictures_required:
                return ()
            raise ItemError(row.where, "image", str(error), _EXPECTED_IMAGE) from None

    def _from_cell(self, cell: bytes) -> tuple[ImageRef, ...]:
        """The pictures of a cell, through as many references as it takes."""
        passed: dict[str, None] = {}
        while (name := _reference(cell)) is not None and name not in self._images:
            if name in passed:
                raise ImageError(f"{short(name)}, which leads back to itself")
            target = self._image_cell(name)
            if target is None:
                break
            passed[name] = None
            cell = target
        images = self._images[name] if name in self._images else self._decoded(cell)
        self._images.update(dict.fromkeys(passed, images))
        return images

    def _image_cell(self, name: str) -> bytes | None:
        """The image cell of the row with this index, or None where there is no such row."""
        if self._offsets is None:
            self._offsets = self._tsv.offsets(self.layout.id) if self.layout.id else {}
        if name not in self._offsets:
            return None
        target = self._tsv.image_at(self._offsets[name])
        if target is None:
            raise MissingImage(f"{short(name)}, a row without a picture")
        return target

    def _decoded(self, cell: bytes) -> tuple[ImageRef, ...]:
        if cell[:1] == b"[":
            return self.pictures.load(cell.decode("ascii", "replace"))
        try:
            return self.pictures.load(decode_base64(cell))
        except ImageError:
            if (name := _reference(cell)) is not None:
                raise MissingImage(short(name)) from None
            raise

    def _base_of_rotation(self, item: Item) -> str:
        """The row that this one rotates: its index is a million or more lower, its question the same."""
        if not item.is_choice or not item.id.isdecimal():
            return ""
        self._questions.setdefault(item.id, hash(item.question))
        base = item.id[-6:].lstrip("0") or "0"
        same = base != item.id and self._questions.get(base) == hash(item.question)
        return base if same and is_rotation(msgspec.structs.replace(item, group=base)) else ""

    def _spellings(self, item: Item, row: Row) -> dict[str, Spelling]:
        """What the file wrote differently from what we would write."""
        spellings: dict[str, Spelling] = {}
        cell = row.values.get("image")
        if isinstance(cell, bytes) and self.layout.images == ("image",):
            template = _template(cell, item.images)
            if template != our_template(len(item.images)):
                spellings[IMAGE_UNIT] = Spelling(image_key(item), template)
        theirs = row.values
        ours = plain_cells(item, self._names)
        together = option_cells(item, self._names)
        if item.choices and not any(column in theirs for column in self.layout.options):
            together[self.layout.question] = ours[self.layout.question]
        theirs_together = {column: theirs.get(column, "") for column in together}
        if together != theirs_together and self.layout.gold_style == "letter":
            spellings[OPTIONS_UNIT] = Spelling(_as_json(together), _as_json(theirs_together))
        for column in self.columns:
            pair = Spelling(ours.get(column, ""), theirs.get(column, ""))
            if column not in together and column != "image" and pair.ours != pair.theirs:
                spellings[column_unit(column)] = pair
        return spellings


class Vlmevalkit:
    """The format itself."""

    name = "vlmevalkit"
    summary = "VLMEvalKit TSV: base64 images, options in columns A, B, C …"
    is_folder = False
    endings = (".tsv",)

    def recognises(self, folder: Path) -> bool:
        """It is a file, never a folder."""
        return False

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading. A list of golds is no file of VLMEvalKit's, and its spelling is nobody's concern."""
        table = TsvTable(path)
        if not find_columns(table.columns, options, path.name).question:
            return SheetReader(SheetTable(path), options, store)
        return TsvReader(table, options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write one TSV, every cell quoted."""
        refuse_gold_list(benchmark, f"write for {self.name}")
        writer = CellWriter(benchmark)
        with to.open("wb") as file:
            file.write(write_row(column.encode() for column in writer.columns))
            for item in benchmark:
                file.write(write_row(writer.cells(item)))
        return writer.notes


def _usual_fields(columns: Sequence[str]) -> dict[str, str]:
    """What VLMEvalKit itself looks at, whatever else a file may hold."""
    letters = tuple(takewhile(columns.__contains__, ascii_uppercase))
    usual = {"id": "index", "images": "image", "options": "+".join(letters)}
    return {field: column for field, column in usual.items() if column and column.split("+")[0] in columns}


def _decoded(cell: bytes) -> str | bytes:
    """Text, or the bytes themselves where they are not UTF-8: whoever needs text then says so."""
    try:
        return cell.decode()
    except UnicodeDecodeError:
        return cell


def _reference(cell: bytes) -> str | None:
    """The index that a cell names, if it is short enough to be one; VLMEvalKit counts characters."""
    if len(cell) > 4 * LONGEST_REFERENCE:
        return None
    name = cell.decode(errors="replace")
    return name if len(name) <= LONGEST_REFERENCE else None


def _template(cell: bytes, images: tuple[ImageRef, ...]) -> str:
    """The cell with a mark for each picture, if we would encode all of them to the same letters; else the cell."""
    if _reference(cell) is not None or not images:
        return cell.decode(errors="replace")
    if cell[:1] != b"[":
        return PICTURE if _is_canonical(cell, images[0].size) else cell.decode("ascii", "replace")
    text = cell.decode("ascii", "replace")
    pieces = _QUOTE.split(text)
    between_quotes = pieces[2::4]
    if len(between_quotes) != len(images) or not all(
        _is_canonical(piece.encode(), image.size) for piece, image in zip(between_quotes, images, strict=True)
    ):
        return text
    pieces[2::4] = [PICTURE] * len(images)
    return "".join(pieces)


def _is_canonical(cell: bytes, size: int) -> bool:
    """Whether sound base64 is what encoding anew gives: no line breaks, and no stray bits in the last letters."""
    last = cell[-4:]
    return len(cell) == (size + 2) // 3 * 4 and pybase64.b64encode(pybase64.b64decode(last)) == last


def _as_json(cells: dict[str, Any]) -> str:
    return msgspec.json.encode(cells).decode()


FORMAT = Vlmevalkit()
