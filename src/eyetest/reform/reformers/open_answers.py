"""Questions with open answers become questions with options: the right answer among wrong ones of its kind."""

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated, Literal

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.distractors.answer_kinds import TWO_SIDED, KindName
from eyetest.reform.distractors.answers import AnswerDistractors, OpenQuestion, false_negatives, majority
from eyetest.reform.distractors.words import differs, plain
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, Written, draft, shuffled
from eyetest.wording import percent

Source = Literal["rules", "model", "pool"]
_TYPES = ("question_type", "detailed", "type")
"""Tags in which datasets say what a question asks for."""
_MOST_MEASURED = 2_000
"""Records of several people's answers from which the risk of the pool is estimated."""


class OpenAnswerSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How open questions get their options."""

    question: str = "{question}"
    """``{question}`` stands for the record's own."""
    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 4
    sources: tuple[Source, ...] = ("rules", "model", "pool")
    """Where distractors come from, in this order; a later source only fills up what an earlier one leaves open."""
    kinds: tuple[KindName, ...] = ()
    """Only questions with answers of these kinds; empty: all."""
    agreement: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0
    """The least share of a record's answers that have to be the gold: 0.5 leaves out records without a majority."""


class OptionsForAnswers(Reformer):
    """The most frequent right answer among distractors by rule, by a model, or from the dataset's other answers."""

    name = "open-answers"
    summary = "open questions as choice questions, with distractors made by rule, by a model or from other answers"
    settings = OpenAnswerSettings

    def drafts(self, annotations: Annotations, settings: OpenAnswerSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a record that has an answer."""
        questions = (asked for record in annotations if (asked := _open_question(record)) is not None)
        distractors = AnswerDistractors(questions, settings.options, kit.seed)
        if "pool" in settings.sources:
            _tell_risk(annotations, distractors, kit)
        for record in annotations:
            asked = _open_question(record)
            if asked is None or gold_of(record)[1] < settings.agreement:
                kit.passed_over["no answer" if asked is None else "too little agreement"] += 1
                continue
            kind = asked.kind.name
            if settings.kinds and kind not in settings.kinds:
                kit.passed_over["answer of another kind"] += 1
                continue
            chance = kit.chance(record.id, "distractors")
            written = kit.written.get(record.id, ())
            made = _collect(asked, settings, distractors, written, chance)
            if not made:
                kit.passed_over["no distractor"] += 1
                continue
            question = settings.question.replace("{question}", record.question)
            choices = shuffled(asked.gold, made, chance)
            yield draft(record, question=question, hint=record.hint, choices=choices, tags={"answer_kind": kind})


def open_questions(annotations: Annotations, settings: OpenAnswerSettings, kit: Kit) -> Iterator[ItemDraft]:
    """Text items of the records for which a model is to write distractors; the first reference is the gold."""
    rules_first = "rules" in settings.sources[: settings.sources.index("model")]
    for record in annotations:
        asked = _open_question(record)
        if asked is None or gold_of(record)[1] < settings.agreement:
            continue
        kind = asked.kind.name
        if kind in TWO_SIDED or (rules_first and kind != "text") or (settings.kinds and kind not in settings.kinds):
            continue
        right = tuple(dict.fromkeys((asked.gold, *record.answers)))
        question = settings.question.replace("{question}", record.question)
        yield draft(record, question=question, hint=record.hint, references=right)


def gold_of(record: Annotation) -> tuple[str, float]:
    """The answer that the dataset itself names, or that most people gave, and the share that gave it.

    Where several were given as often, it is the first.
    """
    if not record.label:
        return majority(record.answers)
    given = [plain(answer) for answer in record.answers if answer.strip()]
    return record.label, given.count(plain(record.label)) / max(1, len(given))


def _open_question(record: Annotation) -> OpenQuestion | None:
    gold, _ = gold_of(record)
    types = (record.tags.get(tag) for tag in _TYPES)
    type_ = next((said for said in types if isinstance(said, str)), "")
    return OpenQuestion(record.question, gold, record.answers, type_) if gold else None


def _collect(
    asked: OpenQuestion,
    settings: OpenAnswerSettings,
    distractors: AnswerDistractors,
    written: Sequence[Written],
    chance: random.Random,
) -> list[Written]:
    """Distractors from one source after the other, until there are enough."""
    kind = asked.kind.name
    made: list[Written] = []
    for source in settings.sources:
        new: Sequence[Written]
        if source == "rules":
            new = [(text, f"{kind} rule") for text in distractors.by_rule(asked, chance)]
            if new and kind in TWO_SIDED:
                return list(new[:1])
        elif source == "model":
            new = written
        else:
            new = [(text, "pool") for text in distractors.from_pool(asked, chance)]
        for text, author in new:
            if differs(text, [other for other, _ in made]) and not asked.is_right(text):
                made.append((text, author))
        if len(made) >= settings.options - 1:
            break
    return made[: settings.options - 1]


def _tell_risk(annotations: Annotations, distractors: AnswerDistractors, kit: Kit) -> None:
    """Say how often a distractor from the pool would have been right, where several people's answers tell."""
    from scipy.stats import binomtest  # noqa: PLC0415 (slow to load, and few datasets need it)

    questions = (_open_question(record) for record in annotations if len(record.answers) > 2)
    several = (asked for asked in questions if asked is not None)
    hits, total = false_negatives(islice(several, _MOST_MEASURED), distractors, kit.chance("risk"))
    if total:
        bounds = binomtest(hits, total).proportion_ci(0.95, "exact")
        kit.note(
            f"of distractors from the dataset's other answers {percent(hits / total)} were what one more person "
            f"answered ({hits:,} of {total:,}; 95 % interval {percent(bounds.low)} to {percent(bounds.high)})"
        )


REFORMER = OptionsForAnswers()
