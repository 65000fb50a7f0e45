"""Annotations: what a reader takes from the files of a dataset, and what a reformer makes items of."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from eyetest.errors import InputError, RowError, short


class FileSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of a dataset's YAML settings under ``read:`` or ``settings:``; empty by itself."""


Box = tuple[float, float, float, float]  # left, top, width and height in pixels, as in COCO


class Region(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An object in an image, and its box."""

    box: Box
    id: str = ""
    label: str = ""
    expressions: tuple[str, ...] = ()  # expressions that each single it out
    is_crowd: bool = False  # several uncounted objects under one box


class Annotation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record of a dataset; fields that its file lacks stay empty."""

    id: str  # the dataset's name of the record, unique in the file
    file: str = ""  # the name of the file that it is in
    images: tuple[str | bytes, ...] = ()
    """Images as the file names them, by path, name or number, or their bytes."""
    size: tuple[int, int] | None = None
    question: str = ""
    hint: str = ""
    answers: tuple[str, ...] = ()
    """Right answers in words: one of each annotator, or all spellings that count."""
    options: tuple[str, ...] = ()
    gold: int | None = None  # index of the right option, or of the region or step meant
    label: str = ""  # class of the image, or of the pair, as in entailment
    also: tuple[str, ...] = ()  # other classes that are true of it
    captions: tuple[str, ...] = ()
    regions: tuple[Region, ...] = ()
    turns: tuple["Annotation", ...] = ()
    """Questions of a dialogue, each with its answer as ``label``, other right answers, and candidates as options."""
    steps: tuple[str, ...] = ()
    """Consecutive actions; the image shows one of them, or ``images`` shows all."""
    tags: dict[str, Any] = {}  # other properties to sort items by: split, question type, subject …


class ClassLabel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A class of a closed vocabulary."""

    name: str
    synonyms: tuple[str, ...] = ()
    synset: str = ""  # WordNet id, where the dataset gives one: ``n01440764``
    parent: str = ""  # group in the dataset's own hierarchy

    @property
    def names(self) -> tuple[str, ...]:
        """All names, each once."""
        return tuple(dict.fromkeys(name for name in (self.name, *self.synonyms) if name.strip()))


class Annotations:
    """A dataset's records, which can be iterated repeatedly, and its classes if it has a closed list."""

    def __init__(self, records: Callable[[], Iterator[Annotation]], classes: tuple[ClassLabel, ...] = ()) -> None:
        self._records, self.classes = records, classes
        self.file = ""  # of the record that is being used, where it is known
        self.refuse: Callable[[RowError], None] = refuse_row

    def __iter__(self) -> Iterator[Annotation]:
        number = 0
        try:
            for record in self._records():
                if (problem := _problem(record)) is not None:
                    self.refuse(RowError(f"the annotation after {number:,} others: {problem}"))
                    continue
                self.file = record.file
                yield record
                number += 1
            self.file = ""
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"the annotation after {number:,} others: {oddity(error)}") from error


def refuse_row(error: RowError) -> None:
    """Raise what is wrong with a record."""
    raise error


def _problem(record: Annotation) -> str | None:
    """What is wrong with a record that a reformer would fail on."""
    if not (isinstance(record.id, str) and record.id.strip()):
        return oddity(ValueError("it has no id"))
    try:
        _check(record)
    except (TypeError, AttributeError) as error:
        return oddity(error)
    return None


def _check(record: Annotation) -> None:
    """Refuse a number or an object where a text should be, before a reformer fails on it."""
    words = [record.question, record.hint, record.label]
    for several in (record.answers, record.options, record.also, record.captions, record.steps):
        words += several
    for region in record.regions:
        words += (region.label, *region.expressions)
    for turn in record.turns:
        _check(turn)
    words += (image for image in record.images if not isinstance(image, bytes))
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"{short(word)} where a text should be")


def oddity(error: Exception) -> str:
    """What is wrong with a record that a reader failed on."""
    words = str(error).splitlines() or [""]
    return f"no {words[0]} in it" if isinstance(error, KeyError) else f"not as expected ({words[0]})"
