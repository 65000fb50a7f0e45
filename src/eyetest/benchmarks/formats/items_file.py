"""Files with a row per item and image paths (JSON Lines, CSV, Excel, ImageFolder), and logs of inspect-ai."""

import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks.folder import Benchmark, distinct_images, refuse_gold_list
from eyetest.benchmarks.formats import Format
from eyetest.benchmarks.images import CLASS_QUESTION, IMAGE_ENDINGS, ImageStore, images_below, spoken
from eyetest.benchmarks.rows import ItemReader, ReadOptions, plain_row
from eyetest.benchmarks.rows.layout import KNOWN_COLUMNS, NoQuestionError, as_cell, unreserved
from eyetest.errors import ExportError, InputError, ReadingWarning, short
from eyetest.records import MAX_CHOICES, Item
from eyetest.store.files import inside
from eyetest.tabular.excel import EXCEL_DIGITS, CutNumber, ExcelDate, sheet_names
from eyetest.tabular.files import TableFile, is_excel
from eyetest.tabular.inspect_log import read_inspect_log
from eyetest.tabular.sheets import GUARDED, SheetWriter, inert
from eyetest.tabular.table import PACKED, Row, Values


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
        return ItemReader(TableFile(path), options, store)

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
            return SheetReader(SheetTable(path, options.sheet), options, store)
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


class SheetTable(TableFile):
    """The rows of a sheet. An empty cell is missing; numbers and dates are read as displayed."""

    def __init__(self, path: Path, sheet: str = "") -> None:
        super().__init__(path, sheet, seen=True)
        self.columns = tuple(filter(None, self.columns))

    def __iter__(self) -> Iterator[Row]:
        number = 0
        for row in super().__iter__():
            values = {name: _whole(cell) for name, cell in row.values.items() if name and cell not in ("", None)}
            if values:
                yield row._replace(number=number, values=values)
                number += 1


class SheetReader(ItemReader):
    """Rows of a sheet as items; warns once per column about ids, options or golds that Excel changed."""

    def __init__(self, rows: SheetTable, options: ReadOptions, store: ImageStore) -> None:
        super().__init__(rows, options, store)
        layout = self.layout
        self._unchecked = {layout.id, layout.answer, layout.answer_letter, *layout.options} - {""}

    def item(self, row: Row) -> Item:
        """The row as an item."""
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
    endings: tuple[str, ...] = (".eval",)

    def read(self, path: Path, options: ReadOptions, store: ImageStore) -> ItemReader:
        """Start reading."""
        return ItemReader(_Questions(path), options, store)

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Refuse: a log without answers is none."""
        raise InputError("logs of inspect-ai are only read; write jsonl, which its json_dataset reads")


class _Questions:
    def __init__(self, path: Path) -> None:
        self.path, self.done = path, 0.0
        self.columns: tuple[str, ...] = ("id", "question", "images", "options", "answer", "tags")

    def __iter__(self) -> Iterator[Row]:
        seen: set[int | str] = set()
        for _, sample in read_inspect_log(self.path):
            if sample.id not in seen:
                values: Values = {"id": sample.id, "question": sample.question, "answer": sample.target}
                more = {"images": sample.images, "options": sample.choices, "tags": sample.metadata}
                values |= {name: value for name, value in more.items() if value}
                yield Row(len(seen), f"{self.path.name} sample {sample.id}", values, len(seen) + 1)
                seen.add(sample.id)
        self.done = 1.0


_METADATA = ("metadata.csv", "metadata.jsonl")
_FILE = "file_name"
_LABELS = ("label", "class", "class_name")
_SPLITS = ("train", "training", "test", "testing", "validation", "valid", "val", "dev", "eval")
_OTHERS = ("items.*", "benchmark.json", "state.json", "dataset_dict.json", "*.parquet", "data/*.parquet", "*.yaml")


class ImageFolder(Format):
    """The format itself."""

    name = "imagefolder"
    summary = "images in folders named after their class, or beside metadata.csv or metadata.jsonl (file_name)"
    is_folder = True

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

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write images and ``metadata.jsonl``, which ``load_dataset("imagefolder")`` reads: one image per item."""
        refuse_gold_list(benchmark, f"write for {self.name}")
        (to / "images").mkdir(parents=True)
        used: Counter[str] = Counter()
        rows = []
        for item in benchmark:
            if len(item.images) != 1:
                found = f"{len(item.images)} images; in an imagefolder each has exactly one"
                raise ExportError(f"item {short(item.id)} has {found}")
            rows.append(plain_row(item))
        several = any(isinstance(row.get("answer"), list) for row in rows)
        with (to / _METADATA[1]).open("wb") as file:
            for item, row in zip(benchmark, rows, strict=True):
                image = item.images[0]
                again = f"-{used[image.sha256]}" if used[image.sha256] else ""
                name = f"images/{Path(image.filename).stem}{again}{Path(image.filename).suffix}"
                used[image.sha256] += 1
                (to / name).write_bytes(benchmark.images.read(image))
                if several and isinstance(row.get("answer"), str):
                    row["answer"] = [row["answer"]]
                file.write(msgspec.json.encode({_FILE: name, **row}) + b"\n")
        return []


class ImageFolderTable:
    """One row per image: from the metadata if there is any, from the folders otherwise."""

    def __init__(self, root: Path) -> None:
        self.path, self.done = root / _METADATA[0], 0.0
        self._root = root
        self._rows = list(_metadata_rows(root)) or list(_class_rows(root))
        if not self._rows:
            raise InputError(f"{root} holds neither folders of images nor {' or '.join(_METADATA)}")
        self.labelled = _ask_for_labels(self._rows)
        self.columns = tuple(dict.fromkeys(name for row in self._rows for name in row))

    def __iter__(self) -> Iterator[Row]:
        for number, values in enumerate(self._rows):
            self.done = number / len(self._rows)
            yield Row(number, f"{self._root.name}/{short(values['image'])[1:-1]}", values, number + 1)


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
        table = SheetTable(path)
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


FORMAT = (Jsonl(), Sheet(), InspectLog(), ImageFolder())
