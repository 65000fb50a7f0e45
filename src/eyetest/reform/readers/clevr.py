"""CLEVR: ``{"questions": [{question_index, image_filename, question, answer, program}]}``."""

from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader

_ANSWERS = {
    "truth": ("yes", "no"),
    "size": ("large", "small"),
    "material": ("rubber", "metal"),
    "shape": ("cube", "sphere", "cylinder"),
    "colour": ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"),
    "number": tuple(map(str, range(11))),
}
"""CLEVR's closed sets of answers: a question asks for one of a set, and its answer tells which set."""


class Clevr(Reader):
    """One record a question, with all answers of the kind that it asks for as options."""

    name = "clevr"
    summary = "CLEVR's questions JSON: {questions: [{question_index, image_filename, question, answer}]}"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The questions of all files; scenes beside them are not needed."""
        expected = 'CLEVR\'s JSON, {"questions": [{"question": …, "image_filename": …, "answer": …}]}'
        entries = files.entries({"question", "image_filename"}, expected)
        several = len(entries.paths) > 1
        return Annotations(lambda: (_annotation(name, entry, several) for name, entry in entries.numbered()))


def _annotation(name: str, entry: dict[str, Any], several: bool) -> Annotation:
    answer = str(entry["answer"]).strip() if entry.get("answer") is not None else ""
    kind = next((kind for kind, answers in _ANSWERS.items() if answer in answers), "")
    options = _ANSWERS.get(kind, ())
    last = (entry.get("program") or [{}])[-1]
    asked = last.get("function") or last.get("type")
    return Annotation(
        id=str(entry.get("question_index", name)) if not several else name,
        images=(str(entry["image_filename"]),),
        question=str(entry["question"]).strip(),
        answers=(answer,) if answer else (),
        options=options,
        gold=options.index(answer) if options else None,
        tags={
            tag: value
            for tag, value in (("split", entry.get("split")), ("question_type", asked), ("answer_type", kind))
            if value
        },
    )


READER = Clevr()
