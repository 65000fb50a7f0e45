"""Files with a row per item: JSON and JSON Lines, CSV, Excel, and VLMEvalKit's TSV."""

import csv
from itertools import takewhile
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import msgspec
import pybase64

from eyetest.benchmarks.folder import Benchmark, distinct_images
from eyetest.benchmarks.images import ImageStore, decode_base64
from eyetest.benchmarks.opening import Format
from eyetest.benchmarks.rows import ItemReader, ReadOptions, plain_row
from eyetest.errors import ExportError, MissingImage, listed, short
from eyetest.records import ImageRef, Item, letter
from eyetest.store.files import inside
from eyetest.tabular.files import JsonFolder
from eyetest.tabular.table import Row, SeparatedTable, Table


class Jsonl(Format):
    """JSON Lines, or one JSON array: one object per item. An export is a folder with images beside the file."""

    name = "jsonl"
    summary = "JSON Lines: one object an item, image paths, base64 or data URLs"
    is_folder = True
    _usual_name = "items.jsonl"
    endings: tuple[str, ...] = (".jsonl", ".json")

    def recognises(self, folder: Path) -> bool:
        """A folder with a file named as in an export."""
        return (folder / self._usual_name).is_file()

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading; of a folder the usual file, or all JSON files."""
        if path.is_dir():
            if not (path / self._usual_name).exists():
                return ItemReader(JsonFolder(path), options, store)
            inside(path / self._usual_name, path)
            path /= self._usual_name
        return super().read(path, options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write a folder: the items' file and ``images/``."""
        (to / "images").mkdir(parents=True)
        for image in distinct_images(benchmark).values():
            (to / "images" / image.filename).write_bytes(benchmark.images.read(image))
        with (to / self._usual_name).open("wb") as file:
            for item in benchmark:
                images = {"images": [f"images/{image.filename}" for image in item.images]} if item.images else {}
                file.write(msgspec.json.encode(plain_row(item) | images) + b"\n")
        return []


class Sheet(Format):
    """A sheet written by hand."""

    name = "csv"
    summary = "CSV or Excel: one row an item, image paths, options in columns A, B, C … or in one cell; read only"
    endings = (".csv", ".xlsx")


_LONGEST_REFERENCE = 64
_ROTATION = 1_000_000
_LONGEST_INDEX = 18
_READ_AS_MISSING = {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
                    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}  # fmt: skip
_FIRST = ("index", "g_index", "image", "question", "hint", *ascii_uppercase, "answer")


class TsvReader(ItemReader):
    """Rows of the TSV as items; a short text in ``image`` is the index of an earlier row with the image."""

    def __init__(self, table: Table, options: ReadOptions, store: ImageStore) -> None:
        free = set(table.columns).difference(options.drop)
        named = {"id": "index"} if "index" in free else {}
        if len(letters := list(takewhile(free.__contains__, ascii_uppercase))) > 1:
            named["options"] = "+".join(letters)
        gold_style = options.gold_style or "letter"
        fields = {**named, **options.fields}
        super().__init__(table, msgspec.structs.replace(options, gold_style=gold_style, fields=fields), store)
        self._by_index: dict[str, tuple[ImageRef, ...]] = {}
        self._questions: dict[str, int] = {}

    def item(self, row: Row, number: int) -> Item:
        """The row as an item."""
        item = super().item(row, number)
        if item.images:
            self._by_index.setdefault(item.id, item.images)
        base = "" if item.group else self._base_of_rotation(item)
        return msgspec.structs.replace(item, group=base) if base else item

    def load(self, cell: Any) -> tuple[ImageRef, ...]:
        """The images of a cell: base64, a list of it, a path in another column than ``image``, or an index."""
        if self.layout.images != ("image",) or cell is None or cell.startswith("["):
            return super().load(cell)
        if len(cell) > _LONGEST_REFERENCE:
            return self.loader.load(decode_base64(cell.encode()))
        if cell not in self._by_index:
            raise MissingImage(f"{short(cell)}, which is the index of no earlier row with an image")
        return self._by_index[cell]

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
        """Start reading."""
        return TsvReader(SeparatedTable(path), options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write one TSV, every cell quoted."""
        grouped = any(item.group for item in benchmark)
        lettered = ("A", "B") if benchmark.manifest.counts.choice_items else ()
        used = dict.fromkeys(("index", "question", "answer", *lettered))
        unreadable: list[str] = []
        for item in benchmark:
            used.update(dict.fromkeys(name for name, cell in _cells(item, grouped=grouped).items() if cell))
            if item.images:
                used["image"] = None
            if any(choice.text in _READ_AS_MISSING for choice in item.choices):
                unreadable.append(item.id)
        columns = sorted(used, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
        with to.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
            writer.writerow(columns)
            for item in benchmark:
                cells = {**_cells(item, grouped=grouped), "image": _image_cell(item, benchmark)}
                writer.writerow([cells.get(name, "") for name in columns])
        what = 'items have an option like "None" or "NA", which VLMEvalKit takes for no option'
        return [f"{len(unreadable)} {what}: {listed(unreadable, 5)}"] if unreadable else []


def _cells(item: Item, *, grouped: bool) -> dict[str, str]:
    """Every cell except the image. Tags that are not text go into one JSON cell."""
    row = plain_row(item, text_tags=True)
    for name in ("id", "group", "options"):
        row.pop(name, None)
    answer, letters = row.pop("answer", ""), row.pop("answer_letter", "")
    row = {"index": item.id, **row} | ({"g_index": item.group or item.id} if grouped else {})
    for position, choice in enumerate(item.choices):
        if not choice.text:
            raise ExportError(f"item {short(item.id)}: option {letter(position)} is empty, which a TSV cannot hold")
        row[letter(position)] = choice.text
    row["answer"] = letters if item.choices else str(answer)
    return {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode() for name, value in row.items()
    }


def _image_cell(item: Item, benchmark: Benchmark) -> str:
    encoded = [pybase64.b64encode(benchmark.images.read(image)).decode() for image in item.images]
    if len(encoded) != 1:
        return str(encoded) if encoded else ""
    if len(encoded[0]) <= _LONGEST_REFERENCE:
        why = "is so small that VLMEvalKit would take it for a reference to another row"
        raise ExportError(f"item {short(item.id)}: an image of {item.images[0].size} bytes {why}")
    return encoded[0]


FORMAT = (Jsonl(), Sheet(), Vlmevalkit())
