"""ImageNet-1K: classes by WordNet id, and which picture has which."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyetest.benchmarks.picture_folders import spoken
from eyetest.errors import InputError
from eyetest.reform.annotation import Annotation, Annotations, ClassLabel
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader
from eyetest.reform.readers.binaries import read_mat
from eyetest.reform.readers.labelled import class_names_by_number, from_folders, from_tables, one_a_class
from eyetest.tabular.files import read_rows

_NAMES = re.compile(r"(n\d{8})(?:\s*:\s*|\s+)(?:(\d+)\s+)?([^\d\s].*)")
"""``n01440764 tench, Tinca tinca``, ``n01440764 : tench``, ``n02119789 1 kit_fox``."""
_LABELLED = re.compile(r"(\S+\.(?:jpe?g|png))[\s,]+(n\d{8}|\d+)\b.*", re.IGNORECASE)
"""``ILSVRC2012_val_00000001.JPEG 65``, or with a WordNet id."""
_ORDERED = re.compile(r"n\d{8}|\d{1,4}")
"""One class a line, of the pictures in the order of their numbers."""
_VALIDATION = "ILSVRC2012_val_{:08d}"
_SOLUTION = {"ImageId", "PredictionString"}
_EXPECTED = (
    "ImageNet's classes (synset_words.txt, LOC_synset_mapping.txt) or labels (LOC_val_solution.csv, val.txt …)"
)


class ImageNet(Reader):
    """One record a picture; or one a class where only the list of classes is there."""

    name = "imagenet"
    summary = "ImageNet's synset lists, solution files, ground truth and folders by WordNet id"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """Labels if there are any, else the list of classes."""
        classes, numbers = _classes(files)
        labels = tuple(classes.values())

        def named(key: Any) -> str:
            if str(key).isdigit() and int(key) < len(labels):
                return labels[int(key)].name
            if str(key) in classes:
                return classes[str(key)].name
            if re.fullmatch(r"n\d{8}", str(key)):
                raise InputError(f"no name for {key}: synset_words.txt or LOC_synset_mapping.txt is missing")
            return spoken(str(key).partition(",")[0])

        for source in (_solutions, _lines, _ground_truth):
            if pairs := source(files, numbers):
                return Annotations(lambda pairs=pairs: _records(pairs, classes, named), labels)  # type: ignore[misc]
        annotations = from_folders(files, named, labels) or from_tables(files, named, labels)
        if annotations is None and classes:
            return one_a_class(labels, list(classes))
        if annotations is None:
            raise files.unlike(_EXPECTED)
        return annotations


def _classes(files: AnnotationFiles) -> tuple[dict[str, ClassLabel], dict[str, str]]:
    """Classes by WordNet id in the order of the list, and WordNet ids by the number of the challenge's own kit."""
    classes: dict[str, ClassLabel] = {}
    numbers: dict[str, str] = {}
    for path in files.texts(_NAMES, beside=True):
        for match in files.matches(path, _NAMES, "a WordNet id and names"):
            synset, number, words = match.groups()
            classes.setdefault(synset, _class(synset, words.split(",") if number is None else [spoken(words)]))
            if number is not None:
                numbers[number] = synset
    for _, document in files.documents(_is_index):
        for synset, name in (document[key] for key in sorted(document, key=int)):
            classes.setdefault(synset, _class(synset, [spoken(name)]))
    if not classes:
        said = class_names_by_number(files)
        classes = {number: _class("", said[number].split(",")) for number in sorted(said, key=int)}
    for path in files.ending("meta.mat", beside=True):
        for number, synset, words in _kit_classes(path):
            classes.setdefault(synset, _class(synset, words.split(",")))
            numbers[number] = synset
    return classes, numbers


def _class(synset: str, words: list[str]) -> ClassLabel:
    name, *synonyms = (word.strip() for word in words)
    return ClassLabel(name=name, synonyms=tuple(synonyms), synset=synset)


def _is_index(document: Any) -> bool:
    """``{"0": ["n01440764", "tench"]}``, as Keras has it."""
    return isinstance(document, dict) and all(
        key.isdigit() and isinstance(value, list) and len(value) == 2 for key, value in document.items()
    )


def _kit_classes(path: Path) -> Iterator[tuple[str, str, str]]:
    """Number, WordNet id and words of the classes in the challenge's development kit; groups of classes left out."""
    for entry in read_mat(path)["synsets"]:
        if int(entry["num_children"]) == 0:
            yield str(int(entry["ILSVRC2012_ID"])), str(entry["WNID"]), str(entry["words"])


def _solutions(files: AnnotationFiles, _: dict[str, str]) -> list[tuple[str, str]]:
    """Picture and WordNet id of sheets with boxes: ``ILSVRC2012_val_00048981,n03995372 85 1 499 272``."""
    tables = files.tables(lambda row: set(row) >= _SOLUTION)
    rows = (row for path in tables for _, row in read_rows(path))
    return [(row["ImageId"], str(row["PredictionString"] or "").partition(" ")[0]) for row in rows]


def _lines(files: AnnotationFiles, _: dict[str, str]) -> list[tuple[str, str]]:
    paths = files.texts(_LABELLED)
    pairs = (match.groups() for path in paths for match in files.matches(path, _LABELLED, "a picture and its class"))
    return [(picture, label) for picture, label in pairs]


def _ground_truth(files: AnnotationFiles, numbers: dict[str, str]) -> list[tuple[str, str]]:
    """One class a line, of the validation pictures in order; numbers are those of the development kit."""
    pairs = []
    for path in files.texts(_ORDERED):
        labels = [match[0] for match in files.matches(path, _ORDERED, "a class")]
        if labels[0].isdigit() and not numbers:
            raise InputError(f"{path.name} numbers classes as the development kit does, whose meta.mat is missing")
        pairs += [(_VALIDATION.format(n), numbers.get(label, label)) for n, label in enumerate(labels, 1)]
    return pairs


def _records(pairs: list[tuple[str, str]], classes: dict[str, ClassLabel], named: Any) -> Iterator[Annotation]:
    for picture, label in pairs:
        key = picture.removesuffix(".JPEG")
        tags = {"synset": label} if label in classes else {}
        image = picture if "." in picture else f"{picture}.JPEG"
        yield Annotation(id=key, images=(image,), label=named(label) if label else "", tags=tags)


READER = ImageNet()
