"""ScienceQA: ``problems.json``, an object of problems by their number; the picture lies in ``split/number/``."""

from collections.abc import Iterator
from typing import Any

import msgspec

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, Reader, picture

_TAGS = ("split", "subject", "topic", "category", "skill", "grade", "task")


class ScienceQaSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which problems are read."""

    splits: tuple[str, ...] = ()
    """Only these; all where none is named."""


class ScienceQa(Reader):
    """One record a problem."""

    name = "scienceqa"
    summary = "ScienceQA's problems.json, {number: {question, choices, answer, image, split}}, or a table"
    settings = ScienceQaSettings

    def read(self, files: AnnotationFiles, settings: ScienceQaSettings) -> Annotations:
        """The problems, in the order of the file."""
        expected = "ScienceQA's problems.json, {number: {question, choices, answer, image}}"
        entries = files.entries({"question", "choices", "answer"}, expected)

        def records() -> Iterator[Annotation]:
            for number, entry in enumerate(entries):
                if not settings.splits or entry.get("split") in settings.splits:
                    yield _annotation(entry, str(number))

        return Annotations(records)


def _annotation(entry: dict[str, Any], number: str) -> Annotation:
    name = str(entry.get("key") or entry.get("pid") or number)
    image = picture(entry["image"]) if entry.get("image") else None
    if isinstance(image, str) and "/" not in image and entry.get("split"):
        image = f"{entry['split']}/{name}/{image}"
    answer = entry.get("answer")
    return Annotation(
        id=name,
        images=() if image is None else (image,),
        question=str(entry["question"]).strip(),
        hint=str(entry.get("hint") or "").strip(),
        options=tuple(map(str, entry["choices"])),
        gold=None if answer is None else int(answer),
        tags={tag if tag != "task" else "problem": entry[tag] for tag in _TAGS if entry.get(tag)},
    )


READER = ScienceQa()
