"""What is in a box of the picture: the box is drawn, or its corners are said."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.reform.annotation import Annotation, Annotations, Box, Region
from eyetest.reform.distractors.words import plain
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, Shown, draft, shuffled, weighted_sample

Vocabulary = dict[str, tuple[str, int]]
"""Classes with how they are compared and how many objects are of each: frequent ones are drawn more often."""
_QUESTIONS = {
    "drawn": "What is in the red box?",
    "said": "What is in the box with the corners {box}? {frame}",
}
_FRAME = "Corners are left, top, right, bottom in pixels; the picture is {width} × {height}."
_FRAME_UNKNOWN = "Corners are left, top, right, bottom in pixels."
_SHARED = 0.5
"""Two boxes are about the same place where so much of the smaller one is in the larger one."""


class GroundingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a box is shown, and which boxes are asked about."""

    show: Literal["drawn", "said"] = "drawn"
    """The box on the picture, or in the question's words."""
    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 4
    smallest: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.01
    """Smaller boxes, as shares of the picture, make no item."""
    most: Annotated[int, msgspec.Meta(ge=1)] = 3
    """Boxes of one picture, drawn by chance."""


class Grounding(Reformer):
    """One item a box; other things in the picture are the first distractors, unless their boxes overlap with it."""

    name = "grounding"
    summary = "which object is in a box, drawn on the picture (show: drawn) or said (show: said)"
    settings = GroundingSettings

    def drafts(self, annotations: Annotations, settings: GroundingSettings, kit: Kit) -> Iterator[ItemDraft]:
        """Items of the boxes that are large enough and hold one thing."""
        counts = Counter(region.label for record in annotations for region in record.regions)
        names = dict.fromkeys([*(one.name for one in annotations.classes), *counts])
        vocabulary = {name: (plain(name), counts[name]) for name in names}
        for record in annotations:
            clear = [region for region in record.regions if _is_clear(region, record, settings.smallest)]
            if not clear:
                kit.passed_over["only small boxes or crowds" if record.regions else "no object"] += 1
            chosen = kit.chance(record.id, "boxes").sample(range(len(clear)), min(settings.most, len(clear)))
            for position in sorted(chosen):
                yield _item(record, clear[position], position, vocabulary, (settings, kit))


def _is_clear(region: Region, record: Annotation, smallest: float) -> bool:
    *_, width, height = region.box
    area = record.size[0] * record.size[1] if record.size else 0
    return not region.is_crowd and width >= 1 and height >= 1 and width * height >= smallest * area


def _item(
    record: Annotation, region: Region, position: int, vocabulary: Vocabulary, ways: tuple[GroundingSettings, Kit]
) -> ItemDraft:
    settings, kit = ways
    part = region.id or str(position)
    chance = kit.chance(record.id, part)
    near = {vocabulary[other.label][0] for other in record.regions if shared_part(other.box, region.box) >= _SHARED}
    labels = dict.fromkeys(other.label for other in record.regions)
    elsewhere = [label for label in labels if vocabulary[label][0] not in near]
    chance.shuffle(elsewhere)
    others = [(label, "elsewhere in the picture") for label in elsewhere[: settings.options - 1]]
    rest = {name: count for name, (said, count) in vocabulary.items() if said not in near and name not in labels}
    drawn = weighted_sample(rest, settings.options - 1 - len(others), chance)
    return draft(
        record,
        part,
        **pointing(record, region.box, settings.show, _QUESTIONS),
        choices=shuffled(region.label, [*others, *((name, "another class") for name in drawn)], chance),
        tags={"class": region.label, "box": [round(side, 2) for side in region.box]},
    )


def shared_part(one: Box, other: Box) -> float:
    """How much of the smaller of two boxes lies in the larger one."""
    return _common(one, other) / (min(one[2] * one[3], other[2] * other[3]) or 1.0)


def common_part(one: Box, other: Box) -> float:
    """How much of all that two boxes cover lies in both: intersection over union."""
    common = _common(one, other)
    return common / (one[2] * one[3] + other[2] * other[3] - common or 1.0)


def _common(one: Box, other: Box) -> float:
    width = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    height = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    return max(width, 0.0) * max(height, 0.0)


def pointing(record: Annotation, box: Box, show: str, questions: dict[str, str]) -> dict[str, Any]:
    """What points to a box: the question, which says it where nothing is drawn, and the pictures."""
    drawn = box if show == "drawn" else None
    return {
        "question": said_box(questions[show], record, box),
        "pictures": [Shown(image=image, box=drawn) for image in record.images],
    }


def corners(box: Box) -> str:
    """A box in words: left, top, right and bottom in whole pixels."""
    left, top, width, height = box
    return f"[{round(left)}, {round(top)}, {round(left + width)}, {round(top + height)}]"


def said_box(question: str, record: Annotation, box: Box) -> str:
    """A question with a box in words for its ``{box}``, and what the numbers mean for its ``{frame}``."""
    frame = _FRAME_UNKNOWN
    if record.size:
        frame = _FRAME.replace("{width}", str(record.size[0])).replace("{height}", str(record.size[1]))
    return question.replace("{box}", corners(box)).replace("{frame}", frame)


REFORMER = Grounding()
