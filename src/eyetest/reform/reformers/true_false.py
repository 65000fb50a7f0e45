"""Statements about a picture that are true or false."""

from collections.abc import Iterator

import msgspec

from eyetest.reform.annotation import Annotations
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, listed_choices

_GOLD = {"true": 0, "false": 1}


class TrueFalseSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a statement is asked about."""

    question: str = "Is this true of the picture? {caption}"
    """``{caption}`` stands for the statement."""
    options: tuple[str, str] = ("yes", "no")
    """What is said where it is true, and where it is false."""


class TrueFalse(Reformer):
    """One item a statement that the dataset calls true or false."""

    name = "true-false"
    summary = "whether a statement is true of the picture"
    settings = TrueFalseSettings

    def drafts(self, annotations: Annotations, settings: TrueFalseSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a record with a caption and a label."""
        for record in annotations:
            if record.label not in _GOLD or not record.captions:
                kit.passed_over["no label" if record.captions else "no caption"] += 1
                continue
            question = settings.question.replace("{caption}", record.captions[0])
            choices = listed_choices(settings.options, _GOLD[record.label])
            yield draft(record, question=question, hint=record.hint, choices=choices)


REFORMER = TrueFalse()
