"""TextVQA: ``{"data": [{"question_id", "question", "image_id", "answers"}]}``."""

from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, name_of, picture, texts


class TextVqa(Reader):
    """One record a question, with what each of ten people answered."""

    name = "textvqa"
    summary = 'TextVQA\'s JSON: {"data": [{question_id, question, image_id, answers}]}, or the same as a table'

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The questions, with their answers where the split has them."""
        expected = 'TextVQA\'s JSON, {"data": [{"question_id": …, "image_id": …, "answers": …}]}'
        entries = files.entries(
            {"question_id", "question", "image_id"}, expected, otherwise=[{"question", "image", "answers"}]
        )
        return Annotations(lambda: (_annotation(entry, number) for number, entry in entries.numbered()))


def _annotation(entry: dict[str, Any], number: str) -> Annotation:
    image = entry.get("image") or f"{entry['image_id']}.jpg"
    width, height = entry.get("image_width"), entry.get("image_height")
    return Annotation(
        id=name_of(entry, ("question_id",), number),
        images=(picture(image),),
        size=(int(width), int(height)) if width and height else None,
        question=str(entry["question"]).strip(),
        answers=texts(entry.get("answers")),
        tags={"split": entry["set_name"]} if entry.get("set_name") else {},
    )


READER = TextVqa()
