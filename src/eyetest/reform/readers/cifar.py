"""CIFAR-10 and CIFAR-100: binary or pickled batches of labels and pixels, and lists of class names."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from eyetest.benchmarks.picture_folders import spoken
from eyetest.errors import InputError
from eyetest.reform.annotation import Annotation, Annotations, ClassLabel
from eyetest.reform.readers.base import AnnotationFiles, Reader
from eyetest.reform.readers.binaries import PickledArray, is_pickle, read_pickle
from eyetest.reform.readers.labelled import (
    ClassNames,
    from_folders,
    from_tables,
    listed,
    numbered,
    one_a_class,
)
from eyetest.tabular.files import read_rows

_SIDE = 32
_PIXELS = 3 * _SIDE * _SIDE
_MOST_NAMES = 100
_LABELS = ("fine_labels", "labels")
_NAMES = ("fine_label_names", "label_names")


class Cifar(Reader):
    """One record a picture, which comes with the file; or one a class where only their names are there."""

    name = "cifar"
    summary = "CIFAR's binary or Python batches (the pictures are inside), or its lists of class names"
    settings = ClassNames

    def read(self, files: AnnotationFiles, settings: ClassNames) -> Annotations:
        """Batches if there are any, else a copy in a table or in folders, else the list of names."""
        pickled = {path: read_pickle(path) for path in files.files if not path.suffix and is_pickle(path)}
        names = _names(files, pickled) or list(settings.classes)
        classes, named = _grouped(files, names), numbered(names, 0)
        batches = {path: content for path, content in pickled.items() if _key(content, _LABELS)}
        binary = [path for path in files.ending(".bin") if _record_size(path)]
        if batches:
            return Annotations(lambda: _from_pickles(batches, named), classes)
        if binary:
            return Annotations(lambda: _from_binary(binary, named), classes)
        if tables := files.tables(lambda row: set(row) == {"id", "label"}):
            return Annotations(lambda: _from_labels(tables), classes)
        annotations = from_tables(files, named, classes) or from_folders(files, named, classes)
        if annotations is None and _names(files, pickled, beside=False):
            return one_a_class(classes, dict.fromkeys(names))
        if annotations is None:
            raise files.unlike("CIFAR's batches (data_batch_1.bin, test_batch …) or its list of class names")
        return annotations


def _key(content: Any, names: tuple[str, ...]) -> Any:
    """A value of a pickled dict, whose keys are bytes or texts."""
    if not isinstance(content, dict):
        return None
    return next((content[key] for name in names for key in (name, name.encode()) if content.get(key)), None)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _names(files: AnnotationFiles, pickled: dict[Path, Any], *, beside: bool = True) -> list[str]:
    """Class names of the longest list: that of the 100 classes stands beside that of their 20 groups."""
    lists = [[_text(name) for name in _key(content, _NAMES) or ()] for content in pickled.values()]
    for path in files.beside if beside else ():
        if not path.suffix and is_pickle(path):
            lists.append([_text(name) for name in _key(read_pickle(path), _NAMES) or ()])
    for path in files.ending(".txt", ".html", beside=beside):
        if path.suffix == ".txt":
            lines = list(files.lines(path))
            if 1 < len(lines) <= _MOST_NAMES and all(line.replace("_", "").isalpha() for line in lines):
                lists.append(lines)
    return max(lists, key=len, default=[])


def _grouped(files: AnnotationFiles, names: list[str]) -> tuple[ClassLabel, ...]:
    """The classes with their groups, where a file says which group has which classes."""
    parents: dict[str, str] = {}
    for _, document in files.documents(lambda document: _is_grouping(document, names)):
        parents = {spoken(name): spoken(group) for group, members in document.items() for name in members}
    return tuple(ClassLabel(name=one.name, parent=parents.get(one.name, "")) for one in listed(names))


def _is_grouping(document: Any, names: list[str]) -> bool:
    lists = list(document.values()) if isinstance(document, dict) else [None]
    return all(isinstance(members, list) and set(members) <= set(names) for members in lists)


def _record_size(path: Path) -> int:
    """Bytes of a record: one label and the pixels, or two labels where classes are grouped; 0 for another file."""
    size = path.stat().st_size
    return next((_PIXELS + labels for labels in (1, 2) if size and size % (_PIXELS + labels) == 0), 0)


def _from_binary(paths: list[Path], named: Any) -> Iterator[Annotation]:
    for path in paths:
        size = _record_size(path)
        with path.open("rb") as file:
            number = 0
            while data := file.read(size):
                labels, pixels = data[: size - _PIXELS], data[size - _PIXELS :]
                yield Annotation(
                    id=f"{path.stem}-{number}", images=(_png(pixels),), label=named(labels[-1]), tags=_split(path)
                )
                number += 1


def _from_pickles(batches: dict[Path, Any], named: Any) -> Iterator[Annotation]:
    for path, content in batches.items():
        labels, names = _key(content, _LABELS), _key(content, ("filenames",)) or []
        array = _key(content, ("data",))
        pixels = array.data if isinstance(array, PickledArray) else b""
        for number, label in enumerate(labels):
            key = _text(names[number]) if number < len(names) else f"{path.stem}-{number}"
            data = pixels[number * _PIXELS : (number + 1) * _PIXELS]
            image = _png(data) if len(data) == _PIXELS else key
            yield Annotation(id=key, images=(image,), label=named(label), tags=_split(path))


def _from_labels(tables: list[Path]) -> Iterator[Annotation]:
    """A sheet of numbered pictures, as Kaggle gives them out."""
    for path in tables:
        for _, row in read_rows(path):
            yield Annotation(id=str(row["id"]), images=(f"{row['id']}.png",), label=spoken(row["label"] or ""))


def _split(path: Path) -> dict[str, str]:
    return {"split": "test" if "test" in path.stem.lower() else "train"}


def _png(pixels: bytes) -> bytes:
    """A picture of three planes, red, green and blue, row by row."""
    if len(pixels) != _PIXELS:
        raise InputError("a CIFAR picture is cut off")
    plane = _SIDE * _SIDE
    bands = [Image.frombytes("L", (_SIDE, _SIDE), pixels[start : start + plane]) for start in (0, plane, 2 * plane)]
    file = io.BytesIO()
    Image.merge("RGB", bands).save(file, "PNG")
    return file.getvalue()


READER = Cifar()
