"""VizWiz-QualityIssues: how many of five people saw which flaw in a picture."""

from collections.abc import Iterator
from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader

_SPLITS = ("train", "val", "test")


class VizWizQuality(Reader):
    """One record a picture; its answers are the flaws' codes, one for each person who saw it."""

    name = "vizwiz-quality"
    summary = 'VizWiz-QualityIssues\' JSON: [{image, flaws: {"BLR": 5 …}, unrecognizable}]'

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The pictures of all files that are there."""
        documents = [_entries(document) for _, document in files.documents(_is_quality)]
        if not documents:
            raise files.unlike('VizWiz-QualityIssues\' JSON, [{"image": …, "flaws": {"BLR": 5 …}}]')

        def records() -> Iterator[Annotation]:
            for entry in (entry for entries in documents for entry in entries):
                flaws = entry.get("flaws") or {}
                answers = tuple(code for code, votes in flaws.items() for _ in range(int(votes or 0)))
                yield Annotation(id=entry["image"], images=(entry["image"],), answers=answers, tags=_tags(entry))

        return Annotations(records)


def _entries(document: Any) -> list[dict[str, Any]]:
    """The list itself, or that under a key."""
    if isinstance(document, dict):
        document = next((value for value in document.values() if isinstance(value, list)), [])
    return document if isinstance(document, list) and all(isinstance(entry, dict) for entry in document) else []


def _is_quality(document: Any) -> bool:
    entries = _entries(document)
    return bool(entries) and "image" in entries[0] and bool({"flaws", "unrecognizable"} & set(entries[0]))


def _tags(entry: dict[str, Any]) -> dict[str, Any]:
    tags = {} if entry.get("unrecognizable") is None else {"unrecognizable": entry["unrecognizable"]}
    split = str(entry["image"]).removeprefix("VizWiz_").partition("_")[0]
    return tags | ({"split": split} if split in _SPLITS else {})


READER = VizWizQuality()
