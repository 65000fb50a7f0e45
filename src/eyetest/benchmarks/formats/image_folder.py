"""ImageFolder as torchvision and Hugging Face read it: ``cat/001.jpg``, with or without splits, or with metadata."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from eyetest.benchmarks.folder import Benchmark, refuse_gold_list
from eyetest.benchmarks.formats import Format
from eyetest.benchmarks.formats.items_file import SheetTable
from eyetest.benchmarks.images import CLASS_QUESTION, IMAGE_ENDINGS, ImageStore, images_below, spoken
from eyetest.benchmarks.rows import ItemReader, ReadOptions, plain_row
from eyetest.benchmarks.rows.layout import KNOWN_COLUMNS
from eyetest.errors import ExportError, InputError, short
from eyetest.records import MAX_CHOICES
from eyetest.store.files import inside
from eyetest.tabular.table import Row

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


FORMAT = ImageFolder()
