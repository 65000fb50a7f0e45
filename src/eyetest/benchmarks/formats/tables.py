"""Files with a row per item: JSON Lines, CSV, Excel, VLMEvalKit's TSV, ImageFolder, and logs of inspect-ai."""

import csv
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import msgspec
import pybase64

from eyetest.benchmarks.folder import Benchmark, distinct_images, refuse_gold_list
from eyetest.benchmarks.images import (
    CLASS_QUESTION,
    IMAGE_ENDINGS,
    ImageStore,
    decode_base64,
    images_below,
    spoken,
)
from eyetest.benchmarks.opening import Format
from eyetest.benchmarks.rows import (
    KNOWN_COLUMNS,
    ItemReader,
    NoQuestionError,
    ReadOptions,
    as_cell,
    field_columns,
    find_columns,
    gold_letters,
    one_or_list,
    plain_row,
    tag_columns,
    unreserved,
)
from eyetest.errors import ExportError, ImageError, InputError, ItemError, MissingImage, ReadingWarning, listed, short
from eyetest.records import MAX_CHOICES, ImageRef, Item, letter
from eyetest.store.files import inside
from eyetest.tabular.files import (
    EXCEL_DIGITS,
    CutNumber,
    ExcelDate,
    is_excel,
    open_table,
    read_inspect_log,
    sheet_names,
)
from eyetest.tabular.table import (
    GUARDED,
    PACKED,
    UTF8,
    Dialect,
    Row,
    SeparatedTable,
    SheetWriter,
    Table,
    Values,
    inert,
)


def with_packed(*endings: str) -> tuple[str, ...]:
    """Suffixes, and the same with those of compressed files."""
    return tuple(ending + packed for ending in endings for packed in ("", *PACKED))


class Jsonl(Format):
    """JSON Lines, or one JSON array: one object per item. An export is a folder with images beside the file."""

    name = "jsonl"
    summary = "JSON Lines: one object an item, image paths, base64 or data URLs"
    is_folder = True
    _usual_name = "items.jsonl"
    endings: tuple[str, ...] = with_packed(".jsonl", ".json")

    def recognises(self, folder: Path) -> bool:
        """A folder with a file named as in an export."""
        return (folder / self._usual_name).is_file()

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading."""
        if path.is_dir():
            inside(path / self._usual_name, path)
            path /= self._usual_name
        return self._reader(path, options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write a folder: the items' file and ``images/``."""
        (to / "images").mkdir(parents=True)
        for image in distinct_images(benchmark).values():
            (to / "images" / image.filename).write_bytes(benchmark.images.read(image))
        self._write_items(benchmark, to / self._usual_name)
        return []

    def _reader(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        return ItemReader(open_table(path), options, store)

    def _write_items(self, benchmark: Benchmark, to: Path) -> None:
        with to.open("wb") as file:
            for item in benchmark:
                file.write(msgspec.json.encode(plain_row(item) | _images(item)) + b"\n")


class Sheet(Jsonl):
    """A sheet written by hand."""

    name = "csv"
    summary = "CSV or Excel: one row an item, image paths, options in columns A, B, C … or in one cell"
    _usual_name = "items.csv"
    endings = (*with_packed(".csv"), ".xlsx")

    def _reader(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        try:
            return SheetReader(open_table(path, options.sheet, seen=True), options, store)
        except NoQuestionError as error:
            sheets = sheet_names(path) if is_excel(path) else []
            if len(sheets) < 2:
                raise
            known = ", ".join(short(name)[1:-1] for name in sheets[:12])
            raise InputError(f"{error}; its sheets are {known}: name one as {path.name}#{sheets[-1]}") from None

    def _write_items(self, benchmark: Benchmark, to: Path) -> None:
        columns = dict.fromkeys(name for item in benchmark for name in _sheet_row(item))
        with to.open("w", newline="", encoding="utf-8") as file:
            sheet = SheetWriter(file, list(columns), mark=True)
            for row in map(_sheet_row, benchmark):
                sheet.write([[as_cell(row.get(name, "")) for name in columns]])


def _images(item: Item) -> dict[str, Any]:
    return {"images": [f"images/{image.filename}" for image in item.images]} if item.images else {}


def _sheet_row(item: Item) -> dict[str, Any]:
    """An item as cells; golds are given by letter only, since a list of texts is ambiguous with a text."""
    row = plain_row(item, _is_column)
    if item.choices:
        row.pop("answer", None)
    return row | _images(item)


def _is_column(name: str, value: Any) -> bool:
    """Whether a tag can be a column: some text, under a name that stays as it is in a sheet."""
    named = unreserved(name) and name.split() == [name] and name == inert(name) != GUARDED
    return named and isinstance(value, str) and bool(value)


_CHANGED = {
    ExcelDate: "a date to Excel, which makes one of 1-2; if a text was meant, format the column as text and type it",
    CutNumber: f"a number of which Excel keeps {EXCEL_DIGITS} digits; if there were more, format the column as text",
}


class SheetTable(Table):
    """The rows of a sheet; an empty cell is missing."""

    def __init__(self, table: Table) -> None:
        super().__init__(table.path)
        self._table = table
        self.columns = tuple(filter(None, table.columns))

    def rows(self) -> Iterator[Row]:
        """The rows with a value."""
        number = 0
        for row in self._table:
            self.done = self._table.done
            values = {name: _whole(cell) for name, cell in row.values.items() if name and cell not in ("", None)}
            if values:
                yield row._replace(number=number, values=values)
                number += 1


class SheetReader(ItemReader):
    """Rows of a sheet as items; warns once per column about ids, options or golds that Excel changed."""

    def __init__(self, table: Table, options: ReadOptions, store: ImageStore) -> None:
        super().__init__(SheetTable(table), options, store)
        layout, self._is_excel = self.layout, is_excel(table.path)
        self._unchecked = {layout.id, layout.answer, layout.answer_letter, *layout.options} - {""}

    def item(self, row: Row) -> Item:
        """The row as an item."""
        if not self._is_excel:
            return super().item(row)
        for column in sorted(self._unchecked):
            value = row.values.get(column)
            if isinstance(value, ExcelDate | CutNumber):
                self._unchecked.remove(column)
                message = f"{row.where}: {column}: {value} is {_CHANGED[type(value)]}"
                warnings.warn(message, ReadingWarning, stacklevel=1)
        plain = {name: str(cell) if isinstance(cell, str) else cell for name, cell in row.values.items()}
        return super().item(row._replace(values=plain))


def _whole(cell: Any) -> Any:
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


class InspectLog(Format):
    """A log's samples as items, each once however many epochs there were."""

    name = "inspect"
    summary = "a log of inspect-ai (.eval, or its .json when named): the questions in it; read only"
    is_only_read = True
    endings = (".eval",)

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading."""
        return ItemReader(_Questions(path), options, store)


class _Questions(Table):
    columns = ("id", "question", "images", "options", "answer", "tags")

    def rows(self) -> Iterator[Row]:
        seen: set[int | str] = set()
        for _, sample in read_inspect_log(self.path):
            if sample.id not in seen:
                values: Values = {"id": sample.id, "question": sample.question, "answer": sample.target}
                more = {"images": sample.images, "options": sample.choices, "tags": sample.metadata}
                values |= {name: value for name, value in more.items() if value}
                yield Row(len(seen), f"{self.path.name} sample {sample.id}", values, len(seen) + 1)
                seen.add(sample.id)


_METADATA = ("metadata.csv", "metadata.jsonl")
_FILE = "file_name"
_LABELS = ("label", "class", "class_name")
_SPLITS = ("train", "training", "test", "testing", "validation", "valid", "val", "dev", "eval")
_OTHERS = ("items.*", "benchmark.json", "state.json", "dataset_dict.json", "*.parquet", "data/*.parquet", "*.yaml")


class ImageFolder(Format):
    """The format itself."""

    name = "imagefolder"
    summary = "images in folders named after their class, or beside metadata.csv or .jsonl (file_name); read only"
    is_only_read = True

    def recognises(self, folder: Path) -> bool:
        """A folder with metadata, or with folders of two classes or more and no file of another format."""
        if any(next(folder.glob(pattern), None) for pattern in _OTHERS):
            return False
        return bool(_metadata(folder)) or _has_classes(folder)

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading. Classes are golds by their text, since they may be named 1, 2, 3."""
        table = ImageFolderTable(path)
        if table.labelled:
            options = msgspec.structs.replace(options, gold_style="text")
        return ItemReader(table, options, store)


class ImageFolderTable(Table):
    """One row per image: from the metadata if there is any, from the folders otherwise."""

    def __init__(self, root: Path) -> None:
        super().__init__(root / _METADATA[0])
        self._rows = list(_metadata_rows(root)) or list(_class_rows(root))
        if not self._rows:
            raise InputError(f"{root} holds neither folders of images nor {' or '.join(_METADATA)}")
        self.labelled = _ask_for_labels(self._rows)

    def rows(self) -> Iterator[Row]:
        """The images."""
        for number, values in enumerate(self._rows):
            self.done = number / len(self._rows)
            where = f"{self.path.parent.name}/{short(values['image'])[1:-1]}"
            yield Row(number, where, values, number + 1)


def _has_classes(root: Path) -> bool:
    """Whether images lie in folders of at least two names, at most a split and a class deep."""
    paths = (path for pattern in ("*/*", "*/*/*") for path in root.glob(pattern))
    names = (path.parent.name for path in paths if path.suffix.lower() in IMAGE_ENDINGS)
    classes = (name for name in names if name.lower() not in _SPLITS)
    first = next(classes, None)
    return any(name != first for name in classes)


def _metadata(root: Path) -> list[Path]:
    splits = [path for path in sorted(root.iterdir()) if path.is_dir() and path.name.lower() in _SPLITS]
    found = [folder / name for folder in (root, *splits) for name in _METADATA if (folder / name).is_file()]
    return [path for path in found if inside(path, root)]


def _metadata_rows(root: Path) -> Iterator[dict[str, Any]]:
    for path in _metadata(root):
        table = SheetTable(open_table(path))
        if _FILE not in table.columns:
            raise InputError(f"{path} has no column {_FILE}, which says whose image a row is about")
        folder = path.parent.relative_to(root)
        for row in table:
            values = dict(row.values)
            name = values.pop(_FILE, None)
            if not isinstance(name, str):
                raise InputError(f"{row.where}: {_FILE}: found {short(name)}, expected the name of an image")
            values |= {"image": (folder / name).as_posix()} | _split(folder.parts)
            yield {"id": values["image"], **values}


def _class_rows(root: Path) -> Iterator[dict[str, Any]]:
    """One row per image: its folder is its class; a folder above it named like a split is its split."""
    for path in images_below(root):
        name = path.relative_to(root)
        if path.parent.name.lower() in _SPLITS and len(name.parts) == 2:
            raise InputError(f"{root}: {name} lies in a split and in no folder of a class, and there is no metadata")
        yield {"id": name.as_posix(), "image": name.as_posix(), "label": path.parent.name, **_split(name.parts[:-2])}


def _split(folders: tuple[str, ...]) -> dict[str, str]:
    return next(({"split": name.lower()} for name in folders if name.lower() in _SPLITS), {})


def _ask_for_labels(rows: list[dict[str, Any]]) -> bool:
    """Make questions of labels where rows have labels and no questions; return whether that was so."""
    label = next((name for name in _LABELS if any(name in row for row in rows)), "")
    if not label or any(name in row for row in rows for name in KNOWN_COLUMNS["question"]):
        return False
    classes = sorted({spoken(row[label]) for row in rows if label in row})
    offered = {"options": classes} if 2 <= len(classes) <= MAX_CHOICES else {}
    for row in rows:
        gold = {"answer": spoken(row.pop(label))} if label in row else {}
        row |= {"question": CLASS_QUESTION, **offered, **gold}
    return True


_LONGEST_REFERENCE = 64
_EXPECTED_IMAGE = "base64 of an image, a list of them, or the index of a row that has one"
_ROTATION = 1_000_000
_LONGEST_INDEX = 18
_READ_AS_MISSING = {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
                    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}  # fmt: skip
_FIRST = ("index", "g_index", "image", "question", "hint", *ascii_uppercase, "answer")


class TsvReader(SheetReader):
    """Rows of the TSV as items, with images found by index."""

    def __init__(self, table: Table, options: ReadOptions, store: ImageStore) -> None:
        free = [column for column in table.columns if column not in options.drop]
        letters = tuple(takewhile(free.__contains__, ascii_uppercase))
        usual = {"id": "index", "images": "image", "options": "+".join(letters)}  # what VLMEvalKit itself reads
        present = {field: column for field, column in usual.items() if column and column.split("+")[0] in free}
        fields = {**present, **options.fields}
        gold_style = options.gold_style or "letter"
        super().__init__(table, msgspec.structs.replace(options, gold_style=gold_style, fields=fields), store)
        self._images: dict[str, tuple[ImageRef, ...]] = {}
        self._references: dict[str, str] | None = None
        self._questions: dict[str, int] = {}
        if self.layout.images == ("image_path",):
            tags = (*self.layout.tag_columns, "image_path")
            self.layout = msgspec.structs.replace(self.layout, tag_columns=tags)

    def item(self, row: Row) -> Item:
        """The row as an item."""
        item = super().item(row)
        if item.images:
            self._images.setdefault(item.id, item.images)
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

    def _from_cell(self, cell: str) -> tuple[ImageRef, ...]:
        name, passed = cell, dict[str, None]()
        while len(name) <= _LONGEST_REFERENCE and name not in self._images:
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
            if len(cell) <= _LONGEST_REFERENCE:
                references[name] = cell
            else:
                with suppress(ImageError):  # reported at its own row
                    self._images[name] = self._decode(cell)
        return references

    def _decode(self, cell: str) -> tuple[ImageRef, ...]:
        if cell.startswith("["):
            return self.loader.load(cell)
        try:
            return self.loader.load(decode_base64(cell.encode()))
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
        table = SeparatedTable(path, Dialect(UTF8, "\t"))
        is_gold_list = not find_columns(table.columns, options, path.name).question
        return (SheetReader if is_gold_list else TsvReader)(table, options, store)

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


FORMAT = (Jsonl(), Sheet(), Vlmevalkit(), InspectLog(), ImageFolder())
