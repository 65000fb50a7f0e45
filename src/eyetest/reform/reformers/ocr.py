"""Reading words: cut out of the picture, or in it and pointed at by a drawn frame or by coordinates."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, Shown, box_in_words, draft

_QUESTIONS = {
    "crop": "Which text does this picture show?",
    "frame": "Which text stands inside the red frame?",
    "coordinates": "Which text stands inside the box {box}?",
}


class OcrSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the word to be read is shown."""

    show: Literal["crop", "frame", "coordinates"] = "crop"
    """Cut out, framed in the whole picture, or named by its box in the question: grounded OCR is the last two."""
    question: str = ""
    """A wording of one's own; ``{box}`` stands for the box in words."""
    metric: str = "words"


class WordReading(Reformer):
    """One text item a word that somebody could read."""

    name = "ocr"
    summary = "reading words: cut out, framed in the picture, or pointed at by coordinates"
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
        question = question.replace("{box}", box_in_words(box, record.size))
    crop, frame = (box if settings.show == show else None for show in ("crop", "frame"))
    return draft(
        record,
        pictures=[Shown(image=image, crop=crop, box=frame) for image in record.images],
        question=question,
        references=record.answers,
        tags={"metric": settings.metric},
    )


REFORMER = WordReading()
