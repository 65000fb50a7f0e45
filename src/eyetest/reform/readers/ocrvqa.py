"""OCR-VQA: one object a book cover, ``{id: {imageURL, questions, answers, title, split}}``."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, name_of, picture, texts

_SPLITS = {"1": "train", "2": "val", "3": "test"}


class OcrVqa(Reader):
    """Some five questions a book cover; each becomes a record."""

    name = "ocrvqa"
    summary = "OCR-VQA's dataset.json: {id: {imageURL, questions: […], answers: […], split: 1, 2 or 3}}"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The questions of all covers, in order."""
        entries = files.entries(
            {"questions", "answers"}, "OCR-VQA's dataset.json, {id: {questions: […], answers: […]}}"
        )
        return Annotations(
            lambda: (record for number, entry in entries.numbered() for record in _annotations(entry, number))
        )


def _annotations(entry: dict[str, Any], number: str) -> Iterator[Annotation]:
    name = entry["image"] if isinstance(entry.get("image"), str) else number
    cover = name_of(entry, ("key", "image_id", "id"), PurePosixPath(name).stem)
    ending = PurePosixPath(str(entry.get("imageURL") or "")).suffix or ".jpg"
    image = picture(entry.get("image") or cover + ending)
    tags = {"cover": cover} | ({"genre": entry["genre"]} if entry.get("genre") else {})
    if (split := entry.get("split")) is not None:
        tags["split"] = _SPLITS.get(str(split), str(split))
    for position, (question, answer) in enumerate(zip(entry["questions"], entry["answers"], strict=True)):
        yield Annotation(
            id=f"{cover}:{position}",
            images=(image,),
            question=str(question).strip(),
            answers=texts(answer),
            tags=tags,
        )


READER = OcrVqa()
