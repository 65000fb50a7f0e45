"""Flowers 102: ``imagelabels.mat`` (a class number a picture) and ``setid.mat`` (pictures of each split)."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from eyetest.reform.annotation import Annotation, Annotations, ClassLabel
from eyetest.reform.readers.base import AnnotationFiles, Reader
from eyetest.reform.readers.binaries import read_mat
from eyetest.reform.readers.labelled import (
    ClassNames,
    class_names_by_number,
    from_folders,
    from_split_lists,
    from_tables,
    listed,
    numbered,
    one_a_class,
)

_LABELS = "labels"
_SPLITS = {"trnid": "train", "valid": "val", "tstid": "test"}


class Flowers102(Reader):
    """One record a picture; ``image_00001.jpg`` is the first of the list."""

    name = "flowers102"
    summary = "Flowers 102's imagelabels.mat and setid.mat, with class names by number"
    settings = ClassNames

    def read(self, files: AnnotationFiles, settings: ClassNames) -> Annotations:
        """All pictures with their splits; or those of a copy in folders, in a table or in lists."""
        said = class_names_by_number(files)
        names = [said.get(str(number), name) for number, name in enumerate(settings.classes, 1)]
        classes = listed(names)
        matrices = _matrices(files)
        if _LABELS in matrices:
            return Annotations(lambda: _records(matrices, numbered(names, 1)), classes)
        annotations = (
            from_split_lists(files)
            or from_folders(files, numbered(names, 1), classes)
            or from_tables(files, numbered(names, 0), classes)
        )
        if annotations is None and said and not matrices:
            numbers = sorted(said, key=int)
            return one_a_class([ClassLabel(name=said[number]) for number in numbers], numbers)
        if annotations is None:
            raise files.unlike("imagelabels.mat with its matrix labels, or a copy in folders or in a table")
        return annotations


def _matrices(files: AnnotationFiles) -> dict[str, Sequence[int]]:
    """The numbers in all ``.mat`` files, by the name of their matrix."""
    matrices: dict[str, Sequence[int]] = {}
    for path in files.ending(".mat", beside=True):
        matrices |= {name: np.ravel(value).tolist() for name, value in read_mat(path).items()}
    return matrices


def _records(matrices: dict[str, Sequence[int]], named: Any) -> Iterator[Annotation]:
    splits = {number: name for key, name in _SPLITS.items() for number in matrices.get(key, ())}
    for number, label in enumerate(matrices[_LABELS], 1):
        tags = {"split": splits[number]} if number in splits else {}
        yield Annotation(id=f"image_{number:05d}", images=(f"image_{number:05d}.jpg",), label=named(label), tags=tags)


READER = Flowers102()
