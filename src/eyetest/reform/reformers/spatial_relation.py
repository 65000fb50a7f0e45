"""How two things stand to each other: a true statement among others that cannot be true of the same view."""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.distractors.relations import VERBS, excluded, matched
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, shuffled


class SpatialRelationSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How relations are asked for."""

    question: str = "Which of these is true of the picture?"
    """Where the record has none of its own."""
    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 4
    """At most so many; a relation that excludes only one other has two."""
    matched: bool = False
    """Two options, the wrong one being another caption's relation: each is then wrong exactly as often as right, and
    captions for which no other is left make no item."""


class SpatialRelation(Reformer):
    """One item a true caption, among the same with relations that it excludes or that the dataset calls false."""

    name = "spatial-relation"
    summary = "which statement about the place of two things is true, among relations that exclude one another"
    settings = SpatialRelationSettings

    def drafts(self, annotations: Annotations, settings: SpatialRelationSettings, kit: Kit) -> Iterator[ItemDraft]:
        """Items of the captions that are true, and whose relation excludes another."""
        partners = _partners(annotations, kit) if settings.matched else {}
        for record in annotations:
            if record.label != "true":
                kit.passed_over["the caption is false" if record.label == "false" else "no label"] += 1
                continue
            chance = kit.chance(record.id, "relations")
            if record.gold is not None:
                others = [(text, "false by the dataset") for n, text in enumerate(record.options) if n != record.gold]
            elif settings.matched:
                others = _said_of(record, partners.get(record.id, ()))
            else:
                others = _said_of(record, excluded(record.relation, chance))
            if not others:
                kit.passed_over["no relation is left that it excludes"] += 1
                continue
            choices = shuffled(record.captions[0], others[: settings.options - 1], chance)
            yield draft(record, question=record.question or settings.question, hint=record.hint, choices=choices)


def _partners(annotations: Annotations, kit: Kit) -> dict[str, list[tuple[str, str]]]:
    """The relation that each true caption's own is set against."""
    told = [(record.id, record.relation) for record in annotations if record.label == "true" and record.gold is None]
    pairs = matched([relation for _, relation in told], kit.chance("partners"))
    return {told[position][0]: [other] for position, other in pairs.items()}


def _said_of(record: Annotation, relations: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The record's caption with other relations in the place of its own."""
    parts = re.fullmatch(rf"(.+?)(?: is| are)? {re.escape(record.relation)} (.+)", record.captions[0], re.IGNORECASE)
    if parts is None or not record.relation:
        return []
    return [
        (f"{parts[1]} {relation if relation in VERBS else f'is {relation}'} {parts[2]}", author)
        for relation, author in relations
    ]


REFORMER = SpatialRelation()
