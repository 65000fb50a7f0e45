"""Objects that a picture has or lacks: which of these is in it, which is not?"""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Annotated, Literal

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.distractors.words import plain
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, shuffled

_QUESTIONS = {
    "present": "Which of these can be seen in the picture?",
    "missing": "Which of these cannot be seen in the picture?",
}


class PresenceSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked of the objects in a picture."""

    ask: Literal["present", "missing"] = "present"
    question: str = ""
    """Empty: one that fits what is asked."""
    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 4
    fewest: Annotated[int, msgspec.Meta(ge=2)] = 3
    """``missing``: pictures with fewer kinds of object than one less make no item."""


class Presence(Reformer):
    """One item a picture. Absent classes are drawn as often as they occur, so that rarity tells nothing."""

    name = "presence"
    summary = "which object a picture has (ask: present) or lacks (ask: missing)"
    settings = PresenceSettings

    def drafts(self, annotations: Annotations, settings: PresenceSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a picture that has objects enough."""
        vocabulary = _Vocabulary(annotations)
        question = settings.question or _QUESTIONS[settings.ask]
        for record in annotations:
            present = list(dict.fromkeys(region.label for region in record.regions))
            chance = kit.chance(record.id, settings.ask)
            if settings.ask == "present":
                gold, others = _gold_present(present, vocabulary, settings, chance)
            else:
                gold, others = _gold_missing(present, vocabulary, settings, chance)
            if not others:
                kit.passed_over["too few kinds of object" if present else "no object"] += 1
                continue
            yield draft(
                record,
                question=question,
                choices=shuffled(gold, others, chance),
                tags={"class": gold, "objects": len(present)},
            )


class _Vocabulary:
    """Classes with how many pictures have them and the group each belongs to."""

    def __init__(self, annotations: Annotations) -> None:
        counts = Counter(label for record in annotations for label in _labels(record))
        names = [one.name for one in annotations.classes] or list(counts)
        self.weights = {name: counts[name] for name in names}
        self._spelt = {name: plain(name) for name in names}
        self.parents = {one.name: one.parent or one.name for one in annotations.classes}

    def absent(self, present: Sequence[str], like: Sequence[str], count: int, chance: Random) -> list[str]:
        """Classes that a picture lacks, those of the same groups as some others first."""
        groups = {self.parents.get(name, name) for name in like}
        said = set(map(plain, present))
        candidates = {name: weight for name, weight in self.weights.items() if self._spelt[name] not in said}
        near = [name for name in candidates if self.parents.get(name, name) in groups]
        drawn = _weighted(near, candidates, count, chance)
        rest = [name for name in candidates if name not in drawn]
        return drawn + _weighted(rest, candidates, count - len(drawn), chance)


def _labels(record: Annotation) -> set[str]:
    return {region.label for region in record.regions}


def _weighted(names: Sequence[str], weights: dict[str, int], count: int, chance: Random) -> list[str]:
    """Some of the names, none twice, each as likely as it is frequent; those that never occur come last."""
    keyed = sorted(names, key=lambda name: -(chance.random() ** (1 / weights[name])) if weights[name] else 1.0)
    return keyed[: max(count, 0)]


def _gold_present(
    present: list[str], vocabulary: _Vocabulary, settings: PresenceSettings, chance: Random
) -> tuple[str, list[tuple[str, str]]]:
    if not present:
        return "", []
    gold = chance.choice(present)
    absent = vocabulary.absent(present, [gold], settings.options - 1, chance)
    return gold, [(name, "absent class") for name in absent]


def _gold_missing(
    present: list[str], vocabulary: _Vocabulary, settings: PresenceSettings, chance: Random
) -> tuple[str, list[tuple[str, str]]]:
    shown = chance.sample(present, min(settings.options - 1, len(present)))
    absent = vocabulary.absent(present, shown, 1, chance)
    if len(shown) + 1 < settings.fewest or not absent:
        return "", []
    return absent[0], [(name, "present class") for name in shown]


REFORMER = Presence()
