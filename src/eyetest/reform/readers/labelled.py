"""Images with a class: folders, and the forms in which CIFAR, Flowers 102 and ImageNet-1K are published."""

import io
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from eyetest.benchmarks.images import images_below, spoken
from eyetest.errors import InputError
from eyetest.reform.annotation import Annotation, Annotations, ClassLabel, FileSettings
from eyetest.reform.readers.base import AnnotationFiles, Entries, first_of, image_of, listed, name_of, read_mat, reads

_IMAGES, _LABELS = "image|img|webp|jpg|png", "label|fine_label|labels|cls"
# ``n01440764 tench, Tinca tinca``, ``n01440764 : tench``, ``n02119789 1 kit_fox``
_SYNSETS = re.compile(r"(n\d{8})(?:\s*:\s*|\s+)(?:\d+\s+)?([^\d\s].*)")
# ``ILSVRC2012_val_00000001.JPEG 65``, or with a WordNet id
_LINES = re.compile(r"(\S+\.(?:jpe?g|png))[\s,]+(n\d{8}|\d+)\b.*", re.IGNORECASE)
_SYNSET = re.compile(r"n\d{8}")
_ORDERED = re.compile(r"n\d{8}|\d{1,4}")  # one class per line, of the images in the order of their numbers
_VALIDATION = "ILSVRC2012_val_{:08d}"
_SPLITS = {"trnid": "train", "valid": "val", "tstid": "test"}  # matrices of Flowers 102
_SIDE = 32
_PIXELS = 3 * _SIDE * _SIDE
_MOST_NAMES = 100


class LabelledSettings(FileSettings, frozen=True):
    """Classes that are named by number."""

    classes: tuple[str, ...] = ()  # names in the order of numbers, where no file gives them
    first: int = 0  # number of the first class in matrices and names of folders
    expected: str = ""  # what the files should hold, for the message where they do not


class _Labelled(NamedTuple):
    """An image, and its class by name, number or WordNet id."""

    id: str
    image: str | bytes
    label: Any
    split: str = ""


@reads("folder", "images in folders named after their class")
def _read_folder(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per image; the name of its folder is its class."""
    images = list(_folders(files))
    if not images:
        raise files.unlike("a folder that holds folders of images, one a class")
    classes = listed(sorted({spoken(image.label) for image in images}))
    return Annotations(
        lambda: (Annotation(id=entry.id, images=(entry.image,), label=spoken(entry.label)) for entry in images),
        classes,
    )


@reads(
    "labelled",
    "classes of ImageNet, CIFAR or Flowers 102, with lists, folders, tables or batches of images",
    LabelledSettings,
)
def _read_labelled(files: AnnotationFiles, settings: LabelledSettings) -> Annotations:
    """One record per image; or one per class where only the list of classes is there."""
    classes, alone = _classes(files, settings)
    labels = tuple(classes.values())

    def records(images: Iterable[_Labelled], first: int) -> Iterator[Annotation]:
        for image in images:
            tags = {"split": image.split} if image.split else {}
            tags |= {"synset": image.label} if image.label in classes and _SYNSET.fullmatch(image.label) else {}
            label = _name(image.label, classes, labels, first)
            yield Annotation(id=image.id, images=(image.image,), label=label, tags=tags)

    for source in (_solutions, _lines, _matrices, _folders):
        if images := list(source(files)):
            first = settings.first if source in (_matrices, _folders) else 0
            return Annotations(lambda: records(images, first), labels)  # noqa: B023 (the loop ends here)
    for source in (_batches, _tables):  # with images inside, which are read one by one
        if next(source(files), None) is not None:
            return Annotations(lambda: records(source(files), 0), labels)  # noqa: B023
    if not alone:
        raise files.unlike(settings.expected)
    return Annotations(lambda: (Annotation(id=key, images=(key,), label=classes[key].name) for key in alone), labels)


def _name(label: Any, classes: dict[str, ClassLabel], labels: tuple[ClassLabel, ...], first: int) -> str:
    """Name of a class that is given by number, WordNet id or name."""
    text = str(label)
    if label in (None, "", -1):
        return ""
    if text.isdigit() and labels:
        if not 0 <= int(text) - first < len(labels):
            raise ValueError(f"class {text} of {len(labels)}")
        return labels[int(text) - first].name
    if text in classes:
        return classes[text].name
    if _SYNSET.fullmatch(text):
        raise InputError(f"no name for {text}: synset_words.txt or LOC_synset_mapping.txt is missing")
    return spoken(text.partition(",")[0])


def _classes(files: AnnotationFiles, settings: LabelledSettings) -> tuple[dict[str, ClassLabel], list[str]]:
    """Classes by WordNet id, number or name, and those that the named files list."""
    classes: dict[str, ClassLabel] = {}
    for path in files.texts(_SYNSETS, beside=True):
        for match in files.matches(path, _SYNSETS):
            classes.setdefault(match[1], _class(match[2], match[1]))
    if classes:
        return classes, list(classes)
    by_number = files.find_document(_is_names_by_number)
    if by_number or not (names := _listed_names(files, beside=True)):
        known = {str(number): name for number, name in enumerate(settings.classes, settings.first)} | by_number
        alone = sorted(by_number, key=int) if not files.ending(".mat", beside=True) else []
        return {number: _class(known[number]) for number in sorted(known, key=int)}, alone
    groups = files.find_document(lambda document: _is_grouping(document, names))
    parents = {name: spoken(group) for group, members in groups.items() for name in members}
    classes = {name: ClassLabel(name=spoken(name), parent=parents.get(name, "")) for name in names}
    return classes, _listed_names(files, beside=False)


def _class(words: str, synset: str = "") -> ClassLabel:
    name, *synonyms = (spoken(word) for word in words.split(","))
    return ClassLabel(name=name, synonyms=tuple(synonyms), synset=synset)


def _is_names_by_number(document: Any) -> bool:
    """Whether it is like ``{"21": "fire lily"}``."""
    named = document.items() if isinstance(document, dict) else ()
    return bool(named) and all(key.isdigit() and isinstance(name, str) for key, name in named)


def _listed_names(files: AnnotationFiles, *, beside: bool) -> list[str]:
    """Class names of the longest list: that of CIFAR's 100 classes, not of their 20 groups."""
    lists = [list(files.lines(path)) for path in files.ending(".txt", beside=beside)]
    names = [lines for lines in lists if 1 < len(lines) <= _MOST_NAMES]
    return max((own for own in names if all(name.replace("_", "").isalpha() for name in own)), key=len, default=[])


def _is_grouping(document: Any, names: list[str]) -> bool:
    lists = list(document.values()) if isinstance(document, dict) else [None]
    return all(isinstance(members, list) and set(members) <= set(names) for members in lists)


def _solutions(files: AnnotationFiles) -> Iterator[_Labelled]:
    """ImageNet's sheets with boxes: ``ILSVRC2012_val_00048981,n03995372 85 1 499 272``."""
    for row in files.find_entries(("ImageId", "PredictionString")) or ():
        yield _Labelled(
            row["ImageId"], f"{row['ImageId']}.JPEG", str(row["PredictionString"] or "").partition(" ")[0]
        )


def _lines(files: AnnotationFiles) -> Iterator[_Labelled]:
    """Images with their classes; or else classes alone, in the order of the images' numbers."""
    for path in (named := files.texts(_LINES)):
        for match in files.matches(path, _LINES):
            yield _Labelled(match[1].removesuffix(".JPEG"), match[1], match[2])
    for path in files.texts(_ORDERED) if not named else ():
        for number, match in enumerate(files.matches(path, _ORDERED), 1):
            if match[0].isdigit():
                raise InputError(
                    f"{path.name}: found class {match[0]}, expected WordNet ids, as in synset_labels.txt"
                )
            name = _VALIDATION.format(number)
            yield _Labelled(name, f"{name}.JPEG", match[0])


def _matrices(files: AnnotationFiles) -> Iterator[_Labelled]:
    """Flowers 102: the classes of the images in the order of their numbers, and the numbers of each split."""
    matrices: dict[str, list[int]] = {}
    for path in files.ending(".mat", beside=True):
        matrices |= {name: np.ravel(value).tolist() for name, value in read_mat(path).items()}
    splits = {number: split for key, split in _SPLITS.items() for number in matrices.get(key, ())}
    for number, label in enumerate(matrices.get("labels", ()), 1):
        yield _Labelled(f"image_{number:05d}", f"image_{number:05d}.jpg", label, splits.get(number, ""))


def _folders(files: AnnotationFiles) -> Iterator[_Labelled]:
    """Images in folders named after their class, or after its number."""
    for root in files.named:
        for path in images_below(root) if root.is_dir() else ():
            name = path.relative_to(root).as_posix()
            yield _Labelled(name, name, path.parent.name)


def _tables(files: AnnotationFiles) -> Iterator[_Labelled]:
    """Tables as Hugging Face has them, an image in one column, its class in another."""
    entries = files.find_entries((_IMAGES, _LABELS)) or Entries((), lambda path: ())
    for path, number, row in entries.by_file():
        key, image = name_of(row, "image_id|id|filename|file_name", f"{path.stem}-{number}"), first_of(row, _IMAGES)
        yield _Labelled(key, (image_of(image) if image is not None else "") or key, first_of(row, _LABELS))


def _batches(files: AnnotationFiles) -> Iterator[_Labelled]:
    """CIFAR's records of one label, or two where classes are grouped, and pixels."""
    for path in files.ending(".bin"):
        length, split = path.stat().st_size, "test" if "test" in path.stem.lower() else "train"
        size = next((_PIXELS + labels for labels in (1, 2) if length % (_PIXELS + labels) == 0), 0)
        with path.open("rb") as file:
            for number in range(length // size if size else 0):
                data = file.read(size)
                yield _Labelled(f"{path.stem}-{number}", _png(data[-_PIXELS:]), data[-_PIXELS - 1], split)


def _png(pixels: bytes) -> bytes:
    """PNG of an image of three planes, red, green and blue, row by row."""
    planes = np.frombuffer(pixels, np.uint8).reshape(3, _SIDE, _SIDE)
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(planes.transpose(1, 2, 0))).save(file, "PNG")
    return file.getvalue()


READER = (_read_folder, _read_labelled)
