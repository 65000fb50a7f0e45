"""GQA: questions by their id, each with one short answer and a full sentence."""

from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, name_of, picture

_IDS = ("key", "question_id", "questionId", "id", "qid")


class Gqa(Reader):
    """One record a question."""

    name = "gqa"
    summary = "GQA's question files, {id: {imageId, question, answer, types}}, or the same as a table"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The questions of all named files, in order; those of the test split have no answer."""
        expected = 'GQA\'s questions, {"id": {"imageId": …, "question": …, "answer": …}}'
        entries = files.entries({"imageId", "question"}, expected)
        return Annotations(lambda: (_annotation(entry, number) for number, entry in entries.numbered()))


def _annotation(entry: dict[str, Any], number: str) -> Annotation:
    answer = str(entry.get("answer") or "").strip()
    types = entry.get("types") if isinstance(entry.get("types"), dict) else {}
    tags = {name: types[name] for name in ("structural", "semantic", "detailed") if types and types.get(name)}
    return Annotation(
        id=name_of(entry, _IDS, number),
        images=(picture(entry.get("image") or entry["imageId"]),),
        question=str(entry["question"]).strip(),
        answers=(answer,) if answer else (),
        label=answer,
        tags=tags,
    )


READER = Gqa()
