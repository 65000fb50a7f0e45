"""Captions and statements: describe an image, what fits or is true of it, what is wrong with it, which step it is."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Literal

import msgspec

from eyetest.reform.annotation import Annotation, Annotations, FileSettings
from eyetest.reform.distractors import plain
from eyetest.reform.reformers import (
    Kit,
    Made,
    OptionCount,
    QuestionSettings,
    Shown,
    by_record,
    distinct,
    draft,
    listed_choices,
    reformer,
    shuffled,
)

_TRIES = 200
_SHORTEST = 3  # shorter words (a, of, on …) say nothing of what is seen
_COMMON = frozenset(
    ("with", "and", "the", "are", "that", "this", "its", "his", "her", "their", "from", "into", "there")
)
_WHICH_CAPTION = "Which sentence describes the image?"
_NO_CAPTION = "no caption"
_NO_OTHER = "no caption that says something else"


class CaptionSettings(FileSettings, frozen=True):
    """How a description is asked for."""

    question: str = "Describe this image in one short sentence."
    metric: str = "cider"


@by_record("caption", "an image described in a sentence, scored against people's captions", CaptionSettings)
def _described(record: Annotation, settings: CaptionSettings, kit: Kit) -> Made:
    if not record.captions:
        return _NO_CAPTION
    return draft(record, question=settings.question, references=record.captions, tags={"metric": settings.metric})


class _CaptionPool:
    """Captions of other images that share no content word with those of an image, nor with each other."""

    def __init__(self, records: Iterable[Annotation]) -> None:
        self._captions = [(record.id, caption) for record in records for caption in record.captions]

    def draw(self, record: Annotation, count: int, chance: random.Random) -> list[str]:
        """At most so many captions of other images."""
        taken = frozenset().union(*map(_content, record.captions))
        drawn: list[str] = []
        for _ in range(count * _TRIES):
            key, caption = chance.choice(self._captions)
            words = _content(caption)
            if key != record.id and words and words.isdisjoint(taken):
                taken |= words
                drawn.append(caption)
            if len(drawn) == count:
                break
        return drawn


@lru_cache(maxsize=100_000)
def _content(text: str) -> frozenset[str]:
    """Words of a text that describe visible content."""
    return frozenset(word for word in plain(text).split() if len(word) >= _SHORTEST or word.isdigit()) - _COMMON


class MatchingSettings(FileSettings, frozen=True):
    """How a caption is asked about."""

    question: str = 'Does this sentence describe the image? "{caption}"'


@reformer("matching", "whether a caption describes an image: yes or no", MatchingSettings)
def _matching(annotations: Annotations, settings: MatchingSettings, kit: Kit) -> Callable[[Annotation], Made]:
    """One item per image: its own caption (yes), or a different one of another image (no)."""
    pool = _CaptionPool(annotations)

    def make(record: Annotation) -> Made:
        if not record.captions:
            return _NO_CAPTION
        chance = kit.chance(record.id, "matching")
        fits = chance.random() < 0.5
        captions = [chance.choice(record.captions)] if fits else pool.draw(record, 1, chance)
        if not captions:
            return _NO_OTHER
        return draft(
            record,
            question=settings.question.replace("{caption}", captions[0]),
            choices=listed_choices(("yes", "no"), 0 if fits else 1),
            tags={"caption": "own" if fits else "other image"},
        )

    return make


@reformer("selection", "which of several captions describes an image", QuestionSettings)
def _selection(annotations: Annotations, settings: QuestionSettings, kit: Kit) -> Callable[[Annotation], Made]:
    pool = _CaptionPool(annotations)

    def make(record: Annotation) -> Made:
        if not record.captions:
            return _NO_CAPTION
        chance = kit.chance(record.id, "selection")
        gold = chance.choice(record.captions)
        others = pool.draw(record, settings.options - 1, chance)
        if not others:
            return _NO_OTHER
        choices = shuffled(gold, [(caption, "caption of another image") for caption in others], chance)
        return draft(record, question=settings.question or _WHICH_CAPTION, choices=choices)

    return make


@reformer(
    "pairs",
    "images with a caption each: which caption for an image, and which image for a caption",
    FileSettings,
)
def _pairs(annotations: Annotations, settings: FileSettings, kit: Kit) -> Iterator[Made]:
    """Two items per pair; all items of a record are one group, since they only discriminate together."""
    for record in annotations:
        if len(record.images) != len(record.captions) or len(record.captions) < 2:
            yield "not as many captions as images"
            continue
        images = [Shown(image=image) for image in record.images]
        numbers = [f"<image {number}>" for number in range(1, len(images) + 1)]
        group = f"{record.id}:caption-0"
        for position, caption in enumerate(record.captions):
            which = f'Which image does this sentence describe? "{caption}"'
            for kind, other, shown, question, options in (
                ("caption", "image", [images[position]], _WHICH_CAPTION, record.captions),
                ("image", "caption", images, which, numbers),
            ):
                fields = {"question": question, "choices": listed_choices(options, position), "group": group}
                tags = {"direction": f"{kind} of a {other}"}
                yield draft(record, f"{kind}-{position}", shown, **fields, tags=tags)


_ANSWERS = {
    **dict.fromkeys(("entailment", "supported"), "yes"),
    **dict.fromkeys(("neutral", "nei", "not enough information"), "not sure"),
    **dict.fromkeys(("contradiction", "refuted"), "no"),
}
_AGREE = 2  # A flaw counts if so many people saw it; it can be denied only where none did
_STEPS = {
    "shown": (0, "Which one?"),
    "next": (1, "Which step comes right after it?"),
    "previous": (-1, "Which step comes right before it?"),
}


class EntailmentSettings(FileSettings, frozen=True):
    """How a statement is asked about, and which answer each label stands for."""

    question: str = 'Going by the image, is this statement true? "{question}"'
    answers: dict[str, str] = msgspec.field(default_factory=lambda: dict(_ANSWERS))
    """Labels are compared without case."""


@by_record("entailment", "whether a statement is true of an image: yes, not sure, no", EntailmentSettings)
def _entailment(record: Annotation, settings: EntailmentSettings, kit: Kit) -> Made:
    """Whether image and hint support a statement; the annotated label is a tag."""
    label = plain(record.label)
    answer = next((answer for known, answer in settings.answers.items() if plain(known) == label), None)
    if answer is None:
        return f'no answer for the label "{record.label}"' if record.label else "no label"
    options = tuple(dict.fromkeys(settings.answers.values()))
    return draft(
        record,
        question=settings.question,
        hint=record.hint,
        choices=listed_choices(options, options.index(answer)),
        tags={"label": record.label},
    )


class QualitySettings(FileSettings, frozen=True):
    """What is asked, and how each flaw is offered as an option and asked about."""

    ask: Literal["flaw", "yes-no"] = "flaw"
    question: str = "What is wrong with the quality of this image?"
    options: OptionCount = 4
    flaws: dict[str, tuple[str, str]] = msgspec.field(default_factory=dict)
    """By the dataset's code: the option, and the yes-no question; a question that is empty is never asked."""


@by_record(
    "quality", "which flaw an image has (ask: flaw), or whether it has a certain one (ask: yes-no)", QualitySettings
)
def _quality(record: Annotation, settings: QualitySettings, kit: Kit) -> Made:
    """The flaw with most votes among flaws without any; or one with or without votes, equally likely."""
    if not record.answers:
        return "no answer"
    votes, flaws, disagreement = Counter(record.answers), settings.flaws, "people do not agree"
    if settings.ask == "flaw":
        (code, most), *others = votes.most_common()
        unseen = [other for other in flaws if not votes[other]]
        if code not in flaws or most < _AGREE or (others and others[0][1] == most) or not unseen:
            return disagreement
        chance = kit.chance(record.id, "flaw")
        drawn = chance.sample(unseen, min(settings.options - 1, len(unseen)))
        choices = shuffled(flaws[code][0], [(flaws[other][0], "flaw not annotated") for other in drawn], chance)
        return draft(record, question=settings.question, choices=choices, tags={"flaw": code, "votes": most})
    seen = [code for code, (_, question) in flaws.items() if question and votes[code] >= _AGREE]
    unseen = [code for code, (_, question) in flaws.items() if question and not votes[code]]
    chance = kit.chance(record.id, "yes-no")
    if not (asked := [codes for codes in (seen, unseen) if codes]):
        return disagreement
    code = chance.choice(chance.choice(asked))
    choices = listed_choices(("yes", "no"), 0 if code in seen else 1)
    return draft(record, question=flaws[code][1], choices=choices, tags={"flaw": code, "votes": votes[code]})


class StepsSettings(QuestionSettings, frozen=True):
    """Which step is asked for; ``{question}`` in the wording stands for the task."""

    ask: Literal["shown", "next", "previous"] = "shown"


@by_record("steps", "which step of some instructions an image shows, or which comes next", StepsSettings)
def _steps(record: Annotation, settings: StepsSettings, kit: Kit) -> Made:
    away, which = _STEPS[settings.ask]
    position = -1 if record.gold is None else record.gold + away
    if not 0 <= position < len(record.steps):
        return "no such step"
    gold, chance = record.steps[position], kit.chance(record.id, settings.ask)
    others = distinct(chance.sample(record.steps, len(record.steps)), [gold], settings.options - 1)
    if not others:
        return "too few steps"
    return draft(
        record,
        question=settings.question or f'The image shows one step of "{{question}}". {which}',
        choices=shuffled(gold, [(step, "another step") for step in others], chance),
        tags={"step": position + 1, "steps": len(record.steps)},
    )


REFORMER = (_described, _matching, _selection, _pairs, _entailment, _quality, _steps)
