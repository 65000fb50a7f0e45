"""What an item must be to enter a benchmark at all.

Only what makes an item unusable is refused here. What makes it a *bad* item (a literal "nan" option, a
placeholder without its picture) is for an audit to find, so it must be able to come in.
"""

from collections.abc import Iterator

import msgspec

from eyetest.errors import ItemError, short
from eyetest.records.item import IMAGE_FORMATS, MAX_CHOICES, Item


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


def problems(item: Item, *, gold_required: bool = True) -> Iterator[Problem]:
    """Everything that keeps this item out."""

    def problem(field: str, found: str, expected: str) -> Problem:
        return Problem(item.id, field, found, expected)

    if not item.id.strip():
        yield problem("id", short(item.id), "a name that is not blank")
    if not (item.question.strip() or item.images):
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


def check(item: Item, where: str = "", *, gold_required: bool = True) -> Item:
    """The item itself, or an error that names its first problem."""
    for problem in problems(item, gold_required=gold_required):
        raise problem.error(where)
    return item
