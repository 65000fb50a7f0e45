"""Questions that come with their own options."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from eyetest.records import MAX_CHOICES, Choice
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, listed_choices, shuffled
from eyetest.reform.reformers.counting import NEAR, numbers_around


class ChoicesSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be said of questions with options."""

    question: str = "{question}"
    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = MAX_CHOICES
    """At most so many: of more the wrong ones are drawn, of numbers those near the right one."""
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
            choices = _choices(record, record.gold, settings.options, kit)
            yield draft(record, question=question, hint=record.hint, choices=choices)


def _choices(record: Annotation, gold: int, most: int, kit: Kit) -> tuple[Choice, ...]:
    """All options of a record in its order, or as many as are wanted."""
    if len(record.options) <= most:
        return listed_choices(record.options, gold)
    chance = kit.chance(record.id, "options")
    right = record.options[gold]
    if all(option.isascii() and option.isdigit() for option in record.options):
        others = [(str(number), NEAR) for number in numbers_around(int(right), most, chance, lowest=0)]
    else:
        wrong = [option for position, option in enumerate(record.options) if position != gold]
        others = [(option, "the dataset's options") for option in chance.sample(wrong, most - 1)]
    return shuffled(right, others, chance)


REFORMER = GivenChoices()
