"""Questions with open answers become questions with options: the right answer among wrong ones of its kind."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.distractors.words import differs, plain
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, shuffled

Source = Literal["rules", "model", "pool"]


class OpenAnswerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How open questions get their options."""

    question: str = "{question}"
    """``{question}`` stands for the record's own."""
    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 4
    sources: tuple[Source, ...] = ("rules", "model", "pool")
    """Where distractors come from, the first that has enough of them first."""
    kinds: tuple[str, ...] = ()
    """Only answers of these kinds: number, yes-no, colour …; empty: all."""
    agreement: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0
    """The least share of a record's answers that have to be the gold: 0.5 leaves out records without a majority."""


class OptionsForAnswers(Reformer):
    """The most frequent right answer among distractors by rule, by a model, or from the dataset's other answers."""

    name = "open-answers"
    summary = "open questions as choice questions, with distractors made by rule, by a model or from other answers"
    settings = OpenAnswerSettings

    def drafts(self, annotations: Annotations, settings: OpenAnswerSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a record that has an answer."""
        pool = list(dict.fromkeys(gold for record in annotations if (gold := gold_of(record)[0])))
        for record in annotations:
            gold, share = gold_of(record)
            if not gold or share < settings.agreement:
                kit.passed_over["too little agreement" if gold else "no answer"] += 1
                continue
            chance = kit.chance(record.id, "distractors")
            if plain(gold) in ("yes", "no"):
                drawn = ["no" if plain(gold) == "yes" else "yes"]
            else:
                others = [answer for answer in pool if differs(answer, [gold, *record.answers])]
                drawn = chance.sample(others, min(settings.options - 1, len(others)))
            if not drawn:
                kit.passed_over["no distractor"] += 1
                continue
            choices = shuffled(gold, [(answer, "pool") for answer in drawn], chance)
            question = settings.question.replace("{question}", record.question)
            yield draft(record, question=question, hint=record.hint, choices=choices)


def gold_of(record: Annotation) -> tuple[str, float]:
    """The answer that the dataset itself names, or that most people gave, and the share that gave it.

    Where several were given as often, it is the first.
    """
    answers = [answer.strip() for answer in record.answers if answer.strip()]
    if record.label:
        return record.label, sum(plain(answer) == plain(record.label) for answer in answers) / max(1, len(answers))
    if not answers:
        return "", 0.0
    said, count = Counter(map(plain, answers)).most_common(1)[0]
    return next(answer for answer in answers if plain(answer) == said), count / len(answers)


REFORMER = OptionsForAnswers()
