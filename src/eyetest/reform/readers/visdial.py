"""VisDial: questions and answers in two shared lists, dialogues that point into them, and dense annotations."""

from collections.abc import Iterator
from typing import Any

from eyetest.reform.annotation import Annotation, Annotations, Exchange
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader

_Relevance = dict[tuple[str, int], list[float]]


class VisDial(Reader):
    """One record a dialogue."""

    name = "visdial"
    summary = 'VisDial\'s JSON, {"data": {"questions", "answers", "dialogs"}}; dense annotations beside it are used'

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The dialogues. Candidates that people found apt, by the dense annotations, count as right answers."""
        expected = 'VisDial\'s JSON, {"data": {"questions": […], "answers": […], "dialogs": […]}}'
        document = files.one_document(_is_visdial, expected)
        split, data = document.get("split"), document["data"]
        relevance: _Relevance = {
            (str(entry["image_id"]), int(entry["round_id"])): entry.get("gt_relevance") or entry["relevance"]
            for _, entries in files.documents(_is_dense)
            for entry in entries
        }

        def records() -> Iterator[Annotation]:
            for dialog in data["dialogs"]:
                image = str(dialog["image_id"])
                yield Annotation(
                    id=image,
                    images=(image,),
                    captions=(dialog["caption"],) if dialog.get("caption") else (),
                    turns=tuple(_exchanges(dialog, data, image, relevance)),
                    tags={"split": split} if split else {},
                )

        return Annotations(records)


def _exchanges(dialog: dict[str, Any], data: dict[str, Any], image: str, relevance: _Relevance) -> Iterator[Exchange]:
    """The turns that have an answer; in the test split the last one has none."""
    for number, turn in enumerate(dialog["dialog"], 1):
        options = [data["answers"][index] for index in turn.get("answer_options") or ()]
        if "answer" not in turn and turn.get("gt_index") is None:
            return
        answer = data["answers"][turn["answer"]] if "answer" in turn else options[turn["gt_index"]]
        apt = relevance.get((image, number), ())
        yield Exchange(
            question=_asked(data["questions"][turn["question"]]),
            answer=answer,
            options=tuple(options),
            answers=tuple(text for text, share in zip(options, apt, strict=False) if share > 0),
        )


def _asked(question: str) -> str:
    """A question with its mark, which VisDial leaves out."""
    question = question.strip()
    return question if question.endswith("?") else f"{question}?"


def _is_visdial(document: Any) -> bool:
    data = document.get("data") if isinstance(document, dict) else None
    return isinstance(data, dict) and {"questions", "answers", "dialogs"} <= set(data)


def _is_dense(document: Any) -> bool:
    entry = document[0] if isinstance(document, list) and document else None
    return isinstance(entry, dict) and "round_id" in entry and ("gt_relevance" in entry or "relevance" in entry)


READER = VisDial()
