"""Does the picture, and what else is told, bear out a statement: yes, no, or is it not to be said?"""

from collections.abc import Iterator

import msgspec

from eyetest.reform.annotation import Annotations
from eyetest.reform.distractors.words import plain
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, listed_choices

_ANSWERS = {
    "entailment": "yes",
    "neutral": "not sure",
    "contradiction": "no",
    "supported": "yes",
    "nei": "not sure",
    "not enough information": "not sure",
    "refuted": "no",
}


class EntailmentSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a statement is asked about, and which answer each label stands for."""

    question: str = 'Going by the picture, is this statement true? "{question}"'
    answers: dict[str, str] = msgspec.field(default_factory=lambda: dict(_ANSWERS))
    """Labels are compared without case."""


class Entailment(Reformer):
    """One item a statement; the label as it was annotated is a tag."""

    name = "entailment"
    summary = "whether a statement is true of a picture: yes, not sure, no"
    settings = EntailmentSettings

    def drafts(self, annotations: Annotations, settings: EntailmentSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a statement that has a label."""
        answers = {plain(label): answer for label, answer in settings.answers.items()}
        options = tuple(dict.fromkeys(settings.answers.values()))
        for record in annotations:
            answer = answers.get(plain(record.label))
            if answer is None:
                kit.passed_over[f'no answer for the label "{record.label}"' if record.label else "no label"] += 1
                continue
            yield draft(
                record,
                question=settings.question.replace("{question}", record.question),
                hint=record.hint,
                choices=listed_choices(options, options.index(answer)),
                tags={"label": record.label},
            )


REFORMER = Entailment()
