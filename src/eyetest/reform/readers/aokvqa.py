"""A-OKVQA: a list of questions with four choices, ten direct answers and three rationales each."""

from typing import Any

import msgspec

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, Reader, picture, texts


class AokvqaSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is told beside the question."""

    rationale_as_hint: bool = False
    """Whether the first rationale is given with the question, and only the conclusion is asked for."""


class Aokvqa(Reader):
    """One record a question; its rationales are the record's captions."""

    name = "aokvqa"
    summary = "A-OKVQA's JSON: [{question_id, image_id, question, choices, correct_choice_idx, rationales}]"
    settings = AokvqaSettings

    def read(self, files: AnnotationFiles, settings: AokvqaSettings) -> Annotations:
        """The questions; those of the test split have no gold."""
        expected = "A-OKVQA's JSON, a list of {question_id, question, choices, correct_choice_idx}"
        entries = files.entries({"question_id", "question", "choices"}, expected)
        return Annotations(lambda: (_annotation(entry, settings) for entry in entries))


def _annotation(entry: dict[str, Any], settings: AokvqaSettings) -> Annotation:
    gold = entry.get("correct_choice_idx")
    rationales = texts(entry.get("rationales"))
    return Annotation(
        id=str(entry["question_id"]),
        images=(picture(entry.get("image") or entry["image_id"]),),
        question=str(entry["question"]).strip(),
        hint=rationales[0] if rationales and settings.rationale_as_hint else "",
        options=tuple(map(str, entry["choices"])),
        gold=None if gold is None else int(gold),
        answers=texts(entry.get("direct_answers")),
        captions=rationales,
        tags={"split": entry["split"]} if entry.get("split") else {},
    )


READER = Aokvqa()
