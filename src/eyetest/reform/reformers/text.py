"""Questions that are answered in a few words: reading text, key information, questions about documents, captions."""

from collections.abc import Iterator

import msgspec

from eyetest.reform.annotation import Annotations
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft


class TextSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may be said of them."""

    question: str = "{question}"
    """``{question}`` stands for the record's own."""
    metric: str = "words"


class TextAnswers(Reformer):
    """Keeps a question and all its right answers; that the answer be short is said by the condition's instruction."""

    name = "text"
    summary = "questions answered in a few words, scored against all right answers"
    settings = TextSettings

    def drafts(self, annotations: Annotations, settings: TextSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a record that has an answer."""
        for record in annotations:
            if not record.answers or ("{question}" in settings.question and not record.question):
                kit.passed_over["no question" if record.answers else "no answer"] += 1
                continue
            question = settings.question.replace("{question}", record.question)
            yield draft(
                record,
                question=question,
                references=record.answers,
                tags={"metric": settings.metric},
            )


REFORMER = TextAnswers()
