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
from eyetest.reform.reformers.answers import gold_of
from eyetest.text import NUMBER_WORDS

_HOW_MANY = "How many of these are in the image: {class}?"
_MOST = 20  # larger numbers are rarely counted right by annotators


class ClassificationSettings(FileSettings, frozen=True):
    """How classes are asked for."""

    question: str = CLASS_QUESTION
    options: OptionCount = 4
    hard: tuple[Way, ...] = ("hierarchy", "similarity")
    """By what classes are near; the first way that knows two classes counts."""
    pool: Annotated[int, msgspec.Meta(ge=1)] = 8  # number of near classes that distractors are drawn from
    confusions: str = ""
    """A run folder, whose wrong answers are confusions of classes; precedes all other ways."""


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
    hard = Hardness(options=settings.options, pool=settings.pool, ways=ways, confused=confused)
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
    """An item for each class in an image, except classes with several objects under one box, and for each question
    with a number as answer; options are consecutive numbers.
    """
    for record in annotations:
        several = {region.label for region in record.regions if region.is_crowd}
        counts = Counter(region.label for region in record.regions) if record.regions else {"": _answered(record)}
        for label, number in counts.items():
            if number is None:
                yield "no number for an answer" if record.answers else "no object"
                continue
            if label in several or number > _MOST:
                yield "several objects under one box" if label in several else f"more than {_MOST} counted"
                continue
            chance = kit.chance(record.id, label)
            first = number - chance.randrange(min(settings.options, number + 1))
            row = range(first, first + settings.options)
            others = [(str(other), "number near the gold") for other in row if other != number]
            question = settings.question or (_HOW_MANY if label else "{question}")
            tags = {"count": number} | ({"class": label} if label else {})
            choices = shuffled(str(number), others, chance)
            yield draft(record, label, question=question.replace("{class}", label), choices=choices, tags=tags)


def _answered(record: Annotation) -> int | None:
    """The number that a question has for an answer, in figures or in a word."""
    answer = gold_of(record)[0].strip().lower()
    is_figure = answer.isascii() and answer.isdigit() and len(answer) < 10
    return int(answer) if is_figure else NUMBER_WORDS.get(answer)


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
                **_pointing(record, region.box, settings.show),
                choices=shuffled(region.label, others, chance),
                tags={"class": region.label, "box": [round(side, 2) for side in region.box]},
            )


def _other_classes(
    record: Annotation, region: Region, vocabulary: dict[str, tuple[str, int]], count: int, chance: Random
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


@reformer("referring", "which expression means the object in a box", QuestionSettings)
def _referring(annotations: Annotations, settings: QuestionSettings, kit: Kit) -> Iterator[Made]:
    """One item per object that has a box and an expression; other objects of the image come first as distractors."""
    of_image: dict[tuple[str | bytes, ...], list[Annotation]] = defaultdict(list)
    for record in annotations:
        of_image[record.images].append(record)
    records = [record for several in of_image.values() for record in several]
    pool = [region for record in records for region in record.regions]

    def make(record: Annotation) -> Made:
        if not record.regions or not record.regions[0].expressions:
            return "no expression" if record.regions else "no box"
        region = record.regions[0]
        here = [other for beside in of_image[record.images] for other in beside.regions]
        chance = kit.chance(record.id, "expression")
        gold, others = chance.choice(region.expressions), _other_expressions(here, region, pool, chance)
        how = dict(reversed(others))
        texts = distinct((text for text, _ in others), [gold, *region.expressions], settings.options - 1)
        if not texts:
            return "no other object"
        tags = {"box": [round(side, 2) for side in region.box]} | ({"class": region.label} if region.label else {})
        choices = shuffled(gold, [(text, how[text]) for text in texts], chance)
        images = [Shown(image=image, box=region.box) for image in record.images]
        question = settings.question or "Which expression means what is in the red box?"
        return draft(record, images=images, question=question, choices=choices, tags=tags)

    return map(make, records)


def _other_expressions(
    here: list[Region], region: Region, pool: list[Region], chance: Random
) -> list[tuple[str, str]]:
    """Expressions for other objects in the image; then for objects elsewhere, of a class that is not in it."""
    beside = [other for other in here if _overlap(other.box, region.box) < _SAME_OBJECT and other.expressions]
    chance.shuffle(beside)
    others = [(chance.choice(other.expressions), "of another object in the image") for other in beside]
    labels = {"", *(plain(other.label) for other in here)}
    there = [other for other in chance.sample(pool, min(_TRIES, len(pool))) if other.expressions]
    there = [other for other in there if plain(other.label) not in labels]
    return others + [(chance.choice(other.expressions), "of an object in another image") for other in there]


class OcrSettings(FileSettings, frozen=True):
    """How the word to be read is shown."""

    show: Literal["crop", "drawn"] = "crop"  # cut out, or in the whole image with its box drawn (grounded OCR)
    question: str = ""
    metric: str = "words"


@by_record("ocr", "reading words: cut out (show: crop), or in a drawn box (show: drawn)", OcrSettings)
def _reading(record: Annotation, settings: OcrSettings, kit: Kit) -> Made:
    """One text item per readable word; a record without a box shows its whole image."""
    if not record.answers:
        return "not readable"
    if not record.regions and settings.show != "crop":
        return "no box"
    box = record.regions[0].box if record.regions else None
    asked = "Which text does this image show?" if settings.show == "crop" else "Which text stands in the red box?"
    crop, drawn = (box if settings.show == show else None for show in ("crop", "drawn"))
    return draft(
        record,
        images=[Shown(image=image, crop=crop, box=drawn) for image in record.images],
        question=settings.question or asked,
        references=record.answers,
        tags={"metric": settings.metric},
    )


def _overlap(box: Box, other: Box, *, of_smaller: bool = False) -> float:
    """Intersection over union of two boxes, or over the smaller of them."""
    width = min(box[0] + box[2], other[0] + other[2]) - max(box[0], other[0])
    height = min(box[1] + box[3], other[1] + other[3]) - max(box[1], other[1])
    common, areas = max(width, 0.0) * max(height, 0.0), (box[2] * box[3], other[2] * other[3])
    return common / ((min(areas) if of_smaller else sum(areas) - common) or 1.0)


def _pointing(record: Annotation, box: Box, show: str) -> dict[str, Any]:
    """The question for what is in a box, which names it where nothing is drawn, and the images."""
    if show == "drawn":
        images = [Shown(image=image, box=box) for image in record.images]
        return {"question": "What is in the red box?", "images": images}
    left, top, width, height = box
    corners = f"[{round(left)}, {round(top)}, {round(left + width)}, {round(top + height)}]"
    size = f"; the image is {record.size[0]} × {record.size[1]}" if record.size else ""
    frame = f"Corners are left, top, right, bottom in pixels{size}."
    return {"question": f"What is in the box with the corners {corners}? {frame}"}


REFORMER = (_classification, _presence, _counting, _grounding, _referring, _reading)
