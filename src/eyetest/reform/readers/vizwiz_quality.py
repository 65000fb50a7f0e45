"""VizWiz-QualityIssues: how many of five people saw which flaw in a picture."""

from typing import Any

import msgspec

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader

_SPLITS = ("train", "val", "test")
_MOST_VOTES = 1_000
"""Five people were asked; a damaged file may say anything."""


class VizWizQuality(Reader):
    """One record a picture; its answers are the flaws' codes, one for each person who saw it."""

    name = "vizwiz-quality"
    summary = 'VizWiz-QualityIssues\' JSON: [{image, flaws: {"BLR": 5 …}, unrecognizable}]'

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The pictures of all files that are there."""
        expected = 'VizWiz-QualityIssues\' JSON, [{"image": …, "flaws": {"BLR": 5 …}}]'
        entries = files.entries({"image", "flaws"}, expected, otherwise=[{"image", "unrecognizable"}])
        return Annotations(lambda: map(_annotation, entries))


def _annotation(entry: dict[str, Any]) -> Annotation:
    flaws = entry.get("flaws") or {}
    if isinstance(flaws, str):
        flaws = msgspec.json.decode(flaws)
    answers = tuple(code for code, votes in flaws.items() for _ in range(min(int(votes or 0), _MOST_VOTES)))
    return Annotation(id=entry["image"], images=(entry["image"],), answers=answers, tags=_tags(entry))


def _tags(entry: dict[str, Any]) -> dict[str, Any]:
    tags = {} if entry.get("unrecognizable") is None else {"unrecognizable": entry["unrecognizable"]}
    split = str(entry["image"]).removeprefix("VizWiz_").partition("_")[0]
    return tags | ({"split": split} if split in _SPLITS else {})


READER = VizWizQuality()
