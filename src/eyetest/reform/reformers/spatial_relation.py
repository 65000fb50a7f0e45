"""How two things stand to each other: a true statement among others that cannot be true of the same view."""

import re
from collections.abc import Iterator
from random import Random
from typing import Annotated

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.distractors.relations import VERBS, excluded
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, shuffled


class SpatialRelationSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How relations are asked for."""

    question: str = "Which of these is true of the picture?"
    """Where the record has none of its own."""
    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 4
    """At most so many; a relation that excludes only one other has two."""


class SpatialRelation(Reformer):
    """One item a true caption, among the same with relations that it excludes or that the dataset calls false."""

    name = "spatial-relation"
    summary = "which statement about the place of two things is true, among relations that exclude one another"
    settings = SpatialRelationSettings

    def drafts(self, annotations: Annotations, settings: SpatialRelationSettings, kit: Kit) -> Iterator[ItemDraft]:
        """Items of the captions that are true, and whose relation excludes another."""
        for record in annotations:
            if record.label != "true":
                kit.passed_over["the caption is false" if record.label == "false" else "no label"] += 1
                continue
            chance = kit.chance(record.id, "relations")
            others = _false_statements(record, chance)[: settings.options - 1]
            if not others:
                kit.passed_over["the relation excludes no other"] += 1
                continue
            choices = shuffled(record.captions[0], others, chance)
            yield draft(record, question=record.question or settings.question, hint=record.hint, choices=choices)


def _false_statements(record: Annotation, chance: Random) -> list[tuple[str, str]]:
    (caption,) = record.captions[:1]
    if record.gold is not None:
        return [(text, "false by the dataset") for n, text in enumerate(record.options) if n != record.gold]
    parts = re.fullmatch(rf"(.+?)(?: is| are)? {re.escape(record.relation)} (.+)", caption, re.IGNORECASE)
    if parts is None or not record.relation:
        return []
    return [
        (f"{parts[1]} {relation if relation in VERBS else f'is {relation}'} {parts[2]}", author)
        for relation, author in excluded(record.relation, chance)
    ]


REFORMER = SpatialRelation()
