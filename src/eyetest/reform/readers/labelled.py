"""Pictures with a class, in the forms that many publishers share. Each gives None where no file has that form."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from eyetest.benchmarks.picture_folders import pictures_below, spoken
from eyetest.reform.annotation import Annotation, Annotations, ClassLabel
from eyetest.reform.readers.base import AnnotationFiles
from eyetest.tabular.files import read_rows

Naming = Callable[[Any], str]
"""The name of a class that stands in a file by number or by name."""
_IMAGE_COLUMNS = ("image", "img", "webp", "jpg", "png")
_LABEL_COLUMNS = ("label", "fine_label", "labels", "cls")
_ID_COLUMNS = ("image_id", "id", "filename", "file_name")


class ClassNames(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a reader of numbered classes is told."""

    classes: tuple[str, ...] = ()
    """Their names in the order of their numbers, where no file says them."""


def numbered(names: Sequence[str], first: int) -> Naming:
    """Names of classes by their numbers, counted from ``first``; what is no number is a name already."""

    def named(label: Any) -> str:
        if not str(label).isdigit():
            return spoken(label)
        if not 0 <= int(label) - first < len(names):
            raise ValueError(f"class {label} of {len(names)}")
        return spoken(names[int(label) - first])

    return named


def listed(names: Iterable[str]) -> tuple[ClassLabel, ...]:
    """Classes of which nothing but the name is known, each once."""
    return tuple(ClassLabel(name=name) for name in dict.fromkeys(map(spoken, names)) if name)


def one_a_class(classes: Sequence[ClassLabel], keys: Iterable[str]) -> Annotations:
    """A record for each class of a list that comes without pictures, so that the items show what would be asked."""

    def records() -> Iterator[Annotation]:
        for one, key in zip(classes, keys, strict=True):
            yield Annotation(id=key, images=(key,), label=one.name)

    return Annotations(records, tuple(classes))


def from_folders(files: AnnotationFiles, named: Naming, classes: tuple[ClassLabel, ...] = ()) -> Annotations | None:
    """Pictures in folders named after their class, or after its number."""
    pictures = [
        (path.relative_to(root).as_posix(), path.parent.name)
        for root in files.named
        if root.is_dir()
        for path in pictures_below(root)
    ]

    def records() -> Iterator[Annotation]:
        for path, folder in pictures:
            yield Annotation(id=path, images=(path,), label=named(folder))

    if not pictures:
        return None
    return Annotations(records, classes or listed(sorted({named(folder) for _, folder in pictures})))


def from_tables(files: AnnotationFiles, named: Naming, classes: tuple[ClassLabel, ...] = ()) -> Annotations | None:
    """Tables as Hugging Face has them: a picture in one column, its class in another."""
    tables = files.tables(lambda row: bool(_column(row, _IMAGE_COLUMNS) and _column(row, _LABEL_COLUMNS)))

    def records() -> Iterator[Annotation]:
        for path in tables:
            for number, row in read_rows(path):
                yield _labelled(row, f"{path.stem}-{number}", named)

    if not tables:
        return None
    return Annotations(records, classes or listed(record.label for record in records()))


def _labelled(row: dict[str, Any], number: str, named: Naming) -> Annotation:
    key = next((str(row[name]) for name in _ID_COLUMNS if row.get(name) is not None), number)
    picture, label = row[_column(row, _IMAGE_COLUMNS)], row[_column(row, _LABEL_COLUMNS)]
    if isinstance(picture, dict):
        picture = picture.get("bytes") or picture.get("path")
    return Annotation(id=key, images=(picture or key,), label="" if label in (None, -1, "") else named(label))


def from_split_lists(files: AnnotationFiles) -> Annotations | None:
    """``{"train": [[picture, number, name] …]}``, as experiments with few labels publish their splits."""
    documents = [document for _, document in files.documents(_is_split_lists, beside=False)]

    def records() -> Iterator[Annotation]:
        for document in documents:
            for split, entries in document.items():
                for picture, _, name in entries:
                    yield Annotation(id=picture, images=(picture,), label=spoken(name), tags={"split": split})

    return Annotations(records, listed(record.label for record in records())) if documents else None


def _is_split_lists(document: Any) -> bool:
    lists = list(document.values()) if isinstance(document, dict) else []
    return bool(lists) and all(
        isinstance(entries, list) and entries and isinstance(entries[0], list) and len(entries[0]) == 3
        for entries in lists
    )


def _column(row: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((name for name in names if name in row), "")


def class_names_by_number(files: AnnotationFiles) -> dict[str, str]:
    """``{"21": "fire lily"}``, in a file among the named ones or beside them."""
    for _, document in files.documents(_is_names_by_number):
        return {str(number): str(name) for number, name in document.items()}
    return {}


def _is_names_by_number(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and bool(document)
        and all(key.isdigit() and isinstance(name, str) for key, name in document.items())
    )
