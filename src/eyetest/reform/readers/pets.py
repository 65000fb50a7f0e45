"""Oxford-IIIT Pets: ``list.txt``, ``trainval.txt``, ``test.txt`` with lines ``Abyssinian_100 1 1 1``."""

import re
from collections.abc import Iterator
from pathlib import Path

from eyetest.benchmarks.picture_folders import spoken
from eyetest.reform.annotation import Annotation, Annotations, ClassLabel
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader
from eyetest.reform.readers.labelled import from_split_lists, from_tables

_LINE = re.compile(r"(\S+)_(\d+)(?:\.jpg)?[ \t]+\d+[ \t]+([12])[ \t]+\d+")
"""Picture, number of its class, species, number of its breed within the species."""
_EXPECTED = 'Oxford-IIIT Pets\' lists with lines such as "Abyssinian_100 1 1 1"'
_SPECIES = {"1": "cat", "2": "dog"}
_WHOLE = "list"
"""The file that lists all pictures, so that its name is no split."""


class Pets(Reader):
    """One record a picture; its breed is in its name."""

    name = "pets"
    summary = "Oxford-IIIT Pets' lists: picture, class, species, breed"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The pictures of all lists, each once."""
        if lists := files.texts(_LINE):
            return _from_lists(files, lists)
        annotations = from_split_lists(files) or from_tables(files, spoken)
        if annotations is None:
            raise files.unlike(_EXPECTED)
        return annotations


def _from_lists(files: AnnotationFiles, lists: list[Path]) -> Annotations:
    pictures: dict[str, tuple[str, str, str]] = {}
    for path in sorted(lists, key=lambda path: path.stem.lower() != _WHOLE):
        split = "" if path.stem.lower() == _WHOLE else path.stem
        for match in files.matches(path, _LINE, _EXPECTED):
            breed, number, species = match.groups()
            pictures[f"{breed}_{number}"] = (spoken(breed), _SPECIES[species], split)

    def records() -> Iterator[Annotation]:
        for key, (breed, species, split) in pictures.items():
            tags = {"species": species} | ({"split": split} if split else {})
            yield Annotation(id=key, images=(f"{key}.jpg",), label=breed, tags=tags)

    parents = {breed: species for breed, species, _ in pictures.values()}
    return Annotations(records, tuple(ClassLabel(name=breed, parent=kind) for breed, kind in parents.items()))


READER = Pets()
