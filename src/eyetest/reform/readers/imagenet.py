"""ImageNet-1K: classes by WordNet id, and the class of each image."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyetest.benchmarks.images import spoken
from eyetest.errors import InputError
from eyetest.reform.annotation import Annotation, Annotations, ClassLabel, FileSettings
from eyetest.reform.readers.base import AnnotationFiles, reads
from eyetest.reform.readers.binaries import read_mat
from eyetest.reform.readers.labelled import class_names_by_number, from_folders, from_tables, one_a_class

# ``n01440764 tench, Tinca tinca``, ``n01440764 : tench``, ``n02119789 1 kit_fox``
_NAMES = re.compile(r"(n\d{8})(?:\s*:\s*|\s+)(?:(\d+)\s+)?([^\d\s].*)")
# ``ILSVRC2012_val_00000001.JPEG 65``, or with a WordNet id
_LABELLED = re.compile(r"(\S+\.(?:jpe?g|png))[\s,]+(n\d{8}|\d+)\b.*", re.IGNORECASE)
_ORDERED = re.compile(r"n\d{8}|\d{1,4}")  # one class per line, of the images in the order of their numbers
_VALIDATION = "ILSVRC2012_val_{:08d}"
_EXPECTED = (
    "ImageNet's classes (synset_words.txt, LOC_synset_mapping.txt) or labels (LOC_val_solution.csv, val.txt …)"
)


@reads("imagenet", "ImageNet's synset lists, solution files, ground truth and folders by WordNet id")
def _read_imagenet(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per image; or one per class where only the list of classes is there."""
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
    return files.required(annotations, _EXPECTED)


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


def _kit_classes(path: Path) -> Iterator[tuple[str, str, str]]:
    """Number, WordNet id and words of the classes in the challenge's development kit; groups of classes left out."""
    for entry in read_mat(path)["synsets"]:
        if int(entry["num_children"]) == 0:
            yield str(int(entry["ILSVRC2012_ID"])), str(entry["WNID"]), str(entry["words"])


def _solutions(files: AnnotationFiles, _: dict[str, str]) -> list[tuple[str, str]]:
    """Image and WordNet id of sheets with boxes: ``ILSVRC2012_val_00048981,n03995372 85 1 499 272``."""
    rows = files.find_entries(("ImageId", "PredictionString")) or ()
    return [(row["ImageId"], str(row["PredictionString"] or "").partition(" ")[0]) for row in rows]


def _lines(files: AnnotationFiles, _: dict[str, str]) -> list[tuple[str, str]]:
    paths = files.texts(_LABELLED)
    pairs = (match.groups() for path in paths for match in files.matches(path, _LABELLED, "an image and its class"))
    return [(image, label) for image, label in pairs]


def _ground_truth(files: AnnotationFiles, numbers: dict[str, str]) -> list[tuple[str, str]]:
    """One class per line, of the validation images in order; numbers are those of the development kit."""
    pairs = []
    for path in files.texts(_ORDERED):
        labels = [match[0] for match in files.matches(path, _ORDERED, "a class")]
        if labels[0].isdigit() and not numbers:
            raise InputError(f"{path.name} numbers classes as the development kit does, whose meta.mat is missing")
        pairs += [(_VALIDATION.format(n), numbers.get(label, label)) for n, label in enumerate(labels, 1)]
    return pairs


def _records(pairs: list[tuple[str, str]], classes: dict[str, ClassLabel], named: Any) -> Iterator[Annotation]:
    for name, label in pairs:
        key = name.removesuffix(".JPEG")
        tags = {"synset": label} if label in classes else {}
        image = name if "." in name else f"{name}.JPEG"
        yield Annotation(id=key, images=(image,), label=named(label) if label else "", tags=tags)


READER = _read_imagenet
