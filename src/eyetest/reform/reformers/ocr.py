"""Reading words: cut out of the picture, or in it, in a box that is drawn or said."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, Shown, draft
from eyetest.reform.reformers.grounding import said_box

_QUESTIONS = {
    "crop": "Which text does this picture show?",
    "drawn": "Which text stands in the red box?",
    "said": "Which text stands in the box with the corners {box}? {frame}",
}


class OcrSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the word to be read is shown."""

    show: Literal["crop", "drawn", "said"] = "crop"
    """Cut out, or in the whole picture with its box drawn or said: grounded OCR is the last two."""
    question: str = ""
    """A wording of one's own; ``{box}`` stands for the corners of the box, ``{frame}`` for what they mean."""
    metric: str = "words"


class WordReading(Reformer):
    """One text item a word that somebody could read."""

    name = "ocr"
    summary = "reading words: cut out (show: crop), or in the picture, in a box that is drawn or said"
    settings = OcrSettings

    def drafts(self, annotations: Annotations, settings: OcrSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a record; a record without a box shows its whole picture, which nothing can point into."""
        for record in annotations:
            if not record.answers:
                kit.passed_over["not readable"] += 1
            elif not record.regions and settings.show != "crop":
                kit.passed_over["no box"] += 1
            else:
                yield _draft(record, settings)


def _draft(record: Annotation, settings: OcrSettings) -> ItemDraft:
    box = record.regions[0].box if record.regions else None
    question = settings.question or _QUESTIONS[settings.show]
    if box is not None:
        question = said_box(question, record, box)
    crop, drawn = (box if settings.show == show else None for show in ("crop", "drawn"))
    return draft(
        record,
        pictures=[Shown(image=image, crop=crop, box=drawn) for image in record.images],
        question=question,
        references=record.answers,
        tags={"metric": settings.metric},
    )


REFORMER = WordReading()
