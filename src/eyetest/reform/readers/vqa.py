"""VQA v2 and what is written like it (OK-VQA, TDIUC): questions in one JSON file, people's answers in another."""

from collections.abc import Iterator
from typing import Any

import msgspec

from eyetest.reform.annotation import Annotation, Annotations, ClassLabel
from eyetest.reform.readers.base import AnnotationFiles, Reader


class VqaSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which of the questions are read."""

    question_types: tuple[str, ...] = ()
    """Only questions of these types; all of them where none is named."""
    answer_types: tuple[str, ...] = ()
    closed: bool = False
    """Whether the answers to these questions are a closed list of classes."""


class VqaReader(Reader):
    """Joins questions and answers by the question's id, whichever of the two files is named."""

    name = "vqa"
    summary = 'VQA v2\'s pair of files: {"questions": [...]} and {"annotations": [...]}; also OK-VQA and TDIUC'
    settings = VqaSettings

    def read(self, files: AnnotationFiles, settings: VqaSettings) -> Annotations:
        """One record a question, in the order of the questions; those without answers have none."""
        questions = [entry for _, document in files.documents(_has("questions")) for entry in document["questions"]]
        if not questions:
            raise files.unlike('VQA\'s questions, {"questions": [{"question_id": …, "question": …}]}')
        said = {
            str(entry["question_id"]): (entry, _folder(document))
            for _, document in files.documents(_has("annotations"))
            for entry in document["annotations"]
        }

        def records() -> Iterator[Annotation]:
            for question in questions:
                answered, subset = said.get(str(question["question_id"]), ({}, ""))
                if _is_wanted(answered, settings):
                    yield _record(question, answered, subset)

        classes: tuple[ClassLabel, ...] = ()
        if settings.closed:
            labels = dict.fromkeys(record.label for record in records())
            classes = tuple(ClassLabel(name=label) for label in labels if label)
        return Annotations(records, classes)


def _has(key: str) -> Any:
    def is_meant(document: Any) -> bool:
        entries = document.get(key) if isinstance(document, dict) else None
        return isinstance(entries, list) and bool(entries) and "question_id" in entries[0]

    return is_meant


def _folder(document: dict[str, Any]) -> str:
    """The part of COCO that the pictures are from, where the file says it: ``val2014``."""
    return str(document.get("data_subtype") or "")


def _is_wanted(answered: dict[str, Any], settings: VqaSettings) -> bool:
    types = (("question_type", settings.question_types), ("answer_type", settings.answer_types))
    return all(not wanted or answered.get(key) in wanted for key, wanted in types)


def _record(question: dict[str, Any], answered: dict[str, Any], subset: str) -> Annotation:
    answers = tuple(_text(one) for one in answered.get("answers") or ())
    own = answered.get("multiple_choice_answer")
    tags = {name: answered[name] for name in ("question_type", "answer_type") if answered.get(name)}
    return Annotation(
        id=str(question["question_id"]),
        images=(_image(question.get("image_id", answered.get("image_id")), subset),),
        question=str(question["question"]).strip(),
        answers=answers or ((str(own),) if own else ()),
        label=str(own) if own else most_common(answers),
        tags=tags | ({"split": question["split"]} if question.get("split") else {}),
    )


def _text(answer: Any) -> str:
    return str(answer["answer"] if isinstance(answer, dict) else answer).strip()


def _image(number: Any, subset: str) -> str:
    """A picture's file as COCO calls it, where its part of COCO is known; else its number."""
    return f"COCO_{subset}_{int(number):012d}.jpg" if subset and str(number).isdigit() else str(number)


def most_common(answers: tuple[str, ...]) -> str:
    """What most people said, the first of them where several were said as often."""
    return max(answers, key=answers.count, default="")


READER = VqaReader()
