"""CIFAR-10 and CIFAR-100: binary batches of labels and pixels, and lists of class names."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from eyetest.benchmarks.images import spoken
from eyetest.errors import InputError
from eyetest.reform.annotation import Annotation, Annotations, ClassLabel
from eyetest.reform.readers.base import AnnotationFiles, reads
from eyetest.reform.readers.labelled import ClassNames, from_folders, from_tables, listed, numbered, one_a_class

_SIDE = 32
_PIXELS = 3 * _SIDE * _SIDE
_MOST_NAMES = 100


@reads("cifar", "CIFAR's binary batches (the images are inside), or its lists of class names", ClassNames)
def _read_cifar(files: AnnotationFiles, settings: ClassNames) -> Annotations:
    """One record per image, which comes with the file; or one per class where only names are there."""
    names = _names(files) or list(settings.classes)
    classes, named = _grouped(files, names), numbered(names, 0)
    if binary := [path for path in files.ending(".bin") if _record_size(path)]:
        return Annotations(lambda: _from_binary(binary, named), classes)
    annotations = from_tables(files, named, classes) or from_folders(files, named, classes)
    if annotations is None and _names(files, beside=False):
        return one_a_class(classes, dict.fromkeys(names))
    expected = (
        "CIFAR's binary version (data_batch_1.bin …; the Python version is not read: docs/reform.md), or its names"
    )
    return files.required(annotations, expected)


def _names(files: AnnotationFiles, *, beside: bool = True) -> list[str]:
    """Class names of the longest list: that of the 100 classes, not of their 20 groups."""
    lists = []
    for path in files.ending(".txt", beside=beside):
        lines = list(files.lines(path))
        if 1 < len(lines) <= _MOST_NAMES and all(line.replace("_", "").isalpha() for line in lines):
            lists.append(lines)
    return max(lists, key=len, default=[])


def _grouped(files: AnnotationFiles, names: list[str]) -> tuple[ClassLabel, ...]:
    """The classes with their groups, where a file gives them."""
    parents: dict[str, str] = {}
    for _, document in files.documents(lambda document: _is_grouping(document, names)):
        parents = {spoken(name): spoken(group) for group, members in document.items() for name in members}
    return tuple(ClassLabel(name=label.name, parent=parents.get(label.name, "")) for label in listed(names))


def _is_grouping(document: Any, names: list[str]) -> bool:
    lists = list(document.values()) if isinstance(document, dict) else [None]
    return all(isinstance(members, list) and set(members) <= set(names) for members in lists)


def _record_size(path: Path) -> int:
    """Bytes of a record: one label and the pixels, or two labels where classes are grouped; 0 for another file."""
    size = path.stat().st_size
    return next((_PIXELS + labels for labels in (1, 2) if size and size % (_PIXELS + labels) == 0), 0)


def _from_binary(paths: list[Path], named: Any) -> Iterator[Annotation]:
    for path in paths:
        size, split = _record_size(path), "test" if "test" in path.stem.lower() else "train"
        with path.open("rb") as file:
            for number, data in enumerate(iter(lambda: file.read(size), b"")):  # noqa: B023 (used in this round only)
                label, image = named(data[size - _PIXELS - 1]), _png(data[size - _PIXELS :])
                yield Annotation(id=f"{path.stem}-{number}", images=(image,), label=label, tags={"split": split})


def _png(pixels: bytes) -> bytes:
    """PNG of an image of three planes, red, green and blue, row by row."""
    if len(pixels) != _PIXELS:
        raise InputError("a CIFAR image is cut off")
    plane = _SIDE * _SIDE
    bands = [Image.frombytes("L", (_SIDE, _SIDE), pixels[start : start + plane]) for start in (0, plane, 2 * plane)]
    file = io.BytesIO()
    Image.merge("RGB", bands).save(file, "PNG")
    return file.getvalue()


READER = _read_cifar
