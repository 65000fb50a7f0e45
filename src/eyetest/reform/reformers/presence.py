"""Objects that a picture has or lacks: which of these is in it, which is not?"""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Annotated, Literal

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.reform.annotation import Annotations
from eyetest.reform.distractors.words import plain
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, shuffled, weighted_sample

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
    """One item a picture; how often a class occurs does not tell whether it is right."""

    name = "presence"
    summary = "which object a picture has (ask: present) or lacks (ask: missing)"
    settings = PresenceSettings

    def drafts(self, annotations: Annotations, settings: PresenceSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a picture that has objects enough."""
        vocabulary = _Vocabulary(annotations)
        question = settings.question or _QUESTIONS[settings.ask]
        how = "absent class" if settings.ask == "present" else "present class"
        for record in annotations:
            present = list(dict.fromkeys(region.label for region in record.regions))
            chance = kit.chance(record.id, settings.ask)
            if settings.ask == "present":
                right = vocabulary.present(present, 1, chance)
                wrong = vocabulary.absent(present, settings.options - 1, chance)
            else:
                wrong = vocabulary.present(present, settings.options - 1, chance)
                right = vocabulary.absent(present, 1, chance) if len(wrong) + 1 >= settings.fewest else []
            if not right or not wrong:
                kit.passed_over["too few kinds of object" if present else "no object"] += 1
                continue
            yield draft(
                record,
                question=question,
                choices=shuffled(right[0], [(name, how) for name in wrong], chance),
                tags={"class": right[0], "objects": len(present)},
            )


class _Vocabulary:
    """Classes with the share of pictures that have them.

    A class that many pictures have is rarely absent. So among the present ones it is drawn less often, and among the
    absent ones more often; on the whole each class is then right about as often as it is wrong.
    """

    def __init__(self, annotations: Annotations) -> None:
        labels = [{region.label for region in record.regions} for record in annotations]
        counts = Counter(label for some in labels for label in some)
        names = dict.fromkeys([*(one.name for one in annotations.classes), *counts])
        self._shares = {name: counts[name] / max(1, len(labels)) for name in names}
        self._spelt = {name: plain(name) for name in names}

    def present(self, names: Sequence[str], count: int, chance: Random) -> list[str]:
        """Some of the classes that a picture has."""
        return weighted_sample({name: 1 - self._shares[name] for name in names}, count, chance)

    def absent(self, names: Sequence[str], count: int, chance: Random) -> list[str]:
        """Some of the classes that a picture lacks, which has these."""
        said = set(map(plain, names))
        others = {name: share for name, share in self._shares.items() if self._spelt[name] not in said}
        return weighted_sample(others, count, chance)


REFORMER = Presence()
