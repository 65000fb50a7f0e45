"""Which reason supports the answer: the rationale of a question among those of other questions."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.distractors.words import differs, plain
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, shuffled

_TRIES = 200
_AUTHOR = "rationale of another question"


class RationaleSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How reasons are asked for."""

    question: str = 'The answer to the question "{question}" is "{answer}". Which reason supports it?'
    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 4


class Rationales(Reformer):
    """Distractors are rationales of other pictures' questions that have another answer."""

    name = "rationale"
    summary = "which reason supports the answer, among the reasons of other questions"
    settings = RationaleSettings

    def drafts(self, annotations: Annotations, settings: RationaleSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a record that has an answer and a rationale."""
        known = [record for record in annotations if record.captions and answer_of(record)]
        for record in annotations:
            answer = answer_of(record)
            if not answer or not record.captions:
                kit.passed_over["no answer" if not answer else "no rationale"] += 1
                continue
            chance = kit.chance(record.id, "rationales")
            others = chance.sample(known, min(len(known), _TRIES))
            wrong: list[str] = []
            for other in sorted(others, key=lambda other: -_overlap(record, other)):
                if len(wrong) == settings.options - 1:
                    break
                if other.images == record.images or plain(answer_of(other)) == plain(answer):
                    continue
                if differs(other.captions[0], [*record.captions, *wrong]):
                    wrong.append(other.captions[0])
            if not wrong:
                kit.passed_over["no other rationale"] += 1
                continue
            question = settings.question.replace("{question}", record.question).replace("{answer}", answer)
            choices = shuffled(
                record.captions[0], [(text, "rationale of another question") for text in wrong], chance
            )
            yield draft(record, question=question, choices=choices)


def answer_of(record: Annotation) -> str:
    """The right option's words, or the label, or the first answer; empty where nobody says."""
    if record.gold is not None and record.options:
        return record.options[record.gold] if 0 <= record.gold < len(record.options) else ""
    return record.label or (record.answers[0] if record.answers else "")


def _overlap(one: Annotation, other: Annotation) -> float:
    """How many words two questions share, as a part of all that they have."""
    ours, theirs = set(one.question.casefold().split()), set(other.question.casefold().split())
    return len(ours & theirs) / max(1, len(ours | theirs))


REFORMER = Rationales()
