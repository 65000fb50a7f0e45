"""Kinds of question: annotations become items, drafted before their images are looked up."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Any

import msgspec

from eyetest.records import MAX_CHOICES, Choice, Item, OptionProvenance
from eyetest.reform.annotation import Annotation, Annotations, Box, FileSettings
from eyetest.reform.distractors import differs
from eyetest.registry import Registry

Written = tuple[str, str | OptionProvenance]  # a distractor, and how it was made or who wrote and checked it
OptionCount = Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)]


class QuestionSettings(FileSettings, frozen=True):
    """The wording of a question, and how many options it has."""

    question: str = ""  # empty: the reformer's own
    options: OptionCount = 4


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """An image as it is to be shown: as it is, with a box drawn on it, or a part of it."""

    image: str | bytes
    box: Box | None = None
    crop: Box | None = None


class ItemDraft(msgspec.Struct, frozen=True, kw_only=True):
    """An item whose images are not there yet, and the record that it was made of."""

    item: Item
    images: tuple[Shown, ...]
    record: str


Made = ItemDraft | str
"""A draft, or the reason why a record makes none."""


class Kit:
    """Tools of every reformer: repeatable randomness, and counts of exceptions."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.passed_over: Counter[str] = Counter()  # short reasons why records became no item, with counts
        self.passed_in: dict[str, Counter[str]] = {}  # by reason: the files of these records, with counts
        self.file = ""  # of the record whose draft was made last
        self.written: Mapping[str, Sequence[Written]] = {}
        self.notes: list[str] = []  # notes for the user on how distractors were made

    def chance(self, *key: object) -> random.Random:
        """A random generator for a record: the same for every run with this seed, whatever comes before it."""
        text = "\x1f".join(map(str, (self.seed, *key)))
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return random.Random(int.from_bytes(digest))  # noqa: S311 (a repeatable shuffle, no secret)

    def pass_over(self, reason: str) -> None:
        """Count a record that becomes no item."""
        self.passed_over[reason] += 1
        self.passed_in.setdefault(reason, Counter())[self.file] += 1

    def note(self, line: str) -> None:
        """Note something once, however many records it applies to."""
        if line not in self.notes:
            self.notes.append(line)


Drafts = Callable[[Annotations, Any, Kit], Iterator[ItemDraft]]


@dataclass(frozen=True)
class Reformer:
    """Makes one kind of question."""

    name: str
    summary: str
    settings: type[FileSettings]
    drafts: Drafts
    """Makes items of annotations; records that make none are counted in ``Kit.passed_over``."""


def reformer(
    name: str, summary: str, settings: type[FileSettings]
) -> Callable[[Callable[[Annotations, Any, Kit], Iterator[Made] | Callable[[Annotation], Made]]], Reformer]:
    """Make a reformer of a function of all annotations: it yields results, or returns a function of one record."""

    def decorate(start: Callable[..., Iterator[Made] | Callable[[Annotation], Made]]) -> Reformer:
        def drafts(annotations: Annotations, given: Any, kit: Kit) -> Iterator[ItemDraft]:
            made = start(annotations, given, kit)
            for result in map(made, annotations) if callable(made) else made:
                kit.file = annotations.file
                if isinstance(result, str):
                    kit.pass_over(result)
                else:
                    yield result

        return Reformer(name, summary, settings, drafts)

    return decorate


def by_record(
    name: str, summary: str, settings: type[FileSettings]
) -> Callable[[Callable[[Annotation, Any, Kit], Made]], Reformer]:
    """Make a reformer of a function that makes one item of each record by itself, or returns why not."""
    return lambda make: reformer(name, summary, settings)(
        lambda records, given, kit: lambda record: make(record, given, kit)
    )


def draft(record: Annotation, part: str = "", images: Sequence[Shown] | None = None, **fields: Any) -> ItemDraft:
    """A draft of a record or a named part of it; ``{question}`` stands for the record's own, its images are shown."""
    fields["question"] = fields["question"].replace("{question}", record.question)
    shown = tuple(Shown(image=image) for image in record.images) if images is None else tuple(images)
    tags = record.tags | fields.pop("tags", {})
    item = Item(id=f"{record.id}:{part}" if part else record.id, tags=tags, **fields)
    return ItemDraft(item=item, images=shown, record=record.id)


def shuffled(gold: str, distractors: Sequence[Written], chance: random.Random) -> tuple[Choice, ...]:
    """The right option at a random position among the wrong ones; each distractor comes with how it was made."""
    made = [(text, OptionProvenance(author=how) if isinstance(how, str) else how) for text, how in distractors]
    choices = [Choice(gold, correct=True), *(Choice(text, provenance=how) for text, how in made)]
    chance.shuffle(choices)
    return tuple(choices)


def listed_choices(options: Sequence[str], gold: int) -> tuple[Choice, ...]:
    """Options of the dataset, in its order."""
    return tuple(Choice(text, correct=position == gold) for position, text in enumerate(options))


def distinct(texts: Iterable[str], taken: Sequence[str], count: int) -> list[str]:
    """The first texts, at most ``count``, that differ from the taken ones and from each other."""
    kept: list[str] = []
    for text in texts:
        if len(kept) < count and differs(text, [*taken, *kept]):
            kept.append(text)
    return kept


def weighted_sample(weights: Mapping[str, float], count: int, chance: random.Random) -> list[str]:
    """Sample names without repetition by weight; those without weight come last."""
    keys = {name: chance.random() ** (1 / weight) if weight > 0 else -1.0 for name, weight in weights.items()}
    return sorted(weights, key=lambda name: -keys[name])[:count]


REFORMERS: Registry[Reformer] = Registry("reformer", __name__, "REFORMER", "reformer")
