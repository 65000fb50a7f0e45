"""Captions: a picture is described in a sentence, and several people's sentences are the references."""

from collections.abc import Iterator

import msgspec

from eyetest.reform.annotation import Annotations
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft


class CaptionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a description is asked for."""

    question: str = "Describe this picture in one short sentence."
    metric: str = "cider"


class Caption(Reformer):
    """One item a picture."""

    name = "caption"
    summary = "a picture described in a sentence, scored against people's captions"
    settings = CaptionSettings

    def drafts(self, annotations: Annotations, settings: CaptionSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a picture that somebody described."""
        for record in annotations:
            if record.captions:
                tags = {"metric": settings.metric}
                yield draft(record, question=settings.question, references=record.captions, tags=tags)
            else:
                kit.passed_over["no caption"] += 1


REFORMER = Caption()
