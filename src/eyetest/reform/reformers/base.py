"""What a reformer is, and what it hands on: items whose pictures are still to be looked for."""

import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, ClassVar

import msgspec

from eyetest.records import Choice, Item, OptionProvenance
from eyetest.reform.annotation import Annotation, Annotations, Box

Written = tuple[str, str | OptionProvenance]
"""A distractor, and how it was made or who wrote and who checked it."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A picture as it is to be shown: as it is, with a box drawn on it, or a part of it."""

    image: str | bytes
    box: Box | None = None
    """Drawn as a red frame."""
    crop: Box | None = None


class ItemDraft(msgspec.Struct, frozen=True, kw_only=True):
    """An item whose pictures are not there yet, and the record that it was made of."""

    item: Item
    pictures: tuple[Shown, ...]
    record: str


class Kit:
    """What every reformer has at hand: chance that can be repeated, and a list of what went otherwise."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.passed_over: Counter[str] = Counter()
        """Why records became no item: short reasons, to be counted."""
        self.written: Mapping[str, Sequence[Written]] = {}
        """Distractors that a model wrote, by record."""
        self.notes: list[str] = []
        """What the user should know of how the distractors were made."""

    def chance(self, *key: object) -> random.Random:
        """Chance of its own for a record: the same for every run with this seed, whatever comes before it."""
        text = "\x1f".join(map(str, (self.seed, *key)))
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return random.Random(int.from_bytes(digest))  # noqa: S311 (a repeatable shuffle, no secret)

    def note(self, line: str) -> None:
        """Say something once, however many records it is true of."""
        if line not in self.notes:
            self.notes.append(line)


class Reformer(ABC):
    """Makes one kind of question. ``settings`` is the type of what a YAML file may say under ``settings:``."""

    name: ClassVar[str]
    summary: ClassVar[str]
    settings: ClassVar[type[msgspec.Struct]]

    @abstractmethod
    def drafts(self, annotations: Annotations, settings: Any, kit: Kit) -> Iterator[ItemDraft]:
        """Items of these annotations. A record of which none can be made is counted in ``kit.passed_over``."""


def draft(record: Annotation, part: str = "", pictures: Sequence[Shown] | None = None, **fields: Any) -> ItemDraft:
    """A draft of a record, or of a named part of it, that shows the record's pictures unless others are given."""
    shown = tuple(Shown(image=image) for image in record.images) if pictures is None else tuple(pictures)
    tags = record.tags | fields.pop("tags", {})
    item = Item(id=f"{record.id}:{part}" if part else record.id, tags=tags, **fields)
    return ItemDraft(item=item, pictures=shown, record=record.id)


def shuffled(gold: str, distractors: Sequence[Written], chance: random.Random) -> tuple[Choice, ...]:
    """The right option among the wrong ones, anywhere; each distractor comes with how it was made."""
    choices = [Choice(gold, correct=True)]
    for text, how in distractors:
        made = how if isinstance(how, OptionProvenance) else OptionProvenance(author=how)
        choices.append(Choice(text, provenance=made))
    chance.shuffle(choices)
    return tuple(choices)


def listed_choices(options: Sequence[str], gold: int) -> tuple[Choice, ...]:
    """Options that the dataset offers itself, in its order."""
    return tuple(Choice(text, correct=position == gold) for position, text in enumerate(options))


def weighted_sample(weights: Mapping[str, float], count: int, chance: random.Random) -> list[str]:
    """Some of the names, none twice, each as likely as it weighs; what weighs nothing comes last."""
    keys = {name: chance.random() ** (1 / weight) if weight > 0 else -1.0 for name, weight in weights.items()}
    return sorted(weights, key=lambda name: -keys[name])[:count]
