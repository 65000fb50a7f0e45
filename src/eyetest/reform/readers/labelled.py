"""Images with a class: folders, tables, and the lists of ImageNet-1K."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from eyetest.benchmarks.images import images_below, spoken
from eyetest.errors import InputError
from eyetest.reform.annotation import Annotation, Annotations, ClassLabel, FileSettings
from eyetest.reform.readers.base import AnnotationFiles, Entries, first_of, image_of, name_of, reads

_IMAGES, _LABELS = "image|img|webp|jpg|png", "label|fine_label|labels|cls"
# ``n01440764 tench, Tinca tinca``, ``n01440764 : tench``, ``n02119789 1 kit_fox``
_SYNSETS = re.compile(r"(n\d{8})(?:\s*:\s*|\s+)(?:\d+\s+)?([^\d\s].*)")
# ``ILSVRC2012_val_00000001.JPEG 65``, or with a WordNet id
_LINES = re.compile(r"(\S+\.(?:jpe?g|png))[\s,]+(n\d{8}|\d+)\b.*", re.IGNORECASE)
_NAMES = re.compile(r"(?:n\d{8}\s|\d+\s)?[^\W\d][^.:{}]*")  # a line that names a class
_SYNSET = re.compile(r"n\d{8}")


class LabelledSettings(FileSettings, frozen=True):
    """Classes that are named by number."""

    classes: tuple[str, ...] = ()  # names in the order of numbers
    first: int = 0  # number of the first class in names of folders
    expected: str = ""  # what the files should hold, for the message where they do not


class _Labelled(NamedTuple):
    """An image, and its class by name, number or WordNet id."""

    id: str
    image: str | bytes
    label: Any


@reads(
    "labelled",
    "images in folders named after their class; ImageNet's lists; tables with image and label",
    LabelledSettings,
)
def _read_labelled(files: AnnotationFiles, settings: LabelledSettings) -> Annotations:
    """One record per image."""
    classes = _classes(files, settings)
    labels = tuple(classes.values())

    def records(images: Iterable[_Labelled], first: int) -> Iterator[Annotation]:
        for image in images:
            label = _name(image.label, classes, labels, first)
            yield Annotation(id=image.id, images=(image.image,), label=label)

    for source in (_solutions, _lines, _folders, _tables):
        if next(source(files), None) is not None:
            first = settings.first if source is _folders else 0
            return Annotations(lambda: records(source(files), first), labels)  # noqa: B023 (the loop ends here)
    expected = settings.expected or "folders of images, one a class, or a table with image and label"
    raise files.unlike(expected, "only names of classes" if files.texts(_NAMES) else "")


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


def _classes(files: AnnotationFiles, settings: LabelledSettings) -> dict[str, ClassLabel]:
    """Classes by WordNet id, or by number."""
    classes: dict[str, ClassLabel] = {}
    for path in files.texts(_SYNSETS):
        for match in files.matches(path, _SYNSETS):
            name, *synonyms = map(spoken, match[2].split(","))
            label = ClassLabel(name=name, synonyms=tuple(synonyms), synset=match[1])
            classes.setdefault(match[1], label)
    named = {str(number): ClassLabel(name=spoken(name)) for number, name in enumerate(settings.classes)}
    return classes or named


def _solutions(files: AnnotationFiles) -> Iterator[_Labelled]:
    """ImageNet's sheets with boxes: ``ILSVRC2012_val_00048981,n03995372 85 1 499 272``."""
    for row in files.find_entries(("ImageId", "PredictionString")) or ():
        yield _Labelled(
            row["ImageId"], f"{row['ImageId']}.JPEG", str(row["PredictionString"] or "").partition(" ")[0]
        )


def _lines(files: AnnotationFiles) -> Iterator[_Labelled]:
    """Images with their classes."""
    for path in files.texts(_LINES):
        for match in files.matches(path, _LINES):
            yield _Labelled(match[1].removesuffix(".JPEG"), match[1], match[2])


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


READER = _read_labelled
