"""What a benchmark holds and says about itself.

An item is a question with its pictures, its choices or reference answers, and tags.

The gold travels with the choice, so that no shuffle can misplace it. Pictures are numbered from 1 across
the whole item; ``<image 2>`` (or ``<image2>``, ``<image_2>``, ``<img 2>`` …) in the question, the hint or a choice
stands where picture 2 is to be seen, and a picture that no text names is shown before the question.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, get_args

import msgspec

from eyetest.errors import ItemError, short

FOLDER_VERSION = 2
READABLE_VERSIONS = (1, 2)
"""Folders of version 1 know neither who wrote an option nor what a benchmark was before it was changed."""
MAX_CHOICES = 26
_MOST_VALUES = 60
PLACEHOLDER = re.compile(r"<\|?(?:image|img)[ _-]?(\d{1,3})\|?>", re.IGNORECASE)
"""Where a text shows a picture, in every spelling that benchmarks are known to use. The one definition of it."""
ImageFormat = Literal["png", "jpeg", "gif", "webp", "bmp", "tiff"]
IMAGE_FORMATS: tuple[ImageFormat, ...] = get_args(ImageFormat)
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Seed = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class ImageRef(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A picture by the hash of its bytes; the bytes lie in a benchmark folder."""

    sha256: Sha256
    format: ImageFormat
    width: int
    height: int
    size: int

    @property
    def filename(self) -> str:
        """The name of the file that holds it, the same in every folder and every export."""
        return f"{self.sha256}.{'jpg' if self.format == 'jpeg' else self.format}"


class OptionProvenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where an option comes from."""

    author: str = ""
    """Who wrote it, a person or a model."""
    checked_by: tuple[str, ...] = ()


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One option, and whether it is right."""

    text: str
    correct: bool = False
    provenance: OptionProvenance | msgspec.UnsetType = msgspec.UNSET
    """Unset where nobody says: then it is in no file and no fingerprint, as in folders from before there was one."""

    @property
    def images(self) -> tuple[int, ...]:
        """Numbers of the item's pictures that this choice shows."""
        return image_numbers(self.text)


DIALOGUE, TURN = "dialogue", "turn"
"""The tags of an item that is part of a dialogue: which one, and which of its turns, from 1."""


EDITION = "edition"
ORIGINAL, TWIN, FRESH = "original", "twin", "fresh"
"""The tag of items that lie in one benchmark with others drawn from the same data, and its values."""


class Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One earlier exchange of a dialogue, with its gold answer."""

    question: str
    answer: str


class Lineage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One step that made an item or a benchmark out of another."""

    step: str
    source: str = ""
    item: str = ""
    note: str = ""
    seed: Seed | None = None


class Spelling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the source file wrote something that we would write differently.

    ``ours`` is what we would have written at import; an export uses ``theirs`` only while that is still
    what we would write, so an item that was changed since never gets a stale cell back.
    """

    ours: str
    theirs: str


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One question of a benchmark. ``choices`` for a choice item, ``references`` for a text item."""

    id: str
    question: str
    images: tuple[ImageRef, ...] = ()
    choices: tuple[Choice, ...] = ()
    references: tuple[str, ...] = ()
    hint: str = ""
    history: tuple[Turn, ...] = ()
    description: str = ""
    """Words that can stand in for the pictures: a caption, a data table."""
    group: str = ""
    """The item whose question this one varies: a rotation, the other of a pair. Empty for that item itself."""
    tags: dict[str, Any] = {}
    """Whatever else the source says of the item, as JSON values: source, split, category, unit …"""
    lineage: tuple[Lineage, ...] = ()
    spellings: dict[str, Spelling] = {}

    def __post_init__(self) -> None:
        if self.group and self.group == self.id:
            msgspec.structs.force_setattr(self, "group", "")

    @property
    def is_choice(self) -> bool:
        """Whether the item offers options."""
        return bool(self.choices)

    @property
    def gold(self) -> tuple[int, ...]:
        """Positions of the right choices."""
        return tuple(i for i, choice in enumerate(self.choices) if choice.correct)

    @property
    def has_gold(self) -> bool:
        """Whether somebody said what the right answer is."""
        if self.choices:
            return any(choice.correct for choice in self.choices)
        return any(reference.strip() for reference in self.references)

    @property
    def texts(self) -> Iterable[str]:
        """Every text of the item that may show a picture."""
        return (self.question, self.hint, *(choice.text for choice in self.choices))

    @property
    def image_numbers(self) -> tuple[int, ...]:
        """Picture numbers that the item's texts name, in order of first mention."""
        return tuple(dict.fromkeys(n for text in self.texts for n in image_numbers(text)))


def tag_word(value: Any) -> str | None:
    """A tag's value as a word to sort items by; None for what is no single value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, str | int | float) else None


def sorting_tags(items: Iterable[Item]) -> list[str]:
    """Tags with few enough values to be worth a table."""
    values: dict[str, set[str]] = {}
    for item in items:
        for tag, value in item.tags.items():
            if (word := tag_word(value)) is not None and len(values.setdefault(tag, set())) <= _MOST_VALUES:
                values[tag].add(word)
    return sorted(tag for tag, words in values.items() if 2 <= len(words) <= _MOST_VALUES)


def image_numbers(text: str) -> tuple[int, ...]:
    """Picture numbers named in a text, in order: ``<image 2> beside <image 1>`` gives ``(2, 1)``."""
    return tuple(map(int, PLACEHOLDER.findall(text))) if "<" in text else ()


def letter(position: int) -> str:
    """The mark of a choice: A for 0, Z for 25."""
    return chr(ord("A") + position)


def gold_text(item: Item) -> str:
    """What counts as right, in a line: the letters of options, or the references."""
    return ", ".join(letter(position) for position in item.gold) or " | ".join(item.references)


class Problem(msgspec.Struct, frozen=True):
    """One thing wrong with one field of one item."""

    item: str
    field: str
    found: str
    expected: str

    def error(self, where: str = "") -> ItemError:
        """The problem as something to raise; ``where`` names the file and row it came from."""
        name = f"item {short(self.item)}"
        return ItemError(f"{where}: {name}" if where else name, self.field, self.found, self.expected)


def problems(item: Item, *, gold_required: bool = True, question_required: bool = True) -> Iterator[Problem]:
    """Everything that keeps this item out of a benchmark.

    What makes it a *bad* item (a literal "nan" option, a placeholder without its picture) is for an audit to find, so
    it must be able to come in.
    """

    def problem(field: str, found: str, expected: str) -> Problem:
        return Problem(item.id, field, found, expected)

    if not item.id.strip():
        yield problem("id", short(item.id), "a name that is not blank")
    if question_required and not (item.question.strip() or item.images):
        yield problem("question", "neither text nor picture", "at least one of them")
    if len(item.choices) > MAX_CHOICES:
        yield problem("choices", f"{len(item.choices)} options", f"at most {MAX_CHOICES}")
    if item.choices and item.references:
        yield problem("references", "references beside choices", "one or the other")
    if gold_required and not item.has_gold:
        expected = "one right option" if item.choices else "at least one reference answer"
        yield problem("answer", "no gold answer", expected)
    for number, image in enumerate(item.images, 1):
        if len(image.sha256) != 64 or image.format not in IMAGE_FORMATS:
            yield problem(f"images[{number}]", short(image.filename), "a SHA-256 and a known image format")
        if min(image.width, image.height) < 1:
            yield problem(f"images[{number}]", f"{image.width} × {image.height}", "a size in pixels")
    for name in item.tags:
        if not name.strip():
            yield problem("tags", short(name), "a tag name that is not blank")


def check(item: Item, where: str = "", *, gold_required: bool = True, question_required: bool = True) -> Item:
    """The item itself, or an error that names its first problem."""
    for problem in problems(item, gold_required=gold_required, question_required=question_required):
        raise problem.error(where)
    return item


class ItemCounts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much there is, so that nobody has to read the items to know."""

    items: int = 0
    choice_items: int = 0
    text_items: int = 0
    images: int = 0
    """Distinct pictures; several items may share one."""
    image_bytes: int = 0
    options: dict[str, int] = {}
    """Items by their number of options."""


class Origin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The file a benchmark was read from, and what an export needs to give it back as it was."""

    file: str = ""
    format: str = ""
    columns: tuple[str, ...] = ()
    fields: dict[str, str] = {}
    """Our field → the column it was read from."""


REVISE, REFINE = "revise", "refine"
MENDING = (REVISE, REFINE)
"""The steps by which people take items out and mend others; what is left asks the same as before."""


class Revision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a benchmark was before it was changed."""

    fingerprint: str
    version: str
    time: str
    """When it was changed."""
    change: str
    """What was done to it."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``benchmark.json``."""

    name: str
    version: str = "1"
    counts: ItemCounts = ItemCounts()
    licence: str = ""
    source: str = ""
    canary: str = ""
    lineage: tuple[Lineage, ...] = ()
    origin: Origin = Origin()
    fingerprint: str = ""
    """A hash of all items in order: two benchmarks with the same one hold the same items."""
    revisions: tuple[Revision, ...] = ()
    """What it was before, the oldest first."""
    folder_version: int = FOLDER_VERSION

    @property
    def is_gold_list(self) -> bool:
        """Whether it was made of a file that has golds and no questions."""
        return bool(self.origin.fields) and "question" not in self.origin.fields

    def is_mended(self, fingerprint: str) -> bool:
        """Whether these are the items of an earlier revision as people left them, and nobody did anything else."""
        before = [revision.fingerprint for revision in self.revisions]
        if fingerprint not in before:
            return False
        since = self.revisions[before.index(fingerprint) :]
        return all(revision.change.partition(":")[0] in MENDING for revision in since)

    def holding(self, counts: ItemCounts, fingerprint: str, time: str) -> "Manifest":
        """The manifest of these items; where it spoke of others, those become an earlier revision."""
        revisions = self.revisions
        if self.fingerprint and self.fingerprint != fingerprint:
            last = self.lineage[-1] if self.lineage else Lineage(step="change")
            change = f"{last.step}: {last.note}" if last.note else last.step
            before = Revision(fingerprint=self.fingerprint, version=self.version, time=time, change=change)
            revisions = (*revisions, before)
        return msgspec.structs.replace(self, counts=counts, fingerprint=fingerprint, revisions=revisions)
