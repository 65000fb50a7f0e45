"""Which caption belongs to this picture? The others are those of other pictures."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.reform.annotation import Annotations
from eyetest.reform.distractors.captions import CaptionPool
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, shuffled


class SelectionSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How captions are offered."""

    question: str = "Which sentence describes the picture?"
    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 4


class CaptionSelection(Reformer):
    """One item a picture."""

    name = "selection"
    summary = "which of several captions describes a picture"
    settings = SelectionSettings

    def drafts(self, annotations: Annotations, settings: SelectionSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a picture that has captions."""
        pool = CaptionPool(annotations)
        for record in annotations:
            if not record.captions:
                kit.passed_over["no caption"] += 1
                continue
            chance = kit.chance(record.id, "selection")
            gold = chance.choice(record.captions)
            others = pool.draw(record, settings.options - 1, chance)
            if not others:
                kit.passed_over["no caption that says something else"] += 1
                continue
            choices = shuffled(gold, [(caption, "caption of another picture") for caption in others], chance)
            yield draft(record, question=settings.question, choices=choices)


REFORMER = CaptionSelection()
