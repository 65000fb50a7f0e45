"""VQA-MT: all VQA v2 questions about one picture, one after the other, as a dialogue."""

from collections.abc import Iterator
from typing import Any

import msgspec

from eyetest.reform.annotation import Annotation, Annotations, Exchange
from eyetest.reform.readers.base import AnnotationFiles, Reader
from eyetest.reform.readers.vqa import READER as VQA
from eyetest.reform.readers.vqa import VqaSettings


class VqaDialogueSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long dialogues are."""

    turns: int = 10
    """The most; a picture with more questions gives several dialogues."""


class VqaDialogues(Reader):
    """One record a picture with two questions or more."""

    name = "vqa-dialogue"
    summary = "VQA v2's pair of files, the questions about a picture put together into a dialogue"
    settings = VqaDialogueSettings

    def read(self, files: AnnotationFiles, settings: VqaDialogueSettings) -> Annotations:
        """The dialogues, in the order in which their pictures first come."""
        questions = VQA.read(files, VqaSettings())
        of_picture: dict[Any, list[Annotation]] = {}
        for record in questions:
            if record.label:
                of_picture.setdefault(record.images[0], []).append(record)

        def records() -> Iterator[Annotation]:
            for image, asked in of_picture.items():
                for start in range(0, len(asked), settings.turns):
                    some = asked[start : start + settings.turns]
                    if len(some) < 2:
                        continue
                    turns = tuple(Exchange(question=r.question, answer=r.label, answers=r.answers) for r in some)
                    yield Annotation(id=some[0].id, images=(image,), turns=turns)

        return Annotations(records)


READER = VqaDialogues()
