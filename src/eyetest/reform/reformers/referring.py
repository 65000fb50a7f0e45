"""Expressions that single out one object: which of them means the box, or which box is meant?"""

from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, Literal

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.reform.annotation import Annotation, Annotations, Region
from eyetest.reform.distractors.words import differs, plain
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, shuffled
from eyetest.reform.reformers.grounding import common_part, corners, pointing, said_box

_QUESTIONS = {
    "drawn": "Which expression means what is in the red box?",
    "said": "Which expression means what is in the box with the corners {box}? {frame}",
}
_WHICH_BOX = 'In which box is this: "{expression}"? {frame}'
_SAME_PLACE = 0.5
_TRIES = 50


class ReferringSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked, and how a box is shown."""

    ask: Literal["expression", "box"] = "expression"
    show: Literal["drawn", "said"] = "drawn"
    """The box of ``ask: expression``; boxes that are options are said."""
    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 4


class Referring(Reformer):
    """One item an object; other objects of the picture come first among the distractors."""

    name = "referring"
    summary = "which expression means the object in a box (ask: expression), or which box it means (ask: box)"
    settings = ReferringSettings

    def drafts(self, annotations: Annotations, settings: ReferringSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item an object that has a box and an expression."""
        pool = [] if settings.ask == "box" else [region for region in map(_meant, annotations) if region]
        for record in annotations:
            region = _meant(record)
            if region is None or not region.expressions:
                kit.passed_over["no expression" if region else "no box"] += 1
                continue
            chance = kit.chance(record.id, settings.ask)
            expression = chance.choice(region.expressions)
            asked: dict[str, Any]
            if settings.ask == "box":
                gold, others = corners(region.box), _other_boxes(record, region)
                question = said_box(_WHICH_BOX, record, region.box)
                asked = {"question": question.replace("{expression}", expression)}
            else:
                gold, others = expression, _other_expressions(record, region, pool, chance)
                asked = pointing(record, region.box, settings.show, _QUESTIONS)
            others = _distinct(gold, region, others)[: settings.options - 1]
            if not others:
                kit.passed_over["no other object"] += 1
                continue
            yield draft(
                record,
                **asked,
                choices=shuffled(gold, others, chance),
                tags={"box": [round(side, 2) for side in region.box]}
                | ({"class": region.label} if region.label else {}),
            )


def _meant(record: Annotation) -> Region | None:
    return None if record.gold is None else record.regions[record.gold]


def _distinct(gold: str, region: Region, others: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Distractors that differ from each other and from everything that was said of the object."""
    taken = [gold, *region.expressions]
    distinct = []
    for text, how in others:
        if differs(text, taken):
            taken.append(text)
            distinct.append((text, how))
    return distinct


def _elsewhere(record: Annotation, region: Region) -> list[Region]:
    """Objects of the picture that are not the same one under another number."""
    return [other for other in record.regions if common_part(other.box, region.box) < _SAME_PLACE]


def _other_boxes(record: Annotation, region: Region) -> list[tuple[str, str]]:
    return [(corners(other.box), "another object's box") for other in _elsewhere(record, region)]


def _other_expressions(
    record: Annotation, region: Region, pool: list[Region], chance: Random
) -> list[tuple[str, str]]:
    """What was said of other objects in the picture; then of objects elsewhere, of a class that is not in it."""
    here = [other for other in _elsewhere(record, region) if other.expressions]
    chance.shuffle(here)
    others = [(chance.choice(other.expressions), "of another object in the picture") for other in here]
    labels = {plain(other.label) for other in record.regions}
    for other in chance.sample(pool, min(_TRIES, len(pool))):
        if other.label and other.expressions and plain(other.label) not in labels:
            others.append((chance.choice(other.expressions), "of an object in another picture"))
    return others


REFORMER = Referring()
