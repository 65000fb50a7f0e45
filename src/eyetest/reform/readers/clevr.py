"""CLEVR: ``{"questions": [{question_index, image_filename, question, answer, program}]}``."""

from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, name_of

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
        return Annotations(lambda: (_annotation(name, entry) for name, entry in entries.numbered()))


def _annotation(name: str, entry: dict[str, Any]) -> Annotation:
    file, colon, number = name.rpartition(":")
    answer = _answer(entry.get("answer"))
    kind = next((kind for kind, answers in _ANSWERS.items() if answer in answers), "")
    options = _ANSWERS.get(kind, ())
    last = (entry.get("program") or [{}])[-1]
    asked = last.get("function") or last.get("type")
    return Annotation(
        id=f"{file}{colon}{name_of(entry, ('question_index',), number)}",
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


def _answer(value: Any) -> str:
    """CLEVR's own generator writes truth values and numbers; the published files have them in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value).strip()


READER = Clevr()
