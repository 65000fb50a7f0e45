"""Pictures with a class out of a closed list: which class is it, among classes that are easily taken for it?"""

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.reform.annotation import Annotations
from eyetest.reform.distractors.words import differs
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, shuffled

Way = Literal["hierarchy", "groups", "similarity", "confusion"]


class ClassificationSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How classes are asked for."""

    question: str = "What does this picture show?"
    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 4
    hard: tuple[Way, ...] = ("hierarchy", "similarity")
    """Which classes are easily taken for one another, the first way that knows of two classes first."""
    pool: Annotated[int, msgspec.Meta(ge=1)] = 12
    """How many of the hardest classes a class's distractors are drawn from."""
    confusions: str = ""
    """A confusion matrix (CSV), or a run folder whose wrong answers are one."""


class Classification(Reformer):
    """One item a record: its class among others of the list."""

    name = "classification"
    summary = "which class of a closed list a picture belongs to, among hard negatives"
    settings = ClassificationSettings

    def drafts(self, annotations: Annotations, settings: ClassificationSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a record that has a class."""
        names = [one.name for one in annotations.classes]
        names = names or list(dict.fromkeys(record.label for record in annotations if record.label))
        for record in annotations:
            if not record.label:
                kit.passed_over["no class"] += 1
                continue
            chance = kit.chance(record.id, "distractors")
            others = [name for name in names if differs(name, [record.label, *record.also])]
            drawn = chance.sample(others, min(settings.options - 1, len(others)))
            if not drawn:
                kit.passed_over["no other class"] += 1
                continue
            choices = shuffled(record.label, [(name, "random") for name in drawn], chance)
            question = settings.question.replace("{question}", record.question)
            yield draft(record, question=question, hint=record.hint, choices=choices)


REFORMER = Classification()
