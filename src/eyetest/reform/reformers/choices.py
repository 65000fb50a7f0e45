"""Questions that come with their own options."""

from collections.abc import Iterator

import msgspec

from eyetest.reform.annotation import Annotations
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, listed_choices


class ChoicesSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be said of questions with options."""

    question: str = "{question}"
    without_picture: bool = False
    """Whether questions about no picture are taken as well."""


class GivenChoices(Reformer):
    """Keeps question, options and gold as the dataset has them."""

    name = "choices"
    summary = "questions that come with their own options"
    settings = ChoicesSettings

    def drafts(self, annotations: Annotations, settings: ChoicesSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a record."""
        for record in annotations:
            if record.gold is None or len(record.options) < 2:
                kit.passed_over["no gold" if record.gold is None else "fewer than two options"] += 1
                continue
            if not record.images and not settings.without_picture:
                kit.passed_over["no picture belongs to it"] += 1
                continue
            question = settings.question.replace("{question}", record.question)
            choices = listed_choices(record.options, record.gold)
            yield draft(record, question=question, hint=record.hint, choices=choices)


REFORMER = GivenChoices()
