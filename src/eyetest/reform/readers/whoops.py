"""WHOOPS!: odd pictures, each with several questions and answers in one cell."""

from collections.abc import Iterator
from typing import Any

import msgspec

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, picture


class Whoops(Reader):
    """One record a question."""

    name = "whoops"
    summary = "WHOOPS!'s table (CSV, Parquet or JSON Lines) with image_id and question_answering_pairs"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The questions of every picture in order."""
        expected = "WHOOPS!'s table with the columns image_id and question_answering_pairs"
        entries = files.entries({"question_answering_pairs"}, expected)
        return Annotations(lambda: (record for entry in entries for record in _annotations(entry)))


def _annotations(entry: dict[str, Any]) -> Iterator[Annotation]:
    pairs = entry["question_answering_pairs"]
    if isinstance(pairs, str):
        pairs = msgspec.json.decode(pairs)
    image = picture(entry.get("image") or entry["image_id"])
    name = str(entry.get("image_id") or image)
    tags = {"category": entry["commonsense_category"]} if entry.get("commonsense_category") else {}
    for number, (question, answer, *_) in enumerate(pairs, 1):
        yield Annotation(
            id=f"{name}:{number}",
            images=(image,),
            question=str(question).strip(),
            answers=(str(answer).strip(),),
            tags=tags,
        )


READER = Whoops()
