"""Pictures with a class out of a closed list: which class is it, among classes that are easily taken for it?"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec

from eyetest.benchmarks.picture_folders import CLASS_QUESTION
from eyetest.records import MAX_CHOICES
from eyetest.reform.annotation import Annotations
from eyetest.reform.distractors.classes import ClassDistractors, Hardness
from eyetest.reform.distractors.confusions import read_confusions
from eyetest.reform.distractors.kinship import Way
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, shuffled


class ClassificationSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How classes are asked for."""

    question: str = CLASS_QUESTION
    """``{question}`` stands for the record's own."""
    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 4
    hard: tuple[Way, ...] = ("hierarchy", "similarity")
    """By what classes are near to one another; the first that knows of two classes counts."""
    pool: Annotated[int, msgspec.Meta(ge=1)] = 12
    """How many near classes a class's distractors are drawn from."""
    confusions: str = ""
    """A confusion matrix (CSV), or a run folder whose wrong answers are one; it comes before all other ways."""


class Classification(Reformer):
    """One item a record: its class among others of the list."""

    name = "classification"
    summary = "which class of a closed list a picture belongs to, among hard negatives"
    settings = ClassificationSettings

    def drafts(self, annotations: Annotations, settings: ClassificationSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a record that has a class."""
        golds = Counter(record.label for record in annotations if record.label.strip())
        if not golds:
            kit.passed_over["no class"] += sum(1 for _ in annotations)
            return
        distractors = ClassDistractors(annotations.classes, golds, _hardness(settings, kit))
        for line in distractors.notes:
            kit.note(line)
        for record in annotations:
            if not record.label.strip():
                kit.passed_over["no class"] += 1
                continue
            chance = kit.chance(record.id, "distractors")
            drawn = distractors.draw(record.label, record.also, chance)
            if not drawn:
                kit.passed_over["no other class that may stand beside it"] += 1
                continue
            if len(drawn) < settings.options - 1:
                kit.note(f"some items have fewer than {settings.options} options: no other class may stand there")
            choices = shuffled(distractors.shown(record.label), drawn, chance)
            question = settings.question.replace("{question}", record.question)
            yield draft(record, question=question, hint=record.hint, choices=choices)


def _hardness(settings: ClassificationSettings, kit: Kit) -> Hardness:
    ways = settings.hard
    if settings.confusions and "confusion" not in ways:
        ways = ("confusion", *ways)
    confused = read_confusions(Path(settings.confusions)) if settings.confusions else Counter[tuple[str, str]]()
    return Hardness(options=settings.options, pool=settings.pool, ways=ways, confused=confused, seed=kit.seed)


REFORMER = Classification()
