"""What readers hand to reformers: any dataset's annotations, in words that all of them share.

A reader knows one file format and nothing of questions; a reformer one kind of question and nothing of files. So
any of the one works with any of the other, and a new dataset is usually a few lines of YAML.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from eyetest.errors import InputError, short

Box = tuple[float, float, float, float]
"""Left, top, width and height in pixels, as COCO writes it."""


class Region(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something in a picture, and where it is."""

    box: Box
    id: str = ""
    """As the dataset names it, where it does."""
    label: str = ""
    """Its class."""
    text: str = ""
    """What is written there."""
    expressions: tuple[str, ...] = ()
    """Words that single it out, each of them by itself."""
    is_crowd: bool = False
    """Many things under one box, which nobody counted."""


class Exchange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question of a dialogue, with its answer and what else was offered."""

    question: str
    answer: str
    options: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    """Other answers that are right as well."""


class Annotation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One record of a dataset. A reader fills in what its file says, and leaves the rest empty."""

    id: str
    """As the dataset names the record; of its own in the whole file."""
    images: tuple[str | bytes, ...] = ()
    """Pictures as the file names them, by path, name or number, or the bytes themselves."""
    size: tuple[int, int] | None = None
    """Width and height of the picture, where the file says them."""
    question: str = ""
    hint: str = ""
    answers: tuple[str, ...] = ()
    """Right answers in words: one of each person who was asked, or all spellings that count."""
    options: tuple[str, ...] = ()
    """What the dataset itself offers to choose from."""
    gold: int | None = None
    """Which of the options is right; or which of the regions or steps is meant."""
    label: str = ""
    """The class of the picture; or of the pair, as in entailment."""
    also: tuple[str, ...] = ()
    """Other classes that are true of it as well."""
    captions: tuple[str, ...] = ()
    relation: str = ""
    """How two things that the caption names stand to each other, in its words: ``left of``."""
    regions: tuple[Region, ...] = ()
    turns: tuple[Exchange, ...] = ()
    steps: tuple[str, ...] = ()
    """What is done one after the other; the picture shows one of them, or ``images`` shows them all."""
    tags: dict[str, Any] = {}
    """Whatever else is worth sorting items by: split, question type, subject …"""


class ClassLabel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A class of a closed vocabulary."""

    name: str
    """As it is shown to people."""
    synonyms: tuple[str, ...] = ()
    synset: str = ""
    """Its WordNet id, where the dataset gives one: ``n01440764``."""
    parent: str = ""
    """The group that the dataset itself puts it in."""


class Annotations:
    """A dataset's records, which can be gone through again and again, and its classes if it has a closed list."""

    def __init__(self, records: Callable[[], Iterator[Annotation]], classes: tuple[ClassLabel, ...] = ()) -> None:
        self._records = records
        self._checked = 0
        """Records that are known to be as they should be; the later times they are not looked at again."""
        self.classes = classes

    def __iter__(self) -> Iterator[Annotation]:
        number = 0
        try:
            for count, record in enumerate(self._records(), 1):
                if not (isinstance(record.id, str) and record.id.strip()):
                    raise ValueError("it has no id")  # noqa: TRY301 (told below)
                if count > self._checked:
                    _check(record)
                    self._checked = count
                yield record
                number = count
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"the annotation after {number:,} others: {oddity(error)}") from error


def _check(record: Annotation) -> None:
    """Refuse a number or an object where a text should be, before a reformer stumbles over it."""
    words = [record.question, record.hint, record.label, record.relation]
    for several in (record.answers, record.options, record.also, record.captions, record.steps):
        words += several
    for region in record.regions:
        words += (region.label, region.text, *region.expressions)
    for turn in record.turns:
        words += (turn.question, turn.answer, *turn.options, *turn.answers)
    words += (image for image in record.images if not isinstance(image, bytes))
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"{short(word)} where a text should be")


def oddity(error: Exception) -> str:
    """What is wrong with a record that a reader stumbled over."""
    words = str(error).splitlines() or [""]
    return f"no {words[0]} in it" if isinstance(error, KeyError) else f"not as expected ({words[0]})"
