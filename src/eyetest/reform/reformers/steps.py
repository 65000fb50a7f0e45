"""Instructions step by step: which step does the picture show, which comes next, which came before?"""

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.reform.annotation import Annotations
from eyetest.reform.distractors.words import differs
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, shuffled

_QUESTIONS = {
    "shown": 'The picture shows one step of "{question}". Which one?',
    "next": 'The picture shows one step of "{question}". Which step comes right after it?',
    "previous": 'The picture shows one step of "{question}". Which step comes right before it?',
}
_AWAY = {"shown": 0, "next": 1, "previous": -1}


class StepsSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which step is asked for."""

    ask: Literal["shown", "next", "previous"] = "shown"
    question: str = ""
    """Empty: one that fits what is asked; ``{question}`` stands for what is being done."""
    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 4


class Steps(Reformer):
    """One item a picture; the distractors are other steps of the same instructions."""

    name = "steps"
    summary = "which step of some instructions a picture shows, or which comes next"
    settings = StepsSettings

    def drafts(self, annotations: Annotations, settings: StepsSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a picture whose step is known."""
        question = settings.question or _QUESTIONS[settings.ask]
        for record in annotations:
            position = -1 if record.gold is None else record.gold + _AWAY[settings.ask]
            if not 0 <= position < len(record.steps):
                kit.passed_over["no such step"] += 1
                continue
            gold, chance = record.steps[position], kit.chance(record.id, settings.ask)
            others: list[str] = []
            for step in chance.sample(record.steps, len(record.steps)):
                if len(others) < settings.options - 1 and differs(step, [gold, *others]):
                    others.append(step)
            if not others:
                kit.passed_over["too few steps"] += 1
                continue
            yield draft(
                record,
                question=question.replace("{question}", record.question),
                choices=shuffled(gold, [(step, "another step") for step in others], chance),
                tags={"step": position + 1, "steps": len(record.steps)},
            )


REFORMER = Steps()
