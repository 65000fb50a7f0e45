"""An item as pages show it: its pictures small, its texts short enough to bear, its gold marked."""

from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from eyetest.pages.album import Album, Picture
from eyetest.pages.texts import clip, plain
from eyetest.records import PLACEHOLDER, Item, letter

_GALLERY = 4
_MOST_TAGS = 6
_SHORT_TAG = 28


class Option(msgspec.Struct, frozen=True):
    """One answer that an item offers."""

    letter: str
    text: list[str | int]
    correct: bool
    pictures: list[Picture]


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One item on the page; one that is not in the benchmark has its id and the evidence only."""

    id: str
    evidence: str
    item: Item | None = None
    question: list[str | int] = []
    pictures: list[Picture] = []
    more_pictures: int = 0
    options: list[Option] = []
    tags: list[tuple[str, str]] = []
    scores: list[tuple[str, str]] = []

    @property
    def narrow(self) -> bool:
        """Whether the options are pictures, or many and short, so that they fit in two columns."""
        pictured = all(option.pictures for option in self.options)
        short = self.item is not None and all(len(choice.text) <= 6 for choice in self.item.choices)
        return pictured or (short and len(self.options) > 6)


def show_item(name: str, evidence: str, scores: list[tuple[str, str]], item: Item | None, album: Album) -> Shown:
    """An item with what is to be said about it; one that is not there has its name and the evidence only."""
    if item is None:
        return Shown(id=name, evidence=evidence)
    in_options = {number for choice in item.choices for number in choice.images}
    gallery = [number for number in range(1, len(item.images) + 1) if number not in in_options]
    return Shown(
        id=name,
        evidence=evidence,
        item=item,
        question=_parts(item.question, 900),
        pictures=_pictures(gallery[:_GALLERY], item, album),
        more_pictures=len(gallery[_GALLERY:]),
        options=[
            Option(letter(place), _parts(choice.text, 240), choice.correct, _pictures(choice.images[:2], item, album))
            for place, choice in enumerate(item.choices)
        ],
        tags=_short_tags(item),
        scores=scores,
    )


def lot(item: str) -> bytes:
    """Which items are shown is drawn by lot, and the same each time."""
    return blake2b(item.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _short_tags(item: Item) -> list[tuple[str, str]]:
    """The tags that sort items, first; lists and tables are left to `eyetest show`."""
    said = [(key, plain(value)) for key, value in item.tags.items() if isinstance(value, str | int | float)]
    told = sorted((pair for pair in said if pair[1].strip()), key=lambda pair: len(pair[1]) > _SHORT_TAG)
    return [(key, clip(value, _SHORT_TAG)) for key, value in told[:_MOST_TAGS]]


def _pictures(numbers: Iterable[int], item: Item, album: Album) -> list[Picture]:
    return [album.add(item.images[n - 1], n) for n in numbers if 0 < n <= len(item.images)]


def _parts(text: str, limit: int) -> list[str | int]:
    """A text cut at the places where it names pictures."""
    pieces = PLACEHOLDER.split(clip(text, limit))
    return [int(piece) if odd % 2 else piece for odd, piece in enumerate(pieces) if piece.strip()]
