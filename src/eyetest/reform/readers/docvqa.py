"""DocVQA and InfographicVQA: ``{"data": [{"questionId", "question", "image", "answers"}]}``."""

from collections.abc import Iterator
from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, picture, texts

_PICTURES = ("image", "image_local_name", "image_url")
_KINDS = ("question_types", "answer_type", "operation/reasoning")


class DocVqa(Reader):
    """One record a question about a page."""

    name = "docvqa"
    summary = 'DocVQA\'s JSON: {"data": [{questionId, question, image, answers}]}, or the same as a table'

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The questions, with their answers where the split has them."""
        entries = files.entries(
            {"questionId", "question"}, 'DocVQA\'s JSON, {"data": [{"questionId": …, "image": …}]}'
        )
        return Annotations(lambda: map(_annotation, entries))


def _annotation(entry: dict[str, Any]) -> Annotation:
    image = next((entry[key] for key in _PICTURES if entry.get(key)), None)
    return Annotation(
        id=str(entry["questionId"]),
        images=() if image is None else (picture(image),),
        question=str(entry["question"]).strip(),
        answers=tuple(dict.fromkeys(texts(entry.get("answers")))),
        tags=dict(_tags(entry)),
    )


def _tags(entry: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if entry.get("data_split"):
        yield "split", entry["data_split"]
    for key in _KINDS:
        if kinds := texts(entry.get(key)):
            yield key.split("/")[0].removesuffix("s"), list(kinds)


READER = DocVqa()
