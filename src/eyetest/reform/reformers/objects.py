"""Questions about objects: which class, which are there, how many, what is in a box, what it is called or says."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

import msgspec

from eyetest.benchmarks.images import CLASS_QUESTION
from eyetest.reform.annotation import Annotation, Annotations, Box, FileSettings, Region
from eyetest.reform.distractors import plain
from eyetest.reform.distractors.classes import ClassDistractors, Hardness, Way, read_confusions
from eyetest.reform.reformers import (
    Kit,
    Made,
    OptionCount,
    QuestionSettings,
    Shown,
    by_record,
    distinct,
    draft,
    reformer,
    shuffled,
    weighted_sample,
)
from eyetest.reform.reformers.answers import NEAR, gold_of, numbers_around
from eyetest.text import NUMBER_WORDS

_IN_WORDS = tuple(NUMBER_WORDS)[:21]
_HOW_MANY = "How many of these are in the image: {class}?"
_MOST = 20  # larger numbers are rarely counted right by annotators
Asked = tuple[str, str, int, str]  # what is counted, the question, the count, and its spelling


class ClassificationSettings(FileSettings, frozen=True):
    """How classes are asked for."""

    question: str = CLASS_QUESTION
    options: OptionCount = 4
    hard: tuple[Way, ...] = ("hierarchy", "similarity")
    """By what classes are near; the first way that knows two classes counts."""
    pool: Annotated[int, msgspec.Meta(ge=1)] = 12  # number of near classes that distractors are drawn from
    confusions: str = ""
    """Table of confusions, or a run folder whose wrong answers are some; precedes all other ways."""


@reformer(
    "classification",
    "which class of a closed list an image belongs to, among hard negatives",
    ClassificationSettings,
)
def _classification(
    annotations: Annotations, settings: ClassificationSettings, kit: Kit
) -> Callable[[Annotation], Made]:
    golds = Counter(record.label for record in annotations if record.label.strip())
    if not golds:
        return lambda record: "no class"
    ways, confused = settings.hard, Counter[tuple[str, str]]()
    if settings.confusions:
        ways = ways if "confusion" in ways else ("confusion", *ways)
        confused = read_confusions(Path(settings.confusions))
    hard = Hardness(options=settings.options, pool=settings.pool, ways=ways, confused=confused, seed=kit.seed)
    distractors = ClassDistractors(annotations.classes, golds, hard)
    for line in distractors.notes:
        kit.note(line)

    def make(record: Annotation) -> Made:
        if not record.label.strip():
            return "no class"
        chance = kit.chance(record.id, "distractors")
        drawn = distractors.draw(record.label, record.also, chance)
        if not drawn:
            return "no other class that may stand beside it"
        if len(drawn) < settings.options - 1:
            kit.note(f"some items have fewer than {settings.options} options: no other class may stand there")
        choices = shuffled(distractors.shown(record.label), drawn, chance)
        return draft(record, question=settings.question, hint=record.hint, choices=choices)

    return make


class PresenceSettings(QuestionSettings, frozen=True):
    """What is asked of the objects in an image."""

    ask: Literal["present", "missing"] = "present"


@reformer("presence", "which object an image has (ask: present) or lacks (ask: missing)", PresenceSettings)
def _presence(annotations: Annotations, settings: PresenceSettings, kit: Kit) -> Callable[[Annotation], Made]:
    """One item per image with enough objects; how often a class occurs does not give away whether it is right."""
    vocabulary = _Vocabulary(annotations)
    can, how = ("can", "absent class") if settings.ask == "present" else ("cannot", "present class")
    question = settings.question or f"Which of these {can} be seen in the image?"

    def make(record: Annotation) -> Made:
        present = list(dict.fromkeys(region.label for region in record.regions))
        chance = kit.chance(record.id, settings.ask)
        if settings.ask == "present":
            right = vocabulary.present(present, 1, chance)
            wrong = vocabulary.absent(present, settings.options - 1, chance)
        else:
            wrong = vocabulary.present(present, settings.options - 1, chance)
            right = vocabulary.absent(present, 1, chance) if len(wrong) > 1 else []
        if not right or not wrong:
            return "too few kinds of object" if present else "no object"
        choices = shuffled(right[0], [(name, how) for name in wrong], chance)
        tags = {"class": right[0], "objects": len(present)}
        return draft(record, question=question, choices=choices, tags=tags)

    return make


class _Vocabulary:
    """Classes by frequency: rare ones are drawn more if present, less if absent, to be right as often as wrong."""

    def __init__(self, annotations: Annotations) -> None:
        labels = [{region.label for region in record.regions} for record in annotations]
        counts = Counter(label for some in labels for label in some)
        names = dict.fromkeys([*(label.name for label in annotations.classes), *counts])
        self._shares = {name: counts[name] / max(1, len(labels)) for name in names}
        self._spelt = {name: plain(name) for name in names}

    def present(self, names: Sequence[str], count: int, chance: Random) -> list[str]:
        """Some classes of an image."""
        return weighted_sample({name: 1 - self._shares[name] for name in names}, count, chance)

    def absent(self, names: Sequence[str], count: int, chance: Random) -> list[str]:
        """Some classes missing in an image, which has these."""
        known = set(map(plain, names))
        others = {name: share for name, share in self._shares.items() if self._spelt[name] not in known}
        return weighted_sample(others, count, chance)


@reformer("counting", "how many objects of a class there are, among numbers near the right one", QuestionSettings)
def _counting(annotations: Annotations, settings: QuestionSettings, kit: Kit) -> Iterator[Made]:
    """Items of images with objects, and of questions with a number as answer; options are consecutive numbers."""
    for record in annotations:
        questions = [*_counted(record, settings, kit)] if record.regions else [*_asked(record, kit)]
        for part, question, number, spelt in questions:
            if number > _MOST:
                yield f"more than {_MOST} counted"
                continue
            chance = kit.chance(record.id, part)
            others = [(_spelt(other, spelt), NEAR) for other in numbers_around(number, settings.options, chance, 0)]
            tags = {"count": number} | ({"class": part} if part else {})
            yield draft(record, part, question=question, choices=shuffled(spelt, others, chance), tags=tags)


def _counted(record: Annotation, settings: QuestionSettings, kit: Kit) -> Iterator[Asked]:
    """Each class in the image with its count, except classes with several objects under one box."""
    crowded = {region.label for region in record.regions if region.is_crowd}
    for label, number in Counter(region.label for region in record.regions).items():
        if label in crowded:
            kit.passed_over["several objects under one box"] += 1
        else:
            yield label, (settings.question or _HOW_MANY).replace("{class}", label), number, str(number)


def _asked(record: Annotation, kit: Kit) -> Iterator[Asked]:
    answer, _ = gold_of(record)
    if answer.isascii() and answer.isdigit():
        yield "", record.question, int(answer), answer
    elif answer.lower() in _IN_WORDS:
        yield "", record.question, _IN_WORDS.index(answer.lower()), answer
    else:
        kit.passed_over["no number for an answer" if answer else "no answer" if record.question else "no object"] += 1


def _spelt(number: int, like: str) -> str:
    """A number in figures or in words, like another one; large ones have no words."""
    if like.isdigit() or number >= len(_IN_WORDS):
        return str(number)
    return _IN_WORDS[number].capitalize() if like[0].isupper() else _IN_WORDS[number]


Vocabulary = dict[str, tuple[str, int]]
"""Classes with their comparison key and number of objects: frequent ones are drawn more often."""
# How a box is named at the end of a question
_PLACES = {"drawn": "the red box?", "text": "the box with the corners {box}? {frame}"}
_WHICH_BOX = 'In which box is this: "{expression}"? {frame}'
_SHARED = 0.5  # two boxes are about the same place where so much of the smaller one is in the larger one
_SAME_OBJECT = 0.5  # intersection over union from which two boxes are taken for the same object
_TRIES = 50
# Smaller boxes (share of the image) make no item; so many are drawn at random of an image
_SMALLEST, _MOST_BOXES = 0.01, 3


class GroundingSettings(FileSettings, frozen=True):
    """How a box is shown, and which boxes are asked about."""

    show: Literal["drawn", "text"] = "drawn"  # the box on the image, or in the question's words
    options: OptionCount = 4


@reformer(
    "grounding",
    "which object is in a box, drawn on the image (show: drawn) or given in the question (show: text)",
    GroundingSettings,
)
def _grounding(annotations: Annotations, settings: GroundingSettings, kit: Kit) -> Iterator[Made]:
    """Items of large enough boxes with one object; objects elsewhere are the first distractors."""
    counts = Counter(region.label for record in annotations for region in record.regions)
    names = dict.fromkeys([*(label.name for label in annotations.classes), *counts])
    vocabulary = {name: (plain(name), counts[name]) for name in names}
    for record in annotations:
        least = _SMALLEST * (record.size[0] * record.size[1]) if record.size else 0
        sides = [(region, *region.box[2:]) for region in record.regions if not region.is_crowd]
        clear = [region for region, width, height in sides if min(width, height) >= 1 and width * height >= least]
        if not clear:
            yield "only small boxes or crowds" if record.regions else "no object"
        chosen = kit.chance(record.id, "boxes").sample(range(len(clear)), min(_MOST_BOXES, len(clear)))
        for position in sorted(chosen):
            region, part = clear[position], clear[position].id or str(position)
            chance = kit.chance(record.id, part)
            others = _other_classes(record, region, vocabulary, settings.options - 1, chance)
            yield draft(
                record,
                part,
                **_pointing(record, region.box, settings.show, "What is in"),
                choices=shuffled(region.label, others, chance),
                tags={"class": region.label, "box": [round(side, 2) for side in region.box]},
            )


def _other_classes(
    record: Annotation, region: Region, vocabulary: Vocabulary, count: int, chance: Random
) -> list[tuple[str, str]]:
    """Classes of other objects in the image, then classes that are not in it."""
    inside = (other for other in record.regions if _overlap(other.box, region.box, of_smaller=True) >= _SHARED)
    near = {vocabulary[other.label][0] for other in inside}
    labels = dict.fromkeys(other.label for other in record.regions)
    elsewhere = [label for label in labels if vocabulary[label][0] not in near]
    chance.shuffle(elsewhere)
    others = [(label, "elsewhere in the image") for label in elsewhere[:count]]
    rest = {name: times for name, (spelt, times) in vocabulary.items() if spelt not in near and name not in labels}
    return [*others, *((name, "another class") for name in weighted_sample(rest, count - len(others), chance))]


class ReferringSettings(FileSettings, frozen=True):
    """What is asked, and how a box is shown."""

    ask: Literal["expression", "box"] = "expression"
    show: Literal["drawn", "text"] = "drawn"  # box of ``ask: expression``; boxes that are options are in words
    options: OptionCount = 4


@reformer(
    "referring",
    "which expression means the object in a box (ask: expression), or which box it means (ask: box)",
    ReferringSettings,
)
def _referring(annotations: Annotations, settings: ReferringSettings, kit: Kit) -> Iterator[Made]:
    """One item per object that has a box and an expression; other objects of the image come first as distractors."""
    of_image: dict[tuple[str | bytes, ...], list[Annotation]] = defaultdict(list)
    for record in annotations:
        of_image[record.images].append(record)
    records = [record for several in of_image.values() for record in several]
    pool = [] if settings.ask == "box" else [region for record in records for region in record.regions]

    def make(record: Annotation) -> Made:
        if not record.regions or not record.regions[0].expressions:
            return "no expression" if record.regions else "no box"
        region = record.regions[0]
        here = [other for beside in of_image[record.images] for other in beside.regions]
        chance = kit.chance(record.id, settings.ask)
        expression = chance.choice(region.expressions)
        asked: dict[str, Any]
        if settings.ask == "box":
            gold = _corners(region.box)
            others = [(_corners(other.box), "another object's box") for other in _elsewhere(here, region)]
            asked = {"question": _with_box(_WHICH_BOX, record, region.box).replace("{expression}", expression)}
        else:
            gold, others = expression, _other_expressions(here, region, pool, chance)
            asked = _pointing(record, region.box, settings.show, "Which expression means what is in")
        how = dict(reversed(others))
        texts = distinct((text for text, _ in others), [gold, *region.expressions], settings.options - 1)
        if not texts:
            return "no other object"
        tags = {"box": [round(side, 2) for side in region.box]} | ({"class": region.label} if region.label else {})
        choices = shuffled(gold, [(text, how[text]) for text in texts], chance)
        return draft(record, **asked, choices=choices, tags=tags)

    return map(make, records)


def _elsewhere(here: list[Region], region: Region) -> list[Region]:
    """Objects of the image that are not the same one under another number."""
    return [other for other in here if _overlap(other.box, region.box) < _SAME_OBJECT]


def _other_expressions(
    here: list[Region], region: Region, pool: list[Region], chance: Random
) -> list[tuple[str, str]]:
    """Expressions for other objects in the image; then for objects elsewhere, of a class that is not in it."""
    beside = [other for other in _elsewhere(here, region) if other.expressions]
    chance.shuffle(beside)
    others = [(chance.choice(other.expressions), "of another object in the image") for other in beside]
    labels = {"", *(plain(other.label) for other in here)}
    there = [other for other in chance.sample(pool, min(_TRIES, len(pool))) if other.expressions]
    there = [other for other in there if plain(other.label) not in labels]
    return others + [(chance.choice(other.expressions), "of an object in another image") for other in there]


class OcrSettings(FileSettings, frozen=True):
    """How the word to be read is shown."""

    show: Literal["crop", "drawn", "text"] = "crop"
    """Cut out, or in the whole image with its box drawn or in words (grounded OCR)."""
    question: str = ""
    """Custom wording; ``{box}`` stands for the corners of the box, ``{frame}`` for their meaning."""
    metric: str = "words"


@by_record("ocr", "reading words: cut out (show: crop), in a drawn box, or in a box given in words", OcrSettings)
def _reading(record: Annotation, settings: OcrSettings, kit: Kit) -> Made:
    """One text item per readable word; a record without a box shows its whole image."""
    if not record.answers:
        return "not readable"
    if not record.regions and settings.show != "crop":
        return "no box"
    box = record.regions[0].box if record.regions else None
    place = _PLACES.get(settings.show)
    asked = f"Which text stands in {place}" if place else "Which text does this image show?"
    question = settings.question or asked
    crop, drawn = (box if settings.show == show else None for show in ("crop", "drawn"))
    return draft(
        record,
        images=[Shown(image=image, crop=crop, box=drawn) for image in record.images],
        question=question if box is None else _with_box(question, record, box),
        references=record.answers,
        tags={"metric": settings.metric},
    )


def _overlap(box: Box, other: Box, *, of_smaller: bool = False) -> float:
    """Intersection over union of two boxes, or over the smaller of them."""
    width = min(box[0] + box[2], other[0] + other[2]) - max(box[0], other[0])
    height = min(box[1] + box[3], other[1] + other[3]) - max(box[1], other[1])
    common, areas = max(width, 0.0) * max(height, 0.0), (box[2] * box[3], other[2] * other[3])
    return common / ((min(areas) if of_smaller else sum(areas) - common) or 1.0)


def _pointing(record: Annotation, box: Box, show: str, asked: str) -> dict[str, Any]:
    """References to a box: the question, which names it where nothing is drawn, and the images."""
    drawn = box if show == "drawn" else None
    question = _with_box(f"{asked} {_PLACES[show]}", record, box)
    return {"question": question, "images": [Shown(image=image, box=drawn) for image in record.images]}


def _corners(box: Box) -> str:
    """A box in words: left, top, right and bottom in whole pixels."""
    left, top, width, height = box
    return f"[{round(left)}, {round(top)}, {round(left + width)}, {round(top + height)}]"


def _with_box(question: str, record: Annotation, box: Box) -> str:
    """A question with a box in words for its ``{box}``, and what the numbers mean for its ``{frame}``."""
    size = f"; the image is {record.size[0]} × {record.size[1]}" if record.size else ""
    frame = f"Corners are left, top, right, bottom in pixels{size}."
    return question.replace("{box}", _corners(box)).replace("{frame}", frame)


REFORMER = (_classification, _presence, _counting, _grounding, _referring, _reading)
