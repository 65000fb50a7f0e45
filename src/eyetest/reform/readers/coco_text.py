"""COCO-Text and TextOCR: ``{"imgs": {id: {file_name, set}}, "anns": {id: {image_id, bbox, utf8_string}}}``."""

from collections.abc import Iterator
from typing import Any

import msgspec

from eyetest.reform.annotation import Annotation, Annotations, Region
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, name_of, texts

_TAGS = ("legibility", "language", "class")
_LISTS = (("imgs", "anns"), ("images", "annotations"))
_UNREADABLE = "."
"""What TextOCR writes for a word that nobody could read; COCO-Text has a field for that."""


class CocoText(Reader):
    """One record a word, with the box around it."""

    name = "coco-text"
    summary = "COCO-Text's or TextOCR's JSON: {imgs: {id: …}, anns: {id: {image_id, bbox, utf8_string}}}"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The words of all pictures."""
        documents = [document for _, document in files.documents(_is_coco_text)]
        if documents:
            return Annotations(lambda: (word for document in documents for word in _annotations(document)))
        expected = 'COCO-Text\'s JSON, {"imgs": {…}, "anns": {…: {"image_id": …, "utf8_string": …}}}'
        rows = files.entries({"image_id", "bbox", "utf8_string"}, expected)
        return Annotations(lambda: (_word(number, row, {}) for number, row in rows.numbered()))


def _annotations(document: dict[str, Any]) -> Iterator[Annotation]:
    images, words = _parts(document)
    known = {str(image.get("id", key)): image for key, image in images}
    for key, word in words:
        yield _word(key, word, known.get(str(word["image_id"]), {}))


def _word(key: str, word: dict[str, Any], image: dict[str, Any]) -> Annotation:
    box = msgspec.json.decode(word["bbox"]) if isinstance(word["bbox"], str) else word["bbox"]
    left, top, width, height = (float(side) for side in box)
    return Annotation(
        id=name_of(word, ("id",), key),
        images=(name_of(image, ("file_name", "filename"), _file(word["image_id"])),),
        size=(int(image["width"]), int(image["height"])) if "width" in image and "height" in image else None,
        answers=_readable(word),
        regions=(Region(box=(left, top, width, height), text=str(word.get("utf8_string") or "").strip()),),
        tags={"image": str(word["image_id"])} | dict(_tags(image, word)),
    )


def _file(number: Any) -> str:
    """A picture of which the file says nothing: all of COCO-Text's are of one part of COCO."""
    return f"COCO_train2014_{int(number):012d}.jpg" if str(number).isdigit() else f"{number}.jpg"


def _readable(word: dict[str, Any]) -> tuple[str, ...]:
    text = word.get("utf8_string")
    marked = word["legibility"] != "legible" if "legibility" in word else text == _UNREADABLE
    return () if marked else texts(text)


def _tags(image: dict[str, Any], word: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if image.get("set"):
        yield "split", image["set"]
    for key in _TAGS:
        if word.get(key):
            yield key, word[key]


def _parts(document: Any) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    """Pictures and words, each with its key, whether they lie under keys or in lists."""
    for images, words in _LISTS:
        if isinstance(document, dict) and words in document:
            return _keyed(document.get(images, {})), _keyed(document[words])
    return [], []


def _keyed(values: Any) -> list[tuple[str, Any]]:
    return list(values.items()) if isinstance(values, dict) else [(str(n), value) for n, value in enumerate(values)]


def _is_coco_text(document: Any) -> bool:
    return any(isinstance(word, dict) and "utf8_string" in word for _, word in _parts(document)[1])


READER = CocoText()
