"""Dialogues about a picture: an item for each turn, with the turns before it."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from eyetest.records import MAX_CHOICES, Turn
from eyetest.records.item import DIALOGUE, TURN
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.distractors.candidates import from_candidates
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, shuffled
from eyetest.reform.reformers.open_answers import REFORMER as OPEN_ANSWERS
from eyetest.reform.reformers.open_answers import OpenAnswerSettings


class DialogueSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How turns get their options."""

    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 4
    caption_as_hint: bool = True
    """Whether the caption that a dialogue began with is told."""


class DialogueTurns(Reformer):
    """Distractors come from the turn's own candidates, or else as for any open question."""

    name = "dialogue"
    summary = "dialogues, an item for each turn with the turns before it"
    settings = DialogueSettings

    def drafts(self, annotations: Annotations, settings: DialogueSettings, kit: Kit) -> Iterator[ItemDraft]:
        """The turns of every dialogue in order."""
        if any(turn.options for record in annotations for turn in record.turns):
            for record in annotations:
                yield from _with_candidates(record, settings, kit)
        else:
            yield from _without_candidates(annotations, settings, kit)


def _with_candidates(record: Annotation, settings: DialogueSettings, kit: Kit) -> Iterator[ItemDraft]:
    for number, turn in enumerate(record.turns, 1):
        chance = kit.chance(record.id, number)
        right = (turn.answer, *turn.answers)
        wrong = from_candidates(turn.question, right, turn.options, settings.options - 1, chance)
        if not wrong:
            kit.passed_over["no candidate surely contradicts the answer"] += 1
            continue
        yield draft(
            record,
            str(number),
            question=turn.question,
            hint=record.captions[0] if record.captions and settings.caption_as_hint else "",
            history=_before(record, number),
            choices=shuffled(turn.answer, [(text, "candidates") for text in wrong], chance),
            tags=_place_in(record, number),
        )


def _without_candidates(annotations: Annotations, settings: DialogueSettings, kit: Kit) -> Iterator[ItemDraft]:
    """Every turn as an open question of its own, which then gets its place in the dialogue back."""
    known: dict[str, tuple[Annotation, int]] = {}

    def turns() -> Iterator[Annotation]:
        for record in annotations:
            for number, turn in enumerate(record.turns, 1):
                name = f"{record.id}:{number}"
                known[name] = (record, number)
                answers = turn.answers or (turn.answer,)
                yield Annotation(
                    id=name, images=record.images, question=turn.question, label=turn.answer, answers=answers
                )

    how = OpenAnswerSettings(options=settings.options)
    for made in OPEN_ANSWERS.drafts(Annotations(turns), how, kit):
        record, number = known[made.record]
        tags = record.tags | _place_in(record, number)
        item = msgspec.structs.replace(made.item, history=_before(record, number), tags=made.item.tags | tags)
        yield msgspec.structs.replace(made, item=item)


def _before(record: Annotation, number: int) -> tuple[Turn, ...]:
    return tuple(Turn(turn.question, turn.answer) for turn in record.turns[: number - 1])


def _place_in(record: Annotation, number: int) -> dict[str, object]:
    return {DIALOGUE: record.id, TURN: number}


REFORMER = DialogueTurns()
