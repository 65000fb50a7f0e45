"""DocVQA: ``{"data": [{"questionId", "question", "image", "answers"}]}``."""

from collections.abc import Iterator
from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader


class DocVqa(Reader):
    """One record a question about a page."""

    name = "docvqa"
    summary = 'DocVQA\'s JSON: {"data": [{questionId, question, image, answers}]}'

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The questions, with their answers where the split has them."""
        document = files.one_document(_is_docvqa, 'DocVQA\'s JSON, {"data": [{"questionId": …, "image": …}]}')

        def records() -> Iterator[Annotation]:
            for entry in document["data"]:
                tags = {"split": entry["data_split"]} if "data_split" in entry else {}
                types = entry.get("question_types")
                yield Annotation(
                    id=str(entry["questionId"]),
                    images=(entry["image"],),
                    question=entry["question"],
                    answers=tuple(dict.fromkeys(entry.get("answers") or ())),
                    tags=tags | ({"question_type": types[0]} if types else {}),
                )

        return Annotations(records)


def _is_docvqa(document: Any) -> bool:
    entries = document.get("data") if isinstance(document, dict) else None
    return isinstance(entries, list) and bool(entries) and {"questionId", "question", "image"} <= set(entries[0])


READER = DocVqa()
