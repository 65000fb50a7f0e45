"""Images with a class: the forms that many publishers share, folders, Oxford-IIIT Pets and Oxford Flowers 102."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eyetest.benchmarks.images import images_below, spoken
from eyetest.reform.annotation import Annotation, Annotations, ClassLabel, FileSettings
from eyetest.reform.readers.base import AnnotationFiles, first_of, image_of, name_of, reads
from eyetest.reform.readers.binaries import read_mat

Naming = Callable[[Any], str]  # name of a class given by number or by name
_IMAGES, _LABELS = "image|img|webp|jpg|png", "label|fine_label|labels|cls"
# Image, class number, species, breed number within the species
_PET = re.compile(r"(\S+)_(\d+)(?:\.jpg)?[ \t]+\d+[ \t]+([12])[ \t]+\d+")
_EXPECTED_PETS = 'Oxford-IIIT Pets\' lists with lines such as "Abyssinian_100 1 1 1"'
_SPECIES = {"1": "cat", "2": "dog"}
_ALL_PETS = "list"  # the file that lists all images, so that its name is no split
_FLOWER_LABELS = "labels"
_FLOWER_SPLITS = {"trnid": "train", "valid": "val", "tstid": "test"}


class ClassNames(FileSettings, frozen=True):
    """Settings of a reader of numbered classes."""

    classes: tuple[str, ...] = ()  # names in the order of numbers, where no file gives them


def numbered(names: Sequence[str], first: int) -> Naming:
    """Names of classes by their numbers, counted from ``first``; other values are names already."""

    def named(label: Any) -> str:
        if not str(label).isdigit():
            return spoken(label)
        if not 0 <= int(label) - first < len(names):
            raise ValueError(f"class {label} of {len(names)}")
        return spoken(names[int(label) - first])

    return named


def listed(names: Iterable[str]) -> tuple[ClassLabel, ...]:
    """Classes with nothing but a name, each once."""
    return tuple(ClassLabel(name=name) for name in dict.fromkeys(map(spoken, names)) if name)


def one_a_class(classes: Sequence[ClassLabel], keys: Iterable[str]) -> Annotations:
    """A record for each class of a list that comes without images, so that the items show the questions."""
    pairs = list(zip(classes, keys, strict=True))
    return Annotations(
        lambda: (Annotation(id=key, images=(key,), label=label.name) for label, key in pairs), tuple(classes)
    )


def from_folders(files: AnnotationFiles, named: Naming, classes: tuple[ClassLabel, ...] = ()) -> Annotations | None:
    """Images in folders named after their class, or after its number; None where there are none."""
    images = [
        (path.relative_to(root).as_posix(), path.parent.name)
        for root in files.named
        if root.is_dir()
        for path in images_below(root)
    ]
    if not images:
        return None
    return Annotations(
        lambda: (Annotation(id=path, images=(path,), label=named(folder)) for path, folder in images),
        classes or listed(sorted({named(folder) for _, folder in images})),
    )


def from_tables(files: AnnotationFiles, named: Naming, classes: tuple[ClassLabel, ...] = ()) -> Annotations | None:
    """Tables as Hugging Face has them, an image in one column, its class in another; None where there are none."""
    entries = files.find_entries((_IMAGES, _LABELS))
    if entries is None:
        return None

    def records() -> Iterator[Annotation]:
        for number, row in entries.numbered("-", alone=True):
            key = name_of(row, "image_id|id|filename|file_name", number)
            image, label = first_of(row, _IMAGES), first_of(row, _LABELS)
            shown = image_of(image) if image is not None else ""
            yield Annotation(id=key, images=(shown or key,), label="" if label in (None, -1) else named(label))

    return Annotations(records, classes or listed(record.label for record in records()))


def class_names_by_number(files: AnnotationFiles) -> dict[str, str]:
    """Read ``{"21": "fire lily"}``, in a file among the named ones or beside them."""
    _, document = next(files.documents(_is_names_by_number), (None, {}))
    return {str(number): str(name) for number, name in document.items()}


def _is_names_by_number(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and bool(document)
        and all(key.isdigit() and isinstance(name, str) for key, name in document.items())
    )


@reads("folder", "images in folders named after their class")
def _read_folder(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per image; the name of its folder is its class."""
    return files.required(from_folders(files, spoken), "a folder that holds folders of images, one a class")


@reads("pets", "Oxford-IIIT Pets' lists: image, class, species, breed")
def _read_pets(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per image; its breed is in its name."""
    if lists := files.texts(_PET):
        return _pets(files, lists)
    return files.required(from_tables(files, spoken), _EXPECTED_PETS)


def _pets(files: AnnotationFiles, lists: list[Path]) -> Annotations:
    images: dict[str, tuple[str, str, str]] = {}
    for path in sorted(lists, key=lambda path: path.stem.lower() != _ALL_PETS):
        split = "" if path.stem.lower() == _ALL_PETS else path.stem
        for match in files.matches(path, _PET, _EXPECTED_PETS):
            breed, number, species = match.groups()
            images[f"{breed}_{number}"] = (spoken(breed), _SPECIES[species], split)

    def records() -> Iterator[Annotation]:
        for key, (breed, species, split) in images.items():
            tags = {"species": species} | ({"split": split} if split else {})
            yield Annotation(id=key, images=(f"{key}.jpg",), label=breed, tags=tags)

    parents = {breed: species for breed, species, _ in images.values()}
    return Annotations(records, tuple(ClassLabel(name=breed, parent=kind) for breed, kind in parents.items()))


@reads("flowers102", "Flowers 102's imagelabels.mat and setid.mat, with class names by number", ClassNames)
def _read_flowers102(files: AnnotationFiles, settings: ClassNames) -> Annotations:
    """One record per image; ``image_00001.jpg`` is the first of the list."""
    by_number = class_names_by_number(files)
    names = [by_number.get(str(number), name) for number, name in enumerate(settings.classes, 1)]
    classes = listed(names)
    matrices: dict[str, list[int]] = {}
    for path in files.ending(".mat", beside=True):
        matrices |= {name: np.ravel(value).tolist() for name, value in read_mat(path).items()}
    if _FLOWER_LABELS in matrices:
        return Annotations(lambda: _flowers(matrices, numbered(names, 1)), classes)
    annotations = from_folders(files, numbered(names, 1), classes)
    annotations = annotations or from_tables(files, numbered(names, 0), classes)
    if annotations is None and by_number and not matrices:
        numbers = sorted(by_number, key=int)
        return one_a_class([ClassLabel(name=by_number[number]) for number in numbers], numbers)
    return files.required(annotations, "imagelabels.mat with its matrix labels, or a copy in folders or in a table")


def _flowers(matrices: dict[str, list[int]], named: Naming) -> Iterator[Annotation]:
    splits = {number: name for key, name in _FLOWER_SPLITS.items() for number in matrices.get(key, ())}
    for number, label in enumerate(matrices[_FLOWER_LABELS], 1):
        tags = {"split": splits[number]} if number in splits else {}
        yield Annotation(id=f"image_{number:05d}", images=(f"image_{number:05d}.jpg",), label=named(label), tags=tags)


READER = (_read_folder, _read_pets, _read_flowers102)
