"""VQA v2 and what is written like it (OK-VQA, TDIUC): questions in one file, answers in another, or both in one."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from eyetest.errors import InputError
from eyetest.reform.annotation import Annotation, Annotations, ClassLabel
from eyetest.reform.readers.base import AnnotationFiles, Reader, picture, texts
from eyetest.tabular.table import kind_of

_ANSWERED = ({"question_id", "multiple_choice_answer"}, {"question_id", "answer"})
"""How others than VQA itself write an answer."""


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
    summary = 'VQA v2\'s pair of files: {"questions": [...]} and {"annotations": [...]}, or a table of both'
    settings = VqaSettings

    def read(self, files: AnnotationFiles, settings: VqaSettings) -> Annotations:
        """One record a question, in the order of the questions; those without answers have none."""
        expected = 'VQA\'s questions, {"questions": [{"question_id": …, "question": …}]}'
        questions = files.entries({"question_id", "question"}, expected)
        said: dict[str, tuple[dict[str, Any], str]] = {}
        with suppress(InputError):  # where nobody answered, the reformer says so
            answers = files.entries({"question_id", "answers"}, "", otherwise=_ANSWERED)
            said = {str(entry["question_id"]): (entry, _folder(files, path)) for path, entry in answers.by_file()}

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


def _folder(files: AnnotationFiles, path: Path) -> str:
    """The part of COCO that the pictures are from, where the file says it: ``val2014``."""
    document = files.document(path) if kind_of(path) == ".json" else {}
    return str(document.get("data_subtype") or "") if isinstance(document, dict) else ""


def _is_wanted(answered: dict[str, Any], settings: VqaSettings) -> bool:
    """Whether a question is of the types that are wanted; of one that nobody answered they are not known."""
    if not answered:
        return True
    types = (("question_type", settings.question_types), ("answer_type", settings.answer_types))
    return all(not wanted or answered.get(key) in wanted for key, wanted in types)


def _record(question: dict[str, Any], answered: dict[str, Any], subset: str) -> Annotation:
    answers = _answers(answered.get("answers") or answered.get("answer"))
    own = str(answered.get("multiple_choice_answer") or "").strip()
    tags = {name: answered[name] for name in ("question_type", "answer_type") if answered.get(name)}
    return Annotation(
        id=str(question["question_id"]),
        images=(_image(question | answered, subset),),
        question=str(question["question"]).strip(),
        answers=answers or texts(own),
        label=own or most_common(answers),
        tags=tags | ({"split": question["split"]} if question.get("split") else {}),
    )


def _answers(said: Any) -> tuple[str, ...]:
    """What people answered: texts, or objects with the text in them."""
    several = said if isinstance(said, list | tuple) else [said]
    return texts([one.get("answer") if isinstance(one, dict) else one for one in several])


def _image(entry: dict[str, Any], subset: str) -> str | bytes:
    """The picture that an entry holds or names; else its file as COCO calls it, where its part of COCO is known."""
    if entry.get("image"):
        return picture(entry["image"])
    number = entry["image_id"]
    return f"COCO_{subset}_{int(number):012d}.jpg" if subset and str(number).isdigit() else str(number)


def most_common(answers: tuple[str, ...]) -> str:
    """What most people said, the first of them where several were said as often."""
    return max(answers, key=answers.count, default="")


READER = VqaReader()
