"""Questions that come with answers: with options, with open answers that get some, with reasons, in dialogues."""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Literal

import msgspec

from eyetest.errors import percent
from eyetest.records import MAX_CHOICES, Turn
from eyetest.records.item import DIALOGUE, TURN
from eyetest.reform.annotation import Annotation, Annotations, FileSettings
from eyetest.reform.distractors import differs, plain
from eyetest.reform.distractors.answer_kinds import TWO_SIDED
from eyetest.reform.distractors.answers import AnswerDistractors, OpenQuestion, majority
from eyetest.reform.reformers import (
    ItemDraft,
    Kit,
    Made,
    OptionCount,
    QuestionSettings,
    Written,
    by_record,
    distinct,
    draft,
    listed_choices,
    reformer,
    shuffled,
)

_WHICH_REASON = 'The answer to the question "{question}" is "{answer}". Which reason supports it?'
OPEN_ANSWERS = "open-answers"
Source = Literal["rules", "model", "pool"]
_TYPES = ("question_type", "detailed", "type")  # tags in which datasets say what a question asks for
_MOST_MEASURED = 2_000  # records of several people's answers from which the risk of the pool is estimated
_TRIES = 200  # rationales of other questions among which distractors are sought


class TextSettings(FileSettings, frozen=True):
    """How questions with short answers are asked and scored."""

    question: str = "{question}"
    metric: str = "words"


@by_record("text", "questions answered in a few words, scored against all right answers", TextSettings)
def _text(record: Annotation, settings: TextSettings, kit: Kit) -> Made:
    """A question with all its right answers; the condition's instruction asks for a short answer."""
    if not record.answers or ("{question}" in settings.question and not record.question):
        return "no question" if record.answers else "no answer"
    return draft(record, question=settings.question, references=record.answers, tags={"metric": settings.metric})


class ChoicesSettings(FileSettings, frozen=True):
    """How questions with options are asked."""

    question: str = "{question}"
    options: OptionCount = MAX_CHOICES  # at most; wrong ones are drawn
    shuffle: bool = False  # where the dataset lists the right one first


@by_record("choices", "questions that come with their own options", ChoicesSettings)
def _choices(record: Annotation, settings: ChoicesSettings, kit: Kit) -> Made:
    if record.gold is None or len(record.options) < 2:
        return "no gold" if record.gold is None else "fewer than two options"
    if not record.images:
        return "no image belongs to it"
    choices = listed_choices(record.options, record.gold)
    if len(choices) > settings.options:
        chance = kit.chance(record.id, "options")
        wrong = [(choice.text, "the dataset's options") for choice in choices if not choice.correct]
        choices = shuffled(record.options[record.gold], chance.sample(wrong, settings.options - 1), chance)
    if settings.shuffle:
        choices = tuple(kit.chance(record.id, "order").sample(choices, len(choices)))
    return draft(record, question=settings.question, hint=record.hint, choices=choices)


class OpenAnswerSettings(FileSettings, frozen=True):
    """How open questions get their options."""

    question: str = "{question}"
    options: OptionCount = 4
    sources: tuple[Source, ...] = ("rules", "model", "pool")
    """Sources of distractors in order; a later source only fills the gaps of earlier ones."""
    agreement: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0
    """Least share of a record's answers that equal the gold: 0.5 leaves out records without a majority."""


@reformer(
    OPEN_ANSWERS,
    "open questions as choice questions, with distractors made by rule, by a model or from other answers",
    OpenAnswerSettings,
)
def _open_answers(annotations: Annotations, settings: OpenAnswerSettings, kit: Kit) -> Callable[[Annotation], Made]:
    questions = (asked for record in annotations if (asked := _open_question(record)) is not None)
    distractors = AnswerDistractors(questions, settings.options)
    if "pool" in settings.sources:
        _note_risk(annotations, distractors, kit)

    def make(record: Annotation) -> Made:
        asked = _to_ask(record, settings)
        if isinstance(asked, str):
            return asked
        chance = kit.chance(record.id, "distractors")
        written = _collect(asked, settings, distractors, kit.written.get(record.id, ()), chance)
        if not written:
            return "no distractor"
        choices, tags = shuffled(asked.gold, written, chance), {"answer_kind": asked.kind.name}
        return draft(record, question=settings.question, hint=record.hint, choices=choices, tags=tags)

    return make


def open_questions(annotations: Annotations, settings: OpenAnswerSettings, kit: Kit) -> Iterator[ItemDraft]:
    """Text items of the records for which a model is to write distractors; the first reference is the gold."""
    rules_first = "rules" in settings.sources[: settings.sources.index("model")]
    for record in annotations:
        asked = _to_ask(record, settings)
        if isinstance(asked, str) or asked.kind.name in TWO_SIDED or (rules_first and asked.kind.name != "text"):
            continue
        right = tuple(dict.fromkeys((asked.gold, *record.answers)))
        yield draft(record, question=settings.question, hint=record.hint, references=right)


def _to_ask(record: Annotation, settings: OpenAnswerSettings) -> OpenQuestion | str:
    """The question of a record, or why it makes no item."""
    asked = _open_question(record)
    if asked is None or gold_of(record)[1] < settings.agreement:
        return "no answer" if asked is None else "too little agreement"
    return asked


def gold_of(record: Annotation) -> tuple[str, float]:
    """The answer that the dataset itself names, or the most frequent one (the first of several), and its share."""
    if not record.label:
        return majority(record.answers)
    given = [plain(answer) for answer in record.answers if answer.strip()]
    return record.label, given.count(plain(record.label)) / max(1, len(given))


def _open_question(record: Annotation) -> OpenQuestion | None:
    gold, _ = gold_of(record)
    types = (record.tags.get(tag) for tag in _TYPES)
    type_ = next((value for value in types if isinstance(value, str)), "")
    return OpenQuestion(record.question, gold, record.answers, type_) if gold else None


def _collect(
    asked: OpenQuestion,
    settings: OpenAnswerSettings,
    distractors: AnswerDistractors,
    written: Sequence[Written],
    chance: random.Random,
) -> list[Written]:
    kind = asked.kind.name
    made: list[Written] = []
    for source in settings.sources:
        new = list(written)
        if source == "rules":
            new = [(text, f"{kind} rule") for text in distractors.by_rule(asked, chance)]
            if new and kind in TWO_SIDED:
                return new[:1]
        elif source == "pool":
            new = [(text, "pool") for text in distractors.from_pool(asked, chance)]
        for text, author in new:
            if differs(text, [other for other, _ in made]) and not asked.is_right(text):
                made.append((text, author))
        if len(made) >= settings.options - 1:
            break
    return made[: settings.options - 1]


def _note_risk(annotations: Annotations, distractors: AnswerDistractors, kit: Kit) -> None:
    """Note how often a distractor from the pool is the answer of a person that was held out when it was drawn."""
    from scipy.stats import binomtest  # noqa: PLC0415 (slow to load, and few datasets need it)

    questions = (_open_question(record) for record in annotations if len(record.answers) > 2)
    several = (asked for asked in questions if asked is not None)
    hits, total, chance = 0, 0, kit.chance("risk")
    for asked in islice(several, _MOST_MEASURED):
        answers = list(asked.right)
        held_out = answers.pop(chance.randrange(len(answers)))
        known = OpenQuestion(asked.question, majority(answers)[0], tuple(answers), asked.type)
        drawn = distractors.from_pool(known, chance)
        total += len(drawn)
        hits += sum(plain(text) == plain(held_out) for text in drawn)
    if total:
        bounds = binomtest(hits, total).proportion_ci(0.95, "exact")
        kit.note(
            f"of distractors from the dataset's other answers {percent(hits / total)} were what one more person "
            f"answered ({hits:,} of {total:,}; 95 % interval {percent(bounds.low)} to {percent(bounds.high)})"
        )


@reformer("rationale", "which reason supports the answer, among the reasons of other questions", QuestionSettings)
def _rationales(annotations: Annotations, settings: QuestionSettings, kit: Kit) -> Callable[[Annotation], Made]:
    """Rationales of other images' questions with another answer, as distractors."""
    known = [record for record in annotations if record.captions and _answer_of(record)]

    def make(record: Annotation) -> Made:
        answer = _answer_of(record)
        if not answer or not record.captions:
            return "no rationale" if answer else "no answer"
        chance = kit.chance(record.id, "rationales")
        tried = sorted(chance.sample(known, min(len(known), _TRIES)), key=lambda other: -_overlap(record, other))
        others = [o for o in tried if o.images != record.images and plain(_answer_of(o)) != plain(answer)]
        wrong = distinct((other.captions[0] for other in others), record.captions, settings.options - 1)
        if not wrong:
            return "no other rationale"
        question = (settings.question or _WHICH_REASON).replace("{answer}", answer)
        choices = shuffled(record.captions[0], [(text, "rationale of another question") for text in wrong], chance)
        return draft(record, question=question, choices=choices)

    return make


def _answer_of(record: Annotation) -> str:
    """The right option's words, or the label, or the first answer; empty where there is none."""
    if record.gold is not None and record.options:
        return record.options[record.gold] if 0 <= record.gold < len(record.options) else ""
    return record.label or (record.answers[0] if record.answers else "")


def _overlap(record: Annotation, other: Annotation) -> float:
    ours, theirs = set(record.question.casefold().split()), set(other.question.casefold().split())
    return len(ours & theirs) / max(1, len(ours | theirs))


Stance = Literal["yes", "no", "unsure", "number", "other"]
_POLAR = re.compile(
    r"(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|any|isn'?t|aren'?t|doesn'?t|don'?t)\b"
)
_YES = re.compile(r"(?:yes|yeah|yep|yup|sure|correct|definitely|probably|i think so|i believe so|seems? like it)\b")
_NO = re.compile(r"\b(?:no|nope|none|not|never|nothing|neither|nobody|\w+n't|dont|doesnt|isnt|arent|cant)\b")
_UNSURE = re.compile(
    r"(?:can(?:'|no)?t|couldn'?t|not) (?:really )?(?:tell|see|sure|know|say)|don'?t know|unsure|maybe|possibly"
    r"|hard to (?:tell|say)|kind of|sort of|could be|guess"
)
_NUMBER = re.compile(
    r"\b(?:\d+|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|many|few|lots|couple|dozen)\b"
)
_SAYS_NOTHING = re.compile(
    r"an?|the|is|are|its?|it's|i|i'm|think|see|there|this|that|they|he|she|his|her|be|of|in|on|at|to|and|or|with|as|"
    r"looks?|like|appears?|seems?|some|yes|no|not|just|only|very|could|would|can|from|what|you"
)
_FIRST_WORDS = 5


def stance(answer: str) -> Stance:
    """Kind of answer of a text, by its first words."""
    text = answer.casefold().strip()
    if not text or _UNSURE.search(text):
        return "unsure"
    if _YES.match(text):
        return "yes"
    if _NO.search(" ".join(text.split()[:_FIRST_WORDS])):
        return "no"
    return "number" if _NUMBER.search(text) else "other"


def from_candidates(
    question: str, right: Sequence[str], candidates: Sequence[str], count: int, chance: random.Random
) -> list[str]:
    """The gold, then up to so many candidates that contradict every right answer; none where that is undecidable."""
    kind = stance(right[0])
    if kind == "unsure":
        return []
    if _POLAR.match(question.casefold().strip()) and " or " not in question.casefold():
        opposite = {"yes": "no", "no": "yes"}.get(kind)
        if opposite in {stance(answer) for answer in right}:
            return []
        contrary = [text for text in dict.fromkeys(candidates) if stance(text) == opposite]
        return sorted(contrary, key=lambda text: (len(text.split()), text))[:1]
    if kind in ("yes", "no"):
        return []
    taken = {word for answer in right for word in _telling(answer)}
    wrong = [text for text in dict.fromkeys(candidates) if stance(text) == kind and not taken & _telling(text)]
    chance.shuffle(wrong)
    return distinct(wrong, right, count)


def _telling(text: str) -> set[str]:
    """Content words, without a plural's s."""
    words = re.findall(r"[\w']+", text.casefold())
    return {word.removesuffix("s") for word in words if not _SAYS_NOTHING.fullmatch(word)}


class DialogueSettings(FileSettings, frozen=True):
    """How turns get their options."""

    options: OptionCount = 4
    turns: Annotated[int, msgspec.Meta(ge=1)] = 10  # at most, where questions about an image become dialogues


@reformer("dialogue", "dialogues, an item for each turn with the turns before it", DialogueSettings)
def _dialogues(annotations: Annotations, settings: DialogueSettings, kit: Kit) -> Iterator[Made]:
    """An item for each turn, with the turns before it; distractors are its candidates, or as for open questions."""
    if any(turn.options for record in annotations for turn in record.turns):
        return (result for record in annotations for result in _with_candidates(record, settings, kit))
    has_turns = any(record.turns for record in annotations)
    dialogues = annotations if has_turns else _by_image(annotations, settings.turns)
    return _without_candidates(dialogues, settings, kit)


def _by_image(annotations: Iterable[Annotation], most: int) -> list[Annotation]:
    """Dialogues of at most so many questions with an answer about an image; one question is none."""
    of_image: dict[str | bytes, list[Annotation]] = defaultdict(list)
    for record in annotations:
        if record.label and record.images:
            of_image[record.images[0]].append(record)
    dialogues = []
    for image, asked in of_image.items():
        for start in range(0, len(asked), most):
            some = asked[start : start + most]
            dialogues += [Annotation(id=some[0].id, images=(image,), turns=tuple(some))] if len(some) > 1 else []
    return dialogues


def _with_candidates(record: Annotation, settings: DialogueSettings, kit: Kit) -> Iterator[Made]:
    for number, turn in enumerate(record.turns, 1):
        chance = kit.chance(record.id, number)
        right = (turn.label, *turn.answers)
        wrong = from_candidates(turn.question, right, turn.options, settings.options - 1, chance)
        if not wrong:
            yield "no candidate surely contradicts the answer"
            continue
        yield draft(
            record,
            str(number),
            question=turn.question,
            hint=record.captions[0] if record.captions else "",
            history=_before(record, number),
            choices=shuffled(turn.label, [(text, "candidates") for text in wrong], chance),
            tags={DIALOGUE: record.id, TURN: number},
        )


def _without_candidates(
    annotations: Iterable[Annotation], settings: DialogueSettings, kit: Kit
) -> Iterator[ItemDraft]:
    """Every turn as an open question, which then gets back its position in the dialogue."""
    known: dict[str, tuple[Annotation, int]] = {}

    def turns() -> Iterator[Annotation]:
        for record in annotations:
            for number, turn in enumerate(record.turns, 1):
                name, answers = f"{record.id}:{number}", turn.answers or (turn.label,)
                known[name] = (record, number)
                yield Annotation(
                    id=name, images=record.images, question=turn.question, label=turn.label, answers=answers
                )

    for made in _open_answers.drafts(Annotations(turns), OpenAnswerSettings(options=settings.options), kit):
        record, number = known[made.record]
        tags = made.item.tags | record.tags | {DIALOGUE: record.id, TURN: number}
        item = msgspec.structs.replace(made.item, history=_before(record, number), tags=tags)
        yield msgspec.structs.replace(made, item=item)


def _before(record: Annotation, number: int) -> tuple[Turn, ...]:
    return tuple(Turn(turn.question, turn.label) for turn in record.turns[: number - 1])


REFORMER = (_text, _choices, _open_answers, _rationales, _dialogues)
